"""Writes the reference of parameters and topics, from what the nodes themselves declare.

``python docs/reference.py FOLDER`` writes nodes.md there; without ROS it says that it is not there.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NODES = {  # module, class, and what must be set for everything to be declared
    "feedforward_controller": ("FeedforwardController", {"tip": "panda_hand"}),
    "digital_twin": ("DigitalTwin", {}),
}
START = 60.0  # [s] that a node may take
LARGE = 1e300  # stands for no limit
ROBOT, JOINT = "panda", "panda_joint1"
WITHOUT_ROS = "\n\nThis page was made without ROS, which its content is taken from: `make docs`.\n"


def write(folder: Path) -> None:
    """Write the page; other joints than the first are left out, since theirs are the same."""
    folder.mkdir(exist_ok=True)
    page = (
        "# Parameters and topics\n\nAs the nodes declare them, for a Panda whose hand may be moved."
    )
    try:
        import rclpy
    except ImportError:
        page += WITHOUT_ROS
    else:
        page += f" `{JOINT}` stands for each joint.\n\n" + "\n".join(lines(rclpy))
    (folder / "nodes.md").write_text(page)


def lines(rclpy: Any) -> Iterator[str]:
    """Yield the page's lines."""
    from importlib import import_module

    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor

    from featherstone_ros.model.robots import robot_file

    robot = {"robot_description": robot_file(ROBOT)}
    for name, (kind, values) in NODES.items():
        context = Context()
        given = [f"{key}:={value}" for key, value in {**robot, **values}.items()]
        arguments = [text for value in given for text in ("-p", value)]
        rclpy.init(args=["--ros-args", *arguments], context=context)
        node = getattr(import_module(f"featherstone_ros.nodes.{name}"), kind)(context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        end = time.monotonic() + START
        while node.state_label != "active":
            if time.monotonic() > end:
                raise RuntimeError(f"{name} is not active after {START:g} s: see its log")
            executor.spin_once(0.1)
        yield from (f"## {name}", "")
        yield from topics(node)
        yield from parameters(node)
        executor.shutdown()
        node.destroy_node()
        context.shutdown()


def topics(node: Any) -> Iterator[str]:
    """Yield a table of what a node publishes, listens to and serves, but for rclpy's own."""
    yield from ("| | name | type |", "|---|---|---|")
    found = [
        *(("publishes", entity.topic_name, entity.msg_type) for entity in node.publishers),
        *(("listens", entity.topic_name, entity.msg_type) for entity in node.subscriptions),
        *(("serves", entity.service_name, entity.srv_type) for entity in node.services),
    ]
    own = f"/{node.get_name()}/"
    for what, name, kind in sorted(found, key=lambda entry: entry[:2]):
        package, _, _ = kind.__module__.partition(".")
        if package not in ("rcl_interfaces", "lifecycle_msgs", "type_description_interfaces"):
            shown = name.replace(own, "~/")
            yield f"| {what} | `{shown}` | {package}/{kind.__name__} |"
    yield ""


def parameters(node: Any) -> Iterator[str]:
    """Yield a list of a node's parameters with values, ranges and descriptions."""
    names = sorted(node.get_parameters_by_prefix(""))
    others = [joint for joint in node.model.joint_names if joint != JOINT]
    for name in names:
        described = node.describe_parameter(name)
        if described.description and not any(joint in name.split(".") for joint in others):
            value = node.get_parameter(name).value
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            shown = "empty" if value in ("", [], [""]) else shown.partition("\n")[0][:100]
            yield f"- **`{name}`** `{shown}`{limits(described)}: {plain(described.description)}"
    yield ""


def limits(described: Any) -> str:
    """Return a parameter's range, and whether it is fixed at start-up."""
    text = ""
    for found in (*described.floating_point_range, *described.integer_range):
        text = f"{found.from_value:.4g} to {found.to_value:.4g}"
        if found.to_value > LARGE:
            text = f"at least {found.from_value:.4g}"
    notes = ", ".join(filter(None, [text, "fixed at start" if described.read_only else ""]))
    return f" ({notes})" if notes else ""


def plain(text: str) -> str:
    """Return a text on one line that means nothing to Markdown."""
    return re.sub(r"([<>*_|\\[\]])", r"\\\1", " ".join(text.split()))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
