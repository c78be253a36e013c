"""The friction that ``featherstone-ros evaluate`` writes is what both nodes then have."""

import numpy as np
import pytest
import yaml
from support import Ros

pytest.importorskip("scipy")

from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.explanation import FITTED, explain
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.friction import fit
from featherstone_ros.model import Model
from featherstone_ros.tools.evaluate.report import parameter_file
from featherstone_ros.tools.evaluate.session import Evaluation
from featherstone_ros.tools.robot_setup import load

NODES = ["digital_twin", "feedforward_controller"]


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


@pytest.mark.parametrize("node", NODES)
def test_fitted_friction_is_loaded(ros: Ros, tmp_path, node):
    robot = load("panda")
    joints = robot.model.joint_names
    file = tmp_path / "friction.yaml"
    evaluation = evaluated(robot.model)
    file.write_text(parameter_file(evaluation))
    process = ros.start(
        f"featherstone_ros.{node}",
        {"robot_description": robot.text},
        "--params-file",
        str(file),
    )
    ros.wait_for_state(f"/{node}", "active")
    fitted = evaluation.drives
    for j, joint in enumerate(joints[:-1]):
        expected = {
            f"friction.{joint}.viscous": fitted.viscous[j],
            f"friction.{joint}.coulomb": fitted.coulomb[j],
            f"armature.{joint}": fitted.armature[j],
        }
        for name, value in expected.items():
            assert ros.get_parameter(f"/{node}", name) == pytest.approx(value, rel=1e-5), name
    # Nothing was seen of the last joint's friction: it keeps what it had, beside the offset.
    written = yaml.safe_load(file.read_text())["/**"]["ros__parameters"]
    assert set(written["armature"]) == set(joints[:-1])
    assert set(written["friction"][joints[-1]]) == {"offset"}
    for j, joint in enumerate(joints):
        offset = written["friction"][joint]["offset"]
        assert offset == pytest.approx(fitted.offset[j], rel=1e-5)
    process.stop()
