"""The controller's parameters, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats, remembered
from featherstone_ros.control.armature import assumed_armature, in_words, least_armature
from featherstone_ros.control.damping import (
    Damping,
    UnstableDamping,
    check_damping,
    choose_damping,
    choose_fault_damping,
    wanted_damping,
)
from featherstone_ros.control.feasibility.checks import Preflight
from featherstone_ros.control.gains import (
    BANDWIDTH,
    DAMPING_RATIO,
    GAIN_MARGIN,
    ChosenGains,
    NoStableGainsError,
    SampledLoop,
    Timing,
    UnstableGain,
    check_gains,
    choose,
    error_of_friction,
    one_line,
)
from featherstone_ros.control.goal_tolerances import Tolerances
from featherstone_ros.control.parameter_plausibility import check_plausible
from featherstone_ros.control.settings import (
    WITHOUT_GAINS,
    Choice,
    Mode,
    Settings,
)
from featherstone_ros.control.torque_governor import default_torque_rate
from featherstone_ros.model import EARTH, Model
from featherstone_ros.nodes import cartesian_parameters
from featherstone_ros.nodes.declared_parameters import settings_of, values_of
from featherstone_ros.nodes.drive_parameters import drive_parameters
from featherstone_ros.nodes.parameters import (
    Setting,
    Value,
    default_of,
    number,
    of_length,
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
        "reaction to a trajectory beyond the limits of position, velocity or effort",
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
    assumed = assumed_armature(model, partial(_choose_at_defaults, model))
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
            ),
        )


def control_settings(values: Mapping[str, Value], model: Model) -> Settings:
    """Return the controller's settings for a set of parameter values.

    Raises:
        ValueError: They do not fit together.
    """
    check_plausible(values, model)
    if follows_drives(values) and values["mode"] == Mode.CARTESIAN_IMPEDANCE:
        raise ValueError(
            "mode is cartesian_impedance, which drives with position loops (output: joint_state) "
            "would work against: expected another mode"
        )

    def array(pattern: str) -> Floats:
        return per_joint(values, pattern, model.joint_names)

    p, d = feedback(values, model)
    damping, fault_damping = dampings(values, model)
    return Settings(
        p=p,
        d=d,
        damping=damping,
        fault_damping=fault_damping,
        coulomb=array("friction.{}.coulomb"),
        viscous=array("friction.{}.viscous"),
        armature=array("armature.{}"),
        offset=array("friction.{}.offset"),
        effort_limit=scaled(array("effort_limit.{}"), number(values, "effort_scale")),
        torque_rate=array("torque_rate.{}"),
        impedance=cartesian_parameters.impedance(values, model),
        **values_of(Settings, values),
    )


def feedback(values: Mapping[str, Value], model: Model) -> tuple[Floats, Floats]:
    """Return P and D (n,): the set gains, and the chosen ones for joints without set gains.

    All are zero if the drives close the position loops.

    Raises:
        ValueError: No gains that could be chosen are stable, or a set one can never be.
    """
    if follows_drives(values):
        return np.zeros(model.n), np.zeros(model.n)
    p, d = (per_joint(values, f"gains.{{}}.{kind}", model.joint_names) for kind in "pd")
    _require_possible(values, model, p)
    unset = without_set_gains(values, model)
    chosen = chosen_gains(values, model) if unset.any() else None
    if chosen is None:
        return p, d
    return np.where(unset, chosen.p, p), np.where(unset, chosen.d, d)


def _require_possible(values: Mapping[str, Value], model: Model, p: Floats) -> None:
    """Raise ValueError if no D makes the loop of a joint with its set P stable.

    Only where the rotor's inertia is known: without it a bound would refuse gains that are good.
    """
    known = per_joint(values, "armature.{}", model.joint_names) > 0.0
    if is_without_gains(values) or not (known & (p > 0.0)).any():
        return
    bounds = np.where(known, _loop_of_mode(values, model).largest_p, np.inf)
    for joint, value, bound in zip(model.joint_names, p, bounds, strict=True):
        if value >= bound:
            raise ValueError(
                f"gains.{joint}.p is {value:g}, expected less than {bound:.4g}: with gains.period "
                f"{values['gains.period']:g} s, the joint's inertia and armature.{joint}, no d "
                "makes it stable"
            )


def dampings(values: Mapping[str, Value], model: Model) -> tuple[Floats, Floats]:
    """Return the damping (n,) of the gravity hold, set or chosen, and that of a fault.

    Where the drives close the position loops, they damp the arm: nothing is chosen.

    Raises:
        ValueError: With a set one the arm would swing up, or none that could be chosen is stable.
    """
    given = per_joint(values, "damping.{}", model.joint_names)
    if follows_drives(values):
        return given, given
    chosen = chosen_damping(values, model)
    damping = np.where(given > 0.0, given, chosen.value)
    if findings := [f for f in _check_dampings(values, model, damping, 1.0) if f.swings]:
        raise ValueError(one_line(findings))
    cutoff = number(values, "velocity_cutoff")
    return damping, _choose_fault_damping(model, _loop(values, model), damping, cutoff)


def chosen_damping(values: Mapping[str, Value], model: Model) -> Damping:
    """Return the damping chosen from the model.

    Raises:
        ValueError: None that could be chosen is stable.
    """
    return _choose_damping(model, _loop(values, model), number(values, "state_timeout"))


def damping_without_margin(values: Mapping[str, Value], model: Model) -> str:
    """Return in one line which damping is not stable with margin; empty for none."""
    if follows_drives(values):
        return ""
    return one_line(_check_dampings(values, model, dampings(values, model)[0], GAIN_MARGIN))


def _check_dampings(
    values: Mapping[str, Value], model: Model, damping: Floats, margin: float
) -> list[UnstableDamping]:
    return check_damping(_loop(values, model), damping, chosen_damping(values, model), margin)


def without_set_gains(values: Mapping[str, Value], model: Model) -> NDArray[np.bool_]:
    """Return which joints (n,) have neither P nor D set, and so get chosen gains."""
    return np.array(
        [
            values[f"gains.{joint}.p"] == 0.0 and values[f"gains.{joint}.d"] == 0.0
            for joint in model.joint_names
        ]
    )


def follows_drives(values: Mapping[str, Value]) -> bool:
    """Tell whether commands are for drives that close a position loop themselves."""
    return values.get("output") == Output.JOINT_STATE


def is_without_gains(values: Mapping[str, Value]) -> bool:
    """Tell whether no gains of the joints are used."""
    return follows_drives(values) or Mode(values["mode"]) in WITHOUT_GAINS


def chosen_gains(values: Mapping[str, Value], model: Model) -> ChosenGains | None:
    """Return the gains chosen by the model and `gains.*`, None if none are to be chosen.

    Raises:
        ValueError: No gains that could be chosen are stable.
    """
    bandwidth, ratio = number(values, "gains.bandwidth"), number(values, "gains.damping_ratio")
    if bandwidth == 0.0 or is_without_gains(values):
        return None
    coulomb = per_joint(values, "friction.{}.coulomb", model.joint_names)
    loop, cutoff = _loop_of_mode(values, model), number(values, "velocity_cutoff")
    return _choose(loop, loop.mode, bandwidth, ratio, coulomb, cutoff)


def friction_error(values: Mapping[str, Value], model: Model) -> Floats:
    """Return the error at rest (n,) that friction leaves which is 30 % wrong [rad or m]."""
    p, _ = feedback(values, model)
    coulomb = per_joint(values, "friction.{}.coulomb", model.joint_names)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = error_of_friction(_loop_of_mode(values, model), p, coulomb)
    return np.where(coulomb > 0.0, error, 0.0)


def with_remedy(error: NoStableGainsError, values: Mapping[str, Value], model: Model) -> str:
    """Return why no gains can be chosen, and with which armature they could."""
    timing = _loop(values, model).timing
    try:
        held = least_armature(model, number(values, "gains.bandwidth"), timing)
    except NoStableGainsError:
        return str(error)
    return f"{error}: {in_words(model.joint_names, held.armature)} would do"


def unstable_gains(values: Mapping[str, Value], model: Model) -> list[UnstableGain]:
    """Return the set gains that are not stable with margin, in a mode that uses them."""
    if is_without_gains(values) or without_set_gains(values, model).all():
        return []
    p, d = feedback(values, model)
    if not p.any() and not d.any():
        return []
    return _check_gains(_loop_of_mode(values, model), p, d)


def without_margin(values: Mapping[str, Value], model: Model) -> str:
    """Return in one line what is not stable with margin in the current mode; empty for nothing."""
    hand = cartesian_parameters.hand_without_margin(values, model)
    gains = one_line(unstable_gains(values, model))
    return "; ".join(filter(None, (hand, gains, damping_without_margin(values, model))))


# What is slow to compute depends on few parameters; others may be set often.
_linearised = remembered(SampledLoop)
_under = remembered(SampledLoop.under)
_choose = remembered(choose)
_choose_fault_damping = remembered(choose_fault_damping)
_check_gains = remembered(check_gains)


@remembered
def _choose_damping(model: Model, loop: SampledLoop, silence: float) -> Damping:
    return choose_damping(loop, wanted_damping(model, loop), silence)


def _loop(values: Mapping[str, Value], model: Model) -> SampledLoop:
    timing = Timing(number(values, "gains.period"), number(values, "gains.delay"))
    return _linearised(model, per_joint(values, "armature.{}", model.joint_names), timing)


def _loop_of_mode(values: Mapping[str, Value], model: Model) -> SampledLoop:
    return _under(_loop(values, model), Mode(values["mode"]))


def _choose_at_defaults(model: Model, armature: Floats) -> tuple[ChosenGains, Damping]:
    """Choose gains and damping that the node will use if nothing is set, and remember them."""
    mode, cutoff = Settings.mode, Settings.velocity_cutoff
    loop = _linearised(model, armature, Timing())
    gains = _choose(_under(loop, mode), mode, BANDWIDTH, DAMPING_RATIO, model.friction, cutoff)
    return gains, _choose_damping(model, loop, Settings.state_timeout)


def goal_defaults(values: Mapping[str, Value], model: Model) -> Tolerances:
    """Return the tolerances of goals that have none of their own."""
    joints = model.joint_names
    path, goal = (
        per_joint(values, f"constraints.{{}}.{what}", joints) for what in ("trajectory", "goal")
    )
    stopped = np.full(len(joints), number(values, "constraints.stopped_velocity_tolerance"))
    return Tolerances(
        np.stack([path, np.zeros(len(joints))]),
        np.stack([goal, stopped]),
        number(values, "constraints.goal_time"),
    )


def scaled(limit: Floats, scale: float) -> Floats:
    """Return a share of the limits; infinite ones stay infinite."""
    return np.where(np.isfinite(limit), limit * scale, limit)
