"""The files that setup writes, from templates: for both nodes, ros2_control, MoveIt and RViz."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import in_words
from featherstone_ros.control.gains import (
    ARRIVED,
    COASTING,
    DAMPING_RATIO,
    FASTEST,
    GUIDING,
    UNCERTAIN,
)
from featherstone_ros.control.settings import Mode
from featherstone_ros.model import Model
from featherstone_ros.model.finding import Severity, by_rule, statement
from featherstone_ros.model.parameter_files import of_joint
from featherstone_ros.model.robots import argument_texts, share_directory
from featherstone_ros.model.ros2_control import CONTROLLERS, manager_parameters
from featherstone_ros.tools.proposal import Proposal
from featherstone_ros.tools.style import milli
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory, as_yaml
from featherstone_ros.tools.trial_drive import Drive

DIGITS = 4
SMALL = 0.0995  # [rad or m] below which thousandths have two digits
WORDS = ("yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity")
EFFORT_CONTROLLER = CONTROLLERS["effort"][0]
UPDATE_RATE = 1000  # [Hz] of the controller manager

# Of the nodes' parameters. A comment is one line here, and as many as it needs in the file.
PARAMETERS = """\
# {name}: parameters of feedforward_controller and digital_twin, in any namespace.
# Written by `featherstone-ros setup {urdf}`; yours to change.
# What is not here has the defaults of feedforward_controller.yaml and digital_twin.yaml.
#
# What `featherstone-ros inspect {urdf}` finds in the URDF:
{findings}
#
# Driven on the twin, at the period and delay below:
{driven}

/**:
  ros__parameters:
    # That move, in the order of ~/commands; whatever else the URDF has is not.
    joints:
{joints}
{locked}    # In the base link's frame [m/s^2]: how the arm is mounted.
    gravity: [{gravity}]
    # Friction of the drives [N m, N m s/rad; N, N s/m]: {of_friction}. The twin has it, the \
controller compensates it. `featherstone-ros identify` finds what your arm has.
    friction:
{friction}
    # Inertia of the drives as the joints feel it, rotor times gear ratio squared [kg m^2 or kg]: \
{of_armature} from the data sheet or `featherstone-ros identify`.{assumed}
    armature:
{armature}

/**/feedforward_controller:
  ros__parameters:
    mode: feedforward
{drives}    # Of torque [N m/rad, N m s/rad; N/m, N s/m], for mode feedforward. Without the \
joints' lines the controller chooses its own, also for mode computed_torque. P = m w^2 + k and \
D = 2 sqrt(m P), where w is the joint's bandwidth, m the largest inertia that it moves in any \
pose, and k the stiffness that gravity needs so as not to tip the joint over. w is {asked:g} \
rad/s, far below the \
elastic resonance of the joints, which no URDF states. It is higher, at most {fastest:g}, where \
friction that is {uncertain:g} % wrong would cost more than {arrived:g} mrad or mm. It is lower \
where the loop's period and delay are too long for the joint's smallest inertia. The arm is stable \
in every pose with twice these gains, and without measured velocities.{reduced}
    # Right of each joint: inertia moved [kg m^2 or kg], w, the error that wrong friction leaves\
{columns}.
    gains:
      bandwidth: {bandwidth}
      damping_ratio: {ratio}
      period: {period}  # between two commands [s]
      delay: {delay}  # from a measurement to its torque [s]
{gains}
    # In gravity_compensation and the gravity hold [N m s/rad or N s/m]. Hand guiding takes \
{guiding:g} % of the effort limit at the velocity limit, or stops a joint without limits in \
{coasting:g} s. With too much, a joint oscillates at its smallest inertia with period and delay \
above, or jerks when states stop; with too little, gravity torque that comes late drives it.
    damping:
{damping}
    # Largest effort [N m or N]: the URDF's, as are the limits beside it.
    {no_effort}effort_limit:
{limits}
    # The tool's link, of ~/current_pose and mode cartesian_impedance{of_tip}
    {tip}

/**/digital_twin:
  ros__parameters:
    # Where the simulated arm begins [rad or m]: in the middle of its range, or as near to it as \
