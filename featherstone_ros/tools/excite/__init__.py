"""Plan the motion to record for `identify`: every joint, from rest to rest, within all limits.

Searches finite Fourier series for the motion whose regressor (base parameters and friction) has
the lowest condition number. The motion keeps a margin to the limits of position, speed and torque,
and avoids the arm itself and the floor as far as the URDF has geometry; the output says what was
checked. It is rehearsed on a simulated arm and written as a trajectory_msgs/JointTrajectory:

  featherstone-ros preflight FILE.yaml --urdf ARM.urdf
  featherstone-ros record --output DRIVEN       meanwhile, beside it
  featherstone-ros replay FILE.yaml

It is also rehearsed with the gains of the parameter file (or those that the controller chooses) on
an arm that is heavier and has friction that the file does not know. Where these gains are too low
to follow, the joint is named.

The arm moves to the first point within five seconds: start it near there, with nothing in between.
The planner does not know about people, tables and cables: watch the arm, with a hand on the
emergency stop.

Examples:
  featherstone-ros excite --urdf panda --output excite.yaml --plot excite.png
  featherstone-ros excite --urdf arm.urdf --parameters arm.yaml --output e.yaml
  featherstone-ros excite --urdf arm.urdf --joints hip elbow --output e.yaml
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.options import (
    JOINT_LIMITS,
    add_files,
    add_number,
    add_outputs,
    add_parameters,
    add_urdf_argument,
    positive,
    positive_up_to,
)
from featherstone_ros.tools.result import Console, RenderableType, Result

if TYPE_CHECKING:
    from featherstone_ros.arrays import Floats
    from featherstone_ros.tools.trial_drive import Drive

LEAD_IN = 5.0  # [s] to the first point
SPACING = 0.05  # [s] between points
HEAVIER = 0.3  # share by which the arm may be heavier than its model
RUBBING = 0.05  # of the effort limits: Coulomb friction that the model may not know
USED = 0.5  # share of path_tolerance that this friction may take


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_urdf_argument(parser)
    parser.add_argument(
        "--joints", nargs="+", metavar="NAME", help="joints to move (default: all; others at 0)"
    )
    add_number(parser, "--duration", "S", positive_up_to(3600), 30.0, "duration [s]")
    add_number(parser, "--harmonics", "K", int, 5, "sines per joint")
    add_number(parser, "--speed", "SHARE", positive, 0.8, "largest share of the velocity limits")
    add_number(parser, "--seed", "K", int, 0, "seed of the random search")
    parser.add_argument(
        "--may-touch",
        nargs=2,
        action="append",
        default=[],
        metavar=("LINK", "LINK"),
        help="do not keep these two apart; the second may be `floor`; as often as needed",
    )
    add_outputs(parser, required=True, output="the trajectory (YAML)")
    add_parameters(
        parser,
        "parameter file: friction, payload, effort_scale, joints, initial_positions (where the "
        "motion starts); default: the package's own for panda and ur5e",
    )
    add_files(parser, joint_limits=JOINT_LIMITS)
    add_outputs(parser, plot="draw position, speed and torque relative to the limits")


def run(args: argparse.Namespace, console: Console) -> Result:
    """Plan, rehearse, check and write."""
    from functools import partial

    import numpy as np
    from rich.text import Text

    from featherstone_ros.control.controlled_arm import ControlledArm
    from featherstone_ros.control.controller_parameters import Output
    from featherstone_ros.control.settings import Mode
    from featherstone_ros.model import read_file
    from featherstone_ros.model.robots import robot_file
    from featherstone_ros.tools.clearance import Clearance
    from featherstone_ros.tools.excite.excitation import Excitation
    from featherstone_ros.tools.progress_bar import delayed_progress
    from featherstone_ros.tools.trajectory_check import check_file, draw
    from featherstone_ros.tools.trajectory_files import as_yaml, from_arrays
    from featherstone_ros.tools.trial_drive import follow

    urdf = robot_file(args.urdf)
    with delayed_progress("choosing gains", console):
        arm = ControlledArm.from_robot(args.urdf, args.joints, args.parameters, args.joint_limits)
        joints = arm.model.joint_names
        rehearsing = arm.with_parameters(mode=Mode.FEEDFORWARD, output=Output.EFFORT)
        try:
            p, _ = rehearsing.feedback.gains
        except ValueError as error:
            raise FeatherstoneError(f"the controller would not start: {error}") from None
        text = read_file(urdf)
        clearance = Clearance.of(arm.model, text, urdf.resolve().parent, args.may_touch)
        planner = Excitation(arm, clearance, args.duration, args.harmonics, args.speed)
    with delayed_progress("searching", console) as progress:
        plan = planner.search(_initial_positions(arm.files, joints), args.seed, progress)
    count = round(args.duration / SPACING) + 1
    time, q, qd, qdd = plan.series.samples(count)
    trajectory = from_arrays(joints, time + LEAD_IN, q, qd, qdd, np.full_like(q, np.nan))
    checked = check_file(trajectory, arm)
    if not checked.verdict.fits:
        raise FeatherstoneError("the motion found does not pass preflight: try another --seed")
    points = from_arrays(joints, time, q, qd, qdd).points
    with delayed_progress("rehearsing", console) as progress:
        exact = follow(rehearsing, q[0], points, progress=progress)
        unknown = follow(rehearsing, q[0], points, HEAVIER, RUBBING, progress)
    distance = "unknown" if np.isinf(plan.clearance) else f"{1e3 * plan.clearance:.0f} mm"
    torque = exact.load(arm.limits.effort).max()
    shown: list[RenderableType] = [
        f"{arm.model.name}: {args.duration:g} s, {plan.unknowns} base parameters and drive terms; "
        f"condition number {_short(plan.before)} of the first motion that fits, "
        f"[bold]{_short(plan.after)}[/bold] of this one",
    ]
    if plan.untold:
        what = ", ".join(plan.untold)
        text = f"this motion hardly tells {what}: they will stay as in the URDF"
        shown.append(Text(text, "yellow"))
    for line in (
        f"{planner.clearance.describe()}; least distance {distance}",
        "preflight: within all limits"
        + f", torque at most {torque:.0%} of them when rehearsed" * bool(torque),
        f"starts and ends at rest at {', '.join(f'{x:.3f}' for x in plan.series.start)}",
    ):
        shown.append(Text(line, "dim"))
    text = f"rehearsed on the simulated arm: {_furthest(exact, joints)}"
    if exact.trouble:
        text += f": it does not follow: {exact.trouble}; "
        text += "give it other gains or a slower motion (--speed)"
    shown.append(Text(text, "bold red" if exact.trouble else "dim"))
    verdict = "the gains will do"
    if unknown.trouble:
        known = np.where(np.isfinite(arm.limits.effort), arm.limits.effort, 0.0)
        friction = RUBBING * known / (USED * (arm.values["path_tolerance"] or np.inf))
        low = [f"gains.{joints[j]}.p {friction[j]:.3g}" for j in np.flatnonzero(p < friction)]
        verdict = (
            f"the gains are too low: {unknown.trouble}; for the recording "
            + (f"set at least {', '.join(low)}" if low else "set higher ones")
            + ", or raise path_tolerance, or lower --speed"
        )
    text = (
        f"on an arm {HEAVIER:.0%} heavier than the model, with unknown friction of "
        f"{RUBBING:.0%} of the effort limits, {_furthest(unknown, joints)}: {verdict}"
    )
    shown.append(Text(text, "yellow" if unknown.trouble else "dim"))
    files = ((args.output, as_yaml(trajectory)), (args.plot, partial(draw, checked)))
    return Result(shown, files, 1 if exact.trouble else 0)


def _furthest(drive: Drive, joints: Sequence[str]) -> str:
    from featherstone_ros.tools.style import milli

    worst = int(drive.peak.argmax())
    return f"{joints[worst]} is up to {milli(drive.peak[worst])} mrad or mm off"


def _short(number: float) -> str:
    return f"{number:.0f}" if number < 1e5 else f"{number:.1e}"


def _initial_positions(files: Sequence[Path], joints: Sequence[str]) -> Floats | None:
    """Return the initial positions of parameter files, None if a joint's is missing."""
    import numpy as np

    from featherstone_ros.model.parameter_files import TWIN, read_parameters

    if not files:
        return None
    home = read_parameters(*files)[TWIN]
    positions = home.numbers("initial_positions.{}", joints, [np.nan] * len(joints))
    return positions if np.isfinite(positions).all() else None
