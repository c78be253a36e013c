"""The compiled core, in the build that suits this CPU best.

There is one for each of several x86-64 instruction sets, from the same source. The environment
variable FEATHERSTONE_INSTRUCTION_SET names one to take instead, e.g. to compare them.
"""

import importlib
import importlib.util
import os
import platform
from typing import Any

from featherstone_ros.instruction_sets import NEEDS, lacking


def built() -> list[str]:
    """Return the instruction sets for which there is a build, for this Python."""
    return [name for name in NEEDS if importlib.util.find_spec(_module(name))]


def supported() -> list[str]:
    """Return those of them that this CPU has, best first."""
    return [name for name in built() if not lacking(name)]


def _module(name: str) -> str:
    return "featherstone_ros._core_" + name.replace("-", "_")


def _choose() -> str:
    """Return the instruction set to use.

    Raises:
        ImportError: The one asked for is not built or not this CPU's, or none is.
    """
    usable = supported()
    wanted = os.environ.get("FEATHERSTONE_INSTRUCTION_SET", "").replace("_", "-")
    if not usable:
        raise ImportError(
            f"featherstone_ros: no compiled core for this {platform.machine()} CPU beside "
            f"{__file__} (built: {', '.join(built()) or 'none'}); "
            "compile it: python setup.py build_ext --inplace"
        )
    if wanted and wanted not in usable:
        reason = "it is not built"
        if wanted in built():
            reason = f"this CPU lacks {', '.join(lacking(wanted))}"
        raise ImportError(
            f"FEATHERSTONE_INSTRUCTION_SET is {wanted!r}, but {reason}; "
            f"expected one of {', '.join(usable)}"
        )
    return wanted or usable[0]


instruction_set = _choose()
_OF_THE_BUILD = {  # by their names in it
    name: name
    for name in (
        *("BoundDynamics", "CompiledModel", "Dynamics", "Simulator", "difference_of"),
        *("get_num_threads", "integrated", "presliding_states", "release_time"),
        "set_num_threads",
    )
} | {"lanes": "states_per_register"}


def __getattr__(name: str) -> Any:
    """Load the build when something of it is first asked for."""
    if name not in _OF_THE_BUILD:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    build = importlib.import_module(_module(instruction_set))
    globals().update({own: getattr(build, its) for own, its in _OF_THE_BUILD.items()})
    return globals()[name]
