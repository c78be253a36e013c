"""The controller's parameters, and the settings made from them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from featherstone_ros.arrays import REMEMBERED, Floats
from featherstone_ros.control import cartesian_parameters
from featherstone_ros.control.armature import assumed_armature, drive_parameters
from featherstone_ros.control.feasibility import Preflight
from featherstone_ros.control.gains import BANDWIDTH, DAMPING_RATIO, Timing
from featherstone_ros.control.joint_space import default_torque_rate, min_torque_rate
from featherstone_ros.control.settings import Choice, ControllerSettings
from featherstone_ros.model import EARTH, Model
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.joint_selection import locked_parameters
from featherstone_ros.model.parameter_files import PAYLOAD_NAMES
from featherstone_ros.parameter import (
    Parameter,
    Value,
    bounded,
    default_of,
    joint_parameters_of,
    of_length,
    parameters_of,
    per_joint,
)


class DeadlineAction(Choice):
    """What happens to the motion when too many commands are late."""

    WARN = "warn"
    HOLD = "hold"


class Output(Choice):
    """The kind of command."""

    EFFORT = "effort"
    JOINT_STATE = "joint_state"


DEADLINE_NAMES = ("deadline.cycle_time", "deadline.allowed", "deadline.action")

BRISK = 2.0  # [rad/s, m/s] of a motion whose friction must be within the effort limits

GAIN_PARAMETERS = (
    Parameter(
        "gains.bandwidth",
        BANDWIDTH,
        "natural frequency of a joint at its largest inertia [rad/s], for gains chosen from the "
        "model where gains.<joint>.p and .d are not set: more where friction asks for it, less "
        "where gains.period and gains.delay allow no more; 0: none are chosen",
        0.0,
        1e3,
    ),
    Parameter("gains.damping_ratio", DAMPING_RATIO, "damping ratio of the chosen gains", 0.1, 10.0),
    Parameter(
        "gains.period",
        Timing.period,
        "time between two commands, for which gains are chosen and checked [s]",
        1e-5,
        1.0,
    ),
    Parameter(
        "gains.delay",
        Timing.delay,
        "delay from the measurement of a state to the resulting torque, likewise [s]",
        0.0,
        1.0,
    ),
)


def payload_parameters(prefix: str) -> Iterable[Parameter]:
    """Yield the parameters of a payload, whose names begin with ``prefix``."""
    yield Parameter(f"{prefix}.link", "", "link that carries the payload")
    yield Parameter(f"{prefix}.mass", 0.0, "mass of the payload [kg]; 0: no payload", 0.0, 1e4)
    yield Parameter(
        f"{prefix}.com",
        [0.0, 0.0, 0.0],
        "centre of mass of the payload in the link's frame [m]",
        check=of_length(3),
    )
    yield Parameter(
        f"{prefix}.inertia",
        [0.0] * 6,
        "inertia about the centre of mass in link axes [kg m^2]: ixx ixy ixz iyy iyz izz, or all 9",
        check=of_length(6, 9),
    )


def nameable(names: Collection[str]) -> str | None:
    """Return why payloads cannot have these names, or None."""
    if len(set(names)) < len(names):
        return "expected different names"
    wrong = [name for name in names if not re.fullmatch(r"\w+", name)]
    return f"{wrong[0]!r} is no name of letters, digits and underscores" if wrong else None


PAYLOAD_PARAMETERS = (
    *payload_parameters("payload"),
    Parameter(
        PAYLOAD_NAMES,
        [],
        "payloads that have parameters of their own, payloads.<payload>.link, mass, com and "
        "inertia; empty for none",
        read_only=True,
        check=nameable,
    ),
    Parameter(
        "payload.name",
        "",
        "payload that the arm carries, of payload.names; empty: that of payload.link, mass, com "
        "and inertia",
    ),
    Parameter(
        "payload.transition_time",
        0.5,
        "time in which a new payload or gravity takes effect [s]",
        0.0,
        60.0,
    ),
)


def payload_parameters_of(names: Iterable[str]) -> Iterable[Parameter]:
    """Yield the parameters of the payloads that have these names."""
    for name in names:
        yield from payload_parameters(f"payloads.{name}")


PARAMETERS = (
    *GAIN_PARAMETERS,
    *parameters_of(ControllerSettings),
    *parameters_of(Drives),
    Parameter(
        "output",
        str(Output.EFFORT),
        "effort: torques on ~/commands; joint_state: position, velocity and feed-forward effort on "
        "~/joint_commands, for drives with position loops; gains.* are then not used",
        choices=tuple(map(str, Output)),
        read_only=True,
    ),
    Parameter("state_publish_rate", 50.0, "rate of ~/desired and ~/error [Hz]", 0.1, 1e3, (), True),
    Parameter("effort_scale", 1.0, "usable share of the effort limits", 0.0, 1.0),
    Parameter(
        "allow_partial_joints_goal",
        False,
        "accept trajectories that do not name all joints; the others stay where they are",
    ),
    Parameter(
        "policy_frequency",
        0.0,
        "frequency of the points of a trajectory without time_from_start, the first at its stamp, "
        "as a policy sends them [Hz]; 0: such trajectories are refused",
        0.0,
        1e3,
    ),
    Parameter(
        "action_monitor_rate",
        20.0,
        "rate at which a goal of ~/follow_joint_trajectory is checked, with feedback [Hz]",
        0.1,
        1e3,
        read_only=True,
    ),
    Parameter(
        "constraints.goal_time",
        0.0,
        "time after the end of the trajectory to reach the goal [s]; 0: any time",
        0.0,
        3600.0,
    ),
    Parameter(
        "constraints.stopped_velocity_tolerance",
        0.01,
        "velocity at which a goal is reached [rad/s or m/s]; 0: any",
        0.0,
        100.0,
    ),
    Parameter(
        "preflight",
        str(Preflight.WARN),
        "reaction to a trajectory or set-point beyond the limits of effort, or whose velocity "
        "jumps; beyond those of position or velocity it is refused, unless this is off",
        choices=tuple(map(str, Preflight)),
    ),
    Parameter(
        "deadline.cycle_time",
        0.0,
        "deadline of a command after the joint state's arrival [s]; 0: none",
        0.0,
        10.0,
    ),
    Parameter("deadline.allowed", 0, "late commands per second that are tolerated", 0, 10_000),
    Parameter(
        "deadline.action",
        str(DeadlineAction.WARN),
        "reaction while more commands are late",
        choices=tuple(map(str, DeadlineAction)),
    ),
    Parameter(
        "gravity",
        default_of(EARTH),
        "gravity in the base link's frame [m/s^2]",
        -100.0,
        100.0,
        check=of_length(3),
    ),
    *PAYLOAD_PARAMETERS,
    *cartesian_parameters.PARAMETERS,
)


def parameters_of_arm(model: Model, payloads: Iterable[str]) -> Iterable[Parameter]:
    """Yield the parameters of every joint and of every payload that has a name."""
    yield from joint_parameters(model)
    yield from locked_parameters(model)
    yield from payload_parameters_of(payloads)


OF_JOINTS = {  # all at least 0, which is the default
    "gains.{}.p": "position gain [N m/rad or N/m]; in computed_torque [1/s^2]; see gains.bandwidth",
    "gains.{}.d": "velocity gain [N m s/rad or N s/m]; in computed_torque [1/s]",
    "damping.{}": "damping in gravity_compensation and in the gravity hold [N m s/rad or N s/m]; "
    "0: chosen for hand guiding, as far as gains.period and gains.delay allow",
    "constraints.{}.trajectory": "largest error of the joint on a trajectory [rad or m]; 0: see "
    "path_tolerance",
    "constraints.{}.goal": "largest distance at which a goal counts as reached [rad or m], also "
    "for the diagnostics; 0: any distance for the action, docs/diagnostics.md there",
}


def joint_parameters(model: Model) -> Iterable[Parameter]:
    """Return the parameters of every joint, with defaults from the robot description."""
    yield from cartesian_parameters.joint_parameters(model)
    torque_rate = default_torque_rate(model.effort_limit)
    min_rate = min_torque_rate(model.effort_limit)
    assumed = assumed_armature(model)
    for index, joint in enumerate(model.joint_names):
        for name, description in OF_JOINTS.items():
            yield Parameter(name.format(joint), 0.0, description, 0.0)
        yield from drive_parameters(model, index, float(assumed[index]))
        yield Parameter(
            f"effort_limit.{joint}",
            float(model.effort_limit[index]),
            "largest effort, before effort_scale [N m or N]; default: the robot description's, "
            "which counts where it is less, as does what the drive can give",
            0.0,
            np.inf,
        )
        why = "the effort limit within 0.5 s, or a push could not be braked"
        check = bounded("least", float(min_rate[index]), why)
        rate = torque_rate[index]
        for parameter in joint_parameters_of(ControllerSettings, joint, torque_rate=rate):
            yield replace(parameter, check=check)


@lru_cache(REMEMBERED)
def declared_parameters(model: Model, payloads: tuple[str, ...]) -> Mapping[str, Parameter]:
    """Return all parameters by name, with their defaults for an arm and payloads of these names."""
    return {one.name: one for one in (*PARAMETERS, *parameters_of_arm(model, payloads))}


def effort_limit(values: Mapping[str, Value], model: Model, units: DriveUnits) -> Floats:
    """Return the efforts (n,) that may be used, inf where there is no limit [N m or N].

    They are the least of what the description, ``effort_limit.<joint>`` and the drive allow, times
    ``effort_scale``. A description's limit of 0 is none.
    """
    described = np.where(model.effort_limit > 0.0, model.effort_limit, np.inf)
    chosen = per_joint(values, "effort_limit.{}", model.joint_names)
    least = np.minimum.reduce([described, chosen, units.effort_limit()])
    return np.where(np.isfinite(least), least * values["effort_scale"], least)


def require_effort_for_friction(drives: Drives, limit: Floats, model: Model) -> None:
    """Check that the friction to be compensated leaves the drives an effort."""
    speed = np.minimum(0.5 * model.velocity_limit, BRISK)
    ends = np.nan_to_num([model.lower, model.upper], posinf=0.0, neginf=0.0)
    standing = np.abs(drives.standing_torque(ends)).max(axis=0)
    friction = drives.friction_torque(speed, 1.0) + standing
    for i in np.flatnonzero((friction > limit) & (limit > 0.0)):
        joint = model.joint_names[i]
        raise ValueError(
            f"joint {joint!r}: friction takes {friction[i]:.4g} at {speed[i]:.3g} rad/s (or m/s): "
            f"coulomb {drives.coulomb[i]:g}, viscous {drives.viscous[i]:g}, spring and offset "
            f"{standing[i]:.4g}; expected less than its effort limit of {limit[i]:.4g}"
        )
