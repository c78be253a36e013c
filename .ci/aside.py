"""Builds the compiled modules into a folder of their own; the ordinary build stays as it is."""

import os
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = "featherstone_ros"


def build_aside(folder, python, settings):
    """Compile what has changed with a Python and more of an environment, and link the rest."""
    command = [python, "setup.py", "-q", "build_ext", "-b", folder, "-t", folder / "temp"]
    subprocess.run(command, cwd=PROJECT, env={**os.environ, **settings}, check=True)
    for path in (PROJECT / PACKAGE).iterdir():
        link = folder / PACKAGE / path.name
        if path.suffix != ".so" and path.name != "__pycache__" and not link.is_symlink():
            link.symlink_to(path)
