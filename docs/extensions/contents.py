"""A Sphinx extension: a page that the contents do not name still has its place in them.

In `index.md` the line ``@others`` stands for all pages that no other line names.
"""

from __future__ import annotations

from sphinx.application import Sphinx

_MARK = "@others"


def _place(app: Sphinx, page: str, source: list[str]) -> None:
    if page == "index":
        named = {"index", *source[0].split()}
        others = sorted(other for other in app.env.found_docs - named if not other.startswith("results/"))
        source[0] = source[0].replace(_MARK, "\n".join(others))


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into reading."""
    app.connect("source-read", _place)
    return {"parallel_read_safe": True}
