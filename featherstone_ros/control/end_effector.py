"""Whether the end effector has reached its target, and if not, what keeps it.

At rest something balances the torque J^T K e of its spring: dry friction, a joint's stop, a
contact, which mode admittance measures. If nothing does although it is away, no motion of the
joints leads it that way.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros._control import ARRIVED_AT, ARRIVED_TURNED, EFFORT, SnapshotRequest
from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import DELAY_MARGIN, unsoftened
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.kinematics import pose_error
from featherstone_ros.model import Model

MIN_ERROR = np.array([0.002, np.radians(0.5)])  # [m, rad] off that always counts as there
MAX_ERROR = np.array([0.01, np.radians(2.0)])  # that never does, whatever dry friction explains
STICKS = 1.3  # friction over the known one
NEAR = (ARRIVED_AT, ARRIVED_TURNED)  # from the target: there the desired pose counts as there
MOVES = 1e-3  # [rad/s, m/s] of a joint: the end effector is on its way
SINGULAR = 0.1  # of the spring's torque, relative to its largest in any direction
MARGIN, MARGIN_SHARE = 0.1, 0.05  # [rad, m] and share of the range from a limit that are at it
WEIGHT = 0.84  # that gravity alone takes, where the spring may hardly raise it: the same, rule 15
SOFTENED = 0.9  # share of the spring's stiffness below which its softening is a cause
PRESSED = 0.5  # of the spring's largest torque, with which it presses a joint on its limit


class EndEffectorArrival:
    """Judges the end effector of one arm."""

    def __init__(self, model: Model, tip: str, offset: Floats) -> None:
        """Take the arm, and the pose (4, 4) of the end effector's frame in the tip's."""
        self._model, self._tip, self._offset = model, tip, offset

    def look(
        self, moment: SnapshotRequest, settings: ControllerSettings, dynamics: Dynamics
    ) -> str | None:
        """Return how far the end effector is from its target and why.

        Empty if it has arrived; None if it is on its way, or a commanded wrench moves it.
        """
        (error, remaining, wrench, _), q = moment.end_effector, moment.q
        law = settings.impedance
        moves = (np.abs(moment.desired[1]) > MOVES).any()
        if law is None or wrench.any() or (distance(remaining) > NEAR).any() or moves:
            return None
        there = dynamics.link_pose(q, self._tip) @ self._offset
        R = np.kron(np.eye(2), there[:3, :3] if law["tip_axes"] else np.eye(3))
        root = np.sqrt(np.asarray(law["stiffness"], dtype=np.float64))
        e = np.where(root > 0.0, R.T @ (error + remaining), 0.0)
        # What dry friction, a contact or a wrong model must balance, since the arm stands.
        left = moment.command - settings.drives.offset
        if not settings.hardware_adds_gravity:
            left = left - moment.gravity
        sticks = bool((np.abs(left) <= STICKS * settings.drives.coulomb).all())
        sticks &= not settings.mode.has_virtual_arm  # the virtual arm has no friction
        bound, away = MAX_ERROR if sticks else MIN_ERROR, distance(e)
        if (away <= bound).all():
            return ""
        J = root[:, None] * (R.T @ end_effector_jacobian(dynamics, q, self._tip, self._offset))
        reason = self._reason(J, pull(e, root, law["max_wrench"]), moment, settings, sticks)
        if moment.spring_left < SOFTENED:
            reason = f"{self._softened(moment.spring_left, settings)}; besides, {reason}"
        return f"{off_text(away, 'its target', bound)}: {reason}"

    def compare(self, goal: Floats, q: Floats, dynamics: Dynamics) -> str:
        """Return how far the end effector is from where it was to stand; empty if it is there.

        ``goal``, ``q``: (n,) where the joints were to stand, and do; others may lead it there, too.
        """
        there, here = (dynamics.link_pose(at, self._tip) @ self._offset for at in (goal, q))
        away = distance(pose_error(here, there))
        return (
            "" if (away <= MAX_ERROR).all() else off_text(away, "where it was to stand", MAX_ERROR)
        )

    def _reason(
        self,
        J: Floats,
        force: Floats,
        moment: SnapshotRequest,
        settings: ControllerSettings,
        sticks: bool,
    ) -> str:
        """Return what keeps the end effector from where its spring pulls it.

        J (6, n) and the spring's force (6,) are times and over the square root of the stiffness:
        both are then in the square root of energy, which metres and radians share. ``sticks``: dry
        friction explains that the arm stands.
        """
        model, torque, q, sensed = self._model, J.T @ force, moment.q, moment.end_effector[3]
        margin = np.minimum(MARGIN_SHARE * (model.upper - model.lower), MARGIN)
        above, below = q > model.upper - margin, q < model.lower + margin
        pressed = np.where(above, torque, 0.0) - np.where(below, torque, 0.0)
        joint = int(np.argmax(pressed))
        driven = not settings.mode.has_virtual_arm
        weight = np.abs(moment.gravity) / settings.effort_limit
        if driven and weight.max() > WEIGHT:
            return self._no_harder(int(np.argmax(weight)), settings)
        if np.linalg.norm(torque) < SINGULAR * np.linalg.norm(force) * np.linalg.norm(J, 2):
            return "singular posture or out of reach, no motion of the joints leads it there"
        if pressed[joint] > PRESSED * np.abs(torque).max():
            limit = model.upper[joint] if above[joint] else model.lower[joint]
            return f"{model.joint_names[joint]} is at its limit ({q[joint]:.3g} of {limit:.3g})"
        if sensed.any():
            f, m = distance(sensed)
            return f"it yields to {f:.1f} N and {m:.2f} N m on ~/wrench"
        load = np.abs(moment.gravity + torque) / settings.effort_limit
        if driven and load.max() > EFFORT:
            return self._no_harder(int(np.argmax(load)), settings)
        if sticks:
            return "the joints' dry friction is stronger than the spring, see stiffness"
        return "something holds it: a contact, an unknown payload, or friction that is not known"

    def _softened(self, share: float, settings: ControllerSettings) -> str:
        """Return that the controller itself has softened the spring, and what would help."""
        delay = 1e3 * settings.impedance["delay"] / DELAY_MARGIN if settings.impedance else 0.0
        return (
            f"its spring is softened to {share:.2g} here, or it would oscillate with a delay of "
            f"{delay:.3g} ms: {unsoftened(self._model.joint_names, settings.drives.armature)}"
        )

    def _no_harder(self, joint: int, settings: ControllerSettings) -> str:
        """Return that a joint's effort limit bounds what the spring may do."""
        return (
            f"the effort limit of {self._model.joint_names[joint]} "
            f"({settings.effort_limit[joint]:.3g}) lets the spring pull no harder"
        )


