"""What is chosen of a controller before its arm is known; loads without NumPy, for ``--help``."""

from dataclasses import dataclass
from enum import Enum

BANDWIDTH, DAMPING_RATIO = 30.0, 1.0  # [rad/s] and 1: defaults
MAX_PERIODS = 20  # that a command may be on its way: each is a state of the loop for every joint


class Choice(str, Enum):
    """A word that is one of a few (enum.StrEnum, which Python 3.10 does not have)."""

    def __str__(self) -> str:
        """Return the word."""
        return self.value


class Mode(Choice):
    """The control law."""

    GRAVITY_COMPENSATION = "gravity_compensation"
    FEEDFORWARD = "feedforward"
    COMPUTED_TORQUE = "computed_torque"
    CARTESIAN_IMPEDANCE = "cartesian_impedance"
    ADMITTANCE = "admittance"


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

    @property
    def latency(self) -> float:
        """Time from a measurement to the middle of that in which its command acts [s]."""
        return self.delay + 0.5 * self.period

    def __str__(self) -> str:
        """Name both in milliseconds."""
        return f"period {1e3 * self.period:.3g} ms, delay {1e3 * self.delay:.3g} ms"
