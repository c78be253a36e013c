"""Runs tests on ARM64: with Debian's Python for it, under qemu, on the wheel that wheels.py made.

Usage: python3 arm64.py FOLDER ARGUMENTS... of pytest; FOLDER is that of wheels.py.

Without ROS, which has no wheels for ARM64; tests skip by name what is not there.
"""

import os
import subprocess
import sys
from pathlib import Path

from wheels import ARM64, DIST, PROJECT, unpack

PYTHON = "3.11"  # Debian 12's
DEBIAN = (
    "libbz2-1.0", "libc6", "libcrypt1", "libexpat1", "libffi8", "libgcc-s1", "libgomp1", "liblzma5",
    "libpython3.11-minimal", "libpython3.11-stdlib", "libsqlite3-0", "libssl3", "libstdc++6",
    "libuuid1", "python3.11-minimal", "zlib1g",
)  # fmt: skip
PACKAGES = ("defusedxml", "hypothesis", "numpy", "pin", "pytest", "pytest-timeout",
            "pyyaml", "rich", "scipy", "xacro")  # fmt: skip


def install(folder, *what):
    """Put wheels for ARM64 into a folder; needs no Python for it."""
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    command += ["--target", folder, "--upgrade", "--only-binary", ":all:", "--no-compile"]
    command += ["--python-version", PYTHON, "--implementation", "cp"]
    for version in ("2_28", "2_17"):
        command += ["--platform", f"manylinux_{version}_{ARM64}"]
    subprocess.run([*command, *what], check=True)


def main():
    """Make a system for ARM64 in folders, and run the tests in it."""
    tools = Path(sys.argv[1]).absolute()
    system, packages = tools / "debian-12-aarch64", tools / "packages-aarch64"
    qemu = tools / "qemu"
    unpack(system, "bookworm", ARM64, DEBIAN)
    unpack(qemu, "bookworm", os.uname().machine, ["qemu-user-static"])
    if not packages.exists():
        install(packages, *PACKAGES)
    (wheel,) = DIST.glob(f"*-cp{PYTHON.replace('.', '')}-*{ARM64}.whl")
    package = tools / "wheel-aarch64"
    install(package, "--no-deps", wheel)
    python = [qemu / "usr/bin/qemu-aarch64-static", "-L", system, system / "usr/bin/python3.11"]
    pinocchio = packages / "cmeel.prefix" / "lib" / f"python{PYTHON}" / "site-packages"
    paths = os.pathsep.join(map(str, (package, packages, pinocchio)))
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    arguments = sys.argv[2:] or ["test/unit"]
    done = subprocess.run([*python, "-m", "pytest", "-q", *arguments], cwd=PROJECT, env=environment)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"featherstone_ros: no tests on ARM64, since this failed: {error}"
        ) from None
