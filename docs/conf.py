"""How the documentation site is built: `make docs`.

Sphinx, because the API reference can then be read from the docstrings, and MyST, because the pages are Markdown that
also reads well where it lies. Nothing is fetched, neither when the site is built nor when it is read: formulas become
MathML, which browsers show by themselves.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

import rcpomdp

project = "rcpomdp"
author = "The rcpomdp developers"
project_copyright = author
version = release = rcpomdp.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "commands",
    "contents",
    "docstrings",
    "mathml",
]
exclude_patterns = ["extensions"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

suppress_warnings = [
    "misc.highlighting_failure"
]  # of languages that Pygments does not know; Python is run by the tests

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
napoleon_google_docstring = False
default_role = "code"  # names in single backquotes
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"rcpomdp {release}"
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
