"""What is chosen of a controller before its arm is known; loads without NumPy, for ``--help``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from featherstone_ros._enumerations import Feedback, Leads

BANDWIDTH, DAMPING_RATIO = 30.0, 1.0  # [rad/s] and 1: defaults
MAX_PERIODS = 20  # that a command may be on its way: each is a state of the loop for every joint


class Choice(str, Enum):
    """A word that is one of a few (enum.StrEnum, which Python 3.10 does not have)."""

    def __str__(self) -> str:
        """Return the word."""
        return self.value


class Mode(Choice):
    """The control law: what it leads, and what its feedback makes of errors.

    All else that depends on the mode follows from these two; laws.pxd has the laws.
    """

    GRAVITY_COMPENSATION = "gravity_compensation", Leads.NOTHING, Feedback.DAMPING
    FEEDFORWARD = "feedforward", Leads.JOINTS, Feedback.TORQUES
    COMPUTED_TORQUE = "computed_torque", Leads.JOINTS, Feedback.ACCELERATIONS
    CARTESIAN_IMPEDANCE = "cartesian_impedance", Leads.END_EFFECTOR, Feedback.SPRING
    ADMITTANCE = "admittance", Leads.END_EFFECTOR, Feedback.TORQUES  # of a virtual arm's motion

    leads: Leads
    feedback: Feedback

    def __new__(cls, word: str, *kind: Any) -> Mode:
        """Make one; without its kind it is an error of the import."""
        self = str.__new__(cls, word)
        self._value_, (self.leads, self.feedback) = word, kind
        return self

    @property
    def leads_end_effector(self) -> bool:
        """Whether the end effector is led, not the joints."""
        return self.leads is Leads.END_EFFECTOR

    @property
    def has_virtual_arm(self) -> bool:
        """Whether a wrench moves one, which the joints follow."""
        return self.leads_end_effector and not self.has_spring

    @property
    def has_spring(self) -> bool:
        """Whether torques are those of the end effector's spring."""
        return self.feedback is Feedback.SPRING

    @property
    def has_gains(self) -> bool:
        """Whether it uses those of the joints."""
        return self.feedback in (Feedback.TORQUES, Feedback.ACCELERATIONS)


class TimingError(ValueError):
    """A delay of so many periods that no gains can be found."""


@dataclass(frozen=True)
class Timing:
    """When the loop acts."""

    period: float = 0.002  # between two commands [s]
    delay: float = 0.002  # from the measurement of a state to the resulting torque [s]

    def __post_init__(self) -> None:
        """Raise TimingError if there are too many commands on their way."""
        if self.delay > MAX_PERIODS * self.period:
            raise TimingError(
                f"delay is {self.delay:g} s, {self.delay / self.period:.0f} periods of "
                f"{self.period:g} s; expected at most {MAX_PERIODS} periods"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Timing:
        """Return that of a set of parameter values, for which gains are chosen and checked."""
        return cls(values["gains.period"], values["gains.delay"])

    @property
    def latency(self) -> float:
        """Time from a measurement to the middle of that in which its command acts [s]."""
        return self.delay + 0.5 * self.period

    def __str__(self) -> str:
        """Name both in milliseconds."""
        return f"period {1e3 * self.period:.3g} ms, delay {1e3 * self.delay:.3g} ms"
