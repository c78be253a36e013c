"""Measure what algorithms cost on chains of 2 to 512 joints, and draw docs/costs.png.

From the repository's folder: ``python docs/costs.py`` (a minute or two). The least of many rounds
counts; a round goes over all algorithms and sizes, so that a busy moment hits no curve alone.
"""

from __future__ import annotations

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy: LAPACK counts on one core like the rest

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.linalg import cho_factor

import featherstone_ros as fr
from featherstone_ros.tools.style import GREY, picture

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))  # before docs/reference.py
from reference import Robot, composite, operators

SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
ROUNDS = 150
PICTURE = Path(__file__).with_name("costs.png")
ORDERS = {
    "rnea": 1,
    "aba": 1,
    "crba": 2,
    "M by columns, rnea": 2,
    "minv": 2,
    "Cholesky, of M alone": 3,
    "operators: HφMφ*H*": 3,
    "operators: τ = H (Rα + y)": 3,
}
LARGEST = dict.fromkeys(list(ORDERS)[-2:], 128)  # 6 n rows: beyond that it takes too long
POWERS = {1: "O(n)", 2: "O(n²)", 3: "O(n³)"}


def chain(n: int) -> fr.Model:
    """Return a chain of n links; each axis is at right angles to the one before."""
    tree = fr.Tree("link0")
    rod = fr.cylinder(0.02, 0.2, mass=1, translation=(0, 0, 0.1))
    for k in range(n):
        joint = fr.Revolute(f"joint{k + 1}", ((0, 1, 0), (1, 0, 0))[k % 2])
        place = {"parent": f"link{k}", "translation": (0, 0, 0.2)}
        tree.add(f"link{k + 1}", joint=joint, inertial=rod, **place)
    return tree.model()


def algorithms(n: int) -> dict[str, Callable[[], object]]:
    """Return what to measure on a chain of n joints, each with its arguments."""
    model = chain(n)
    core, robot = fr.Dynamics(model), Robot.of(model)
    q, qd, tau = np.random.default_rng(n).uniform(-1, 1, (3, n))
    M = core.crba(q)
    weightless = fr.Dynamics(model.with_gravity([0, 0, 0]))
    alike, still, units = np.tile(q, (n, 1)), np.zeros((n, n)), np.eye(n)
    calls = {
        "rnea": lambda: core.rnea(q, qd, tau),
        "aba": lambda: core.aba(q, qd, tau),
        "crba": lambda: core.crba(q),
        "M by columns, rnea": lambda: weightless.rnea(alike, still, units),
        "minv": lambda: core.minv(q),
        "Cholesky, of M alone": lambda: cho_factor(M),
        "operators: HφMφ*H*": lambda: operators.mass_matrix(operators.body_frames(robot, q)),
        "operators: τ = H (Rα + y)": lambda: composite.inverse_dynamics(
            operators.body_frames(robot, q), qd, tau
        ),
    }
    return {name: call for name, call in calls.items() if n <= LARGEST.get(name, n)}


def measured() -> dict[str, dict[int, float]]:
    """Return the least duration of each call [s], by name and number of joints."""
    calls = {(name, n): call for n in SIZES for name, call in algorithms(n).items()}
    least = dict.fromkeys(calls, np.inf)
    for _ in track(range(ROUNDS), "measuring"):
        for key, call in calls.items():
            call()  # once for the caches
            start = time.perf_counter()
            call()
            least[key] = min(least[key], time.perf_counter() - start)
    return {name: {n: least[name, n] for n in SIZES if (name, n) in least} for name in ORDERS}


def slope(by_size: dict[int, float]) -> float:
    """Return by which power of n the last doubling went."""
    t = list(by_size.values())
    return float(np.log2(t[-1] / t[-2]))


def draw(durations: dict[str, dict[int, float]]) -> None:
    """Draw duration over number of joints, both logarithmic: the slope is the order."""
    with picture(PICTURE) as pyplot:
        figure, axes = pyplot.subplots(figsize=(4.6, 4.8), dpi=150, layout="constrained")
        for name, by_size in durations.items():
            n, t = np.array(list(by_size)), np.array(list(by_size.values())) * 1e6
            form = "s--" if name in LARGEST else "o-"  # there are more curves than colours
            (line,) = axes.loglog(n, t, form, ms=4, label=f"{name}, {POWERS[ORDERS[name]]}")
            ideal = t[-1] * (n[-3:] / n[-1]) ** ORDERS[name]
            axes.loglog(n[-3:], ideal, ":", color=line.get_color())
        axes.set(xlabel="joints of a chain", ylabel="one call [µs]")
        axes.set_xticks(SIZES, [str(n) for n in SIZES], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.plot([], [], ":", color=GREY, label="slope that theory gives")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)


def main() -> None:
    """Measure, print a table and draw."""
    durations = measured()
    print("one call [µs]".ljust(26), *(f"n={n}".rjust(8) for n in SIZES), "  last doubling")
    for name, by_size in durations.items():
        row = [f"{by_size[n] * 1e6:8.1f}" if n in by_size else " " * 8 for n in SIZES]
        print(name.ljust(26), *row, f"  n^{slope(by_size):.1f}")
    draw(durations)


if __name__ == "__main__":
    main()
