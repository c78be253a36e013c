"""The compiled core, in the build that suits this CPU best.

There is one for each of several x86-64 instruction sets, from the same source. The environment
variable FEATHERSTONE_INSTRUCTION_SET names one to take instead, e.g. to compare them.
"""

import importlib
import importlib.util
import os
import platform

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
_compiled = importlib.import_module(_module(instruction_set))
lanes: int = _compiled.states_per_register
BoundDynamics = _compiled.BoundDynamics
CompiledModel = _compiled.CompiledModel
Dynamics = _compiled.Dynamics
Simulator = _compiled.Simulator
difference_of = _compiled.difference_of
get_num_threads = _compiled.get_num_threads
integrated = _compiled.integrated
presliding_states = _compiled.presliding_states
release_time: float = _compiled.release_time
set_num_threads = _compiled.set_num_threads
