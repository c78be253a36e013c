"""The result as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from featherstone_ros.identification.explanation import (
    FITTED,
    GRAVITY,
    KNOWN,
    RIGID,
    WRITTEN,
    Evaluation,
)
from featherstone_ros.tools.recorded_arm import load_text, r2_text
from featherstone_ros.tools.style import new_table, sentences

if TYPE_CHECKING:
    from featherstone_ros.identification.friction import FittedDrives
    from featherstone_ros.model.drives import Drives

STYLES = {GRAVITY: "red", RIGID: "yellow", FITTED: "bold cyan", WRITTEN: "cyan", KNOWN: "bold cyan"}


def tables(evaluation: Evaluation) -> Group:
    """Return the report for the terminal."""
    parts: list[RenderableType] = [_torque(evaluation)]
    if evaluation.friction is not None and evaluation.parameters is not None:
        parts += [Text(), _friction(evaluation, evaluation.friction, evaluation.parameters)]
    return Group(*parts, *_remarks(evaluation))


def conditions(evaluation: Evaluation) -> str:
    """Return one line on samples and filter."""
    motion = evaluation.motion
    return (
        f"{len(motion.time)} samples, {1 / evaluation.period:.4g} per second, over "
        f"{motion.time[-1] - motion.time[0]:.3g} s; low-pass {evaluation.cut_off:g} Hz, zero phase"
    )


def torque_unit(evaluation: Evaluation) -> str:
    """Return the unit of effort of these joints."""
    linear = [kind == "prismatic" for kind in evaluation.joint_types]
    return "N" if all(linear) else "N m, N" if any(linear) else "N m"


def _torque(evaluation: Evaluation) -> Table:
    title = f"Torque left unexplained, RMS [{torque_unit(evaluation)}] / R²"
    names = [explanation.name for explanation in evaluation.explanations]
    models = [(name.replace(" ", "\n"), STYLES[name]) for name in names]
    table = new_table(title, "joint", figures=models)
    for j, name in enumerate(evaluation.joint_names):
        cells = [f"{_short(e.rms[j])} / {r2_text(e.r2[j])}" for e in evaluation.explanations]
        table.add_row(name, *cells)
    return table


def _short(value: float) -> str:
    decimals = 3 if value < 0.1 else 2 if value < 10 else 1
    return f"{value:.{decimals}f}"


def _friction(evaluation: Evaluation, found: FittedDrives, written: Drives) -> Table:
    """List the fitted terms, and where they differ, those for the nodes."""
    fitted = found.drives
    terms = ["viscous", "coulomb", *["armature"] * bool(fitted.armature.any())]
    headings: list[str | tuple[str, str]] = [f"\n{term}" for term in (*terms, "offset")]
    for k, term in enumerate(terms if found.negative.any() else ()):
        headings.append((f"{'' if k else 'as parameters:'}\n{term}", STYLES[WRITTEN]))
    table = new_table("Friction fitted, SI units", "joint", figures=headings)
    for j, name in enumerate(evaluation.joint_names):
        cells: list[Text | str] = [_term(getattr(fitted, term)[j]) for term in terms]
        cells.append(f"{fitted.of_joint(j).offset:.3f}")
        if found.negative.any():
            cells += [f"{getattr(written, term)[j]:.3f}" for term in terms]
        table.add_row(name, *cells)
    return table


def _term(value: float) -> Text:
    return Text(f"{value:.3f}", style="bold red" if value < 0 else "")


def _remarks(evaluation: Evaluation) -> list[Text]:
    lines = sentences([conditions(evaluation), *evaluation.notes])
    lines += [Text(suspicion, style="bold red") for suspicion in evaluation.suspicions]
    if evaluation.payload is not None:
        lines.append(Text(load_text(evaluation.payload), style="bold red"))
    friction = evaluation.friction
    if friction is None:
        return lines
    for joint, why in friction.doubtful.items():
        lines.append(Text(f"{evaluation.joint_names[joint]}: {why}.", style="yellow"))
    if friction.negative.any():
        which = [n for n, bad in zip(evaluation.joint_names, friction.negative, strict=True) if bad]
        lines.append(
            Text(
                f"Friction cannot be negative: in {', '.join(which)} it compensates another error, "
                "most likely the links' inertia. The nodes get terms fitted to be >= 0.",
                style="yellow",
            )
        )
    return lines
