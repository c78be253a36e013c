"""The instruction sets that the core may be built for, and what a CPU needs for each.

setup.py runs this file by itself, before the package can be imported.
"""

import functools

# What a CPU must have, in Linux's words (the levels of the x86-64 ABI); best first.
V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
NEEDS = {"x86-64-v4": V4, "x86-64-v3": V3, "x86-64": set(), "x86-64-v3-8": V3, "generic": set()}


def lacking(name: str) -> list[str]:
    """Return what this CPU lacks of an instruction set."""
    return sorted(NEEDS[name] - _cpu_flags())


@functools.cache
def _cpu_flags() -> set[str]:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(set(line.split()) for line in lines if line.startswith("flags"))
    except (OSError, StopIteration):
        return set()
