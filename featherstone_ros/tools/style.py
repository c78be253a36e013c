"""How tables and pictures look, the same in every command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from featherstone_ros.arrays import Floats
from featherstone_ros.control.diagnostics import DiagnosticLevel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, GREY, FAINT = "#202428", "#6b7480", "#d8dce1"
BLUE, YELLOW, RED, GREEN = "#1b6ca8", "#e0a030", "#c8553d", "#7a9a3a"
COLOURS = (BLUE, YELLOW, RED, GREEN, "#7d5ba6", GREY, INK)  # of curves, in this order

# matplotlib's settings for pictures
PICTURE_STYLE = {
    "font.size": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "legend.frameon": False,
    "legend.labelcolor": INK,
}
PANELS_STYLE = PICTURE_STYLE | {  # of pictures with many panels, each under a title of its own
    "axes.titleweight": "bold",
    "ytick.color": INK,
}


LEVEL_STYLES = {
    DiagnosticLevel.OK: "green",
    DiagnosticLevel.WARN: "bold yellow",
    DiagnosticLevel.ERROR: "bold red",
    DiagnosticLevel.STALE: "bold red",
}

WIDE = 10_000  # columns: rich would cut names and figures off at 80


def new_console() -> Console:
    """Return the console of a command; in a file or a pipe, lines are as long as they need be."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def new_table(title: str, *names: str, figures: Iterable[str | tuple[str, str]] = ()) -> Table:
    """Return an empty table.

    ``figures``: headings of columns of figures, with the style of a column if it has one.
    """
    table = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in names:
        table.add_column(name, no_wrap=True)
    for heading in figures:
        text, style = (heading, "") if isinstance(heading, str) else heading
        table.add_column(text, justify="right", style=style, no_wrap=True)
    return table


def number(value: float) -> str:
    """Return a number with three digits, a dash where it is not finite."""
    if not isfinite(value):
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def milli(value: float) -> str:
    """Return a value in thousandths, with two or three significant digits."""
    value = 1e3 * float(value)
    return (
        f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    )


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without their common parts: ``panda_joint1`` becomes ``joint 1``."""
    brief = [_short(name) for name in names]
    if len(set(brief)) == len(brief):
        return brief
    common = commonprefix(list(names)).rpartition("_")[0]  # noqa: RUF071 - of letters
    return [name.removeprefix(common).strip("_").replace("_", " ") for name in names]


def _short(name: str) -> str:
    name = name.removesuffix("_joint")
    _, _, number = name.rpartition("joint")
    return f"joint {number.strip('_')}" if number.strip("_").isdigit() else name.replace("_", " ")


def sentences(notes: Iterable[str]) -> list[Text]:
    """Return notes as they stand below a table."""
    return [Text(f"{note[0].upper()}{note[1:]}.", style="dim") for note in notes]


@contextmanager
def pyplot_in_style(style: Mapping[str, object] = PICTURE_STYLE) -> Iterator[Any]:
    """Yield pyplot with these settings of matplotlib, drawing into memory."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"axes.prop_cycle": pyplot.cycler(color=COLOURS)} | dict(style)):
        yield pyplot


@contextmanager
def picture(
    path: Path, colours: int = 64, style: Mapping[str, object] = PICTURE_STYLE
) -> Iterator[Any]:
    """Yield pyplot, to draw one figure with; then write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pyplot_in_style(style) as pyplot:
        yield pyplot
        figure = pyplot.gcf()
        figure.savefig(path, metadata={"Date": None})  # drawn again, it is the same file
        pyplot.close(figure)
    if path.suffix == ".png":
        shrink(path, colours)


def thin(values: Floats, count: int = 1500) -> Floats:
    """Return every k-th value, so that a picture does not draw ten thousand points."""
    return values[:: max(1, len(values) // count)]


def finish(axes: Axes) -> None:
    """Give a panel of curves faint lines and small figures."""
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, length=2.5)
    axes.locator_params(axis="y", nbins=4)


def shrink(picture: Path, colours: int) -> None:
    """Store a picture with a palette: a third of the size, no visible difference."""
    from PIL import Image  # comes with matplotlib

    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)
