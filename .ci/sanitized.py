"""Runs Python with the compiled modules under AddressSanitizer and UBSan.

Usage: sanitized.py ARGUMENTS... of python, e.g. `-m pytest test/unit`. The modules are compiled
anew, for the instruction set that the ordinary build takes here, into a folder of their own. The
first error ends the process, with status 99 or by signal 6, and a report of where it is.
"""

import os
import subprocess
import sys

from aside import PACKAGE, PROJECT, build_aside

FOLDER = PROJECT / "build" / "sanitized"
COMPILER = (os.environ.get("CC") or "cc").split()[0]
# Python leaks on purpose at its end. malloc returns NULL when memory is out, as without sanitizers.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:exitcode=99:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",  # CPython's own allocator would hide accesses beyond an object's end
}


def instruction_set() -> str:
    """Return the one that the ordinary build takes on this machine, as setup.py names it."""
    code = f"from {PACKAGE} import _core; print(_core.instruction_set)"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return said.stdout.strip().replace("-", "_")


def runtime(name: str) -> str:
    """Return the path of a library of the sanitizers."""
    command = [COMPILER, f"-print-file-name={name}"]
    path = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"featherstone_ros: {COMPILER} has no {name} (Debian, Ubuntu: apt install gcc)")
    return path


def main() -> None:
    """Build, then become the Python that was asked for."""
    libraries = f"{runtime('libasan.so')} {runtime('libubsan.so')}"
    settings = {"FEATHERSTONE_SANITIZE": "1", "FEATHERSTONE_BUILD_FOR": instruction_set()}
    build_aside(FOLDER, sys.executable, settings)
    environment = {
        **os.environ,
        **settings,
        **OPTIONS,
        "LD_PRELOAD": libraries,
        "PYTHONPATH": str(FOLDER),
    }
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environment)  # noqa: S606


if __name__ == "__main__":
    main()