gravity asks little and the tool can move in every direction.
    initial_positions:
{start}
"""
REDUCED = (
    " Joints marked * have less: their largest inertia, with the arm stretched out, is many times "
    "their smallest, and damping for the one would be too much for the other."
)
GEARED = (
    " With geared drives a joint's inertia is never that small. With an armature as in the last "
    "column all joints would get {asked:g} rad/s: write yours above, and delete the joints' lines "
    "here."
)
LOCKED = """\
    # Where the locked joints stand [rad or m], as long as joint_states does not tell; what it \
tells is followed.
    locked:
"""
SERVOS = """\
    # The URDF's ros2_control hardware takes positions, no efforts: its drives close their own \
loops, and the gains below are not used. With their stiffness [N m/rad, N/m] in place of the dots \
the torque goes as an offset of the position, and the arm sags no more: docs/servos.md.
    output: joint_state
"""
MAYBE_SERVOS = """\
    # The URDF's transmissions name PositionJointInterface. If its drives do close their own \
loops, as servos, they take positions: these lines without their #, and the stiffness [N m/rad, \
N/m] in place of the dots, for both nodes: docs/servos.md.
    # output: joint_state
"""
REDUCTIONS = """\
    # The reductions of the URDF's transmissions. They count where drives are told or measure \
currents or duty cycles, beside the motor's torque_constant:
"""
RVIZ = """\
# RViz: {name} and arrows for its torques; `rviz2 -d` this file, beside
# robot_state_publisher and, for the arrows, torque_markers: rviz.launch.py starts all.
"""
MOVEIT = """\
# For config/moveit_controllers.yaml of a MoveIt configuration of {name}:
# MoveIt sends what it plans to the action /feedforward_controller/follow_joint_trajectory. A group
# without some of these joints, such as a gripper's, needs allow_partial_joints_goal: true there.

moveit_controller_manager: moveit_simple_controller_manager/MoveItSimpleControllerManager
moveit_simple_controller_manager:
  controller_names: [feedforward_controller]
  feedforward_controller:
    type: FollowJointTrajectory
    action_ns: follow_joint_trajectory
    default: true
    joints:
{joints}
"""
ROS2_CONTROL = """\
# For the controller manager of {name}'s ros2_control hardware, which needs effort
# command interfaces. The joints stand in the order of feedforward_controller's ~/commands.

"""


def parameter_file(proposal: Proposal, drives: list[Drive]) -> str:
    """Return a commented parameter file for both nodes."""
    model, timing = proposal.model, proposal.loop.timing
    names, limited = model.joint_names, np.isfinite(model.effort_limit).any()
    urdf = " ".join([proposal.urdf.name, *argument_texts(proposal.urdf)])
    found = by_rule(f for f in proposal.inspection.findings if f.severity > Severity.NOTE)
    findings = [f"{severity}: {statement(rule, f, 6)}" for (severity, rule), f in found.items()]
    friction: dict[str, str] = {}
    for joint, c, v in zip(names, model.friction, model.damping, strict=True):
        friction |= _terms(joint, coulomb=c, viscous=v)
    of_tip, tip = _tip(proposal)
    text = PARAMETERS.format(
        name=model.name,
        urdf=urdf,
        findings=_lines("#   ", findings or ["no errors, no warnings"]),
        driven=_lines("#   ", [sentence(drive, proposal) for drive in drives]),
        joints=_lines("      - ", map(_key, names)),
        locked=_locked(model),
        gravity=", ".join(map(_number, model.gravity)),
        of_friction="the URDF's <dynamics>"
        if model.friction.any() or model.damping.any()
        else "the URDF has none",
        friction=_rows(friction),
        of_armature="the URDF's transmissions." * bool(model.armature.any())
        or "the URDF has none;",
        assumed=f" Assumed: {assumption(proposal)}" * bool(proposal.assumed_armature.any()),
        armature=_by_joint(model, proposal.armature),
        drives=_drives(proposal),
        asked=proposal.asked,
        fastest=FASTEST,
        uncertain=100 * UNCERTAIN,
        arrived=1e3 * ARRIVED,
        reduced=REDUCED * bool(proposal.gains.reduced)
        + GEARED.format(asked=proposal.asked) * (proposal.rotors is not None),
        columns=", armature" * (proposal.rotors is not None),
        bandwidth=_number(proposal.asked),
        ratio=_number(DAMPING_RATIO),
        period=_number(timing.period),
        delay=_number(timing.delay),
        gains=_gains(proposal),
        guiding=100 * GUIDING,
        coasting=COASTING,
        damping=_by_joint(model, proposal.damping.value, proposal.damping.reason),
        no_effort="" if limited else "# ",
        limits=_limits(model),
        of_tip=of_tip,
        tip=tip,
        start=_by_joint(model, proposal.start),
    )
    return "\n".join(map(_wrapped, text.splitlines())) + "\n"


def motion_file(proposal: Proposal) -> str:
    """Return a trajectory to a place near the start and back, as ``ros2 topic pub`` takes it."""
    there = proposal.goal
    back = replace(there, time=2 * there.time, positions=tuple(proposal.start))
    return as_yaml(UncheckedTrajectory(proposal.model.joint_names, (there, back)))


def moveit_file(model: Model) -> str:
    """Return the controllers of a MoveIt configuration."""
    return MOVEIT.format(name=model.name, joints=_lines("      - ", map(_key, model.joint_names)))


def ros2_control_file(model: Model) -> str:
    """Return the controllers that pass torques on."""
    content = manager_parameters(model.joint_names, "effort", UPDATE_RATE)
    return ROS2_CONTROL.format(name=model.name) + yaml.safe_dump(content, sort_keys=False)


def rviz_file(model: Model) -> str:
    """Return what RViz shows of the arm alone: rviz.launch.py's, without the robots beside it."""
    text = (share_directory() / "config" / "side_by_side.rviz").read_text()
    content = yaml.safe_load(text)
    manager = content["Visualization Manager"]
    manager["Displays"] = [shown for shown in manager["Displays"] if not shown.get("TF Prefix")]
    manager["Global Options"]["Fixed Frame"] = model.base_link
    return RVIZ.format(name=model.name) + yaml.safe_dump(content, sort_keys=False)


