"""An inspection for people: tables and findings."""

from collections.abc import Iterable, Mapping

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from featherstone_ros.control.armature import assumed_armature, in_words
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.inspection.doctor import Inspection
from featherstone_ros.inspection.geometry import Box
from featherstone_ros.inspection.plausibility import gyration
from featherstone_ros.model import Model
from featherstone_ros.model.finding import Finding, Rule, Severity, by_rule
from featherstone_ros.model.robot_description import Joint, RobotDescription
from featherstone_ros.tools.style import new_table, number

NOTES = 5  # lines of one rule that is only a note
WIDE = 110  # columns that the table of links takes, with names of 20 letters
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold blue"}


def tables(inspection: Inspection, width: int = WIDE) -> Group:
    """Return the tables of links and joints; nothing where the description is unreadable.

    ``width``: columns of the terminal; where there are few, moments of inertia get a table of their
    own, and names are folded: figures are never cut.
    """
    robot = inspection.robot
    if robot is None:
        return Group()
    if width >= WIDE:
        return Group(_link_table(inspection, robot), _joint_table(robot))
    links = [_link_table(inspection, robot, **{part: False}) for part in ("moments", "masses")]
    parts = [*links, _joint_table(robot, short=True)]
    for table in parts:
        table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    return Group(*parts)


def findings(inspection: Inspection, drives: Mapping[str, float]) -> Group:
    """Return what is wrong, what is assumed of the drives, and a verdict."""
    groups = by_rule(inspection.findings)
    parts = [_of_one_rule(*key, found) for key, found in groups.items()]
    if drives:
        assumed = in_words(list(drives), np.array(list(drives.values())))
        parts.append(
            Text("assumed  ", style=_STYLES[Severity.NOTE])
            .append(f"inertia of the drives: {assumed}\n", style="not bold")
            .append("  → without it no gains are stable; set what your arm has\n", style="dim")
        )
    return Group(*parts, _verdict(inspection))


def assumed_drives(
    text: str | bytes,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the inertia of the drives that both nodes assume, by joint [kg m^2 or kg].

    Empty where none is needed, or nothing can be controlled.
    """
    try:
        model = Model.from_urdf(text, joints, locked)
        armature = assumed_armature(model) * (model.armature == 0) if model.n else ()
    except FeatherstoneError:
        return {}  # the findings say why
    return {j: float(a) for j, a in zip(model.joint_names, armature, strict=True) if a}


def _link_table(
    inspection: Inspection, robot: RobotDescription, masses: bool = True, moments: bool = True
) -> Table:
    """Return mass and centre of mass, moments of inertia, or both."""
    headings = ["mass\nkg", "centre of mass\nm"] if masses else []
    headings += ["principal moments\nkg m²"] if moments else []
    headings += ["radius of\ngyration, m", "of its\nsize"]
    table = new_table(f"Links of {inspection.name}", "link", figures=headings)
    frames = 0
    for link in robot.links:
        if link.inertial is None or not (link.inertial.mass or link.inertial.inertia.any()):
            frames += 1
            continue
        k, box = gyration(link.inertial), inspection.boxes.get(link.name)
        cells = [number(link.inertial.mass), _columns(link.inertial.com.round(6))]
        cells = cells if masses else []
        cells += [_columns(np.linalg.eigvalsh(link.inertial.inertia))] if moments else []
        table.add_row(Text(link.name), *cells, number(k), _share(k, box))
    if frames:
        table.caption = f"and {frames} without mass"
        table.caption_justify = "left"
    return table


def _joint_table(robot: RobotDescription, short: bool = False) -> Table:
    moving = [joint for joint in robot.joints if joint.moves]
    followers = any(joint.mimic for joint in moving)
    figures = ["lower", "upper", "velocity", "effort", "damping", "friction"]
    figures += ["armature"] if any(joint.armature for joint in moving) else []
    table = new_table("Joints that move, in rad or m, N m or N", "joint", "type", figures=figures)
    if followers:
        table.add_column("mimics", no_wrap=not short)
    for joint in moving:
        kind = joint.type[:4] if short else joint.type
        cells = [number(getattr(joint, figure)) for figure in figures]
        table.add_row(Text(joint.name), kind, *cells, *([_leader(joint)] if followers else []))
    return table


def _leader(joint: Joint) -> Text:
    if joint.mimic is None:
        return Text()
    leader, multiplier, offset = joint.mimic
    shift = f" {offset:+.3g}" if offset else ""
    return Text(f"{multiplier:.3g} × {leader}{shift}")


def _of_one_rule(severity: Severity, rule: Rule, found: list[Finding]) -> RenderableType:
    head = Text(f"{severity}  ", style=_STYLES[severity]).append(rule.fault, style="not bold")
    head.append(f"  ({rule.name})", style="dim not bold")
    shown = found if severity > Severity.NOTE or len(found) <= NOTES else found[: NOTES - 1]
    lines = [*map(_line, shown), Text(f"→ {rule.consequence}", style="dim")]
    if len(shown) < len(found):
        lines.insert(-1, Text(f"and {len(found) - len(shown)} more (--json lists all)"))
    return Group(head, *(Padding(line, (0, 0, 0, 2), expand=False) for line in lines), Text())


def _line(finding: Finding) -> Text:
    text = Text(finding.element, style="bold")
    return text.append(f": {finding.found}", style="not bold") if finding.found else text


def _verdict(inspection: Inspection) -> Text:
    worst = inspection.worst
    if worst is None:
        return Text("Nothing found: fit for dynamics.", style="bold green")
    return Text(f"{inspection.counts()}.", style=_STYLES[worst])


def _share(k: float, box: Box | None) -> Text:
    if box is None:
        return Text("?")
    return Text(f"{k / box.half_diagonal:.0%}", "bold yellow" if k > box.half_diagonal else "")


def _columns(values: Iterable[float]) -> str:
    return " ".join(f"{value:>9.3g}" for value in values)
