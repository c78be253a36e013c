"""Correct a URDF from recordings of the arm: links, friction, inertia and offsets of the drives.

Reads recorded joint states (rosbag2, sqlite3 or MCAP) and fits the links and the friction to the
measured torque. The links stay physically possible (positive mass, an inertia that some density
has), and near the URDF where the data do not determine them. Writes your URDF with new inertials
and everything else unchanged, and a parameter file for both nodes. Torque cannot separate links
that are fixed to each other, so these are scaled together.

The score is computed from data that were not fitted: --held-out, or else the last third of each
motion. `evaluate BAG --urdf OUTPUT --with PARAMETERS` prints the same score. Base parameters,
the combinations that torque depends on, are given with standard deviations (--json, --plot), and
those that the data do not determine are named.

A good recording follows what `excite` plans: every joint, both directions, half a minute or more.
Effort must be joint torque in N m (N), gravity included; --current-gain converts from currents. If
nobody knows the torque per ampere, record the motion again with a known load (--loaded, --load).
What looks like anything else (another unit or sign in one joint, joints swapped, an encoder that is
off, efforts that come late) is named with the joint, and nothing is written, nor if the result
explains what was held out worse than the given URDF.

Examples:
  featherstone-ros identify recording/ --urdf arm.urdf
  featherstone-ros identify monday/ tuesday/ --held-out friday/ --urdf arm.urdf
  featherstone-ros identify rec.mcap --urdf arm.urdf --output mended.urdf
  featherstone-ros identify rec/ --urdf arm.urdf --current-gain j1=11.4 j2=7.9
  featherstone-ros identify bare/ --loaded kg/ --load hand=2.8 --urdf arm.urdf
"""

from __future__ import annotations

import argparse
from pathlib import Path

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.options import (
    RECORDING,
    add_outputs,
    add_recording_options,
    named,
    positive,
    recording_options,
    require_writable,
)
from featherstone_ros.tools.result import Console, Result, write_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "bags",
        nargs="+",
        metavar="BAG",
        help=RECORDING,
    )
    add_recording_options(
        parser, "the robot description", "joints whose effort counts (default: all with effort)"
    )
    parser.add_argument(
        "--held-out",
        nargs="+",
        default=[],
        metavar="BAG",
        help="recordings to score with (default: the last third of each motion)",
    )
    parser.add_argument(
        "--fix",
        action="append",
        choices=["offsets", "delay"],
        default=[],
        help="correct the encoders' offsets, or the delay of the efforts, before the fit; they are "
        "named",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="fit less than 10 s, and write what faults or a poor score speak against",
    )
    parser.add_argument(
        "--loaded",
        metavar="BAG",
        help="the motion of the first recording with a known load: efforts are currents, or of "
        "another unit, and the load tells what torque they are",
    )
    parser.add_argument(
        "--load",
        type=named("LINK=KG", positive),
        metavar="LINK=KG",
        help="the load of --loaded: on which link, and its mass",
    )
    parser.add_argument(
        "--gains-by-links",
        action="store_true",
        help="efforts are currents, or of another unit: find what torque they are by the links as "
        "described, whose masses must be right",
    )
    add_outputs(
        parser,
        output="the corrected URDF (default: ARM_identified.urdf)",
        parameters="for both nodes and evaluate --with (default: ARM_identified.yaml)",
        json="write scores and parameters",
        plot="draw torques and parameters (PNG)",
    )


def run(args: argparse.Namespace, console: Console) -> Result:
    """Identify, write, score what was written, print and draw."""
    from functools import partial

    from featherstone_ros.identification.identification import Options, identify, score
    from featherstone_ros.inspection.geometry import boxes, shapes
    from featherstone_ros.model import read_file
    from featherstone_ros.model.robots import robot_file
    from featherstone_ros.model.urdf import read_xml
    from featherstone_ros.tools.identify import report
    from featherstone_ros.tools.progress_bar import delayed_progress
    from featherstone_ros.tools.study import load_arm

    urdf = robot_file(args.urdf)
    output = args.output or Path(f"{urdf.name.split('.')[0]}_identified.urdf")
    parameters = args.parameters or output.with_suffix(".yaml")
    if output.absolute() == urdf or (output.exists() and output.samefile(urdf)):
        raise FeatherstoneError(f"--output {output} is the description itself: choose another name")
    require_writable(output, parameters)
    options = Options(
        held_out=args.held_out,
        fix_offsets="offsets" in args.fix,
        fix_delay="delay" in args.fix,
        any_duration=args.force,
        boxes=dict(boxes(shapes(read_xml(read_file(urdf)), urdf.resolve().parent))),
        **recording_options(args),
    )
    gains = report.find_gains(args, urdf, options)
    options = report.with_gains(options, gains)
    console.print(report.gain_table(gains), end="")
    with delayed_progress("identifying", console) as progress:
        found = identify(args.bags, urdf, options, progress)
    judged, cut_off = found.judged, found.cut_off
    _, before = score(found.before, found.held_out, judged, cut_off, "before")
    _, after = score(found.arm, found.held_out, judged, cut_off)
    least = report.least_error(found)
    wrong = [*report.reasons_against(found, after, before, least), *report.forbidden(found)]
    if wrong and not args.force:
        raise FeatherstoneError(" ".join([*wrong, "Nothing is written (--force writes)."]))
    sources = ", ".join(Path(bag).name for bag in args.bags)
    write_files(
        console,
        (output, partial(report.write_urdf, found.arm.model, urdf)),
        (parameters, report.parameter_file(found, sources, report.gain_parameters(gains))),
    )
    written = load_arm(output, found.model.joint_names, parameters, args.gravity)
    _, whole = score(written, found.recordings, judged, cut_off, "identified")
    motion, held_out = score(written, found.held_out, judged, cut_off, "identified")
    numbers = report.as_dict(found, whole, held_out, before) | report.gains_as_dict(gains)
    more = (
        (args.json, numbers),
        (args.plot, partial(report.draw, found, motion, held_out, before)),
    )
    return Result([report.tables(found, whole, held_out, before)], more)
