"""The instruction sets that the core is built for, and which one this process uses."""

import os
from collections.abc import Mapping

import featherstone_ros as fr

VARIABLE = "FEATHERSTONE_INSTRUCTION_SET"
NAMES = {"x86-64": "SSE2, 2 lanes", "x86-64-v3": "AVX2, 4 lanes", "x86-64-v4": "AVX-512, 8 lanes"}


def in_use() -> str:
    """Return what the core that was imported is compiled for."""
    return fr._core.instruction_set


def forcing(name: str) -> Mapping[str, str]:
    """Return the environment of a process that shall use this one."""
    return os.environ | {VARIABLE: name}
