"""Begin with your own arm: parameters for both nodes, a first motion on the twin, next commands.

Checks the URDF and chooses gains from the model (stable as a sampled loop, with a margin, in the
whole range of motion), a starting posture and the tool's link. Then it drives a first motion on
the twin, once with the arm as described and once with all links 10 % heavier, to show how much the
gains correct. Writes

  ARM.yaml                      parameters of both nodes, with reasons
  ARM.png                       the first motion (needs matplotlib)
  ARM_motion.yaml               a trajectory for run, replay, preflight
  ARM_ros2_control.yaml         controllers that take the torques of a real arm
  ARM_moveit_controllers.yaml   controllers for a MoveIt configuration
  ARM.rviz                      what RViz shows of this arm

and prints the next commands. Files that are there already are kept unless --force says otherwise.
Needs no ROS.

Exit status: 0; 1, and no file is written, if the arm cannot be used or held, or does not follow on
the twin.

Examples:
  featherstone-ros setup my_arm.urdf
  featherstone-ros setup my_arm.urdf.xacro --output config/my_arm.yaml
  featherstone-ros setup my_arm.urdf --period 0.001 --delay 0.001  fast loop
  featherstone-ros setup my_arm.urdf --joints shoulder elbow   lock the others
  featherstone-ros setup my_arm.urdf --gravity 9.81 0 0   on a wall, x down
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from featherstone_ros.control.choices import BANDWIDTH, Timing, TimingError
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.progress import Progress
from featherstone_ros.tools.options import (
    add_gravity_option,
    add_joint_options,
    add_number,
    add_outputs,
    add_urdf_argument,
    positive_up_to,
    require_writable,
)
from featherstone_ros.tools.result import Console, Content, RenderableType, Result

# Parts of the work, each about as long: the choice of gains and posture, two drives, the files.
CHOICE, PARTS = 2, 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_urdf_argument(parser)
    add_outputs(parser, output="the parameter file, the others go beside it (default: ARM.yaml)")
    text = "bandwidth of the gains [rad/s]"
    add_number(parser, "--bandwidth", "W", positive_up_to(1000), BANDWIDTH, text)
    text = "time between two commands [s]"
    add_number(parser, "--period", "S", positive_up_to(1), Timing.period, text)
    text = "delay from a measurement to the resulting torque [s]"
    add_number(parser, "--delay", "S", positive_up_to(1), Timing.delay, text)
    add_gravity_option(parser)
    add_joint_options(parser)
    parser.add_argument("--force", action="store_true", help="overwrite files that are there")


def run(args: argparse.Namespace, console: Console) -> Result:
    """Propose, check, write, draw, tell."""
    from functools import partial

    from featherstone_ros.model.robots import robot_file
    from featherstone_ros.tools.progress_bar import delayed_progress
    from featherstone_ros.tools.proposal import propose
    from featherstone_ros.tools.setup import files
    from featherstone_ros.tools.setup.report import draw, next_steps, summary
    from featherstone_ros.tools.trial_drive import HEAVIER, drive

    urdf = robot_file(args.urdf)
    written = files.paths(args.output or Path(f"{_stem(urdf)}.yaml"))
    require_writable(*written.values())
    if not args.force:
        _require_new(written.values())
    with delayed_progress(f"setting up {urdf.name}", console) as progress:
        try:
            timing = Timing(args.period, args.delay)
            proposal = propose(
                urdf, args.bandwidth, timing, args.gravity, args.joints, dict(args.locked)
            )
        except TimingError as error:
            raise FeatherstoneError(f"--{error}") from None
        except OSError as error:
            raise FeatherstoneError(f"{urdf} cannot be read: {error.strerror}") from None
        goal, drives = proposal.goal, []
        try:
            for done, excess in enumerate((0.0, HEAVIER), CHOICE):
                share = partial(_report, progress, done)
                drives.append(drive(proposal.arm, proposal.start, goal, excess, share))
        except ValueError as error:
            raise FeatherstoneError(f"the controller would not start: {error}") from None
        report = summary(proposal, drives)
        if drives[0].trouble:
            console.print(report)
            raise FeatherstoneError(f"no file is written, for the twin failed: {drives[0].trouble}")
        contents: dict[str, Content] = {
            "parameters": files.parameter_file(proposal, drives),
            "picture": partial(draw, proposal, drives),
            "motion": files.motion_file(proposal),
            "ros2_control": files.ros2_control_file(proposal.model),
            "moveit": files.moveit_file(proposal.model),
            "rviz": files.rviz_file(proposal.model),
        }
    shown: list[RenderableType] = [report, *next_steps(proposal, written, drives[1])]
    if not find_spec("matplotlib"):
        del contents["picture"]
        shown.insert(1, "no picture: pip install matplotlib")
    return Result(shown, [(written[name], content) for name, content in contents.items()])


def _report(progress: Progress, parts: int, done: int, total: int) -> None:
    """Tell how far the part is that follows on so many others."""
    progress(parts * total + done, PARTS * total)


def _stem(urdf: Path) -> str:
    """Return ``arm`` for ``arm.urdf.xacro``."""
    return urdf.name.partition(".")[0] or "arm"


def _require_new(paths: Iterable[Path]) -> None:
    there = [path for path in paths if path.exists()]
    if there:
        raise FeatherstoneError(
            f"{', '.join(map(str, there))} exist{'s' * (len(there) == 1)} already: --force "
            "overwrites, --output FILE writes elsewhere"
        )
