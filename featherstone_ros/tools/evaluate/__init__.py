"""Rate how well a URDF explains an arm's measured torques.

Reads recorded joint states (rosbag2, sqlite3 or MCAP, with or without metadata.yaml), resamples
them evenly, filters them without delay, differentiates the velocity, and predicts the torque by
inverse dynamics. For each joint it prints the remaining torque (RMS) and the share of the variance
that is explained (R^2): by gravity alone, by the rigid links, and with fitted friction.

The fitted friction is written as a parameter file for both nodes: friction.<joint>.* and
armature.<joint>. With such a file (--with; `identify` also writes one) nothing is fitted: the score
is that of the model that the nodes use. --json also scores the last third of the recording.

Effort must be joint torque in N m (N), gravity included. A good recording moves every joint in
both directions at several speeds, for half a minute or more. Choose a cut-off frequency above
those of the motion and below the noise.

Examples:
  featherstone-ros evaluate recording/ --urdf arm.urdf
  featherstone-ros evaluate rec.mcap --urdf arm.urdf --fit-friction --plot f.png
  featherstone-ros evaluate rec.db3 --urdf arm.urdf --joints shoulder elbow
  featherstone-ros evaluate rec/ --urdf panda --fit-armature --parameters f.yaml
  featherstone-ros evaluate rec/ --urdf identified.urdf --with identified.yaml
"""

from __future__ import annotations

import argparse
from pathlib import Path

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.options import (
    RECORDING,
    add_outputs,
    add_recording_options,
    recording_options,
)
from featherstone_ros.tools.result import Console, Content, Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", metavar="BAG", help=RECORDING)
    add_recording_options(
        parser,
        "the robot description",
        "joints to compare (default: all in both bag and URDF)",
    )
    parser.add_argument(
        "--fit-friction",
        action="store_true",
        help="fit viscous and Coulomb friction and a constant to each joint",
    )
    parser.add_argument(
        "--fit-armature",
        action="store_true",
        help="also fit the drives' inertia (torque sensors behind the gears do not measure it); "
        "implies --fit-friction",
    )
    parser.add_argument(
        "--with",
        dest="known",
        type=Path,
        metavar="FILE",
        help="parameter file of the nodes: score the model with it, fit nothing",
    )
    add_outputs(
        parser,
        parameters="file for the fitted friction; implies --fit-friction (default: "
        "BAG_friction.yaml)",
        json="write the scores",
        plot="draw the torques (PNG)",
        csv="write the filtered samples",
    )


def run(args: argparse.Namespace, console: Console) -> Result:
    """Evaluate, print, draw and write."""
    from functools import partial

    from featherstone_ros.model.robots import robot_file
    from featherstone_ros.tools.evaluate import evaluation as study
    from featherstone_ros.tools.progress_bar import delayed_progress

    if args.known and (args.fit_friction or args.fit_armature or args.parameters):
        raise FeatherstoneError("--with fits nothing: leave out --fit-... and --parameters")
    options = study.EvaluationOptions(
        fit_friction=args.fit_friction or args.parameters is not None,
        fit_armature=args.fit_armature,
        known=args.known,
        **recording_options(args),
    )
    with delayed_progress("reading", console) as progress:
        evaluation = study.evaluate(args.bag, robot_file(args.urdf), options, progress)
    files: list[tuple[Path | None, Content]] = [
        (args.plot, partial(study.draw, evaluation)),
        (args.csv, partial(study.write_csv, evaluation)),
        (args.json, study.as_dict(evaluation)),
    ]
    if evaluation.fitted is not None:
        file = args.parameters or Path(f"{Path(args.bag).absolute().stem}_friction.yaml")
        files.append((file, study.parameter_file(evaluation)))
    return Result([study.tables(evaluation)], files)
