"""Parts of the compiled product one by one, for tests and benchmarks: built on the first import.

`_codec`, `_control_parts`, `_echo`, `_loop_clock` and `_timing` are made here of the product's own
sources, by the product's own recipe (build.py); anew whenever those have changed.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
SANITIZED = "FEATHERSTONE_SANITIZE" in os.environ  # as .ci/sanitized.py runs the tests
NAME = "tested_sanitized" if SANITIZED else "tested"
FOLDER = SOURCE / "build" / NAME / sys.implementation.cache_tag
SOURCES = [SOURCE / "setup.py", *HERE.glob("*.py*"), *(SOURCE / "cython_core").rglob("*.[hp]*")]


def build() -> None:
    """Compile what has changed, one process at a time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = FOLDER / "done"
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for path in SOURCES)
        if done.exists() and done.stat().st_mtime > newest:
            return
        # A compiler is not to run under the sanitizers.
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        command = [sys.executable, HERE / "build.py", FOLDER]
        subprocess.run(command, cwd=SOURCE, env=environment, check=True)
        done.touch()


for module in ("Cython", "setuptools"):
    pytest.importorskip(module)
if not shutil.which(os.environ.get("CC", "cc").split()[0]):
    pytest.skip("there is no C compiler", allow_module_level=True)
build()
__path__.append(str(FOLDER / "featherstone_ros"))
