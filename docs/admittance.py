"""Press a simulated Panda with position drives on stiff planes, and draw docs/admittance.png.

From this project's folder (a minute): ``python docs/admittance.py``. The end effector is
pressed with 20 N by `~/target_wrench` on a plane 20 mm below, with the damping that mode admittance
chooses for the plane's stiffness, and with that of the spring alone.
"""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from featherstone_ros.control.phases import Phase
from featherstone_ros.tools.style import BLUE, GREY, RED, finish, picture

sys.path.append(str(Path(__file__).parents[1] / "test" / "unit"))
from contact_bench import DELAY, PERIOD, STEP, ContactBench

FORCE = 20.0  # [N]
WAY = 0.02  # [m]
DURATION = 6.0  # [s]
STIFFNESS = (1e3, 1e4, 1e5)  # [N/m] of the plane
SPRING = (400.0, 400.0, 0.0, 30.0, 30.0, 30.0)
INERTIA = (6.0, 6.0, 6.0, 0.05, 0.05, 0.05)
OWN = 2.0 * np.sqrt(400.0 * 6.0)  # [N s/m] of the spring along x and y with damping ratio 1
PICTURE = Path(__file__).with_name("admittance.png")


def press(stiffness: float, chosen: bool) -> np.ndarray:
    """Return the force on the plane in every period [N]."""
    damping = {"contact_stiffness": (stiffness, 100.0)}
    if not chosen:
        damping = {"contact_stiffness": (0.0, 100.0), "damping": (0, 0, OWN, 0, 0, 0)}
    bench = ContactBench(stiffness=SPRING, shaped_inertia=INERTIA, dead_zone=0.0, **damping)
    bench.stiffness, bench.height = stiffness, bench.pose[2, 3] - WAY
    begin = len(bench.forces)
    for _ in range(round(DURATION / 0.1)):
        if bench.phase is not Phase.FAULT:  # as after three impacts
            bench.controller.set_target(bench.now, wrench=[0, 0, -FORCE, 0, 0, 0])
        bench.run(0.1)
    return np.array(bench.forces[begin:])


def main() -> None:
    """Press, tell and draw."""
    console = Console()
    cases = [(k, chosen) for k in STIFFNESS for chosen in (True, False)]
    forces = {case: press(*case) for case in track(cases, "pressing", console=console)}
    table = Table("plane", "damping", "largest force", "contacts lost", "last second")
    time = np.arange(len(next(iter(forces.values())))) * STEP * PERIOD
    for (stiffness, chosen), force in forces.items():
        touches = force > 0.0
        lost = np.count_nonzero(touches[:-1] & ~touches[1:])
        last = force[-round(1.0 / STEP / PERIOD) :]
        table.add_row(
            f"{stiffness:g} N/m",
            "chosen" if chosen else "the spring's",
            f"{force.max():.1f} N",
            str(lost),
            f"{last.min():.2f} to {last.max():.2f} N",
        )
    console.print(table)
    with picture(PICTURE) as pyplot:
        _, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 5), layout="tight")
        for axes, chosen, title in (
            (above, True, f"damping chosen for the plane and a delay of {1e3 * DELAY:g} ms"),
            (below, False, "damping of the spring alone"),
        ):
            for stiffness, colour in zip(STIFFNESS, (GREY, BLUE, RED), strict=True):
                force = forces[stiffness, chosen]
                axes.plot(time, force, color=colour, label=f"{stiffness:g} N/m", linewidth=1.0)
            axes.axhline(FORCE, color=GREY, linewidth=0.8, linestyle=":")
            axes.set(title=title, ylabel="force [N]", ylim=(0, 3 * FORCE))
            finish(axes)
        below.set_xlabel("time [s]")
        above.legend(title="plane")


if __name__ == "__main__":
    main()
