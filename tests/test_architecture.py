"""What docs/architecture.md and other pages say of the tree is how it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rcpomdp"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def tree_block() -> list[Path]:
    """Paths that the tree names, from the root of the repository: two blanks for each folder around them."""
    found: list[Path] = []
    around: list[str] = []
    (block,) = re.findall(r"^```\n(src/rcpomdp/\n.*?)^```$", ARCHITECTURE, flags=re.MULTILINE | re.DOTALL)
    for line in block.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        found.append(Path(*around[:depth], name))
        around[depth:] = [name]
    return found


def named_files(page: str) -> list[str]:
    """Python files in backquotes, commands included; blocks of code are left out."""
    return [word for code in _CODE.findall(_FENCE.sub("", page)) for word in code.split() if word.endswith(".py")]


def is_there(name: str) -> bool:
    return (SOURCE / name).is_file() or (ROOT / name).is_file()


def test_all_that_the_tree_names_is_there() -> None:
    named = tree_block()
    assert len(named) == len(set(named))
    assert [str(path) for path in named if not (ROOT / path).exists()] == []


def test_every_folder_and_top_level_module_is_in_the_tree() -> None:
    here = {path.relative_to(ROOT) for path in [*SOURCE.glob("*.py"), *SOURCE.rglob("*/")]}
    here = {path for path in here if "__pycache__" not in path.parts and path != SOURCE.relative_to(ROOT)}
    assert sorted(map(str, here - set(tree_block()))) == []


@pytest.mark.parametrize("loop", ["ARCS' loop", "the point-based loop"])
def test_the_files_of_a_loop_are_imported_one_by_another(loop: str) -> None:
    _, _, rest = ARCHITECTURE.partition(f"### Files to open for {loop}\n")
    files = [SOURCE / name for name in named_files(rest.partition("\n#")[0])]
    assert 8 <= len(files) <= 14
    for i, path in enumerate(files[1:], 1):
        module = re.compile(rf"^from \.\S*\b{path.stem}\b|^from \.\S* import .*\b{path.stem}\b", flags=re.MULTILINE)
        assert any(module.search(before.read_text()) for before in files[:i]), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_links_of_a_page_are_there(page: Path) -> None:
    text = page.read_text()
    assert [name for name in named_files(text) if not is_there(name)] == []
    links = [
        link for link in _LINK.findall(_FENCE.sub("", text)) if "://" not in link and not link.startswith("mailto:")
    ]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_nothing_is_overlooked() -> None:
    assert len(tree_block()) > 50
    assert Path("src/rcpomdp/kernels/arcs") in tree_block()
    assert named_files("see `a/b.py` and `python c.py x`\n```\n`d.py`\n```\n") == ["a/b.py", "c.py"]
    assert not is_there("solve.py")