def sentence(drive: Drive, proposal: Proposal) -> str:
    """Return the result of a trial drive in one line."""
    arm = "as the URDF says" if not drive.excess else f"{100 * drive.excess:g} % heavier"
    if drive.trouble:
        return f"{arm}: it failed: {drive.trouble}"
    joint = int(np.argmax(drive.peak))
    name, kind = proposal.model.joint_names[joint], proposal.model.joint_types[joint]
    unit = "mm" if kind == "prismatic" else "mrad"
    end = milli(drive.end.max())
    return f"{arm}: at most {milli(drive.peak[joint])} {unit} off ({name}), {end} at the end"


def assumption(proposal: Proposal) -> str:
    """Return the assumed inertia of the drives, and the reason."""
    assumed = proposal.assumed_armature
    share = np.max(assumed / (proposal.loop.heaviest - proposal.armature))
    needed = in_words(proposal.model.joint_names, assumed)
    return (
        f"{needed}, {100 * share:.2g} % of the largest inertia that such a joint moves; without "
        "it, no gains would be stable."
    )


def _locked(model: Model) -> str:
    """Return where the locked joints stand, if there are any."""
    if not model.locked_joints:
        return ""
    places = map(_number, model.locked_positions)
    return f"{LOCKED}{_rows(dict(zip(map(_key, model.locked_joints), places, strict=True)))}\n"


def _drives(proposal: Proposal) -> str:
    """Return how drives are told what to do that take no torques, as far as the URDF says it."""
    text, names = "", proposal.model.joint_names
    if proposal.is_of_servos or proposal.may_be_of_servos:
        row = "{command: position, stiffness: ..., damping: 0.0}"
        text = SERVOS if proposal.is_of_servos else MAYBE_SERVOS
        text += (
            _lines("    # ", ["drives:", *(f"  {_key(joint)}: {row}" for joint in names)]) + "\n"
        )
    told = {joint: proposal.reductions[joint] for joint in names if joint in proposal.reductions}
    if told:
        rows = [f"drives.{k}.gear_ratio: {_number(ratio)}" for k, ratio in told.items()]
        text += REDUCTIONS + _lines("    #   ", rows) + "\n"
    return text


def _gains(proposal: Proposal) -> str:
    """Return a joint's gains in a line, and beside them what they come from."""
    loop, gains, rows = proposal.loop, proposal.gains, dict[str, str]()
    for i, joint in enumerate(proposal.model.joint_names):
        remark = (
            f"{loop.lightest[i]:.2g} to {loop.heaviest[i]:.2g}, {proposal.bandwidth[i]:.2g} rad/s"
            f"{' *' * (joint in gains.reduced)}, {_friction_error(proposal, i)}"
        )
        if proposal.rotors is not None:
            remark += f", {proposal.rotors[i]:.2g}"
        for key, value in _terms(joint, p=gains.p[i], d=gains.d[i]).items():
            rows[key] = f"{value:<28}# {remark}"
    return _rows(rows)


