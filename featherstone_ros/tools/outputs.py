"""What commands print and write: tables and lines, JSON, parameter files, and any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from rich.text import Text

from featherstone_ros.model.parameter_files import of_joint

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

DIGITS = 6
Content = str | Callable[[Path], None]  # a file's text, or what writes it


@dataclass(frozen=True)
class Result:
    """What a command has found.

    Attributes:
        shown: Tables and lines, to be printed.
        files: To be written before, each with what is in it; None: not asked for.
        status: Of the command's end.
    """

    shown: Sequence[RenderableType] = ()
    files: Sequence[tuple[Path | None, Content]] = ()
    status: int = 0


def conclude(result: Result, console: Console) -> int:
    """Write the files of a command, print what it shows, and return its exit status."""
    write_files(console, *result.files)
    for part in result.shown:
        console.print(part, soft_wrap=isinstance(part, str | Text))
    return result.status


def write_files(console: Console, *files: tuple[Path | None, Content]) -> None:
    """Write files, with the folders that they need, and print their names; None: no file.

    Commands write before they print: a reader that goes away, as head does, ends them.
    """
    wanted = [(path, content) for path, content in files if path is not None]
    for path, content in wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        else:
            content(path)
    for path, _ in wanted:
        console.print(f"[dim]{path}", highlight=False, soft_wrap=True)


def json_text(content: Mapping[str, Any]) -> str:
    """Return numbers for other programs; arrays become lists, and what is not finite null."""
    return json.dumps(_plain(content), indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(content) for content in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def parameter_text(head: Iterable[str], nodes: Mapping[str, Mapping[str, object]]) -> str:
    """Return a parameter file.

    Args:
        head: Lines of comment.
        nodes: ``/**`` or the name of a node to its parameters.
    """
    content = {node: {"ros__parameters": dict(values)} for node, values in nodes.items()}
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    return "".join(f"# {line}\n" for line in head) + "\n" + text


def each_joint(joints: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
    """Return parameters that joints have, nested and rounded as they stand in a file."""
    nested: dict[str, object] = {}
    for joint, terms in joints.items():
        nested |= of_joint(joint, {name: rounded(value) for name, value in terms.items()})
    return nested


def rounded(value: float) -> float:
    """Return a value with ``DIGITS`` digits; one that is practically zero becomes 0."""
    return float(f"{value:.{DIGITS}g}") if abs(value) > 1e-9 else 0.0
