"""Where the hand comes to rest without any force on it: the controller and the twin's friction.

As a program it prints the table of docs/cartesian.md.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from studies import few_or_all

from featherstone_ros import Dynamics
from featherstone_ros.control.phases import Phase
from featherstone_ros.kinematics import pose_error
from featherstone_ros.parameter import of_joints
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.robot_setup import load

TIPS = {"panda": "panda_hand", "ur5e": "tool0"}
STEP = 1e-3
REST = 8.0  # [s] in which the slowest motion of the null space dies out
TARGETS = 2
STIFFNESS = np.array([400.0] * 3 + [30.0] * 3)


class Scene:
    """A simulated arm with all of its drives' friction, and the controller that compensates it."""

    def __init__(self, robot: str, dry: float, stiffness=STIFFNESS, period=STEP, **parameters):
        setup = load(robot)
        self.stiffness = stiffness
        self.model, self.tip = setup.model, TIPS[robot]
        self.dynamics = Dynamics(self.model)
        self.drives = replace(
            setup.drives, coulomb=dry * setup.drives.coulomb, offset=0.02 * self.model.effort_limit
        )
        joints = self.model.joint_names
        arm = setup.arm.with_parameters(
            of_joints("friction.{}.coulomb", joints, self.drives.coulomb),
            **of_joints("friction.{}.offset", joints, self.drives.offset),
            mode="cartesian_impedance", tip=self.tip, stiffness=stiffness, **parameters,
        )  # fmt: skip
        self.arm = SimulatedArm.of(self.model, self.drives, setup.start)
        self.loop = ClosedLoop(arm, self.arm, delay=0.0, period=period)
        self.controller = self.loop.controller

    @property
    def pose(self):
        return self.dynamics.link_pose(self.arm.q, self.tip)

    def errors(self, targets=TARGETS):
        """Go to targets about the start; return where the hand comes to rest off each."""
        random = np.random.default_rng(1)
        self.loop.advance(0.1)
        start = self.pose
        for _ in range(targets):
            target = start.copy()
            target[:3, 3] += random.uniform(-0.1, 0.1, 3)
            turn = Rotation.from_rotvec(random.uniform(-0.2, 0.2, 3))
            target[:3, :3] = turn.as_matrix() @ target[:3, :3]
            self.controller.set_target(self.loop.now, target)
            record = self.loop.advance(REST)
            assert np.isfinite(record.command).all(), self.controller.rejection
            assert self.controller.phase is Phase.HOLDING
            yield pose_error(self.pose, target)

    def left_by_dry_friction(self):
        """The most by which dry friction keeps the hand off (6,): K e = Jbar^T f, |f| <= F_c."""
        q = self.arm.q
        inertia = self.dynamics.crba(q) + np.diag(self.drives.armature)
        J = self.dynamics.jacobian(q, self.tip)
        Jbar = np.linalg.solve(inertia, J.T) @ np.linalg.inv(J @ np.linalg.solve(inertia, J.T))
        return np.abs(Jbar).T @ self.drives.coulomb / self.stiffness


@pytest.mark.parametrize(
    ("robot", "axes"),
    few_or_all([("ur5e", "tip")], product(TIPS, ["base", "tip"])),
)
def test_without_dry_friction_the_target_is_reached(robot, axes):
    for error in Scene(robot, dry=0.0, period=4 * STEP, stiffness_frame=axes).errors():
        assert np.linalg.norm(error[:3]) < 1e-4
        assert np.linalg.norm(error[3:]) < 5e-4


@pytest.mark.parametrize("times", few_or_all([1.0], [0.5, 1.0, 4.0]))
@pytest.mark.parametrize("robot", few_or_all(["panda"], TIPS))
def test_dry_friction_leaves_what_its_torque_is_over_the_stiffness(robot, times):
    """Compensated along the desired velocity, it is not compensated at rest."""
    scene = Scene(robot, dry=1.0, stiffness=times * STIFFNESS, period=4 * STEP)
    for error in scene.errors():
        assert (np.abs(error) < scene.left_by_dry_friction()).all()
        assert np.linalg.norm(error[:3]) > 1e-4 / times


def table(targets=20):
    """Yield lines of Markdown: what dry friction leaves [mm, mrad]."""
    yield "| arm | stiffness [N/m, N m/rad] | may leave, on an axis | median | largest |"
    yield "|---|---|---|---|---|"
    for robot in TIPS:
        for times in (0.5, 1.0, 2.0, 4.0):
            scene = Scene(robot, dry=1.0, stiffness=times * STIFFNESS)
            errors, most = [], np.zeros(6)
            for error in scene.errors(targets):
                errors.append([np.linalg.norm(error[:3]), np.linalg.norm(error[3:])])
                most = np.maximum(most, scene.left_by_dry_friction())
            columns = [[most[:3].max(), most[3:].max()], np.median(errors, 0), np.max(errors, 0)]
            figures = [f"{1e3 * mm:.1f} mm, {1e3 * mrad:.0f} mrad" for mm, mrad in columns]
            yield f"| {robot} | {times * 400:.0f}, {times * 30:.0f} | " + " | ".join(figures) + " |"


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