def _friction_error(proposal: Proposal, joint: int) -> str:
    unit, per = ("m", "N") if proposal.model.joint_types[joint] == "prismatic" else ("rad", "N m")
    has_friction = proposal.model.friction[joint] > 0.0
    error = proposal.friction_error[joint] if has_friction else 1.0 / proposal.gains.p[joint]
    size = f"{1e3 * error:.2g} m{unit}" if error < SMALL else f"{error:.2g} {unit}"
    return size if has_friction else f"{size} per {per}"


def _limits(model: Model) -> str:
    """Return a joint's effort limit in a line, and its other limits beside it."""
    rows = {}
    for i, name in enumerate(map(_key, model.joint_names)):
        what = f"position {model.lower[i]:.4g} to {model.upper[i]:.4g}, "
        what += f"velocity {model.velocity_limit[i]:.4g}"
        if np.isfinite(model.effort_limit[i]):
            rows[name] = f"{_number(model.effort_limit[i]):<10}# {what}"
        else:
            rows[f"# {name}"] = f"none; {what}"
    return _rows(rows)


def _tip(proposal: Proposal) -> tuple[str, str]:
    """Return what is said of the tool's link, and the parameter."""
    if not proposal.tip:
        return ": several chains could carry it, name it.", '# tip: ""'
    text = "; by its name or, failing that, the last one."
    led = {"mode": Mode.CARTESIAN_IMPEDANCE, "tip": proposal.tip}
    if softer := proposal.arm.with_parameters(led).without_margin:
        text += f" In that mode: {softer}."
    return text, f"tip: {_key(proposal.tip)}"


def _wrapped(line: str) -> str:
    """Return a comment in as many lines as it needs."""
    head = "    # "
    if not re.match(rf"{head}\S", line):
        return line
    text = line.removeprefix(head)
    return "\n".join(textwrap.wrap(text, 96, initial_indent=head, subsequent_indent=head))


def _lines(head: str, texts: Iterable[str]) -> str:
    return "\n".join(f"{head}{text}" for text in texts)


def _rows(values: Mapping[str, str]) -> str:
    """Return keys and values of a parameter, one below the other."""
    width = max(map(len, values)) + 1
    return _lines("      ", (f"{key + ':':{width}} {value}" for key, value in values.items()))


def _by_joint(model: Model, values: Floats, why: Callable[[int], str] | None = None) -> str:
    """Return the rows of a parameter that each joint has, and why it has this one."""
    rows = {
        _key(joint): f"{_number(value):<10}# {why(i)}" if why else _number(value)
        for i, (joint, value) in enumerate(zip(model.joint_names, values, strict=True))
    }
    return _rows(rows)


def _terms(joint: str, **values: float) -> dict[str, str]:
    """Return keys and values of the lines for one joint: one line where it may be nested."""
    numbers = {name: _number(value) for name, value in values.items()}
    return {
        _key(key): value
        if isinstance(value, str)
        else f"{{{', '.join(f'{name}: {number}' for name, number in value.items())}}}"
        for key, value in of_joint(joint, numbers).items()
    }


def _key(name: str) -> str:
    """Return a name as every YAML parser reads it as text."""
    if re.fullmatch(r"[A-Za-z_][\w/-]*[\w]", name, re.ASCII) and name.lower() not in WORDS:
        return name
    return yaml.safe_dump(name, default_style='"', width=10**6).strip()


def _number(value: float) -> str:
    """Return a number as YAML and ROS read it as a double."""
    text = repr(float(f"{value:.{DIGITS}g}"))
    mantissa, e, exponent = text.partition("e")
    return text if "." in mantissa else f"{mantissa}.0{e}{exponent}"


def paths(output: Path) -> dict[str, Path]:
    """Return where the files go, beside the parameter file."""
    return {
        "parameters": output,
        "picture": output.with_suffix(".png"),
        "motion": output.with_name(f"{output.stem}_motion.yaml"),
        "moveit": output.with_name(f"{output.stem}_moveit_controllers.yaml"),
        "ros2_control": output.with_name(f"{output.stem}_ros2_control.yaml"),
        "rviz": output.with_suffix(".rviz"),
    }
