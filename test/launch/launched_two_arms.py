"""two_arms.launch.py: both controllers hold their arm of one twin, whatever the URDF."""

import json
import sys
import tempfile
from pathlib import Path

import launch_testing
from diagnostic_msgs.msg import DiagnosticStatus
from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from support import status_values

sys.path.append(str(Path(__file__).parents[1] / "unit"))
from arm_pair import PAIRS


@launch_testing.parametrize("pair", PAIRS)
def generate_test_description(pair):
    text, joints, tips, start = PAIRS[pair]
    urdf = Path(tempfile.mkdtemp()) / "arms.urdf"
    urdf.write_text(text)
    parameters = urdf.with_suffix(".yaml")
    initial = {f"initial_positions.{joint}": q for joint, q in start.items()}
    parameters.write_text(
        json.dumps({"/**/digital_twin": {"ros__parameters": {"rate": 250.0} | initial}})
    )
    return describe(
        "two_arms",
        robot=str(urdf),
        parameters=str(parameters),
        mode="cartesian_impedance",
        **{f"{arm}_joints": " ".join(joints[arm]) for arm in joints},
        **{f"{arm}_tip": tip for arm, tip in tips.items()},
    )


class TwoArms(WhileRunning):
    def test_both_are_held(self, pair):
        for node in ("left_controller", "right_controller", "digital_twin"):
            status = self.ros.wait_for_diagnostics(
                lambda s, node=node: s.name == node and s.level == DiagnosticStatus.OK, node
            )
        self.assertEqual(status_values(status)["brakes"], "off")
        for arm, expected in PAIRS[pair].joints.items():
            joints = self.ros.get_parameter(f"/{arm}_controller", "joints")
            self.assertEqual(list(joints), expected)
