"""What setup prints and draws: gains, the check on the twin, and the next commands."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from featherstone_ros.model.finding import Severity
from featherstone_ros.model.robots import argument_texts
from featherstone_ros.tools import panels
from featherstone_ros.tools.proposal import Proposal
from featherstone_ros.tools.setup.files import EFFORT_CONTROLLER, assumption, sentence
from featherstone_ros.tools.style import (
    BLUE,
    FAINT,
    PANELS_STYLE,
    RED,
    milli,
    new_table,
    picture,
    short_names,
)
from featherstone_ros.tools.trial_drive import Drive

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The error at which feedback should be stronger than Coulomb friction: in rad or m, and of a joint
# with a shorter range, as a gripper's finger, this share of it.
STUCK = 0.3
NO_ACTION = "control_msgs is missing here, and with it the action: see featherstone-ros doctor"


def summary(proposal: Proposal, drives: list[Drive]) -> Group:
    """Return the gains and the result of the check on the twin."""
    timing = proposal.loop.timing
    parts: list[RenderableType] = [
        _table(proposal, drives),
        Text(f"Gains are stable everywhere, with a factor of 2 in hand, at {timing}.", style="dim"),
    ]
    if proposal.assumed_armature.any():
        assumed = f"Assumed inertia of the drives: {assumption(proposal)}"
        parts.append(Text(f"{assumed} Put in your arm's: see the file.", style="bold yellow"))
    if proposal.gains.reduced:
        parts.append(Text(_reduced(proposal), style="dim"))
    warnings = _stuck(proposal), _beside(proposal), _falling(proposal), _near(proposal)
    parts += [Text(warning, style="bold yellow") for warning in warnings if warning]
    for drive in drives:
        line = sentence(drive, proposal)
        parts.append(Text(f"Twin, {line}", style="bold red" if drive.trouble else ""))
    if found := proposal.inspection.counts(Severity.WARNING):
        where = f"featherstone-ros inspect {quote(str(proposal.urdf))}"
        if proposal.model.locked:
            where += f" --joints {join(proposal.model.joint_names)}"
        elsewhere = [f"{joint}={at:g}" for joint, at in proposal.model.locked.items() if at]
        if elsewhere:
            where += f" --locked {join(elsewhere)}"
        parts.append(Text(f"The URDF has {found}: {where}", style="bold yellow"))
    return Group(*parts)


def _reduced(proposal: Proposal) -> str:
    slow = (
        f"* Below {proposal.asked:g} rad/s, or below what friction asks for: with more damping the "
        "joint would be unstable in the pose where its inertia is smallest."
    )
    if proposal.rotors is None:
        return slow
    share = np.max(proposal.rotors / proposal.loop.heaviest)
    return (
        f"{slow} An armature of {share:.0%} of its largest inertia would allow more: see the file."
    )


def _stuck(proposal: Proposal) -> str:
    """Return a warning on joints that friction may keep far from their set-point, or ""."""
    model = proposal.model
    distance = model.friction / proposal.gains.p
    allowed = STUCK * np.minimum(model.upper - model.lower, 1.0)
    far = [f"{model.joint_names[j]} {distance[j]:.2g}" for j in np.flatnonzero(distance > allowed)]
    if not far:
        return ""
    return (
        "Friction is stronger than feedback until a joint is this far off [rad, m]: "
        f"{', '.join(far)}. Its drive's inertia, as armature, allows higher gains: see the file."
    )


def _beside(proposal: Proposal) -> str:
    """Return a warning on joints of wheels, a head or another arm, or ""."""
    tip, beside = proposal.beside
    if not beside:
        return ""
    arm = [joint for joint in proposal.model.joint_names if joint not in beside]
    return (
        f"Not on the way from the base to {tip}, but commanded, too: {', '.join(beside)}. To lock "
        f"them: --joints {join(arm)}"
    )


def _falling(proposal: Proposal) -> str:
    """Return a warning on joints that nothing holds but torque, or ""."""
    model = proposal.model
    free = [model.joint_names[j] for j in np.flatnonzero(model.friction == 0.0)]
    if not free:
        return ""
    joints = "every joint" if len(free) == model.n else ", ".join(free)
    return (
        f"Coulomb friction is 0: {joints}. If that is true, an arm without brakes falls, about a "
        "second after its joint states have stopped. Put in your arm's: see the file."
    )


def _near(proposal: Proposal) -> str:
    """Return a warning on what the first motion may bring together, or ""."""
    clearance = proposal.clearance
    overlap = (clearance.missing(proposal.way(proposal.goal)) - clearance.needed).max(axis=0)
    if not (overlap > 0.0).any():
        return ""
    worst = int(overlap.argmax())
    return (
        f"In the first motion the boxes around {clearance.named(worst)} overlap by "
        f"{1e3 * overlap[worst]:.0f} mm: look at it in simulation before the arm moves."
    )


def _table(proposal: Proposal, drives: list[Drive]) -> Table:
    model = proposal.model
    headings = "P", "D", "bandwidth\nrad/s", "error\nmrad, mm", "heavier\narm", "torque\n% of limit"
    title = f"{model.name}: {model.n} joint{'s' * (model.n > 1)}"
    table = new_table(title, "joint", figures=headings)
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    limit = np.where(np.isfinite(model.effort_limit), model.effort_limit, np.nan)
    load = drives[0].load(limit)
    for j, joint in enumerate(model.joint_names):
        star = "*" if joint in proposal.gains.reduced else ""
        table.add_row(
            joint,
            f"{proposal.gains.p[j]:.3g}",
            f"{proposal.gains.d[j]:.3g}",
            f"{proposal.bandwidth[j]:.2g}{star}",
            *(_cell(milli(drive.peak[j]), drive) for drive in drives),
            _cell(f"{100 * load[j]:.0f}", drives[0]),
        )
    return table


def _cell(figure: str, drive: Drive) -> Text:
    """Return a figure of a drive, red if it failed; a dash for what was not measured."""
    return Text("–" if figure == "nan" else figure, style="bold red" if drive.trouble else "")


def next_steps(
    proposal: Proposal, files: dict[str, Path], heavier: Drive | None = None
) -> list[Text]:
    """Return the next commands, a line each, to be copied as they are.

    ``heavier``: the drive of the heavier arm; if it failed, the last line says so.
    """
    parameters, motion = (
        quote(str(path.absolute())) for path in (files["parameters"], files["motion"])
    )
    robot = quote(str(proposal.urdf.absolute()))
    given = [quote(text) for text in argument_texts(proposal.urdf)]
    urdf = " ".join([robot, *given])
    if given:
        robot += f" xacro_arguments:={quote(' '.join(given))}"
    launch, arm = "ros2 launch featherstone_ros", f"robot:={robot} parameters:={parameters}"
    steps = {
        "Simulated": (
            f"featherstone-ros run {urdf} --parameters {parameters} --trajectory {motion}",
            "or, with ROS 2's launch, and the motion from another terminal:",
            f"{launch} twin_and_controller.launch.py {arm}",
            f"featherstone-ros replay {motion}",
        ),
        "Real, under ros2_control": (
            f"with the controllers in {files['ros2_control']}:",
            f"ros2 control load_controller --set-state active {EFFORT_CONTROLLER}",
            f"{launch} feedforward_controller.launch.py {arm} "
            f"commands:=/{EFFORT_CONTROLLER}/commands mode:=gravity_compensation",
            "The arm should float where you put it; then mode:=feedforward (docs/first_arm.md).",
        ),
        "MoveIt": (
            f"with the controllers in {files['moveit']}, beside either of them:",
            "ros2 launch YOUR_ARM_moveit_config move_group.launch.py",
            *([] if find_spec("control_msgs") else [NO_ACTION]),
        ),
    }
    if proposal.is_of_servos:
        steps["Real, under ros2_control"] = (
            "Its hardware takes positions: ~/joint_commands has them, from output: joint_state.",
            "What a servo is told, and how its bus is written: docs/servos.md.",
        )
    if proposal.may_be_of_servos:
        steps["Real, under ros2_control"] += (
            "The URDF names PositionJointInterface: are its drives servos? Then docs/servos.md.",
        )
    errors = proposal.inspection.count(Severity.ERROR)
    if errors:
        del steps["Real, under ros2_control"], steps["MoveIt"]
    lines = []
    for title, step in steps.items():
        lines.append(Text(f"\n{title}", style="bold"))
        lines += [Text(f"  {line}", style=_style(line)) for line in step]
    if errors:
        text = (
            f"\nNot for the real arm: `featherstone-ros inspect` finds {errors} "
            f"error{'s' * (errors > 1)} in the URDF. Correct {'them' if errors > 1 else 'it'}, and "
            "run setup again for the commands."
        )
        lines.append(Text(text, style="bold red"))
    elif heavier is not None and heavier.trouble:
        text = (
            f"\nCareful: {sentence(heavier, proposal)}. Before a real arm moves, compare the "
            "URDF's masses with it (featherstone-ros evaluate)."
        )
        lines.append(Text(text, style="bold red"))
    return lines


def _style(line: str) -> str:
    return "cyan" if line.startswith(("featherstone-ros ", "ros2 ")) else "dim"


MIN_ERROR = 1e-3  # [mrad] that is drawn


def draw(proposal: Proposal, drives: list[Drive], path: Path) -> None:
    """Write the picture."""
    model, timing, first = proposal.model, proposal.loop.timing, drives[0]
    names = short_names(model.joint_names)
    with picture(path, 128, PANELS_STYLE) as pyplot:
        figure = pyplot.figure(figsize=(12, 6.2), dpi=130, facecolor="white")
        low, gap = (0.2, 0.9) if panels.are_too_long(names) else (0.09, 0.42)
        grid = figure.add_gridspec(
            2, 2, width_ratios=(1, 1.9), left=0.02, right=0.985, top=0.84, bottom=low, hspace=gap,
            wspace=0.14,
        )  # fmt: skip
        panels.write_title(
            figure,
            f"{model.name}: the first motion, simulated",
            f"All {model.n} joints at once, by the gains of the parameter file; a command every "
            f"{1e3 * timing.period:g} ms, which acts {1e3 * timing.delay:g} ms late.",
        )
        reached = first.record.q
        lines = panels.seen_from(panels.segments(model, reached[:: max(1, len(reached) // 50)]))
        panels.draw_arm(figure.add_subplot(grid[:, 0]), lines)
        errors = [
            (
                f"links {100 * drive.excess:g} % heavier" if drive.excess else "as the URDF says",
                np.maximum(1e3 * drive.peak, MIN_ERROR),
                colour,
            )
            for drive, colour in zip(drives, (BLUE, RED), strict=True)
        ]
        axes = figure.add_subplot(grid[0, 1])
        unit = "mrad or mm" if "prismatic" in model.joint_types else "mrad"
        axes.set_title(f"Largest tracking error [{unit}]")
        panels.draw_errors(axes, names, errors, lambda error: f"{error:.2g}")
        _draw_torques(figure.add_subplot(grid[1, 1]), proposal, first)
        panels.name_joints(figure.axes[-1], names)


def _draw_torques(axes: Axes, proposal: Proposal, drive: Drive) -> None:
    share = 100 * drive.record.command / proposal.model.effort_limit
    low, high = np.fmin.reduce(share, initial=0.0), np.fmax.reduce(share, initial=0.0)
    axes.axhspan(-100, 100, color=FAINT, alpha=0.5, lw=0)
    axes.bar(range(proposal.model.n), high - low, 0.5, bottom=low, color=BLUE)
    axes.set_ylim(-112, 112)
    axes.set_title("Torque, minimum to maximum [% of limit]")
