"""two_arms.launch.py: both controllers hold their arm of one twin."""

import sys
import tempfile
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticStatus
from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from support import status_values

sys.path.append(str(Path(__file__).parents[1] / "unit"))
from arm_pair import JOINTS, PANDAS, TIPS


def generate_test_description():
    urdf = Path(tempfile.mkdtemp()) / "pandas.urdf"
    urdf.write_text(PANDAS)
    return describe(
        "two_arms",
        robot=str(urdf),
        mode="cartesian_impedance",
        left_joints=" ".join(JOINTS["left"]),
        left_tip=TIPS["left"],
        right_joints=" ".join(JOINTS["right"]),
        right_tip=TIPS["right"],
    )


class TwoArms(WhileRunning):
    def test_both_are_held(self):
        for node in ("left_controller", "right_controller", "digital_twin"):
            status = self.ros.wait_for_diagnostics(
                lambda s, node=node: s.name == node and s.level == DiagnosticStatus.OK, node
            )
        self.assertEqual(status_values(status)["brakes"], "off")
        for arm in JOINTS:
            joints = self.ros.get_parameter(f"/{arm}_controller", "joints")
            self.assertEqual(list(joints), JOINTS[arm])
