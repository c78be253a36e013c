"""Identify the load on a link: mass, centre of mass and inertia, with their uncertainty.

Reads recorded joint states of the arm with its load, subtracts the torque that the bare arm needs,
and fits a physically possible body to the rest. The bare arm is known from its URDF and one of

  --with     the parameter file that `identify` or `evaluate` wrote
  --without  a recording of the bare arm, from which the arm is identified first

Best drive the bare arm along the same motion: of two such recordings only the difference of the
effort counts, in which the errors of the arm's model cancel out. With neither, friction is fitted
at the same time. The result is printed as the controller's parameters payload.*, which can also be
set at run time (`ros2 param load`).

To find mass and centre of mass, turn the link about several axes. Where that is not possible, as
with one joint or a pan-tilt, give the centre of mass (--com X Y Z); without it the first moment is
told as far as the torque determines it, and the exit status is 1. To find the inertia, turn it
fast; otherwise the result stays near the inertia of a ball.

Examples:
  featherstone-ros payload loaded/ --without bare/ --urdf arm.urdf --link tool0
  featherstone-ros payload rec/ --urdf arm.urdf --with arm.yaml --link tool0
  featherstone-ros payload rec/ --urdf pan_tilt.urdf --link head --com 0 0 0.1
  featherstone-ros payload rec/ --urdf panda --link panda_hand --json load.json
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from featherstone_ros.tools.options import (
    RECORDING,
    add_outputs,
    add_recording_options,
    between,
    recording_options,
)
from featherstone_ros.tools.result import Console, Result, write_files

if TYPE_CHECKING:
    from featherstone_ros.arrays import Floats
    from featherstone_ros.identification.arm import Arm
    from featherstone_ros.identification.filtering import SmoothMotion
    from featherstone_ros.identification.identification import Options
    from featherstone_ros.identification.payload import Payload
    from featherstone_ros.model import Model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", metavar="BAG", help=RECORDING)
    add_recording_options(
        parser, "the arm without the load", "joints whose effort counts (default: all)"
    )
    known = parser.add_mutually_exclusive_group()
    known.add_argument(
        "--with",
        dest="known",
        type=Path,
        metavar="FILE",
        help="parameter file with friction, drives and offsets of the arm (default: fit them)",
    )
    known.add_argument(
        "--without",
        dest="bare",
        metavar="BAG",
        help="recording of the arm without the load, to identify the arm; of the same motion, only "
        "the difference counts",
    )
    parser.add_argument("--link", required=True, help="link that carries the load")
    parser.add_argument(
        "--com",
        type=between(-100, 100),
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="the load's centre of mass in the link's frame, where it is known [m]: one joint then "
        "tells the mass",
    )
    add_outputs(
        parser, json="write the figures", plot="write a picture", output="write parameters (YAML)"
    )


def run(args: argparse.Namespace, console: Console) -> Result:
    """Find the load, print and write it."""
    from rich.text import Text

    from featherstone_ros.identification.identification import Options, recorded
    from featherstone_ros.identification.payload import (
        UnseparatedError,
        as_dict,
        find_payload,
        lines,
        moment_as_dict,
        snippet,
    )
    from featherstone_ros.identification.recording_checks import require_motion_enough
    from featherstone_ros.model.robots import robot_file
    from featherstone_ros.tools.style import sentences

    urdf = robot_file(args.urdf)
    options = Options(**recording_options(args))
    bags = [args.bag, *([args.bare] if args.bare else [])]
    (recording, *bare), names, notes = recorded(bags, urdf, options)
    arm = _bare_arm(args, urdf, options, recording.joint_names, console)
    difference = arm.difference(recording, bare[0], args.filter_hz) if bare else None
    if bare:
        notes.append(
            "two recordings of different motions: the bare arm is that of the model"
            if difference is None
            else "the same motion twice: only the difference of the effort counts"
        )
    recording = difference or recording
    motion = arm.motion(recording, args.filter_hz)
    require_motion_enough(arm.model, [recording], [motion])
    judged = [recording.joint_names.index(name) for name in names]
    fit_drives = not (args.known or args.bare)
    subtracted = difference is not None
    try:
        found = find_payload(
            arm, [recording], args.link, args.filter_hz, judged, fit_drives, subtracted, args.com
        )
    except UnseparatedError as error:
        write_files(console, (args.json, moment_as_dict(error.link, error.moment)))
        raise
    left = motion.effort - (0.0 if subtracted else arm.torque(motion))
    files = (
        (args.json, as_dict(found, names)),
        (args.output, snippet(found)),
        (args.plot, partial(_draw, found, arm.model, motion, left, judged, fit_drives)),
    )
    return Result([*lines(found), *sentences(notes), Text(f"\n{snippet(found)}".rstrip())], files)


def _bare_arm(
    args: argparse.Namespace, urdf: Path, options: Options, joints: Sequence[str], console: Console
) -> Arm:
    """Return the arm without the load, by the recording without it or by its files."""
    from featherstone_ros.identification.identification import identify
    from featherstone_ros.tools.progress_bar import delayed_progress
    from featherstone_ros.tools.study import load_arm

    if not args.bare:
        return load_arm(urdf, joints, args.known, args.gravity)
    # Held out is nothing: what judges the arm is the recording with the load.
    with delayed_progress("identifying the arm without the load", console) as progress:
        return identify([args.bare], urdf, replace(options, held_out=[args.bare]), progress).arm


def _draw(
    found: Payload,
    model: Model,
    motion: SmoothMotion,
    left: Floats,
    judged: Sequence[int],
    fit_drives: bool,
    path: Path,
) -> None:
    """Draw the torque that the bare arm leaves unexplained, and that of the load.

    ``left`` (N, n) torque that the bare arm leaves unexplained. ``fit_drives``: the arm's friction
    is not known: what fits what is left is taken off.
    """
    from featherstone_ros import Dynamics
    from featherstone_ros.identification.explanation import rms
    from featherstone_ros.identification.payload import in_short
    from featherstone_ros.identification.regression import fit
    from featherstone_ros.tools import panels, study
    from featherstone_ros.tools.style import BLUE

    carrying = model.with_payload(found.link, found.mass, found.com, found.inertia)
    load = Dynamics(carrying).rnea(*motion.state) - Dynamics(model).rnea(*motion.state)
    motion, left, load = motion.of(judged), left[:, judged], load[:, judged]
    if fit_drives:
        left = left - fit(motion, left - load, physical=True).torque(motion)
    before, after = rms(left), rms(left - load)
    study.draw(
        path,
        in_short(found),
        motion,
        [model.joint_names[j] for j in judged],
        [
            ("unexplained without the load [N m, N]", panels.MEASURED, left),
            ("the load", BLUE, load),
        ],
        lambda j: f"RMS  {before[j]:.3g}  →  {after[j]:.3g}",
    )
