"""Layouts of an arm for PlotJuggler, Foxglove and RViz: nodes in the root namespace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import yaml

from featherstone_ros.model import Model
from featherstone_ros.model.parameter_files import NODES
from featherstone_ros.model.share import share_directory

TWIN, CONTROLLER = NODES
COLOURS = ("#1b6ca8", "#c8553d", "#e0a030", "#2f9e6b", "#7a5ea8", "#6b7480", "#d45c9c")
STATES, ERROR, DESIRED = "/joint_states", f"/{CONTROLLER}/error", f"/{CONTROLLER}/desired"
RESIDUAL, WRENCH = f"/{TWIN}/residual", f"/{TWIN}/external_wrench_estimate"
Panels = Mapping[str, Sequence[str]]  # a panel's title to its curves


def plotjuggler(model: Model) -> str:
    """Return a layout with tracking, torques and shadow: File > Load layout."""
    joints = model.joint_names

    def of_each(topic: str, field: str) -> list[str]:
        return [f"{topic}/{joint}/{field}" for joint in joints]

    def of_wrench(part: str) -> list[str]:
        return [f"{WRENCH}/wrench/{part}/{axis}" for axis in "xyz"]

    length, torque = units(model)
    tabs = {
        "tracking": {
            f"position error [{length}]": of_each(ERROR, "position"),
            f"velocity error [{length}/s]": of_each(ERROR, "velocity"),
            f"torque beside the model's [{torque}]": of_each(ERROR, "effort"),
        },
        "torque": {
            f"{joint} [{torque}]: applied, model": [
                f"{topic}/{joint}/effort" for topic in (STATES, DESIRED)
            ]
            for joint in joints
        },
        "shadow": {
            f"external torque [{torque}]": of_each(RESIDUAL, "effort"),
            f"error of the prediction [{length}]": of_each(RESIDUAL, "position"),
            "external force [N]": of_wrench("force"),
            "external moment [N m]": of_wrench("torque"),
        },
    }
    lines = [line for name, panels in tabs.items() for line in _tab(name, panels)]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<!-- PlotJuggler: what controller and twin of {_comment(model.name)} say.",
            "     File > Load layout; then choose the topics of the curves in its ROS 2",
            "     subscriber, or load a recording of `featherstone-ros record`. -->",
            "<root>",
            ' <tabbed_widget name="Main Window" parent="main_window">',
            *lines,
            '  <currentTabIndex index="0"/>',
            " </tabbed_widget>",
            ' <use_relative_time_offset enabled="1"/>',
            "</root>",
            "",
        ]
    )


def _tab(name: str, panels: Panels) -> Iterable[str]:
    sizes = ";".join([f"{1 / len(panels):.6f}"] * len(panels))
    yield f'  <Tab containers="1" tab_name="{name}">'
    yield "   <Container>"
    yield f'     <DockSplitter orientation="-" count="{len(panels)}" sizes="{sizes}">'
    for title, curves in panels.items():
        yield f"      <DockArea name={quoteattr(title)}>"
        yield '       <plot style="Lines" flip_x="false" flip_y="false" mode="TimeSeries">'
        yield "        <limitY/>"
        for curve, colour in zip(curves, cycle(COLOURS), strict=False):
            yield f'        <curve color="{colour}" name={quoteattr(curve)}/>'
        yield "       </plot>"
        yield "      </DockArea>"
    yield "     </DockSplitter>"
    yield "   </Container>"
    yield "  </Tab>"


def _comment(text: str) -> str:
    return escape(text).replace("--", "- -")


def units(model: Model) -> tuple[str, str]:
    """Return the units of the joints' positions and torques."""
    kinds = {kind == "prismatic" for kind in model.joint_types}
    lengths, torques = ("rad", "m"), ("N m", "N")
    return tuple(  # type: ignore[return-value]
        " or ".join(names[is_prismatic] for is_prismatic in sorted(kinds))
        for names in (lengths, torques)
    )


def foxglove(model: Model) -> str:
    """Return a layout with the arm, its tracking error, torques and the shadow's force."""
    joints = list(enumerate(model.joint_names))
    length, torque = units(model)
    error = {joint: f"{ERROR}.position[{k}]" for k, joint in joints}
    effort = {joint: f"{STATES}.effort[{k}]" for k, joint in joints}
    force = {f"force {axis}": f"{WRENCH}.wrench.force.{axis}" for axis in "xyz"}
    panels = {
        "3D!arm": {
            "layers": {
                "urdf": {
                    "layerId": "foxglove.Urdf",
                    "instanceId": "urdf",
                    "sourceType": "topic",
                    "topic": "/robot_description",
                    "label": "measured",
                    "visible": True,
                },
                "grid": {
                    "layerId": "foxglove.Grid",
                    "instanceId": "grid",
                    "visible": True,
                    "size": 2,
                    "divisions": 10,
                },
            },
            "topics": {"/torque_markers/markers": {"visible": True}},
            "followMode": "follow-none",
        },
        "Plot!error": _plot("Tracking error", length, error),
        "Plot!effort": _plot("Torques", torque, effort),
        "Plot!wrench": _plot("Force from outside, by the shadow", "N", force),
        "DiagnosticSummary!all": {
            "minLevel": 0,
            "topicToRender": "/diagnostics",
            "pinnedIds": [],
            "hardwareIdFilter": "",
        },
    }
    layout = {
        "direction": "row",
        "splitPercentage": 45,
        "first": _column("3D!arm", "DiagnosticSummary!all", 70),
        "second": _column("Plot!error", _column("Plot!effort", "Plot!wrench", 50), 33),
    }
    content = {"configById": panels, "globalVariables": {}, "userNodes": {}, "layout": layout}
    return json.dumps(content, indent=1) + "\n"


def _plot(title: str, unit: str, curves: Mapping[str, str]) -> dict[str, Any]:
    return {
        "title": f"{title} [{unit}]",
        "paths": [
            {"timestampMethod": "receiveTime", "value": value, "enabled": True, "label": label}
            for label, value in curves.items()
        ],
        "showLegend": True,
        "isSynced": True,
        "xAxisVal": "timestamp",
        "showXAxisLabels": True,
        "showYAxisLabels": True,
        "yAxisLabel": unit,
        "legendDisplay": "floating",
        "followingViewWidth": 10,
    }


def _column(first: Any, second: Any, share: int) -> dict[str, Any]:
    return {"direction": "column", "first": first, "second": second, "splitPercentage": share}


def rviz(model: Model) -> str:
    """Return what RViz shows of the arm alone: rviz.launch.py's, without the robots beside it."""
    text = (share_directory() / "config" / "side_by_side.rviz").read_text()
    content = yaml.safe_load(text)
    manager = content["Visualization Manager"]
    manager["Displays"] = [shown for shown in manager["Displays"] if not shown.get("TF Prefix")]
    manager["Global Options"]["Fixed Frame"] = model.base_link
    head = f"# RViz: {model.name} and arrows for its torques; `rviz2 -d` this file, beside\n"
    head += (
        "# robot_state_publisher and, for the arrows, torque_markers: rviz.launch.py starts all.\n"
    )
    return head + yaml.safe_dump(content, sort_keys=False)
