"""The shadow: what a stream of joint states says about the model and about the world."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featherstone_ros import (
    DivergenceError,
    Dynamics,
    Model,
    Simulator,
    SingularInertiaError,
    UnknownNameError,
)
from featherstone_ros.observer.contact import ContactDetector
from featherstone_ros.observer.effort_contract import EffortContract
from featherstone_ros.observer.external_wrench import WrenchEstimator
from featherstone_ros.observer.friction import JointFriction
from featherstone_ros.observer.friction_check import FrictionCheck
from featherstone_ros.observer.momentum_observer import MomentumObserver
from featherstone_ros.observer.prediction import Predictor
from featherstone_ros.observer.rest_check import RestCheck
from featherstone_ros.observer.settings import (
    COMMANDED,
    EFFORT_SOURCES,
    ShadowSettings,
    default_link,
    default_threshold,
)
from featherstone_ros.observer.timeline import NANOSECONDS, Timeline
from featherstone_ros.observer.verdict import ContractState, ContractVerdict

Floats = NDArray[np.float64]

ABSURD = 1e6  # in any unit: no arm measures such a figure


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
    """What a joint state has brought.

    Attributes:
        prediction: None if the model has no answer, as for an absurd effort.
        residual: None if the state follows on nothing.
        lost_thread: Why it follows on nothing, though it is not the first; empty otherwise.
        verdict: Of a check of the effort contract, if there is another one.
    """

    prediction: Prediction | None
    residual: Residual | None
    lost_thread: str
    verdict: ContractVerdict | None


class Shadow:
    """Follows an arm by its joint states; all arrays (n,) in the order of ``model.joint_names``.

    Attributes:
        model: The arm.
        settings: As last applied.
        restarts: How often it began anew because a state did not follow on the one before.
    """

    def __init__(self, model: Model, settings: ShadowSettings) -> None:
        """Wait for a first joint state.

        Raises:
            ValueError: A setting that does not fit the model.
        """
        self.model = model
        self.restarts = 0
        self._dynamics = Dynamics(model)
        self._timeline = Timeline(settings.max_gap)
        self._commanded = np.zeros(model.n)
        self._command_time: int | None = None
        self.prepare(settings)()

    def prepare(self, settings: ShadowSettings) -> Callable[[], None]:
        """Check settings; return what puts them into effect. The observer then starts anew.

        Raises:
            ValueError: A setting that does not fit the model.
        """
        model, dynamics = self.model, self._dynamics

        def given(value: ArrayLike | None, default: ArrayLike = 0.0) -> Floats:
            array = np.asarray(default if value is None else value, dtype=float)
            return np.array(np.broadcast_to(array, (model.n,)))

        link = settings.wrench_link or default_link(model)
        if link not in model.link_names:
            raise ValueError(f"wrench_link: {UnknownNameError('link', link, model.link_names)}")
        if settings.prediction_effort not in EFFORT_SOURCES:
            raise ValueError(f"prediction_effort: expected one of {', '.join(EFFORT_SOURCES)}")
        armature = given(settings.armature)
        coulomb = given(settings.coulomb, model.friction)
        friction = JointFriction(
            given(settings.viscous, model.damping),
            coulomb,
            settings.sliding_speed,
            given(settings.offset),
        )
        simulator = Simulator(
            model,
            time_step=settings.time_step,
            integrator=settings.integrator,
            damping=friction.viscous,
            friction=coulomb,
            armature=armature,
        )
        gain, effort_gain = given(settings.observer_gain), given(settings.effort_gain)
        name = settings.effort_contract
        contract = EffortContract(name, effort_gain, dynamics.gravity, friction)
        threshold = given(settings.contact_threshold, default_threshold(model))
        contact = ContactDetector(threshold, given(settings.contact_hysteresis))
        rest_check = RestCheck(name, effort_gain, coulomb, model.joint_names)
        friction_check = FrictionCheck(name, gain, friction)
        observer = MomentumObserver(dynamics, gain, friction, armature)
        wrench = WrenchEstimator(dynamics, link, settings.wrench_damping)

        def apply() -> None:
            self.settings = settings
            self.contact, self.rest_check, self.friction_check = contact, rest_check, friction_check
            self._contract, self._predictor = contract, Predictor(simulator, friction.offset)
            self._observer, self._wrench = observer, wrench
            self._timeline.max_gap = settings.max_gap
            self.restart()

        return apply

    def restart(self) -> None:
        """Let the next joint state follow on nothing."""
        self._timeline.restart()

    @property
    def wrench_link(self) -> str:
        """The link on which an external wrench is assumed."""
        return self._wrench.link

    @property
    def passed_over(self) -> dict[str, int]:
        """How many joint states were passed over, by reason."""
        return dict(self._timeline.passed_over)

    @property
    def verdict(self) -> ContractVerdict:
        """The worse one of both checks of the effort contract."""
        checks = (self.rest_check.verdict, self.friction_check.verdict)
        return max(checks, key=lambda verdict: SEVERITY.index(verdict.finding))

    def command(self, torque: ArrayLike) -> None:
        """Remember what the arm was told just now.

        Args:
            torque: Joint torque (n,) [N m or N].

        Raises:
            ValueError: Not n finite figures.
        """
        torque = np.array(torque, dtype=float)
        if torque.shape != (self.model.n,):
            raise ValueError(f"command has {torque.size} values, expected {self.model.n}")
        self._refuse_absurd("command", torque)
        self._commanded, self._command_time = torque, self._timeline.time

    def update(self, time: int, q: Floats, qd: Floats, effort: Floats) -> Update | None:
        """Take a joint state.

        Args:
            time: When it was measured [ns].
            q: Position [rad or m].
            qd: Velocity [rad/s or m/s].
            effort: As the arm reports it.

        Returns:
            What it brings, None if it is passed over.

        Raises:
            ValueError: A figure that is not finite or absurd; nothing has changed.
        """
        state = np.array((q, qd, effort), dtype=float)
        if not np.abs(state).max() <= ABSURD:  # true for NaN
            for what, values in zip(("position", "velocity", "effort"), state, strict=True):
                self._refuse_absurd(what, values)
        if not self._timeline.accept(time, state):
            return None
        try:
            return self._take(time, *state)
        except (DivergenceError, SingularInertiaError, OverflowError) as error:
            self.restart()
            self.restarts += 1
            return Update(None, None, f"no answer of the model: {error}", None)

    def torque(self, q: Floats, qd: Floats, effort: Floats) -> Floats:
        """Return the joint torque (n,) that a reported effort stands for [N m or N]."""
        return self._contract.torque(effort, q, qd)

    def _take(self, time: int, q: Floats, qd: Floats, effort: Floats) -> Update:
        """Take a state that is next in time."""
        torque = self._contract.torque(effort, q, qd)
        dt = self._timeline.dt
        residual = None
        if dt:
            residual = self._follow(dt, q, qd, torque)
        else:
            self._start(q, qd, torque)
        verdict = self._check(dt, q, qd, effort) if dt else None
        self._last = q, qd, self._assumed(time, torque)
        prediction = Prediction(*self._after(self.settings.prediction_horizon), self._last[2])
        return Update(prediction, residual, self._timeline.lost_thread, verdict)

    def _refuse_absurd(self, what: str, values: Floats) -> None:
        good = np.abs(values) <= ABSURD  # false for NaN
        if not good.all():
            index = int(np.argmin(good))
            name = self.model.joint_names[index]
            raise ValueError(
                f"{what} of {name} is {values[index]}, expected a finite number of at most "
                f"{ABSURD:g}"
            )

    def _start(self, q: Floats, qd: Floats, torque: Floats) -> None:
        self.restarts += bool(self._timeline.lost_thread)
        self._observer.start(q, qd, torque)
        self.contact.reset()
        self.rest_check.restart()
        self.friction_check.restart()

    def _follow(self, dt: float, q: Floats, qd: Floats, torque: Floats) -> Residual:
        expected, expected_rate = self._after(dt)
        external = finite(self._observer.update(dt, q, qd, torque))
        return Residual(
            position=q - expected,
            velocity=qd - expected_rate,
            torque=external,
            wrench=self._wrench.estimate(q, external),
            contact=self.contact.update(external),
        )

    def _check(self, dt: float, q: Floats, qd: Floats, effort: Floats) -> ContractVerdict | None:
        rested = self.rest_check.update(dt, q, qd, effort, self._dynamics.gravity(q))
        slid = self.friction_check.update(dt, qd, self._observer.external_torque)
        if slid:
            return self.friction_check.verdict
        return self.rest_check.verdict if rested else None

    def _assumed(self, time: int, torque: Floats) -> Floats:
        """Return the torque to predict with; a command that is too old counts no more."""
        if self.settings.prediction_effort != COMMANDED or self._command_time is None:
            return torque
        age = abs(time - self._command_time) / NANOSECONDS
        return self._commanded if age <= self.settings.max_gap else torque

    def _after(self, duration: float) -> tuple[Floats, Floats]:
        """Return the position and velocity expected this long after the last state."""
        q, qd, _ = self._last
        if not duration:
            return q, qd
        position, velocity = self._predictor.after(duration, *self._last)
        return finite(position), finite(velocity)


def finite(values: Floats) -> Floats:
    """Return values that are finite.

    Raises:
        OverflowError: Some are not.
    """
    if not math.isfinite(values.dot(values)):
        raise OverflowError("figures beyond all bounds")
    return values


SEVERITY = (
    ContractState.UNDECIDED,
    ContractState.KEPT,
    ContractState.UNEXPLAINED,
    ContractState.BROKEN,
)
