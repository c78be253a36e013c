"""The site: ``make docs``, or rosdoc2. docs/reference.py writes the nodes' reference."""

import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import featherstone_ros

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))
import reference  # noqa: E402

project = "featherstone_ros"
author = "featherstone_ros maintainers"
project_copyright = author
version = release = featherstone_ros.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
if find_spec("sphinx-mathjax-offline"):  # else, as on docs.ros.org, formulas come from the network
    extensions += ["sphinx-mathjax-offline"]
exclude_patterns = ["_build"]
exclude_patterns += ["*.rst", "standard_docs"]  # what rosdoc2 adds: lists of modules, README
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_attr_annotations = False
html_theme = "furo"
html_title = f"featherstone_ros {version}"
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]

BETWEEN_WORDS = re.compile(r"(?<=\w[_/])(?=\w)|(?<=\w)(?=[.]\w{4})|(?<=[a-z])(?=[A-Z][a-z])")

LONG = re.compile(r"\S{13,}")  # letters

reference.write(DOCS / "reference")


class NamesThatBreak(HTML5Translator):
    """Lets a browser break long names between their words, in headings and narrow tables."""

    def visit_Text(self, node: nodes.Text) -> None:
        """Write the text with the places where it may break."""
        begin = len(self.body)
        super().visit_Text(node)
        if any(isinstance(above, nodes.entry | nodes.title) for above in ancestors(node)):
            self.body[begin:] = [LONG.sub(broken, text) for text in self.body[begin:]]


def keep_marks(app: Sphinx, document: nodes.document) -> None:
    """Keep a mark on the line of the formula before it: a browser may break before each mark."""
    for formula in list(document.findall(nodes.math)):
        inside, place = formula.parent, formula.parent.index(formula)
        text = next(iter(inside[place + 1 :]), None)
        if isinstance(text, nodes.Text) and text[0] in ".,:;)":
            unbroken = nodes.inline("", "", formula, nodes.Text(text[0]), classes=["unbroken"])
            inside[place : place + 2] = [unbroken, nodes.Text(text[1:])]


def broken(name: re.Match[str]) -> str:
    """Return a name with the places where it may break."""
    return BETWEEN_WORDS.sub("<wbr>", name[0])


def ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield what a node stands in."""
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.set_translator("html", NamesThatBreak)
    app.connect("doctree-read", keep_marks)
