"""Tell whether a URDF is fit for dynamics: the inertial doctor.

Prints every link (mass, centre of mass, principal moments, radius of gyration beside the size of
its geometry) and every joint (limits, effort, friction), then what is wrong: the element, the rule
it breaks, the values found, and the consequence for torques and simulation.

  error    physically impossible, in wrong units, or without forward dynamics:
           correct it before you trust the model with torque
  warning  possible, but probably not what was meant
  note     not checked, assumed, or without effect: the link does not move

For the whole robot it looks for: the same inertia for all links, all centres of mass in the
joints, a weight that does not fit the reach, gravity beyond the effort limits.

The radius of gyration of a uniform body is 30 to 60 % of the radius of the ball around its
geometry; above 100 % is impossible. Boxes, cylinders, spheres and meshes (STL, OBJ, COLLADA) are
measured. package:// is searched for above the URDF's folder and where ROS searches. Where a link
has no geometry, its size is estimated generously from the joints.

A robot on a floating joint, as a humanoid or a quadruped, is refused: with --joints it is held
where it is, and those joints move, as with the parameter joints of both nodes.

Where no gains of the controller are stable without inertia of the drives, and the URDF tells none,
it says on which joints, and how much both nodes assume.

Both nodes report the same in their log and on /diagnostics when they are configured.

Exit status: 0, or 1 if there is an error (or the file cannot be read).

Examples:
  featherstone-ros inspect my_arm.urdf
  featherstone-ros inspect my_arm.urdf.xacro        needs xacro
  featherstone-ros inspect panda                    comes with the package
  featherstone-ros inspect my_arm.urdf --findings   without the tables
  featherstone-ros inspect humanoid.urdf --joints left_shoulder left_elbow
  featherstone-ros inspect my_arm.urdf --json | jq '.findings[].severity'
"""

from __future__ import annotations

import argparse

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.options import add_joint_options, add_urdf_argument
from featherstone_ros.tools.result import Console, RenderableType, Result, json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_urdf_argument(parser)
    add_joint_options(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--findings", action="store_true", help="only the findings, no tables")
    output.add_argument("--json", action="store_true", help="tables and findings as JSON, in SI")


def run(args: argparse.Namespace, console: Console) -> Result:
    """Examine and print."""
    from rich.text import Text

    from featherstone_ros.inspection.doctor import examine
    from featherstone_ros.model import read_file
    from featherstone_ros.model.finding import Severity
    from featherstone_ros.model.robots import robot_file
    from featherstone_ros.tools.inspect.report import assumed_drives, findings, tables

    path = robot_file(args.urdf)
    try:
        text = read_file(path)
    except OSError as error:
        raise FeatherstoneError(f"{path} cannot be read: {error}") from error
    locked = dict(args.locked)
    inspection = examine(text, path.resolve().parent, args.joints, locked)
    drives = assumed_drives(text, args.joints, locked)
    content = {**inspection.as_dict(), "assumed_armature": drives}
    shown: list[RenderableType] = [findings(inspection, drives)]
    if args.json:
        shown = [Text(json_text(content).rstrip())]
    elif not args.findings:
        shown.insert(0, tables(inspection, console.width))
    return Result(shown, status=1 if inspection.worst is Severity.ERROR else 0)
