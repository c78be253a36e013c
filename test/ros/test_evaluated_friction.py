"""The friction that ``featherstone-ros evaluate`` writes is what both nodes then have."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.explanation import FITTED, explain
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.friction import fit
from featherstone_ros.model import Model
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.tools.evaluate.evaluation import Evaluation
from featherstone_ros.tools.evaluate.report import parameter_file
from featherstone_ros.tools.robot_setup import load


def evaluated(model: Model) -> Evaluation:
    """Fit friction to joints that slide; the last one rests, the first one has a light drive."""
    random = np.random.default_rng(7)
    n = model.n
    velocity, acceleration = random.normal(size=(2, 200, n))
    velocity[:, -1] = 0.0
    sliding = np.tanh(velocity / 0.02)
    moves = velocity, acceleration, sliding, velocity, sliding, sliding
    motion = SmoothMotion(np.arange(200) * 0.01, 0 * velocity, *moves)
    torque = 0.3 * velocity + np.linspace(0.5, 2, n) * sliding + 0.1
    torque += np.linspace(1e-7, 1, n) * acceleration
    friction = fit(motion, torque, armature=True, physical=True)
    return Evaluation(
        source="bag",
        arm=Arm(model, friction.drives),
        judged=tuple(range(n)),
        motion=motion,
        cut_off=2.0,
        explanations=(explain(FITTED, torque, friction.torque(motion)),),
        fitted=friction,
    )


def test_fitted_friction_is_what_both_nodes_read(tmp_path):
    """As ROS reads such files: test_node_parameters.py, test_setup_file.py."""
    model = load("panda").model
    file, evaluation = tmp_path / "friction.yaml", evaluated(model)
    file.write_text(parameter_file(evaluation))
    fitted, *judged, last = evaluation.drives, *model.joint_names
    for node in ("digital_twin", "feedforward_controller"):
        values = read_parameters(file)[node]
        for j, joint in enumerate(judged):
            assert values[f"friction.{joint}.viscous"] == pytest.approx(fitted.viscous[j], rel=1e-5)
            assert values[f"friction.{joint}.coulomb"] == pytest.approx(fitted.coulomb[j], rel=1e-5)
            assert values[f"armature.{joint}"] == pytest.approx(fitted.armature[j], rel=1e-5)
        for joint, offset in zip(model.joint_names, fitted.offset, strict=True):
            assert values[f"friction.{joint}.offset"] == pytest.approx(offset, rel=1e-5)
        # Nothing was seen of the last joint's friction: it keeps what it had, beside the offset.
        assert [name for name in values if last in name] == [f"friction.{last}.offset"]
