"""Compiles the core with the oldest tools that are promised, and runs some of it.

Usage: python3 oldest.py FOLDER, of the virtual environment that it makes. The tools are those that
pyproject.toml and setup.py name, each at its lower bound: what Ubuntu Noble has. Without
optimisation, since compiled code is not what is in doubt; Cython's warnings are errors.
"""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

from aside import PROJECT, build_aside

TESTS = ("dynamics_arguments", "prescribed_motion", "model")  # most of what is asked of NumPy
NEWEST_PYTHON = (3, 12)  # for which there are wheels of the oldest NumPy


def lower_bounds():
    """Return the requirements that have a lower bound, at it; but for those of `make lint`."""
    text = "".join((PROJECT / name).read_text() for name in ("pyproject.toml", "setup.py"))
    found = dict(re.findall(r'"([a-z-]+)>=([\d.]+)"', text))
    return [f"{name}=={version}" for name, version in found.items() if name != "mypy"]


def main():
    """Make the environment, build, run the tests."""
    folder = Path(sys.argv[1]).absolute()
    if sys.version_info[:2] > NEWEST_PYTHON:
        print("featherstone_ros: not tried, the oldest NumPy has no wheels for this Python; "
              "make oldest PYTHON=python3.12")  # fmt: skip
        return
    python = folder / "bin" / "python"
    print(f"featherstone_ros: {', '.join(lower_bounds())}", flush=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    others = ["defusedxml", "pyyaml", "rich", "wheel"]
    subprocess.run([*pip, *lower_bounds(), *others], check=True)
    built = PROJECT / "build" / "oldest"
    settings = {
        "FEATHERSTONE_BUILD_FOR": "x86-64",
        "FEATHERSTONE_CFLAGS": "-O0 -w",
        "FEATHERSTONE_WERROR": "1",
    }
    build_aside(built, python, settings)
    unit = PROJECT / "test" / "unit"
    tests = [path for name in TESTS for path in unit.rglob(f"test_{name}.py")]
    environment = {**os.environ, "PYTHONPATH": str(built)}
    subprocess.run([python, "-m", "pytest", "-q", *tests], env=environment, check=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"featherstone_ros: with the oldest tools this failed: {error}")
