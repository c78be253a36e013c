"""Settings of a digital twin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from numpy.typing import ArrayLike

from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import check_finite, declared

INTEGRATORS = ("semi_implicit_euler", "implicit", "rk4")
UNIT = 0.01  # tolerance on the length of a quaternion
ROUNDING = 1e-9  # relative: a period that is a multiple of the time step but for rounding

# How twin and controller simulate together: each state waits for its command, in real time where
# the machine can. What must not wait for Python has no bound on that either.
PACED = {
    "lockstep": True,
    "paced": True,
    "wall_time": True,
    "publish_clock": True,
    "real_time_factor": 1.0,
}
SIMULATED = {"use_sim_time": True, "executor_timeout": 0.0}  # of the controller


def unit_quaternion(value: Sequence[float]) -> str | None:
    """Return why an orientation is refused; None for a quaternion of length 1."""
    if len(value) == 4 and abs(math.hypot(*value) - 1.0) <= UNIT:
        return None
    return "expected a unit quaternion x y z w"


@dataclass(frozen=True)
class Noise:
    """White noise on the measured states."""

    position: float = declared(
        0.0, "standard deviation of positions [rad or m]", 0.0, name="noise.position"
    )
    velocity: float = declared(
        0.0, "standard deviation of velocities [rad/s or m/s]", 0.0, name="noise.velocity"
    )
    effort: float = declared(
        0.0, "standard deviation of efforts, as torques [N m or N]", 0.0, name="noise.effort"
    )
    seed: int = declared(0, "seed of the sensor noise: the same seed gives the same noise", 0)

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_finite(self)


@dataclass(frozen=True)
class SimulatorSettings:
    """Settings of a twin. Arrays follow ``model.joint_names``; a scalar holds for every joint.

    What a field is that is ``declared`` stands there.

    Attributes:
        initial_positions: (n,); None is ``home_positions(model)``.
        drives: None takes the model's, ``Drives.of_model``.
        drive_p: (n,); None chooses it, and ``drive_d`` likewise.
        units: Of the drives' commands and measured efforts; None: torques.
        noise: Of the sensors.
        locked: Where joints of ``model.locked_joints`` stand that are not where the model has them,
            as long as no joint state tells [rad or m].
        simulation_stamps: Stamp states with simulation time, as in lockstep anyway.
        follows_ros_time: The clock for other stamps is another node's simulation time.
    """

    rate: float = declared(1000.0, "states per second of simulation time [Hz]", 1.0, 10_000.0)
    time_step: float = declared(
        0.001, "longest integration step [s]; a period of 1/rate is divided evenly", 1e-6, 0.1
    )
    integrator: str = declared("implicit", "integration method", choices=INTEGRATORS)
    real_time_factor: float = declared(
        1.0, "simulation time per real time; 0 is as fast as possible", 0.0, 1000.0
    )
    lockstep: bool = declared(
        False, "advance by one period per command received, whatever the real time", read_only=True
    )
    paced: bool = declared(
        False, "in lockstep: no faster than real_time_factor; slower where the machine is"
    )
    wall_time: bool = declared(
        False,
        "in lockstep: time begins at the computer's, not at 0, for nodes beside that go by that",
        read_only=True,
    )
    initial_positions: ArrayLike | None = declared(
        None, "position at the start and after a reset [rad or m]", name="initial_positions.{}"
    )
    initial_base_position: ArrayLike = declared(
        (0.0, 0.0, 0.0),
        "position of a floating base's link in world_frame, at the start and after a reset [m]",
        name="initial_base.position",
    )
    initial_base_orientation: ArrayLike = declared(
        (0.0, 0.0, 0.0, 1.0),
        "orientation likewise: unit quaternion x y z w",
        name="initial_base.orientation",
        check=unit_quaternion,
    )
    drives: Drives | None = None
    drive_p: ArrayLike | None = declared(
        None,
        "position gain of the simulated drive, for ~/joint_commands [N m/rad or N/m]",
        0.0,
        name="drive.{}.p",
    )
    drive_d: ArrayLike | None = declared(
        None, "velocity gain of the simulated drive [N m s/rad or N s/m]", 0.0, name="drive.{}.d"
    )
    stop_stiffness: float = declared(
        0.0,
        "stiffness of joint stops at the URDF position limits [N m/rad or N/m]; 0: no stops",
        0.0,
        name="stops.stiffness",
    )
    stop_damping: float = declared(
        0.0, "damping of the joint stops [N m s/rad or N s/m]", 0.0, name="stops.damping"
    )
    saturate_effort: bool = declared(True, "clip commands to the URDF effort limits")
    hold_until_command: bool = declared(
        True,
        "brake each joint from start or reset to its first command, hold a floating base to any",
    )
    command_timeout: float = declared(
        0.0,
        "real time without a command for a joint after which its brake engages [s]; 0: never",
        0.0,
        3600.0,
    )
    wrench_timeout: float = declared(
        0.5,
        "simulation time after which an external wrench ends that is not sent again [s]; 0: it "
        "stays until the next one",
        0.0,
        3600.0,
    )
    units: DriveUnits | None = None
    noise: Noise = field(default_factory=Noise)
    locked: Mapping[str, float] = field(default_factory=dict)
    simulation_stamps: bool = False
    follows_ros_time: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_finite(self)

    @property
    def owns_time(self) -> bool:
        """Whether simulation time advances by itself: with the steady clock, or commands."""
        return self.simulation_stamps or self.lockstep

    @property
    def period(self) -> float:
        """Simulation time between two states [s]."""
        return 1.0 / self.rate

    @cached_property
    def steps_per_period(self) -> int:
        """Number of equal integration steps in a period, none longer than ``time_step``."""
        return max(1, math.ceil(self.period / self.time_step * (1.0 - ROUNDING)))

    @cached_property
    def effective_time_step(self) -> float:
        """Length of those steps [s]."""
        return self.period / self.steps_per_period
