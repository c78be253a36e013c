"""Drive a simulated arm through a fast motion, with and without its model.

Starts the digital twin and the feedforward controller as two processes that talk over DDS, drives
one motion three times with the same gains (PD alone, PD + gravity, full feedforward), prints the
tracking errors and torques, and draws a picture of it.

Time is simulated, as fast as the machine can, so that the figures are the same on every machine.
With --real-time it is not: then rates and latency of the messages are measured, too, and a run that
a busy machine has disturbed is said to be one.

The nodes run in a namespace and a ROS domain of their own, visible on this host only, so that
other ROS traffic is not disturbed; set ROS_DOMAIN_ID or --domain to watch them with your own
tools.

Examples:
  featherstone-ros demo
  featherstone-ros demo --robot ur5e --output demo/ur5e
  featherstone-ros demo --robot my_arm.urdf --rate 1000
  featherstone-ros demo --real-time         rates and latency of messages
  featherstone-ros demo --model-error 10    an arm heavier than its model
  featherstone-ros demo --animation demo.gif
  featherstone-ros demo --domain 42 & ROS_DOMAIN_ID=42 ros2 topic list

Exit status: 0; 1 if a node failed; 3 if a run was disturbed, so that no errors can be compared.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from featherstone_ros.tools.options import (
    add_number,
    between,
    positive,
    positive_up_to,
    require_matplotlib,
)
from featherstone_ros.tools.result import Console, Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.set_defaults(needs_ros=True, outputs=["animation"])
    parser.add_argument(
        "--robot",
        default="panda",
        metavar="NAME|PATH",
        help="panda, ur5e, or a URDF file of your own (default: panda)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo"),
        metavar="FOLDER",
        help="folder for report.png, report.json and the nodes' logs (default: demo)",
    )
    parser.add_argument(
        "--animation",
        type=_gif,
        metavar="FILE.gif",
        help="also show the arm in motion, with PD alone and with full feedforward",
    )
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="drive in real time, and measure rates and latency of the messages",
    )
    text = "joint states and commands per second"
    add_number(parser, "--rate", "HZ", positive, 500.0, text)
    text = "length of the motion in seconds"
    add_number(parser, "--duration", "S", positive_up_to(3600), 10.0, text)
    text = "make every link of the twin heavier than in the controller's model"
    add_number(parser, "--model-error", "PERCENT", between(-99, 1000), 0.0, text)
    parser.add_argument(
        "--domain",
        type=int,
        default=None,
        metavar="ID",
        help="ROS domain (default: ROS_DOMAIN_ID, or else one of this process's own)",
    )
    parser.add_argument(
        "--discovery-range",
        default=os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"),
        choices=("LOCALHOST", "SUBNET", "OFF", "SYSTEM_DEFAULT"),
        metavar="RANGE",
        help="how far the nodes are visible: LOCALHOST, SUBNET, OFF or SYSTEM_DEFAULT (default: "
        "ROS_AUTOMATIC_DISCOVERY_RANGE, or LOCALHOST)",
    )


def _gif(text: str) -> Path:
    """Return the file of an animation."""
    if not text.endswith(".gif"):
        raise argparse.ArgumentTypeError(f"{text} is not the name of a .gif file")
    return Path(text)


def run(args: argparse.Namespace, console: Console) -> Result:
    """Run the demo."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = args.discovery_range
    require_matplotlib("the picture")
    from featherstone_ros.tools.demo.play import play

    return play(args, console)
