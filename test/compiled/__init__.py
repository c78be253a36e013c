"""Parts of the compiled product one by one, for tests and benchmarks: built on first use.

`codec`, `control_parts`, `cycle_calls`, `echo`, `loop_clock` and `timing` are made here of the
product's own sources, by the product's own recipe (build.py); anew whenever the content of those
has changed.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
SANITIZED = "FEATHERSTONE_SANITIZE" in os.environ  # as .ci/sanitized.py runs the tests
NAME = "tested_sanitized" if SANITIZED else "tested"
FOLDER = SOURCE / "build" / NAME / sys.implementation.cache_tag
SOURCES = [SOURCE / "setup.py", *HERE.glob("*.py*"), *(SOURCE / "cython_core").rglob("*.[hp]*")]


class Part:
    """A module that is compiled when something of it is first used."""

    def __init__(self, name: str) -> None:
        self.name = f"{__name__}._{name}"

    def module(self) -> ModuleType:
        build()
        return import_module(self.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks for these when it collects
            raise AttributeError(name)
        return getattr(self.module(), name)


codec, control_parts, cycle_calls, echo, loop_clock, timing = map(
    Part, ("codec", "control_parts", "cycle_calls", "echo", "loop_clock", "timing")
)


@cache
def build() -> None:
    """Compile what has changed, one process at a time."""
    for module in ("Cython", "setuptools"):
        pytest.importorskip(module)
    if not shutil.which(os.environ.get("CC", "cc").split()[0]):
        pytest.skip("there is no C compiler")
    __path__.append(str(FOLDER / "featherstone_ros"))
    FOLDER.mkdir(parents=True, exist_ok=True)
    done, sources = FOLDER / "done", b"".join(path.read_bytes() for path in sorted(SOURCES))
    content = hashlib.sha256(sources).hexdigest()
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists() and done.read_text() == content:
            return
        # A compiler is not to run under the sanitizers.
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        command = [sys.executable, HERE / "build.py", FOLDER]
        subprocess.run(command, cwd=SOURCE, env=environment, check=True)
        done.write_text(content)
