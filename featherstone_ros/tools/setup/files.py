"""The files that setup writes: for both nodes, ros2_control and MoveIt."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from featherstone_ros.control.armature import in_words
from featherstone_ros.control.damping import COASTING, GUIDING
from featherstone_ros.control.gains import ARRIVED, DAMPING_RATIO, FASTEST, UNCERTAIN
from featherstone_ros.control.settings import Mode
from featherstone_ros.model import Model
from featherstone_ros.model.finding import Severity, by_rule, statement
from featherstone_ros.model.parameter_files import of_joint
from featherstone_ros.model.xacro_files import argument_texts
from featherstone_ros.tools.proposal import Proposal
from featherstone_ros.tools.setup.trial_drive import Drive, first_motion
from featherstone_ros.tools.style import milli
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory, as_yaml

DIGITS = 4
WORDS = ("yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity")
CONTROLLER = "effort_controller"  # forward_command_controller's name


def parameter_file(proposal: Proposal, drives: list[Drive]) -> str:
    """Return a commented parameter file for both nodes."""
    model = proposal.model
    names = [_key(joint) for joint in model.joint_names]
    per_joint = _rows(names)
    friction: dict[str, str] = {}
    for joint, c, v in zip(model.joint_names, model.friction, model.damping, strict=True):
        friction |= _terms(joint, {"coulomb": _number(c), "viscous": _number(v)})
    told = model.friction.any() or model.damping.any()
    lines = [
        *_head(proposal, drives),
        "",
        "/**:",
        "  ros__parameters:",
        *_comment("That move, in the order of ~/commands; whatever else the URDF has is not."),
        "    joints:",
        *(f"      - {name}" for name in names),
        *_locked(model),
        *_comment("In the base link's frame [m/s^2]: how the arm is mounted."),
        f"    gravity: [{', '.join(map(_number, model.gravity))}]",
        *_comment(
            "Friction of the drives [N m, N m s/rad; N, N s/m]: "
            + ("the URDF's <dynamics>. " if told else "the URDF has none. ")
            + "The twin has it, the controller compensates it. `featherstone-ros identify` finds "
            "what your arm has."
        ),
        "    friction:",
        *_rows(list(friction))(friction.values()),
        *_comment(
            "Inertia of the drives as the joints feel it, rotor times gear ratio squared [kg m^2 "
            "or kg]: "
            + ("the URDF's transmissions. " if model.armature.any() else "the URDF has none; ")
            + "from the data sheet or `featherstone-ros identify`."
            + (f" Assumed: {assumption(proposal)}" if proposal.assumed_armature.any() else "")
        ),
        "    armature:",
        *per_joint([_number(value) for value in proposal.armature]),
        "",
        "/**/feedforward_controller:",
        "  ros__parameters:",
        "    mode: feedforward",
        *_drives(proposal),
        *_gains(proposal),
        *_damping(proposal, names),
        *_comment("Largest effort [N m or N]: the URDF's, as are the limits beside it."),
        *_limits(proposal, names),
        *_tip(proposal),
        "",
        "/**/digital_twin:",
        "  ros__parameters:",
        *_comment(
            "Where the simulated arm begins [rad or m]: in the middle of its range, or as near to "
            "it as gravity asks little and the tool can move in every direction."
        ),
        "    initial_positions:",
        *per_joint([_number(q) for q in proposal.start]),
        "",
    ]
    return "\n".join(lines)


def _locked(model: Model) -> list[str]:
    """Return where the locked joints stand."""
    if not model.locked_joints:
        return []
    places = map(_number, model.locked_positions)
    return [
        *_comment(
            "Where the locked joints stand [rad or m], as long as joint_states does not tell; what "
            "it tells is followed."
        ),
        "    locked:",
        *_rows([_key(joint) for joint in model.locked_joints])(places),
    ]


def motion_file(proposal: Proposal) -> str:
    """Return a trajectory to a place near the start and back, as ``ros2 topic pub`` takes it."""
    there = first_motion(proposal.model, proposal.start)
    back = replace(there, time=2 * there.time, positions=tuple(proposal.start))
    return as_yaml(UncheckedTrajectory(proposal.model.joint_names, (there, back)))


def moveit_file(proposal: Proposal) -> str:
    """Return the controllers of a MoveIt configuration."""
    joints = "".join(f"      - {_key(joint)}\n" for joint in proposal.model.joint_names)
    return f"""\
# For config/moveit_controllers.yaml of a MoveIt configuration of {proposal.model.name}:
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
{joints}"""


def ros2_control_file(proposal: Proposal) -> str:
    """Return the controllers that pass joint states and torques on."""
    joints = "".join(f"      - {_key(joint)}\n" for joint in proposal.model.joint_names)
    return f"""\
