"""Press a simulated Panda with 20 N on a plane, stand and slide, and draw docs/force.png.

From this project's folder (two minutes): ``python docs/force.py``. The end effector does not
know where the plane is. Force is measured by a sensor that is 10 ms late, or estimated by a shadow
that knows the joints' friction, or 30 % less. The table is for docs/force.md.
"""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from featherstone_ros.tools.style import BLUE, FAINT, GREY, RED, finish, picture

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("test", "test/unit")]
from contact_bench import PERIOD, STEP
from test_force_axes import COULOMB, FORCE, MODES, NORMALS, press, pressing

PARTS = {"pressed": 4.0, "standing": 0.5, "begins to slide": 1.0, "slides": 2.0}  # [s]
SPEED = 0.01  # [m/s] of sliding
# How much of the joints' friction the shadow knows, and what error is allowed [N].
SOURCES = {
    "sensor": (None, 1.0),
    "estimate": (1.0, 3.0),
    "estimate, 30 % of the friction unknown": (0.7, 3.0),
}
PICTURE = Path(__file__).with_name("force.png")


def pressed(mode, known, axis) -> dict[str, np.ndarray]:
    """Return the force on the plane in each part [N]."""
    bench = pressing(mode, sensor=known is None, friction=COULOMB, axis=axis)
    if known is not None:
        bench.shadow.use(bench.shadow.prepare(bench.known_friction(known * COULOMB)))
    return {
        part: press(bench, duration, SPEED * ("slide" in part)) for part, duration in PARTS.items()
    }


def row(mode, source, forces) -> str:
    """Return a row of the table: largest force, and largest errors along x, y and z [N]."""
    figures = {
        part: [(f if part == "pressed" else np.abs(f - FORCE)).max() for f in rows]
        for part in PARTS
        if (rows := [forces[mode, source, axis][part] for axis in NORMALS])
    }
    cells = (", ".join(f"{figure:.2f}" for figure in row) for row in figures.values())
    return f"| `{mode}` | {source} | {' | '.join(cells)} |"


def main() -> None:
    """Press, print the table and draw."""
    cases = [(mode, source, axis) for mode in MODES for source in SOURCES for axis in NORMALS]
    forces = {
        (mode, source, axis): pressed(mode, SOURCES[source][0], axis)
        for mode, source, axis in track(cases, "pressing", console=Console(stderr=True))
    }
    print("| mode | force from | " + " | ".join(PARTS) + " |")
    print("|---|---|" + "---|" * len(PARTS))
    for mode in MODES:
        for source in SOURCES:
            print(row(mode, source, forces))
    with picture(PICTURE) as pyplot:
        _, panels = pyplot.subplots(len(SOURCES), 1, sharex=True, figsize=(8, 6), layout="tight")
        for axes, (source, (_, allowed)) in zip(panels, SOURCES.items(), strict=True):
            axes.axhspan(FORCE - allowed, FORCE + allowed, color=FAINT, linewidth=0.0)
            for mode, colour in zip(MODES, (BLUE, RED), strict=True):
                force = np.concatenate(list(forces[mode, source, "z"].values()))
                time = np.arange(len(force)) * STEP * PERIOD
                axes.plot(time, force, color=colour, label=mode.value, linewidth=1.0)
            axes.axvline(PARTS["pressed"] + PARTS["standing"], color=GREY, linestyle=":")
            axes.set(title=f"force from: {source}", ylabel="force [N]", ylim=(0.0, 27.0))
            finish(axes)
        panels[0].legend(loc="lower right")
        panels[0].text(PARTS["pressed"] + PARTS["standing"], 1.0, " slides", color=GREY)
        panels[-1].set_xlabel("time [s]")


if __name__ == "__main__":
    main()
