"""The controller's parameters, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.control.feasibility.checks import Preflight
from featherstone_ros.control.feedback import Feedback
from featherstone_ros.control.gains import BANDWIDTH, DAMPING_RATIO, Timing
from featherstone_ros.control.goal_tolerances import Tolerances
from featherstone_ros.control.settings import Choice, Mode, Settings
from featherstone_ros.control.torque_governor import default_torque_rate, min_torque_rate
from featherstone_ros.declaration import per_joint
from featherstone_ros.model import EARTH, Model
from featherstone_ros.nodes import cartesian_parameters
from featherstone_ros.nodes.declared_parameters import settings_of, values_of
from featherstone_ros.nodes.drive_parameters import drive_parameters, drives_of
from featherstone_ros.nodes.parameters import Setting, Value, bounded, default_of, of_length


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

GAIN_SETTINGS = (
    Setting(
        "gains.bandwidth",
        BANDWIDTH,
        "natural frequency of a joint at its largest inertia [rad/s], for gains chosen from the "
        "model where gains.<joint>.p and .d are not set: more where friction asks for it, less "
        "where gains.period and gains.delay allow no more; 0: none are chosen",
        0.0,
        1e3,
    ),
    Setting("gains.damping_ratio", DAMPING_RATIO, "damping ratio of the chosen gains", 0.1, 10.0),
    Setting(
        "gains.period",
        Timing.period,
        "time between two commands, for which gains are chosen and checked [s]",
        1e-5,
        1.0,
    ),
    Setting(
        "gains.delay",
        Timing.delay,
        "delay from the measurement of a state to the resulting torque, likewise [s]",
        0.0,
        1.0,
    ),
)


SETTINGS = (
    *GAIN_SETTINGS,
    *settings_of(Settings),
    Setting(
        "output",
        str(Output.EFFORT),
        "effort: torques on ~/commands; joint_state: position, velocity and feed-forward effort on "
        "~/joint_commands, for drives with position loops; gains.* are then not used",
        choices=tuple(map(str, Output)),
        read_only=True,
    ),
    Setting("state_publish_rate", 50.0, "rate of ~/desired and ~/error [Hz]", 0.1, 1e3, (), True),
    Setting("effort_scale", 1.0, "usable share of the URDF effort limits", 0.0, 1.0),
    Setting(
        "allow_partial_joints_goal",
        False,
        "accept trajectories that do not name all joints; the others stay where they are",
    ),
    Setting(
        "action_monitor_rate",
        20.0,
        "rate at which a goal of ~/follow_joint_trajectory is checked, with feedback [Hz]",
        0.1,
        1e3,
        read_only=True,
    ),
    Setting(
        "constraints.goal_time",
        0.0,
        "time after the end of the trajectory to reach the goal [s]; 0: any time",
        0.0,
        3600.0,
    ),
    Setting(
        "constraints.stopped_velocity_tolerance",
        0.01,
        "velocity at which a goal is reached [rad/s or m/s]; 0: any",
        0.0,
        100.0,
    ),
    Setting(
        "preflight",
        str(Preflight.WARN),
        "reaction to a trajectory or set-point beyond the limits of effort, or whose velocity "
        "jumps; beyond those of position or velocity it is refused, unless this is off",
        choices=tuple(map(str, Preflight)),
    ),
    Setting(
        "deadline.cycle_time",
        0.0,
        "deadline of a command after the joint state's arrival [s]; 0: none",
        0.0,
        10.0,
    ),
    Setting("deadline.allowed", 0, "late commands per second that are tolerated", 0, 10_000),
    Setting(
        "deadline.action",
        str(DeadlineAction.WARN),
        "reaction while more commands are late",
        choices=tuple(map(str, DeadlineAction)),
    ),
    Setting(
        "gravity",
        default_of(EARTH),
        "gravity in the base link's frame [m/s^2]",
        -100.0,
        100.0,
        check=of_length(3),
    ),
    Setting("payload.link", "", "link that carries the payload"),
    Setting("payload.mass", 0.0, "mass of the payload [kg]; 0: no payload", 0.0, 1e4),
    Setting(
        "payload.com",
        [0.0, 0.0, 0.0],
        "centre of mass of the payload in the link's frame [m]",
        check=of_length(3),
    ),
    Setting(
        "payload.inertia",
        [0.0] * 6,
        "inertia about the centre of mass in link axes [kg m^2]: ixx ixy ixz iyy iyz izz, or all 9",
        check=of_length(6, 9),
    ),
    Setting(
        "payload.transition_time",
        0.5,
        "time in which a new payload or gravity takes effect [s]",
        0.0,
        60.0,
    ),
    *cartesian_parameters.SETTINGS,
)


def joint_settings(model: Model) -> Iterable[Setting]:
    """Return the parameters of every joint, with defaults from the robot description."""
    yield from cartesian_parameters.joint_settings(model)
    torque_rate = default_torque_rate(model.effort_limit)
    least_rate = min_torque_rate(model.effort_limit)
    assumed = assumed_armature(model)
    for index, joint in enumerate(model.joint_names):
        yield from (
            Setting(
                f"gains.{joint}.p",
                0.0,
                "position gain [N m/rad or N/m]; in computed_torque [1/s^2]; see gains.bandwidth",
                0.0,
            ),
            Setting(
                f"gains.{joint}.d",
                0.0,
                "velocity gain [N m s/rad or N s/m]; in computed_torque [1/s]",
                0.0,
            ),
            Setting(
                f"damping.{joint}",
                0.0,
                "damping in gravity_compensation and in the gravity hold [N m s/rad or N s/m]; 0: "
                "chosen for hand guiding, as far as gains.period and gains.delay allow",
                0.0,
            ),
            *drive_parameters(model, index, float(assumed[index])),
            Setting(
                f"constraints.{joint}.trajectory",
                0.0,
                "largest error of the joint on a trajectory [rad or m]; 0: see path_tolerance",
                0.0,
            ),
            Setting(
                f"constraints.{joint}.goal",
                0.0,
                "largest distance at which a goal counts as reached [rad or m], also for the "
                "diagnostics; 0: any distance for the action, what docs/diagnostics.md says there",
                0.0,
            ),
            Setting(
                f"effort_limit.{joint}",
                float(model.effort_limit[index]),
                "largest effort, before effort_scale [N m or N]; .inf: any; default: the robot "
                "description's",
                0.0,
                np.inf,
            ),
            Setting(
                f"torque_rate.{joint}",
                float(torque_rate[index]),
                "largest change of a command per second [N m/s or N/s]",
                1e-6,
                check=bounded(
                    "least",
                    float(least_rate[index]),
                    "the effort limit within 0.5 s, or a push could not be braked",
                ),
            ),
        )


def control_settings(values: Mapping[str, Value], model: Model) -> Settings:
    """Return the controller's settings for a set of parameter values.

    Raises:
        ValueError: They do not fit together.
    """
    feedback = Feedback(values, model)
    if feedback.drives_follow and values["mode"] == Mode.CARTESIAN_IMPEDANCE:
        raise ValueError(
            "mode is cartesian_impedance, which drives with position loops (output: joint_state) "
            "would work against: expected mode admittance, whose motion they follow, or one of the "
            "joints"
        )
    limit = per_joint(values, "effort_limit.{}", model.joint_names)
    limit = np.where(np.isfinite(limit), limit * values["effort_scale"], limit)
    drives = drives_of(values, model)
    require_effort_for_friction(drives, limit, model)
    p, d = feedback.gains
    return Settings(
        p=p,
        d=d,
        damping=feedback.damping,
        fault_damping=feedback.fault_damping,
        **drives,
        effort_limit=limit,
        torque_rate=per_joint(values, "torque_rate.{}", model.joint_names),
        impedance=cartesian_parameters.impedance(values, model),
        **values_of(Settings, values),
    )


def require_effort_for_friction(drives: Mapping[str, Floats], limit: Floats, model: Model) -> None:
    """Check that the friction to be compensated leaves the drives an effort.

    Args:
        drives: ``coulomb``, ``viscous``, ``thinning`` and ``offset``, (n,).
        limit: (n,) the effort limits, 0 where nothing is to be controlled.
        model: The arm.

    Raises:
        ValueError: Friction alone takes more than a joint's limit at half its speed limit, at most
            at ``BRISK``.
    """
    speed = np.minimum(0.5 * model.velocity_limit, BRISK)
    viscous = drives["viscous"] * speed / (1.0 + drives["thinning"] * speed)
    friction = drives["coulomb"] + viscous + np.abs(drives["offset"])
    for i in np.flatnonzero((friction > limit) & (limit > 0.0)):
        joint = model.joint_names[i]
        raise ValueError(
            f"joint {joint!r}: friction takes {friction[i]:.4g} at {speed[i]:.3g} rad/s (or m/s): "
            f"coulomb {drives['coulomb'][i]:g}, viscous {drives['viscous'][i]:g}, offset "
            f"{drives['offset'][i]:g}; expected less than its effort limit of {limit[i]:.4g}"
        )


def without_margin(values: Mapping[str, Value], model: Model) -> str:
    """Return in one line what is not stable with margin in the current mode; empty for nothing."""
    stiffness = cartesian_parameters.without_delay_margin(values, model)
    return "; ".join(filter(None, (stiffness, Feedback(values, model).without_margin)))


def goal_defaults(values: Mapping[str, Value], model: Model) -> Tolerances:
    """Return the tolerances of goals that have none of their own."""
    joints = model.joint_names
    path, goal = (
        per_joint(values, f"constraints.{{}}.{what}", joints) for what in ("trajectory", "goal")
    )
    stopped = np.full(len(joints), values["constraints.stopped_velocity_tolerance"])
    return Tolerances(
        np.stack([path, np.zeros(len(joints))]),
        np.stack([goal, stopped]),
        values["constraints.goal_time"],
    )