def off_text(away: Floats, what: str, bound: Floats) -> str:
    """Return in words how far the end effector is [m, rad] from what, and how far it may be."""
    (far, turned), (near, straight) = away, bound
    return (
        f"end effector {1e3 * far:.1f} mm and {np.degrees(turned):.1f} deg from {what} (expected "
        f"{1e3 * near:.2g} mm, {np.degrees(straight):.2g} deg)"
    )


def pull(e: Floats, root: Floats, largest: Floats) -> Floats:
    """Return the spring's wrench (6,) over ``root``; its force and its moment have a ``largest``.

    ``e``: (6,) error in the spring's axes; ``root``: (6,) square root of the stiffness.
    """
    force = (root * e).reshape(2, 3)
    most = np.linalg.norm(force, axis=1) * root.reshape(2, 3).max(axis=1)
    factor = np.divide(largest, most, out=np.ones(2), where=most > largest)
    return np.asarray((factor[:, None] * force).reshape(6), dtype=np.float64)


def distance(e: Floats) -> Floats:
    """Return the lengths of both halves of an error (6,): [m, rad]."""
    return np.linalg.norm(e.reshape(2, 3), axis=1)


def end_effector_jacobian(dynamics: Dynamics, q: Floats, tip: str, offset: Floats) -> Floats:
    """Return the Jacobian (6, n) of the end effector's frame, linear first, base axes."""
    J = dynamics.jacobian(q, tip)
    arm = dynamics.link_pose(q, tip)[:3, :3] @ offset[:3, 3]
    J[:3] += np.cross(J[3:], arm, axis=0)
    return J
