"""The folder of compiled kernels is named by their sources."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rcpomdp.kernels import jit


@pytest.mark.parametrize("edited", ["values.py", "bounds/level_sweeps.py"])
def test_an_edit_anywhere_below_the_kernels_starts_a_new_cache(
    edited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = tmp_path / "kernels"
    shutil.copytree(Path(jit.__file__).parent, kernels, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(kernels / "jit.py"))
    before = jit.cache_folder()
    assert jit.cache_folder() == before
    with (kernels / edited).open("a") as file:
        file.write("\n")
    assert jit.cache_folder() != before
