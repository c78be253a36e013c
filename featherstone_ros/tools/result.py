"""What a command returns, and what is done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console as Console
    from rich.console import RenderableType as RenderableType
else:  # loaded by what prints, not for ``--help``
    Console = RenderableType = Any

Content = str | Callable[[Path], None]  # a file's text, or what writes it
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
        if isinstance(content, str):
            path.write_text(content)
        else:
            content(path)
    for path, _ in wanted:
        console.print(f"[dim]{path}", highlight=False, soft_wrap=True)
