"""Builds the modules of this folder as setup.py builds `_control`. Usage: build.py FOLDER."""

import sys
from copy import copy
from distutils.core import run_setup
from pathlib import Path

import setuptools  # noqa: F401, distutils is its

folder, sources = Path(sys.argv[1]), sorted(Path("test/compiled").glob("*.pyx"))
command = ["-q", "build_ext", "-b", str(folder), "-t", str(folder / "temp")]
product = run_setup("setup.py", command, stop_after="commandline")
(recipe,) = (each for each in product.ext_modules if each.name.endswith("._control"))
product.ext_modules = [copy(recipe) for _ in sources]
for extension, source in zip(product.ext_modules, sources, strict=True):
    extension.name, extension.sources = f"featherstone_ros._{source.stem}", [str(source)]
product.run_commands()
