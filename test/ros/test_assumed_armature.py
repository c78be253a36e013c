"""An arm that cannot be held without inertia of its drives: both nodes assume the same."""

import pytest
import support  # noqa: F401  (skips this module where ROS is missing)
from urdf_text import geared_arm

# isort: split
from rig import Rig

from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.model import Model

URDF = geared_arm()
CONTROLLER, TWIN = "feedforward_controller", "digital_twin"
ASSUMED = float(assumed_armature(Model.from_urdf(URDF))[0])


NOTHING_SET = {}, [ASSUMED, 0.0], f"armature.inner {ASSUMED:.3g}"
SET = {"armature.inner": 0.02, "armature.outer": 0.01}


@pytest.mark.parametrize(
    ("parameters", "armature", "told"), [NOTHING_SET, (SET, list(SET.values()), "none")]
)
def test_an_arm_is_held_on_what_is_set_else_on_an_assumption_that_both_nodes_tell(
    ros, parameters, armature, told
):
    twin = {"initial_positions.outer": 0.3, "rate": 500.0, **parameters}
    rig = Rig(ros, URDF, twin=twin, controller=parameters)
    assert ros.status("running: hold", CONTROLLER).level == b"\0"
    for node, process in ((TWIN, rig.twin), (CONTROLLER, rig.controller)):
        joints = (
            ros.get_parameter(f"/{node}", f"armature.{joint}") for joint in ("inner", "outer")
        )
        assert list(joints) == armature
        ros.status("", node, **{"armature assumed": told})
        assert (f"Assumed: armature.inner {ASSUMED:.3g};" in process.output) != bool(parameters)
