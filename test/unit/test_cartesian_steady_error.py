"""Where the hand comes to rest without any force on it: the controller and the twin's friction.

As a program it prints the table of docs/cartesian.md.
"""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from studies import few_or_all

from featherstone_ros import Dynamics
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode, Settings
from featherstone_ros.control.torque_governor import default_torque_rate
from featherstone_ros.kinematics import pose_error
from featherstone_ros.simulation.settings import TwinSettings
from featherstone_ros.simulation.twin import Twin
from featherstone_ros.tools.robot_setup import load

TIPS = {"panda": "panda_hand", "ur5e": "tool0"}
STEP = 1e-3
REST = 8.0  # [s] in which the slowest motion of the null space dies out
TARGETS = 3
STIFFNESS = np.array([400.0] * 3 + [30.0] * 3)


class Scene:
    """A twin with all of its drives' friction, and the controller that compensates it."""

    def __init__(self, robot: str, dry: float, stiffness=STIFFNESS, **settings):
        setup = load(robot)
        self.stiffness = stiffness
        self.model, self.tip = setup.model, TIPS[robot]
        self.dynamics = Dynamics(self.model)
        self.coulomb, viscous, armature = (
            setup.by_joint("digital_twin", name)
            for name in ("friction.{}.coulomb", "friction.{}.viscous", "armature.{}")
        )
        offset = 0.02 * self.model.effort_limit
        friction = {"viscous": viscous, "offset": offset, "armature": armature}
        self.twin = Twin(
            self.model,
            TwinSettings(initial_positions=setup.start, coulomb=dry * self.coulomb, **friction),
        )
        zero = np.zeros(self.model.n)
        self.controller = TorqueController(
            JointSpace.of(self.model),
            self.model,
            Settings(
                p=zero,
                d=zero,
                damping=zero,
                coulomb=dry * self.coulomb,
                effort_limit=self.model.effort_limit,
                torque_rate=default_torque_rate(self.model.effort_limit),
                mode=Mode.CARTESIAN_IMPEDANCE,
                impedance=prepared(CartesianSettings(stiffness=stiffness, **settings), self.model),
                **friction,
            ),
            tip=self.tip,
        )
        self.now = 100.0
        self.controller.activate(self.now)

    @property
    def pose(self):
        return self.dynamics.link_pose(self.twin.position, self.tip)

    def rest(self, duration):
        for _ in range(round(duration / STEP)):
            self.now += STEP
            self.twin.advance(self.now)
            q, qd = np.array(self.twin.position), np.array(self.twin.velocity)
            command = self.controller.accept_state(self.now, q, qd)
            assert command is not None, self.controller.rejection
            self.twin.command(command, self.now)

    def errors(self, targets=TARGETS):
        """Go to targets about the start; return where the hand comes to rest off each."""
        random = np.random.default_rng(1)
        self.rest(0.1)
        start = self.pose
        for _ in range(targets):
            target = start.copy()
            target[:3, 3] += random.uniform(-0.1, 0.1, 3)
            turn = Rotation.from_rotvec(random.uniform(-0.2, 0.2, 3))
            target[:3, :3] = turn.as_matrix() @ target[:3, :3]
            self.controller.set_target(self.now, target)
            self.rest(REST)
            assert self.controller.phase is Phase.HOLDING
            yield pose_error(self.pose, target)

    def left_by_dry_friction(self):
        """The most by which dry friction keeps the hand off (6,): K e = Jbar^T f, |f| <= F_c."""
        q = np.array(self.twin.position)
        inertia = self.dynamics.crba(q) + np.diag(self.twin.settings.armature)
        J = self.dynamics.jacobian(q, self.tip)
        Jbar = np.linalg.solve(inertia, J.T) @ np.linalg.inv(J @ np.linalg.solve(inertia, J.T))
        return np.abs(Jbar).T @ self.coulomb / self.stiffness


@pytest.mark.parametrize(
    ("robot", "axes"),
    few_or_all([("panda", "base"), ("ur5e", "tip")], product(TIPS, ["base", "tip"])),
)
def test_without_dry_friction_the_target_is_reached(robot, axes):
    for error in Scene(robot, dry=0.0, axes=axes).errors():
        assert np.linalg.norm(error[:3]) < 1e-4
        assert np.linalg.norm(error[3:]) < 5e-4


@pytest.mark.parametrize("times", few_or_all([1.0], [0.5, 1.0, 4.0]))
@pytest.mark.parametrize("robot", TIPS)
def test_dry_friction_leaves_what_its_torque_is_over_the_stiffness(robot, times):
    """Compensated along the desired velocity, it is not compensated at rest."""
    scene = Scene(robot, dry=1.0, stiffness=times * STIFFNESS)
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
