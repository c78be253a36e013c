"""Press a simulated Panda with 20 N on a plane, stand and slide; tell the errors of the force.

From this project's folder (half a minute): ``python docs/force.py``. The force is measured by a
sensor that is 10 ms late, or estimated by a shadow that knows the joints' friction, or 30 % less.
"""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

sys.path.append(str(Path(__file__).parents[1] / "test" / "unit"))
from test_force_axes import COULOMB, FORCE, MODES, press, pressing

CASES = {"sensor": None, "estimate": 1.0, "estimate, 30 % of the friction unknown": 0.7}


def errors(mode, known) -> tuple[float, float, float, float]:
    """Return figures of one press [N].

    They are the largest force until it stands, and the largest errors while it stands, in the first
    second of sliding, and after that.
    """
    bench = pressing(mode, sensor=known is None, friction=COULOMB)
    if known is not None:
        bench.shadow.use(bench.shadow.prepare(bench.known_friction(known * COULOMB)))
    highest = press(bench, 8.0).max()
    standing, sliding = press(bench, 1.0), press(bench, 6.0, along=0.01)
    begin, later = sliding[:500], sliding[500:]
    return (highest, *(np.abs(part - FORCE).max() for part in (standing, begin, later)))


def main() -> None:
    """Press and print a table for docs/cartesian.md."""
    console = Console()
    cases = [(mode, what) for mode in MODES for what in CASES]
    print("| mode | force from | largest force | standing | begins to slide | slides |")
    print("|---|---|---|---|---|---|")
    for mode, what in track(cases, "pressing", console=console):
        figures = " | ".join(f"{figure:.2f} N" for figure in errors(mode, CASES[what]))
        print(f"| `{mode}` | {what} | {figures} |")


if __name__ == "__main__":
    main()
