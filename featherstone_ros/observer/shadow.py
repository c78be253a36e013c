"""The shadow: model errors and external forces from a stream of joint states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Model, Simulator, UnknownNameError
from featherstone_ros._core import BoundDynamics
from featherstone_ros._enumerations import RestartReason
from featherstone_ros._shadow import (
    MAX_PLAUSIBLE,
    RECORDS,
    REQUESTS,
    CompiledShadow,
    LockedPlaces,
    Snapshot,
)
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import DivergenceError, SingularInertiaError
from featherstone_ros.model.arguments import (
    finite_joint_array,
    not_negative_joint_array,
    require,
)
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer.effort_contract import (
    CONTRACTS,
    MOTOR_CURRENT,
    WITHOUT_FRICTION,
    WITHOUT_GRAVITY,
    ContractVerdict,
    EffortJudge,
)
from featherstone_ros.observer.shadow_settings import (
    COMMANDED,
    EFFORT_SOURCES,
    ShadowSettings,
    default_link,
    default_threshold,
)


def restart_reason(kind: int, joint: int, figure: float, joint_names: Sequence[str]) -> str:
    """Return the reason, by ``RestartReason``, joint and figure; empty: it did not restart."""
    if kind == RestartReason.JUMPED_BACK:
        return f"time jumped back by {figure:.3g} s"
    if kind == RestartReason.GAP:
        return f"no new joint state for {figure:.3g} s"
    if kind == RestartReason.SINGULAR:
        return f"no answer of the model: {SingularInertiaError(joint_names[joint])}"
    if kind == RestartReason.DIVERGED:
        return f"no answer of the model: {DivergenceError(joint_names[joint], figure)}"
    if kind == RestartReason.BEYOND_BOUNDS:
        return "no answer of the model: values beyond all bounds"
    return ""


FIELDS = ("position", "velocity", "effort")
_numbers = count()


@dataclass(frozen=True)
class Prediction:
    """The state expected ``prediction_horizon`` after the last one; all (n,).

    Attributes:
        position: [rad or m].
        velocity: [rad/s or m/s].
        torque: Joint torque assumed until then [N m or N].
    """

    position: Floats
    velocity: Floats
    torque: Floats


@dataclass(frozen=True)
class Residual:
    """What the model does not explain, (n,) each.

    Attributes:
        position: Measured minus predicted from the state before [rad or m].
        velocity: The same [rad/s or m/s].
        torque: External joint torque [N m or N].
        wrench: (6,) on the link that would explain it: force and torque at its origin, in its axes.
        contact: Whether a joint feels more than its threshold.
    """

    position: Floats
    velocity: Floats
    torque: Floats
    wrench: Floats
    contact: bool


@dataclass(frozen=True)
class Update:
    """The result of a joint state.

    Attributes:
        prediction: None if forward dynamics fails, e.g. under an absurd effort.
        residual: None if the observer started at this state.
        restart_reason: Why the observer restarted at this state; empty otherwise.
        verdict: On the effort contract, if it has changed.
    """

    prediction: Prediction | None
    residual: Residual | None
    restart_reason: str
    verdict: ContractVerdict | None


@dataclass(frozen=True)
class Change:
    """Settings that have been checked against the model, with what is made from them.

    Attributes:
        settings: As given.
        number: Identifies these settings in records.
        snapshot: The settings for compiled code.
        wrench_link: The link on which the external wrench is estimated.
        judge: Of the effort contract.
    """

    settings: ShadowSettings
    number: int
    snapshot: Snapshot
    wrench_link: str
    judge: EffortJudge


class Shadow(CompiledShadow):
    """Follows an arm by its joint states; all arrays (n,) in the order of ``model.joint_names``.

    The processing of a state is compiled and needs no interpreter. Either a loop
    (``featherstone_ros._loop``) runs it through its ``capsule``; its properties may then be read,
    but changes must be requested from the loop (``_shadow.REQUESTS``). Or call ``update``.

    Attributes:
        model: The arm.
        settings: As last applied.
        change: These settings with what is made from them.
        wrench_link: The link on which the external wrench is estimated.
        judge: Of the effort contract.
    """

    def __new__(cls, model: Model, settings: ShadowSettings) -> Shadow:
        """Make the compiled part."""
        change = prepare(model, settings)
        shadow = super().__new__(
            cls, BoundDynamics(model.following()), model.joint_names, change.snapshot
        )
        shadow.model = model
        shadow.adopt(change)
        return shadow

    def __init__(self, model: Model, settings: ShadowSettings) -> None:
        """Wait for a first joint state.

        Raises:
            ValueError: A setting that does not fit the model.
        """

    def __repr__(self) -> str:
        """Return the arm, and the link of the external wrench."""
        return f"<Shadow of {self.model!r}, wrench on {self.wrench_link!r}>"

    def prepare(self, settings: ShadowSettings) -> Change:
        """Check settings; return what ``use`` puts into effect.

        Raises:
            ValueError: A setting that does not fit the model.
        """
        return prepare(self.model, settings)

    def use(self, change: Change) -> None:
        """Use other settings from now on; the observer restarts."""
        self.request(REQUESTS["use_settings"], 0, change.snapshot)
        self.adopt(change)

    def place_locked(self, positions: ArrayLike) -> None:
        """Move the locked joints, where no loop does and no message tells where they are.

        Args:
            positions: (m,) of ``model.locked_joints`` [rad or m].
        """
        self._place(LockedPlaces(positions))

    def adopt(self, change: Change) -> None:
        """Judge by the settings that a loop now uses."""
        self.change = change
        self.settings, self.wrench_link = change.settings, change.wrench_link
        self.judge = change.judge
        self._standstill: list[tuple[float, float, float]] = []

    @property
    def verdict(self) -> ContractVerdict:
        """On the effort contract: the worse one of rest and motion."""
        return self.judge.verdict

    def command(self, torque: ArrayLike) -> None:
        """Remember the last command to the arm.

        Args:
            torque: Joint torque (n,) [N m or N].

        Raises:
            ValueError: Not n finite values.
        """
        torque = np.array(torque, dtype=float)
        if torque.shape != (self.n,):
            raise ValueError(f"command has {torque.size} values, expected {self.n}")
        bad = self._command(torque)
        if bad >= 0:
            self._refuse_absurd("command", bad, torque[bad])

    def update(self, time: int, q: Floats, qd: Floats, effort: Floats) -> Update | None:
        """Take a joint state.

        Args:
            time: When it was measured [ns].
            q: Position [rad or m].
            qd: Velocity [rad/s or m/s].
            effort: As the arm reports it.

        Returns:
            The result, None if the state is skipped.

        Raises:
            ValueError: A value is not finite or absurdly large; nothing has changed.
        """
        state = self._state(q, qd, effort)
        used, records = self._update(time, state)
        if used > 1:
            field, joint = divmod(used - 2, self.n)
            self._refuse_absurd(FIELDS[field], joint, state[field, joint])
        if not used:
            return None
        prediction, residual = self._prediction, self._residual
        findings = [self.finding(record) for record in records]
        return Update(
            None if prediction is None else Prediction(*prediction),
            None if residual is None else Residual(*residual[0], *residual[1:]),
            next((one for one in findings if isinstance(one, str)), ""),
            next((one for one in findings[::-1] if isinstance(one, ContractVerdict)), None),
        )

    def torque(self, q: Floats, qd: Floats, effort: Floats) -> Floats:
        """Return the joint torque (n,) that a reported effort stands for [N m or N]."""
        return self._torque(self._state(q, qd, effort))

    def _state(self, *fields: Floats) -> Floats:
        state = np.array(fields, dtype=float)
        if state.shape != (3, self.n):
            raise ValueError(f"a state has shape {state.shape}, expected (3, {self.n})")
        return state

    def _refuse_absurd(self, what: str, joint: int, value: float) -> None:
        raise ValueError(
            f"{what} of {self.model.joint_names[joint]} is {value}, expected a finite number of at "
            f"most {MAX_PLAUSIBLE:g}"
        )

    def finding(self, record: tuple[Any, ...]) -> str | ContractVerdict | None:
        """Return why the observer restarted, or the verdict if it has changed, by a record.

        A standstill has a record for each joint, in order; those of other settings tell nothing.
        """
        kind, joint, _, value, _ = record
        if kind == RECORDS["restarted"]:
            return restart_reason(int(value[0]), joint, value[1], self.model.joint_names)
        if kind == RECORDS["slid"]:
            return self.judge.motion(value[0]) if value[1] == self.change.number else None
        if kind != RECORDS["rested"]:
            return None
        if joint == 0:
            self._standstill = []
        self._standstill.append(value[:3])
        complete = joint == self.n - 1 and len(self._standstill) == self.n  # none was lost
        if value[3] != self.change.number or not complete:
            return None
        return self.judge.rest(*np.array(self._standstill).T)


def prepare(model: Model, settings: ShadowSettings) -> Change:
    """Check settings of a shadow.

    Raises:
        ValueError: A setting that does not fit the model.
    """

    def given(value: ArrayLike | None, default: ArrayLike = 0.0) -> Floats:
        array = np.asarray(default if value is None else value, dtype=float)
        return np.array(np.broadcast_to(array, (model.n,)))

    link = settings.wrench_link or default_link(model)
    if link not in model.link_names:
        raise ValueError(f"wrench_link: {UnknownNameError('link', link, model.link_names)}")
    if settings.prediction_effort not in EFFORT_SOURCES:
        raise ValueError(f"prediction_effort: expected one of {', '.join(EFFORT_SOURCES)}")
    contract = settings.effort_contract
    if contract not in CONTRACTS:
        raise ValueError(f"effort_contract: expected one of {', '.join(CONTRACTS)}, got {contract}")
    drives = settings.drives or Drives.of_model(model)
    simulator = Simulator(
        model.following(),
        time_step=settings.time_step,
        integrator=settings.integrator,
        **drives.of_simulator,
    )
    effort_gain = finite_joint_array(settings.effort_gain, model, "effort_gain")
    gain = not_negative_joint_array(settings.observer_gain, model, "observer_gain")
    hysteresis = not_negative_joint_array(settings.contact_hysteresis, model, "contact_hysteresis")
    threshold = given(settings.contact_threshold, default_threshold(model))
    require(threshold >= 0.0, threshold, model.joint_names, "contact_threshold", "at least 0")
    number = next(_numbers)
    snapshot = Snapshot(
        number,
        simulator,
        settings,
        drives.presliding_displacement,
        settings.prediction_effort == COMMANDED,
        contract == WITHOUT_FRICTION,
        link,
        {
            "offset": given(drives.offset),
            "stiffness": given(drives.stiffness),
            "gain": gain,
            "effort_gain": effort_gain if contract == MOTOR_CURRENT else given(1.0),
            "hides_gravity": given(contract == WITHOUT_GRAVITY),
            "begin": threshold,
            "end": (1.0 - hysteresis) * threshold,
        },
    )
    judge = EffortJudge(contract, effort_gain, simulator.friction, model.joint_names)
    return Change(settings, number, snapshot, link, judge)
