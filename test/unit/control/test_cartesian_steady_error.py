"""Where the hand comes to rest without any force on it: the controller and the twin's friction.

As a program it prints the table of docs/cartesian.md.
"""

from itertools import product

import numpy as np
import pytest
from arm_scene import TIPS, Scene, hand, load, play
from scipy.spatial.transform import Rotation
from studies import few_or_all

from featherstone_ros import Dynamics
from featherstone_ros.control.phases import Phase
from featherstone_ros.kinematics import pose_error
from featherstone_ros.parameter import of_joints

STEP = 1e-3
REST = 8.0  # [s] in which the slowest motion of the null space dies out
STIFFNESS = np.array([400.0] * 3 + [30.0] * 3)


def rests(robot, dry, times=1.0, period=STEP, targets=2, **parameters):
    """Lead a hand to targets about its start; yield where it comes to rest off each, and the most

    by which dry friction keeps it off (6,): K e = Jbar^T f, |f| <= F_c. All of its drives' friction
    is known; ``dry`` is the share of its dry friction.
    """
    setup, stiffness, random = load(robot), times * STIFFNESS, np.random.default_rng(1)
    joints, coulomb = setup.model.joint_names, dry * setup.drives.coulomb
    parameters |= of_joints("friction.{}.coulomb", joints, coulomb)
    parameters |= of_joints("friction.{}.offset", joints, 0.02 * setup.model.effort_limit)
    parameters |= {"mode": "cartesian_impedance", "tip": TIPS[robot], "stiffness": stiffness}
    loop = play(Scene(robot, {}, 0.1, None, parameters, period=period, delay=0.0)).loop
    dynamics, start = Dynamics(setup.model), hand(loop)
    for _ in range(targets):
        target = start.copy()
        target[:3, 3] += random.uniform(-0.1, 0.1, 3)
        turn = Rotation.from_rotvec(random.uniform(-0.2, 0.2, 3))
        target[:3, :3] = turn.as_matrix() @ target[:3, :3]
        loop.controller.set_target(loop.now, target)
        assert np.isfinite(loop.advance(REST).command).all(), loop.controller.rejection
        assert loop.controller.phase is Phase.HOLDING
        inertia = dynamics.crba(loop.plant.q) + np.diag(setup.drives.armature)
        J = dynamics.jacobian(loop.plant.q, TIPS[robot])
        Jbar = np.linalg.solve(inertia, J.T) @ np.linalg.inv(J @ np.linalg.solve(inertia, J.T))
        yield pose_error(hand(loop), target), np.abs(Jbar).T @ coulomb / stiffness


@pytest.mark.parametrize(
    ("robot", "axes"),
    few_or_all([("ur5e", "tip")], product(TIPS, ["base", "tip"])),
)
def test_without_dry_friction_the_target_is_reached(robot, axes):
    for error, _ in rests(robot, dry=0.0, period=4 * STEP, stiffness_frame=axes):
        assert np.linalg.norm(error[:3]) < 1e-4
        assert np.linalg.norm(error[3:]) < 5e-4


@pytest.mark.parametrize("times", few_or_all([1.0], [0.5, 1.0, 4.0]))
@pytest.mark.parametrize("robot", few_or_all(["panda"], TIPS))
def test_dry_friction_leaves_what_its_torque_is_over_the_stiffness(robot, times):
    """Compensated along the desired velocity, it is not compensated at rest."""
    for error, most in rests(robot, dry=1.0, times=times, period=4 * STEP):
        assert (np.abs(error) < most).all()
        assert np.linalg.norm(error[:3]) > 1e-4 / times


def table(targets=20):
    """Yield lines of Markdown: what dry friction leaves [mm, mrad]."""
    yield "| arm | stiffness [N/m, N m/rad] | may leave, on an axis | median | largest |"
    yield "|---|---|---|---|---|"
    for robot in TIPS:
        for times in (0.5, 1.0, 2.0, 4.0):
            errors, most = [], np.zeros(6)
            for error, of_friction in rests(robot, 1.0, times, targets=targets):
                errors.append([np.linalg.norm(error[:3]), np.linalg.norm(error[3:])])
                most = np.maximum(most, of_friction)
            columns = [[most[:3].max(), most[3:].max()], np.median(errors, 0), np.max(errors, 0)]
            figures = [f"{1e3 * mm:.1f} mm, {1e3 * mrad:.0f} mrad" for mm, mrad in columns]
            yield f"| {robot} | {times * 400:.0f}, {times * 30:.0f} | " + " | ".join(figures) + " |"


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
