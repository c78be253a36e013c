"""What a command returns, and what is done with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console as Console
    from rich.console import RenderableType as RenderableType
else:  # loaded by what prints, not for ``--help``
    Console = RenderableType = Any

# A file's text, what is written as JSON, or what writes the file.
Content = str | Mapping[str, Any] | Callable[[Path], None]
File = tuple[Path | None, Content]  # None: not asked for


@dataclass(frozen=True)
class Result:
    """What a command has found."""

    shown: Sequence[RenderableType] = ()  # tables and lines, to be printed
    files: Sequence[File] = ()  # to be written before
    status: int = 0  # of the command's end


def conclude(result: Result, console: Console) -> int:
    """Write the files of a command, print what it shows, and return its exit status."""
    from rich.text import Text

    write_files(console, *result.files)
    for part in result.shown:
        console.print(part, soft_wrap=isinstance(part, str | Text))
    return result.status


def write_files(console: Console, *files: File) -> None:
    """Write files, with the folders that they need, and print their names.

    Commands write before they print: a reader that goes away, as head does, ends them.
    """
    wanted = [(path, content) for path, content in files if path is not None]
    for path, content in wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_text(content if isinstance(content, str) else json_text(content))
    for path, _ in wanted:
        console.print(f"[dim]{path}", highlight=False, soft_wrap=True)


def json_text(content: Mapping[str, Any]) -> str:
    """Return numbers for other programs; arrays become lists, and what is not finite null."""
    return json.dumps(_plain(content), indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(content) for content in value]
    return None if isinstance(value, float) and not isfinite(value) else value
