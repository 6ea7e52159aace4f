"""The one decorator for compiled code, and where its cache lives.

numba's own cache notices a change in the file of a cached function but not in a callee's file, and then
keeps returning the old answer. So the cache folder is named by a hash of all kernel sources: any edit starts
afresh.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def cache_folder() -> Path | None:
    """Folder of the compiled kernels: below NUMBA_CACHE_DIR or XDG_CACHE_HOME where set, else ~/.cache.

    A user without a home has one among temporary files. What is cached is executed, so that None is returned, and
    nothing is cached, if others made that folder or may write to it.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        base = Path(tempfile.gettempdir()) / f"cache-{os.getuid()}"
        if not _is_private(base):
            return None
    return base / "rcpomdp" / f"kernels-{digest.hexdigest()[:16]}"


def _is_private(folder: Path) -> bool:
    """True if a folder, made now unless it is there, is the user's own and nobody else may write to it."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022


_FOLDER = cache_folder()
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def when_compiling(say: Callable[[], None]) -> None:
    """Call `say` when a kernel is compiled for the first time in this process; loading a cached one is not."""
    events: Any = import_module("numba.core.event")

    class Listener(events.Listener):  # type: ignore[misc]  # numba is untyped
        def on_start(self, event: object) -> None:
            events.unregister("numba:compile", self)
            say()

        def on_end(self, event: object) -> None:
            """Nothing to say."""

    events.register("numba:compile", Listener())


def kernel(function: _Function) -> _Function:
    """Compile with numba: cached, without the interpreter lock, with IEEE division and no fast-math."""
    if _FOLDER is None:
        return cast(_Function, numba.njit(**_OPTIONS)(function))
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_FOLDER)  # read at decoration; other users of numba keep their own
    try:
        try:
            compiled: Any = numba.njit(cache=True, **_OPTIONS)(function)
        except RuntimeError:  # no place to write a cache: compile at every start instead
            compiled = numba.njit(**_OPTIONS)(function)
        else:
            _make_lenient(compiled._cache)
    finally:
        config.CACHE_DIR = before
    return cast(_Function, compiled)


def inner(function: _Function) -> _Function:
    """Compile a function that only kernels call: without the wrapper for Python, which takes long to compile.

    And without counting references: it took a quarter of the time. Such a function must not allocate arrays.
    """
    njit: Any = numba.njit  # its stubs do not know these options
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "pipeline_class": _Inlined}
    return cast(_Function, njit(**options, **_OPTIONS)(function))


_passes: Any = import_module("numba.core.typed_passes")
_compiler: Any = import_module("numba.core.compiler")
_register: Any = import_module("numba.core.compiler_machinery").register_pass


@_register(mutates_CFG=True, analysis_only=False)
class _LowerOnly(_passes.NativeLowering):  # type: ignore[misc]  # numba is untyped
    """Lowering that leaves optimisation and machine code to the kernels that a function is linked into.

    numba does both for every function with all its callees in it: two fifths of the time that compilation took.
    """

    _name = "lowering_without_machine_code"

    def run_pass(self, state: Any) -> bool:
        """Lower, with a stand-in for the function that Python would call."""
        context = state.targetctx
        if state.library is None:
            state.library = context.codegen().create_library(state.func_id.func_qualname)
            state.library.enable_object_caching()
        library = state.library

        def finish() -> None:
            library._finalize_dynamic_globals()
            library._finalized = True

        library._optimize_final_module = lambda: None
        library._finalize_final_module = finish
        context.get_executable = lambda *_: [].append  # a built-in of its own: without a wrapper nobody can call it
        try:
            return bool(super().run_pass(state))
        finally:
            del context.get_executable


class _Inlined(_compiler.CompilerBase):  # type: ignore[misc]  # numba is untyped
    """The usual passes, but no machine code."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline of compiled code."""
        passes = _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_LowerOnly if step is _passes.NativeLowering else step, about) for step, about in passes.passes
        ]
        passes.finalize()
        return [passes]


def _make_lenient(cache: Any) -> None:
    """A damaged cache is emptied and a full disk ignored: then the kernel is compiled again."""
    load, save = cache.load_overload, cache.save_overload

    def lenient_load(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception:  # a damaged pickle may raise anything; what was lost is compiled again, and nothing else
            with suppress(OSError):
                cache.flush()
            return None

    def lenient_save(*args: Any) -> None:
        with suppress(OSError):
            save(*args)

    cache.load_overload, cache.save_overload = lenient_load, lenient_save
