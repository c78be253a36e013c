"""The site: ``make docs``, or rosdoc2. docs/reference.py writes the nodes' reference."""

import sys
from importlib.util import find_spec
from pathlib import Path

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

reference.write(DOCS / "reference")
