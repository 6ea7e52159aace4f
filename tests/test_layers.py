"""Imports point one way: each layer of the package imports only those that `docs/architecture.md` lets it.

Imports within functions count, too, unless a comment at the import says why it must be; those for type checkers do not.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import rcpomdp

ROOT = Path(rcpomdp.__file__).parent
BASE = {
    *("_types", "_plain_text", "_console", "deadline", "errors", "tolerance"),
    *("_json_values", "_processes", "_plugins", "__version__"),
}
ON_MODELS = BASE | {"kernels", "model", "views.notebook"}
ON_POLICIES = ON_MODELS | {"bounds", "lp", "policies"}
EVERYTHING_ELSE = ON_POLICIES | {
    *("evaluation", "simulation", "verification", "compression", "solvers", "io", "problems", "gym"),
    *("views.drawing", "views.explorer", "views.rendering", "views.grid", "views.drawing_file", "_live"),
}

# What a layer may import, beside itself and other packages.
LAYERS = {
    "_types": set(),
    "_plain_text": set(),
    "_console": {"_plain_text"},
    "deadline": set(),
    "errors": set(),
    "tolerance": {"_types"},
    "_json_values": set(),
    "_processes": set(),
    "_plugins": {"errors"},
    "kernels": {"_types"},
    "lp": {"_types", "deadline"},
    "_live": {"kernels", "_console"},
    "views.notebook": {"_plain_text"},  # what it shows, it names for type checkers alone: models and results use it
    "model": BASE | {"kernels", "views.notebook"},
    "bounds": ON_MODELS,
    "views.parts": set(),  # of labels, which it only reads
    "views.drawing": BASE | {"model"},  # shapes, of which problems make their maps
    "views.untimed": {"model", "views.drawing"},
    "views.grid": {"views.drawing", "views.untimed"},
    "views.drawing_file": BASE | {"views.drawing", "views.untimed"},
    "problems": BASE | {"model", "views.drawing", "views.untimed"},
    "policies": ON_POLICIES - {"policies"},
    "evaluation": ON_POLICIES,
    "simulation": ON_POLICIES,
    "verification": BASE | {"model", "policies", "views.notebook"},  # a second opinion: no solver, kernel or evaluation
    "compression": BASE | {"model", "policies", "verification"},
    "io": ON_POLICIES | {"verification"},  # what a proof is
    "solvers": ON_POLICIES | {"evaluation", "simulation", "verification", "_live"},  # and what it must satisfy
    "views.explorer": ON_POLICIES | {"evaluation", "io", "verification", "views.drawing", "views.parts"},
    "views.rendering": ON_POLICIES | {"simulation", "io", "views.drawing", "views.parts"},
    "gym": ON_MODELS | {"simulation", "problems"},
    "_to_gymnasium": {"model", "gym"},
    "testing": EVERYTHING_ELSE,
    "experiments": EVERYTHING_ELSE,
    "cli": EVERYTHING_ELSE | {"experiments", "testing"},
    "__main__": {"cli"},
    "views": set(),
    "__version__": {*EVERYTHING_ELSE, "_to_gymnasium"},  # the package itself, whose public names these are
}


class Import(NamedTuple):
    """An import of a module of the package, where it stands."""

    source: str  # layer
    target: str  # layer
    where: str


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def layer(parts: tuple[str, ...]) -> str:
    """The layer of a dotted name below the package; the package itself goes by its version."""
    known = [".".join(parts[:n]) for n in (2, 1) if ".".join(parts[:n]) in LAYERS]
    return known[0] if known else "__version__" if not parts else parts[0]


def statements(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import that is executed, and whether it is inside a function."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, inside
    for child in ast.iter_child_nodes(node):
        yield from statements(child, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def names(statement: ast.Import | ast.ImportFrom, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The dotted names that a statement imports, relative ones from the root of the package on."""
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            yield tuple(alias.name.split("."))
            continue
        start = ("rcpomdp", *package[: len(package) - statement.level + 1]) if statement.level else ()
        yield (*start, *(statement.module or "").split("."), alias.name) if statement.module else (*start, alias.name)


def explained(line: str) -> bool:
    comment = line.partition("#")[2].strip()
    return bool(comment) and not comment.startswith(("noqa", "type:"))


def imports(path: Path) -> Iterator[Import]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts[:-1]
    text = path.read_text()
    lines = text.splitlines()
    own = layer(package if parts[-1] == "__init__" else parts)
    for statement, inside in statements(ast.parse(text)):
        if inside and explained(lines[statement.lineno - 1]):
            continue
        for name in names(statement, package):
            if name[0] == "rcpomdp":
                target = layer(tuple(part for part in name[1:] if part != "__version__"))
                if target != own:
                    yield Import(own, target, f"{path.relative_to(ROOT)}:{statement.lineno}")


def test_every_module_is_in_a_layer() -> None:
    found = {layer(path.relative_to(ROOT).with_suffix("").parts) for path in modules()}
    assert found - {"__init__"} <= set(LAYERS)


def test_the_layers_have_no_circle() -> None:
    left = {name: allowed - {name, "__version__"} for name, allowed in LAYERS.items()}
    while left:
        lowest = {name for name, allowed in left.items() if not allowed & set(left)}
        assert lowest, f"a circle among {sorted(left)}"
        left = {name: allowed for name, allowed in left.items() if name not in lowest}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    wrong = [f"{i.where}: {i.source} imports {i.target}" for i in imports(path) if i.target not in LAYERS[i.source]]
    assert not wrong


def test_kernels_import_numpy_and_numba_alone() -> None:
    found = {
        name[0]
        for path in (ROOT / "kernels").rglob("*.py")
        for statement, _ in statements(ast.parse(path.read_text()))
        for name in names(statement, path.relative_to(ROOT).parts[:-1])
    }
    assert found - set(sys.stdlib_module_names) == {"numpy", "numba", "rcpomdp"}


def test_imports_are_read_as_python_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / "model").mkdir()
    source = tmp_path / "model" / "cpomdp.py"
    source.write_text(
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "from .. import __version__, cli\n"
        "from ..errors import InputError\n"
        "from . import beliefs\n"
        "import rcpomdp.solvers.result\n"
        "if TYPE_CHECKING:\n"
        "    from ..solvers import Result\n"
        "def show():\n"
        "    from ..views import notebook, drawing\n"
        "    from ..experiments.run import cell  # noqa: F401\n"
        "    from ..gym import CPOMDPEnv  # Gymnasium may not be installed\n"
    )
    found = [(i.target, i.where.rpartition(":")[2]) for i in imports(source)]
    assert found == [
        ("__version__", "3"),
        ("cli", "3"),
        ("errors", "4"),
        ("solvers", "6"),
        ("views.notebook", "10"),
        ("views.drawing", "10"),
        ("experiments", "11"),
    ]