# For the controller manager of {proposal.model.name}'s ros2_control hardware, which needs effort
# command interfaces. The joints stand in the order of feedforward_controller's ~/commands.

controller_manager:
  ros__parameters:
    update_rate: 1000
    joint_state_broadcaster: {{type: joint_state_broadcaster/JointStateBroadcaster}}
    {CONTROLLER}: {{type: forward_command_controller/ForwardCommandController}}

{CONTROLLER}:
  ros__parameters:
    interface_name: effort
    joints:
{joints}"""


def _head(proposal: Proposal, drives: list[Drive]) -> list[str]:
    name = proposal.model.name
    urdf = " ".join([proposal.urdf.name, *argument_texts(proposal.urdf)])
    lines = [
        f"# {name}: parameters of feedforward_controller and digital_twin, in any namespace.",
        f"# Written by `featherstone-ros setup {urdf}`; yours to change.",
        "# What is not here has the defaults of feedforward_controller.yaml and digital_twin.yaml.",
        "#",
        f"# What `featherstone-ros inspect {urdf}` finds in the URDF:",
    ]
    found = by_rule(f for f in proposal.inspection.findings if f.severity > Severity.NOTE)
    lines += [
        f"#   {severity}: {statement(rule, same, 6)}" for (severity, rule), same in found.items()
    ] or ["#   no errors, no warnings"]
    lines += ["#", "# Driven on the twin, at the period and delay below:"]
    return [*lines, *(f"#   {sentence(drive, proposal)}" for drive in drives)]


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


def _drives(proposal: Proposal) -> list[str]:
    """Return how drives are told what to do that take no torques, as far as the URDF says it."""
    lines: list[str] = []
    names = proposal.model.joint_names
    if proposal.is_of_servos:
        lines += _comment(
            "The URDF's ros2_control hardware takes positions, no efforts: its drives close their "
            "own loops, and the gains below are not used. With their stiffness [N m/rad, N/m] in "
            "place of the dots the torque goes as an offset of the position, and the arm sags no "
            "more: docs/servos.md."
        )
        lines += ["    output: joint_state"]
    elif proposal.may_be_of_servos:
        lines += _comment(
            "The URDF's transmissions name PositionJointInterface. If its drives do close their "
            "own loops, as servos, they take positions: these lines without their #, and the "
            "stiffness [N m/rad, N/m] in place of the dots, for both nodes: docs/servos.md."
        )
        lines += ["    # output: joint_state"]
    if proposal.is_of_servos or proposal.may_be_of_servos:
        lines += ["    # drives:"]
        row = "{command: position, stiffness: ..., damping: 0.0}"
        lines += [f"    #   {_key(joint)}: {row}" for joint in names]
    told = {joint: proposal.reductions[joint] for joint in names if joint in proposal.reductions}
    if told:
        lines += _comment(
            "The reductions of the URDF's transmissions. They count where drives are told or "
            "measure currents or duty cycles, beside the motor's torque_constant:"
        )
        lines += [f"    #   drives.{k}.gear_ratio: {_number(ratio)}" for k, ratio in told.items()]
    return lines


def _gains(proposal: Proposal) -> list[str]:
    loop, timing, asked = proposal.loop, proposal.loop.timing, proposal.asked
    text = (
        "Of torque [N m/rad, N m s/rad; N/m, N s/m], for mode feedforward. Without the joints' "
        "lines the controller chooses its own, also for mode computed_torque. P = m w^2 + k and "
        "D = 2 sqrt(m P), where w is the joint's bandwidth, m the largest inertia that it moves in "
        "any pose, and k the stiffness that gravity needs so as not to tip the joint over. "
        f"w is {asked:g} rad/s, far below the elastic resonance of the joints, which no URDF "
        f"states. It is higher, at most {FASTEST:g}, where friction that is {100 * UNCERTAIN:g} % "
        f"wrong would cost more than {1e3 * ARRIVED:g} mrad or mm. It is lower where the loop's "
        "period and delay are too long for the joint's smallest inertia. The arm is stable in "
        "every pose with twice these gains, and without measured velocities."
    )
    if proposal.gains.reduced:
        text += (
            " Joints marked * have less: their largest inertia, with the arm stretched out, is "
            "many times their smallest, and damping for the one would be too much for the other."
        )
    if proposal.rotors is not None:
        text += (
            " With geared drives a joint's inertia is never that small. With an armature as in the "
            f"last column all joints would get {asked:g} rad/s: write yours above, and delete the "
            "joints' lines here."
        )
    lines = _comment(text)
    columns = "inertia moved [kg m^2 or kg], w, the error that wrong friction leaves"
    columns += ", armature" * (proposal.rotors is not None)
    lines += [
        *_comment(f"Right of each joint: {columns}."),
        "    gains:",
        f"      bandwidth: {_number(proposal.asked)}",
        f"      damping_ratio: {_number(DAMPING_RATIO)}",
        f"      period: {_number(timing.period)}  # between two commands [s]",
        f"      delay: {_number(timing.delay)}  # from a measurement to its torque [s]",
    ]
    joints = proposal.model.joint_names
    gains = [
        _terms(joint, {"p": _number(p), "d": _number(d)})
        for joint, p, d in zip(joints, proposal.gains.p, proposal.gains.d, strict=True)
    ]
    width = max(len(key) for rows in gains for key in rows) + 1
    for i, joint in enumerate(joints):
        remark = (
            f"{loop.lightest[i]:.2g} to {loop.heaviest[i]:.2g}, {proposal.bandwidth[i]:.2g} rad/s"
        )
        if joint in proposal.gains.reduced:
            remark += " *"
        remark += f", {_friction_error(proposal, i)}"
        if proposal.rotors is not None:
            remark += f", {proposal.rotors[i]:.2g}"
        for key, value in gains[i].items():
            lines.append(f"      {key + ':':{width}} {value:<28}# {remark}")
    return lines


def _friction_error(proposal: Proposal, joint: int) -> str:
    unit, per = ("mm", "N") if proposal.model.joint_types[joint] == "prismatic" else ("mrad", "N m")
    if proposal.model.friction[joint] > 0.0:
        return f"{1e3 * proposal.friction_error[joint]:.2g} {unit}"
    return f"{1e3 / proposal.gains.p[joint]:.2g} {unit} per {per}"


def _damping(proposal: Proposal, names: list[str]) -> list[str]:
    damping, width = proposal.damping, max(map(len, names)) + 1
    text = (
        "In gravity_compensation and the gravity hold [N m s/rad or N s/m]. Hand guiding takes "
        f"{100 * GUIDING:g} % of the effort limit at the velocity limit, or stops a joint without "
        f"limits in {COASTING:g} s. With too much, a joint oscillates at its smallest inertia "
        "with period and delay above, or jerks when states stop; with too little, gravity torque "
        "that comes late drives it."
    )
    return [
        *_comment(text),
        "    damping:",
        *(
            f"      {name + ':':{width}} {_number(value):<10}# {damping.reason(i)}"
            for i, (name, value) in enumerate(zip(names, damping.value, strict=True))
        ),
    ]


def _limits(proposal: Proposal, names: list[str]) -> list[str]:
    model, lines = proposal.model, []
    width = max(map(len, names))
    for i, name in enumerate(names):
        what = f"position {model.lower[i]:.4g} to {model.upper[i]:.4g}, "
        what += f"velocity {model.velocity_limit[i]:.4g}"
        if np.isfinite(model.effort_limit[i]):
            lines.append(
                f"      {name + ':':{width + 1}} {_number(model.effort_limit[i]):<10}# {what}"
            )
        else:
            lines.append(f"      # {name}: none; {what}")
    head = "    effort_limit:" if np.isfinite(model.effort_limit).any() else "    # effort_limit:"
    return [head, *lines]


def _tip(proposal: Proposal) -> list[str]:
    purpose = "of ~/current_pose and mode cartesian_impedance"
    if not proposal.tip:
        text = f"The tool's link, {purpose}: several chains could carry it, name it."
        return [*_comment(text), '    # tip: ""']
    text = f"The tool's link, {purpose}; by its name or, failing that, the last one."
    led = {"mode": Mode.CARTESIAN_IMPEDANCE, "tip": proposal.tip}
    if softer := proposal.arm.with_parameters(led).without_margin:
        text += f" In that mode: {softer}."
    return [*_comment(text), f"    tip: {_key(proposal.tip)}"]


def _comment(text: str) -> list[str]:
    head = "    # "
    return textwrap.wrap(text, 96, initial_indent=head, subsequent_indent=head)


def _rows(names: list[str]) -> Callable[[Iterable[object]], list[str]]:
    width = max(map(len, names)) + 1
    return lambda values: [
        f"      {n + ':':{width}} {v}" for n, v in zip(names, values, strict=True)
    ]


def _terms(joint: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return keys and values of the lines for one joint: one line where it may be nested."""
    return {
        _key(key): value
        if isinstance(value, str)
        else f"{{{', '.join(f'{name}: {number}' for name, number in value.items())}}}"
        for key, value in of_joint(joint, values).items()
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
        "plotjuggler": output.with_name(f"{output.stem}_plotjuggler.xml"),
        "foxglove": output.with_name(f"{output.stem}_foxglove.json"),
        "rviz": output.with_suffix(".rviz"),
    }
