"""Whether the arm is where it was asked to go, and if not, why: looked at now and then.

The loop gives up a motion where it must, and then holds the arm where it has stopped: its error is
small again. What counts here is what was asked for, until something else is.

Where the end effector is led, something balances the torque J^T K e of its spring at rest: dry
friction, a joint's stop, a contact, which mode admittance measures. If nothing does although it is
away, no motion of the joints leads it that way.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros._control import ARRIVED_AT, ARRIVED_TURNED, EFFORT, SnapshotRequest
from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import DELAY_MARGIN, unsoftened
from featherstone_ros.control.goal_tolerances import arrival_tolerance
from featherstone_ros.control.phases import TRACKING, Phase
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.kinematics import pose_error
from featherstone_ros.model import Model

SETTLING = 0.5  # [s] in which an arm may creep in, or be pushed
MAX_NAMED = 3  # joints in one message
STANDS = 0.1  # share of the tolerance by which a desired position that stands may move
MOVES = 1e-3  # [rad/s, m/s] of a joint: the end effector is on its way
MIN_ERROR = np.array([0.002, np.radians(0.5)])  # [m, rad] off that always counts as there
MAX_ERROR = np.array([0.01, np.radians(2.0)])  # that never does, whatever dry friction explains
STICKS = 1.3  # friction over the known one
NEAR = (ARRIVED_AT, ARRIVED_TURNED)  # from the target: there the desired pose counts as there
SINGULAR = 0.1  # of the spring's torque, relative to its largest in any direction
MARGIN, MARGIN_SHARE = 0.1, 0.05  # [rad, m] and share of the range from a limit that are at it
WEIGHT = 0.84  # that gravity alone takes, where the spring may hardly raise it: the same, rule 15
SOFTENED = 0.9  # share of the spring's stiffness below which its softening is a cause
PRESSED = 0.5  # of the spring's largest torque, with which it presses a joint on its limit


class ArrivalWatch:
    """Compares the arm with where it was asked to be, once it is to stand there."""

    def __init__(self, model: Model, tip: str = "", offset: Floats | None = None) -> None:
        """Begin with an arm that nothing was asked of."""
        self._model, self._tip = model, tip
        self._offset = np.eye(4) if offset is None else offset
        self._slides = np.array([kind == "prismatic" for kind in model.joint_types])
        self._turns = np.array([kind == "continuous" for kind in model.joint_types])
        self._since = np.full(model.n + 1, np.inf)  # of each joint and the end effector, away
        self._before: Floats | None = None  # where the arm was to stand at the last look
        self.forget()

    def forget(self) -> None:
        """Note that nothing is asked of the arm."""
        self._is_asked = self.is_abandoned = False
        self._goal: Floats | None = None
        self._own: Floats | float = 0.0

    def begin(self, goal: Floats | None = None, tolerance: Floats | float = 0.0) -> None:
        """Note that a motion was asked for, with its own goal tolerance (n,); 0: none."""
        self.forget()
        self._is_asked, self._goal, self._own = True, goal, tolerance

    def abandon(self) -> None:
        """Note that the motion was given up: the arm now stands wherever it stopped.

        An arm that was to stay where it is has no motion to give up, but is to be there still.
        """
        self.is_abandoned = self._is_asked or self._goal is not None

    def update(
        self,
        now: float,
        snapshot: SnapshotRequest | None,
        settings: ControllerSettings,
        tolerance: Floats,
        dynamics: Dynamics,
    ) -> str:
        """Return what did not arrive, joints or end effector; empty if all did, or still move."""
        if snapshot is None or Phase(snapshot.phase) not in TRACKING:
            self._since[:] = np.inf
            return ""
        chosen = np.where(self._own, self._own, tolerance)
        bound = arrival_tolerance(chosen, settings, dynamics, snapshot.q, self._slides)
        text, error = "", np.zeros(len(bound))
        if self._tip and settings.mode.leads_end_effector:
            text = self._look_at_tip(snapshot, settings, dynamics)
            if settings.mode.has_virtual_arm:
                moves = bool((np.abs(snapshot.desired[1]) > MOVES).any())
                error = self._lag(snapshot, bound, moves)
        else:
            error = self._error(snapshot, bound)
        away = np.append(~(np.abs(error) <= bound), text != "")
        self._since = np.where(away, np.minimum(self._since, now), np.inf)
        lasts = now - self._since >= SETTLING
        if self.is_abandoned and self._goal is not None and not away.any():
            self.is_abandoned = False  # it is there all the same
        worst = np.argsort(-np.abs(error) / bound, kind="stable")
        late = [
            f"{self._model.joint_names[j]} {1e3 * abs(error[j]):.1f} "
            f"{'mm' if self._slides[j] else 'mrad'} (expected {1e3 * bound[j]:.2g})"
            for j in worst[lasts[:-1][worst]]
        ]
        more = [f"{len(late) - MAX_NAMED} more"] if len(late) > MAX_NAMED else []
        said = [", ".join(late[:MAX_NAMED] + more), text if lasts[-1] else ""]
        return f"did not arrive: {'; '.join(filter(None, said))}" if any(said) else ""

    def _error(self, snapshot: SnapshotRequest, bound: Floats) -> Floats:
        """Return how far the joints are from where they are to stand (n,); 0 while they move."""
        if self.is_abandoned:
            if self._goal is None:
                return np.zeros(len(bound))
            error = self._goal - snapshot.q
            whole = 2.0 * np.pi * np.round(error / (2.0 * np.pi))
            return np.where(self._turns, error - whole, error)
        moves = bool(snapshot.desired[1:3].any())
        error = self._lag(snapshot, bound, moves)
        if not moves and snapshot.phase != Phase.TRAJECTORY:
            self._goal = self._before  # a stop on the way is not where it ends
        return error

    def _lag(self, snapshot: SnapshotRequest, bound: Floats, moves: bool) -> Floats:
        """Return how far the joints are from the desired position (n,); 0 while that moves."""
        desired, before = snapshot.desired[0], self._before
        self._before = desired.copy()
        if moves:
            return np.zeros(len(bound))
        if before is None or (np.abs(desired - before) > STANDS * bound).any():
            self._since[:] = np.inf
        return np.asarray(desired - snapshot.q)

    def _look_at_tip(
        self, snapshot: SnapshotRequest, settings: ControllerSettings, dynamics: Dynamics
    ) -> str:
        """Return how far the end effector is from its target and why; empty if it is there.

        Likewise if it is on its way, or moved by a commanded wrench. Of a motion that was abandoned
        the target is forgotten: it was to stand where it last did.
        """
        q, law = snapshot.q, settings.impedance
        here = dynamics.link_pose(q, self._tip) @ self._offset
        if self.is_abandoned:
            if self._goal is None:
                return ""
            goal = dynamics.link_pose(self._goal, self._tip) @ self._offset
            away = distance(pose_error(here, goal))
            return off_text(away, "where it was to stand", MAX_ERROR)
        error, remaining, wrench, _ = snapshot.end_effector
        moves = (np.abs(snapshot.desired[1]) > MOVES).any()
        if law is None or wrench.any() or (distance(remaining) > NEAR).any() or moves:
            return ""
        R = np.kron(np.eye(2), here[:3, :3] if law["tip_axes"] else np.eye(3))
        root = np.sqrt(np.asarray(law["stiffness"], dtype=np.float64))
        e = np.where(root > 0.0, R.T @ (error + remaining), 0.0)
        # What dry friction, a contact or a wrong model must balance, since the arm stands.
        left = snapshot.command - settings.drives.offset
        if not settings.hardware_adds_gravity:
            left = left - snapshot.gravity
        sticks = bool((np.abs(left) <= STICKS * settings.drives.coulomb).all())
        sticks &= not settings.mode.has_virtual_arm  # the virtual arm has no friction
        text = off_text(distance(e), "its target", MAX_ERROR if sticks else MIN_ERROR)
        if not text:
            self._goal = q.copy()
            return ""
        J = root[:, None] * (R.T @ end_effector_jacobian(dynamics, q, self._tip, self._offset))
        # The spring's wrench over root, whose force and moment have a largest.
        force, largest = (root * e).reshape(2, 3), law["max_wrench"]
        most = np.linalg.norm(force, axis=1) * root.reshape(2, 3).max(axis=1)
        factor = np.divide(largest, most, out=np.ones(2), where=most > largest)
        pull = (factor[:, None] * force).reshape(6)
        reason = self._reason(J, pull, snapshot, settings, sticks)
        if snapshot.spring_left < SOFTENED:
            remedy = unsoftened(self._model.joint_names, settings.drives.armature)
            reason = (
                f"its spring is softened to {snapshot.spring_left:.2g} here, or it would oscillate "
                f"with a delay of {1e3 * law['delay'] / DELAY_MARGIN:.3g} ms: "
                f"{remedy}; besides, {reason}"
            )
        return f"{text}: {reason}"

    def _reason(
        self,
        J: Floats,
        force: Floats,
        snapshot: SnapshotRequest,
        settings: ControllerSettings,
        sticks: bool,
    ) -> str:
        """Return what keeps the end effector from where its spring pulls it.

        J (6, n) and the spring's force (6,) are times and over the square root of the stiffness:
        both are then in the square root of energy, which metres and radians share.
        """
        model, torque, q, sensed = self._model, J.T @ force, snapshot.q, snapshot.end_effector[3]
        margin = np.minimum(MARGIN_SHARE * (model.upper - model.lower), MARGIN)
        above, below = q > model.upper - margin, q < model.lower + margin
        pressed = np.where(above, torque, 0.0) - np.where(below, torque, 0.0)
        joint = int(np.argmax(pressed))
        driven = not settings.mode.has_virtual_arm
        weight = np.abs(snapshot.gravity) / settings.effort_limit
        load = np.abs(snapshot.gravity + torque) / settings.effort_limit
        no_harder = "the effort limit of {} ({:.3g}) lets the spring pull no harder"
        limits = list(zip(model.joint_names, settings.effort_limit, strict=True))
        if driven and weight.max() > WEIGHT:
            return no_harder.format(*limits[int(np.argmax(weight))])
        if np.linalg.norm(torque) < SINGULAR * np.linalg.norm(force) * np.linalg.norm(J, 2):
            return "singular posture or out of reach, no motion of the joints leads it there"
        if pressed[joint] > PRESSED * np.abs(torque).max():
            limit = model.upper[joint] if above[joint] else model.lower[joint]
            return f"{model.joint_names[joint]} is at its limit ({q[joint]:.3g} of {limit:.3g})"
        if sensed.any():
            f, m = distance(sensed)
            return f"it yields to {f:.1f} N and {m:.2f} N m on ~/wrench"
        if driven and load.max() > EFFORT:
            return no_harder.format(*limits[int(np.argmax(load))])
        if sticks:
            return "the joints' dry friction is stronger than the spring, see stiffness"
        return "something holds it: a contact, an unknown payload, or friction that is not known"


def off_text(away: Floats, what: str, bound: Floats) -> str:
    """Return in words how far the end effector is [m, rad] from what; empty within a bound."""
    (far, turned), (near, straight) = away, bound
    if (away <= bound).all():
        return ""
    return (
        f"end effector {1e3 * far:.1f} mm and {np.degrees(turned):.1f} deg from {what} (expected "
        f"{1e3 * near:.2g} mm, {np.degrees(straight):.2g} deg)"
    )


def distance(e: Floats) -> Floats:
    """Return the lengths of both halves of an error (6,): [m, rad]."""
    return np.linalg.norm(e.reshape(2, 3), axis=1)


def end_effector_jacobian(dynamics: Dynamics, q: Floats, tip: str, offset: Floats) -> Floats:
    """Return the Jacobian (6, n) of the end effector's frame, linear first, base axes."""
    J = dynamics.jacobian(q, tip)
    arm = dynamics.link_pose(q, tip)[:3, :3] @ offset[:3, 3]
    J[:3] += np.cross(J[3:], arm, axis=0)
    return J
