"""Tell whether a URDF is fit for dynamics: the inertial doctor.

Prints every link (mass, centre of mass, principal moments, radius of gyration beside the size of
its geometry) and joint (limits, effort, friction), and then what is wrong: the element, the rule
it breaks, the figures, and what follows for torques and simulation.

  error    no body or joint is like that, figures are in wrong units, or forward dynamics has no
           answer: mend it before you trust the model with torque
  warning  possible, but hardly what was meant
  note     could not be checked, was assumed, or has no effect, as the link does not move

Of the robot as a whole: one inertia for all links, centres of mass all in the joints, a weight that
does not go with the reach, gravity beyond effort limits.

The radius of gyration of a uniform body is 30 to 60 % of the radius of the ball around its
geometry; above 100 % no mass distribution fits. Boxes, cylinders, spheres, and meshes in STL, OBJ
and COLLADA files are measured; package:// is looked for above the URDF's folder and where ROS
looks. Where a link has no geometry its size is guessed from the joints, generously.

Both nodes say the same in their log and on /diagnostics when they are configured.

Exit status: 0, or 1 if there is an error (or the file cannot be read).

Examples:
  featherstone-ros inspect my_arm.urdf
  featherstone-ros inspect my_arm.urdf.xacro          needs xacro
  featherstone-ros inspect panda                      a robot that comes with the package
  featherstone-ros inspect my_arm.urdf --findings     without the tables
  featherstone-ros inspect my_arm.urdf --json | jq '.findings[] | select(.severity == "error")'
"""

import argparse
import json

from rich.console import Console

from featherstone_ros.errors import FeatherstoneError

_WIDTH = 120  # of tables in files and pipes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("urdf", metavar="URDF", help="URDF or xacro file, or panda, ur5e")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--findings", action="store_true", help="only the findings, no tables")
    output.add_argument("--json", action="store_true", help="tables and findings as JSON, in SI")


def run(args: argparse.Namespace) -> int:
    """Examine and print.

    Returns:
        1 if there is an error in the description, or else 0.
    """
    from featherstone_ros.inspection.doctor import examine
    from featherstone_ros.model import read_file
    from featherstone_ros.model.finding import Severity
    from featherstone_ros.model.robots import robot_file
    from featherstone_ros.tools.inspect.report import findings, tables

    path = robot_file(args.urdf)
    try:
        text = read_file(path)
    except OSError as error:
        raise FeatherstoneError(f"{path} cannot be read: {error}") from error
    inspection = examine(text, path.parent)
    if args.json:
        print(json.dumps(inspection.as_dict(), indent=1, allow_nan=False))
    else:
        console = Console()
        if not console.is_terminal:
            console = Console(width=_WIDTH)
        if not args.findings:
            console.print(tables(inspection, console.width))
        console.print(findings(inspection))
    return 1 if inspection.worst is Severity.ERROR else 0
