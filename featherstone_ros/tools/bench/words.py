"""Figures of the benchmark as text, for tables and pictures."""

from featherstone_ros.tools.bench.results import Result


def mark(result: Result) -> str:
    """Whether a target is met, coloured; empty where there is none."""
    if result.is_met is None:
        return ""
    return "[green]yes[/green]" if result.is_met else "[red]no[/red]"


def duration(seconds: float) -> str:
    """A time with three significant digits."""
    value, units = seconds * 1e9, iter(("ns", "µs", "ms", "s"))
    unit = next(units)
    while value >= 999.5:
        value, unit = value / 1e3, next(units)
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def rounded(ratio: float) -> str:
    """A ratio with as many digits as its target needs."""
    return f"{ratio:.3f}" if ratio < 1 else f"{ratio:.2f}"
