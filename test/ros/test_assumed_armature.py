"""An arm that cannot be held without inertia of its drives: both nodes assume the same."""

from support import Ros  # skips this module where ROS is missing
from urdf_text import geared_arm

# isort: split
from rig import Rig

from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.model import Model

URDF = geared_arm()
CONTROLLER, TWIN = "feedforward_controller", "digital_twin"
ASSUMED = float(assumed_armature(Model.from_urdf(URDF))[0])


def start(ros: Ros, **parameters):
    twin = {"initial_positions.outer": 0.3, "rate": 500.0, **parameters}
    rig = Rig(ros, URDF, twin=twin, controller=parameters)
    return {TWIN: rig.twin, CONTROLLER: rig.controller}


def armature(ros: Ros, node: str) -> list[float]:
    return [ros.get_parameter(f"/{node}", f"armature.{joint}") for joint in ("inner", "outer")]


def test_with_nothing_set_it_is_held_on_an_assumption_that_both_nodes_tell(ros):
    nodes = start(ros)
    assert ros.status("running: hold", CONTROLLER).level == b"\0"
    for name, node in nodes.items():
        assert armature(ros, name) == [ASSUMED, 0.0]
        assert f"Assumed: armature.inner {ASSUMED:.3g};" in node.output
        ros.status("", name, **{"armature assumed": f"armature.inner {ASSUMED:.3g}"})


def test_what_is_set_counts_and_is_not_called_an_assumption(ros):
    nodes = start(ros, **{"armature.inner": 0.02, "armature.outer": 0.01})
    for name, node in nodes.items():
        ros.status("", name, **{"armature assumed": "none"})
        assert armature(ros, name) == [0.02, 0.01]
        assert "Assumed" not in node.output
