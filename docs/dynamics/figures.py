"""Draw the figures of the chapters: ``python docs/dynamics/figures.py`` in the repository.

Outlines are sketches; matrices and curves are computed by the ``reference``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

sys.path.append(str(Path(__file__).resolve().parents[2] / "test"))
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, PICTURE_STYLE, RED, YELLOW, picture
from reference import (
    articulated,
    composite,
    constraints,
    examples,
    innovations,
    momentum,
    operators,
)
from reference.spatial import skew

FOLDER = Path(__file__).resolve().parent
STYLE = PICTURE_STYLE | {"svg.hashsalt": "featherstone_ros", "font.size": 11}
Axes = Any


def arrow(axes: Axes, start: ArrayLike, end: ArrayLike, text: str = "", colour: str = INK) -> None:
    """Draw an arrow with its name at the tip."""
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    axes.plot(*np.transpose([start, end]), alpha=0)  # an annotation does not widen the limits
    axes.annotate("", end, start, arrowprops=style)
    axes.annotate(text, end, (4, 4), textcoords="offset points", color=colour)


def links(axes: Axes, joints: ArrayLike, first: int = 1, colour: str = FAINT) -> None:
    """Draw bodies between joints, and the joints."""
    joints = np.asarray(joints, float)
    for i, (a, b) in enumerate(pairwise(joints)):
        axes.plot(
            *np.transpose([a, b]),
            color=colour,
            lw=14,
            solid_capstyle="round",
            zorder=1,
            clip_on=False,
        )
        axes.text(*(a + b) / 2, f"{first + i}", ha="center", va="center", color=INK, zorder=3)
    axes.plot(*joints[:-1].T, "o", color="white", mec=INK, ms=8, zorder=2)


def ground(axes: Axes, y: float, size: float = 0.3) -> None:
    """Draw the base below the first joint."""
    axes.fill([-size, size, size, -size], [y, y, y - size / 2, y - size / 2], color=GREY)


def frame(axes: Axes, title: str = "") -> None:
    """Leave out the axes of a sketch; lengths are equal in both directions."""
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_title(title, color=INK, fontsize=11)


CHAIN = np.array([[0.0, 0.0], [0.6, 0.9], [1.7, 1.2], [2.6, 0.6]])


def spatial_vectors(pyplot: Any) -> None:
    """A body's velocity and a force, at the origin O that they are told at."""
    _, (left, right) = pyplot.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
    t = np.linspace(0, 2 * np.pi, 200)
    outline = np.array([1.4 + 0.8 * np.cos(t) + 0.15 * np.sin(2 * t), 0.9 + 0.5 * np.sin(t)])
    for axes in (left, right):
        axes.fill(*outline, color=FAINT)
        axes.plot(0, 0, "ko", ms=4)
        axes.text(-0.15, -0.2, "O")
    arrow(left, (0, 0), (-0.5, 0.35), "$v_O$", BLUE)
    arrow(left, (1.4, 0.9), (0.95, 1.55), "$v_C = v_O + \\omega \\times c$", BLUE)
    left.annotate(
        "",
        (1.9, 0.7),
        (1.75, 1.2),
        arrowprops={
            "arrowstyle": "<|-",
            "color": RED,
            "connectionstyle": "arc3,rad=-.5",
            "lw": 1.6,
        },
    )
    left.text(2.0, 0.85, "$\\omega$", color=RED)
    frame(left, "velocity: $\\omega$, and the body's point at O")
    line = np.array([[0.9, 1.5], [1.9, 0.3]])
    right.plot(*line.T, ":", color=GREY)
    arrow(right, (0.9, 1.5), (1.5, 0.78), "$f$", RED)
    arrow(right, (0, 0), (0.6, -0.72), "$f$", RED)
    right.annotate("$n_O = p \\times f$", (-0.2, 0.25), color=RED, ha="right")
    arrow(right, (0, 0), (0.9, 1.5), "$p$", GREY)
    frame(right, "force: its moment about O, and $f$")


def rnea(pyplot: Any) -> None:
    """Velocities and accelerations go outwards, forces inwards."""
    _, axes = pyplot.subplots(figsize=(6.4, 2.8), layout="constrained")
    ground(axes, -0.1)
    links(axes, CHAIN)
    for a, b in pairwise(CHAIN):
        along = (b - a) / np.linalg.norm(b - a)
        aside = np.array([-along[1], along[0]])
        arrow(axes, a + 0.22 * aside, b + 0.22 * aside - 0.1 * along, "", BLUE)
        arrow(axes, b - 0.22 * aside, a - 0.22 * aside + 0.1 * along, "", RED)
    axes.text(1.0, 1.5, "outwards: $v_i,\\ a_i$", color=BLUE, ha="center")
    axes.text(1.7, 0.1, "inwards: $f_i$,\nand $\\tau_i = S_i^T f_i$", color=RED, ha="center")
    axes.text(-0.4, 0.2, "$a_0 = -a_g$", ha="right", color=BLUE)
    frame(axes)


def crba(pyplot: Any) -> None:
    """What joint 2 carries is one rigid body; its force acts on the joints below."""
    _, axes = pyplot.subplots(figsize=(6.4, 2.8), layout="constrained")
    ground(axes, -0.1)
    axes.plot(
        *CHAIN[1:].T,
        color=YELLOW,
        alpha=0.35,
        lw=40,
        solid_capstyle="round",
        zorder=0,
        clip_on=False,
    )
    links(axes, CHAIN)
    axes.text(2.3, 1.35, "$I^c_2$: joints beyond 2 locked", color=INK)
    axes.text(0.62, 1.22, "$\\ddot q_2 = 1$", ha="right", color=BLUE)
    arrow(axes, (0.9, 0.75), (0.35, -0.05), "", RED)
    axes.text(
        0.8,
        0.2,
        "$F = I^c_2 S_2$: $H_{22} = S_2^T F$,\nand on to joint 1: $H_{21} = F^T S_1$",
        color=RED,
    )
    frame(axes)


def aba(pyplot: Any) -> None:
    """Cut joint 2: what is beyond answers a force by an acceleration."""
    _, axes = pyplot.subplots(figsize=(6.4, 2.8), layout="constrained")
    ground(axes, -0.1)
    links(axes, CHAIN[:2])
    beyond = CHAIN[1:] + np.array([0.55, 0.1])
    links(axes, beyond, 2, YELLOW)
    arrow(axes, beyond[0] + [-0.3, -0.3], beyond[0], "", RED)
    axes.text(*(beyond[0] + [-0.32, -0.5]), "$f$", color=RED)
    arrow(axes, beyond[0] + [0, 0.15], beyond[0] + [0.1, 0.6], "$a$", BLUE)
    axes.text(*(beyond[1] + [-0.5, 0.25]), "joints beyond: free, under their $\\tau$")
    axes.text(1.75, 0.35, "$f = I^A a + p^A$", fontsize=13)
    frame(axes)


def newton_euler(pyplot: Any) -> None:
    """One body: its vectors, what its two neighbours do to it, and what it needs."""
    _, axes = pyplot.subplots(figsize=(6.4, 3), layout="constrained")
    parent, origin, centre, child = np.array([[-1.3, 0.1], [0, 0], [1.0, 0.55], [2.0, 0.2]])
    axes.plot(*np.transpose([parent, origin]), color=FAINT, lw=14, solid_capstyle="round", zorder=0)
    t = np.linspace(0, 2 * np.pi, 200)
    axes.fill(1.0 + 1.3 * np.cos(t), 0.3 + 0.65 * np.sin(t), color=FAINT, zorder=0)
    axes.plot(*np.transpose([origin, child]), "o", color="white", mec=INK, ms=8, zorder=2)
    arrow(axes, parent, origin)
    axes.text(-0.75, 0.12, "$P$")
    arrow(axes, origin, child)
    axes.text(1.15, -0.06, "$P_j$")
    arrow(axes, origin, centre)
    axes.text(0.4, 0.36, "$c$")
    arrow(axes, centre, (0.75, 1.3), "$F, N$: what it needs", BLUE)
    arrow(axes, (-0.55, -0.55), origin, "", RED)
    axes.text(-0.55, -0.78, "$f_i, n_i$ from the parent", color=RED)
    arrow(axes, child, (2.5, -0.3), "", RED)
    axes.text(1.75, -0.78, "$-f_j, -n_j$ from a child", color=RED)
    arrow(axes, centre, (1.85, 0.95), "$f^x$ from outside", RED)
    frame(axes)


def articulated_bodies(pyplot: Any) -> None:
    """Mobility of the RP arm's second link: a hand pushes with 1 N in all directions."""
    _, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    _, _, robot, _, _ = examples.rp_arm()
    t = np.linspace(0, 2 * np.pi, 200)
    pushes = np.array([np.cos(t), np.sin(t), 0 * t])
    axes.plot(0, 0, "o", color="white", mec=INK, ms=8, zorder=3)
    for theta, d in ((0.0, 0.5), (np.pi / 4, 1.0), (np.pi / 2, 1.5)):
        at = np.array([theta, d])
        R, p = robot.poses(at)
        point = p[1] + R[1] @ robot.c[1]
        J = np.hstack([-skew(point), np.eye(3)])  # from the base's origin to the point
        ellipse = point[:, None] + 0.3 * J @ articulated.mobility(robot, at)[1] @ J.T @ pushes
        circle = point[:, None] + 0.3 * pushes
        axes.plot(*np.transpose([(0, 0), point[:2]]), color=FAINT, lw=10, zorder=0)
        axes.plot(*circle[:2], color=GREY, ls="--", lw=1)
        axes.plot(*ellipse[:2], color=BLUE)
        axes.plot(*point[:2], "o", color=INK, ms=4)
    axes.plot([], [], color=GREY, ls="--", lw=1, label="force of 1 N")
    axes.plot([], [], color=BLUE, label="acceleration by it")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    frame(axes)


def explicit_form(pyplot: Any) -> None:
    """Khatib's RP arm, with the columns of both Jacobians."""
    _, axes = pyplot.subplots(figsize=(5.4, 3), layout="constrained")
    *_, q, _ = examples.rp_arm()
    along = np.array([np.cos(q[0]), np.sin(q[0])])
    aside = np.array([-along[1], along[0]])
    ground(axes, -0.04, 0.1)
    axes.plot(*np.transpose([0 * along, 0.7 * along]), color=FAINT, lw=16, solid_capstyle="round")
    axes.plot(*np.transpose([0.55 * along, 1.0 * along]), color=YELLOW, lw=9, alpha=0.7)
    axes.plot(0, 0, "o", color="white", mec=INK, ms=9)
    for centre, name, reach in ((0.5, "1", 0.5), (0.8, "2", 0.8)):
        axes.plot(*(centre * along), "o", color=INK, ms=4)
        arrow(
            axes, centre * along, centre * along + 0.45 * reach * aside, f"$J_{{v{name},1}}$", BLUE
        )
    arrow(axes, 0.8 * along, 1.15 * along, "$J_{v2,2}$", RED)
    axes.text(0.2, 0.02, "$\\theta$")
    axes.text(0.35, 0.05, "$l_1$ and $d$: along the arm", color=GREY)
    frame(axes)


def patterns(pyplot: Any, matrices: dict[str, Any], block: int = 1) -> None:
    """Draw where matrices are not zero, beside each other."""
    _, row = pyplot.subplots(
        1, len(matrices), figsize=(1.9 * len(matrices), 2.2), layout="constrained"
    )
    for axes, (name, matrix) in zip(row, matrices.items(), strict=True):
        size = np.abs(matrix) / np.abs(matrix).max()
        axes.imshow(np.where(size > 1e-12, 0.35 + 0.65 * size**0.25, 0), cmap="Blues", vmin=0)
        for edge in np.arange(block, len(matrix), block) - 0.5:
            axes.axhline(edge, color=FAINT, lw=0.5)
            axes.axvline(edge, color=FAINT, lw=0.5)
        axes.set(xticks=[], yticks=[], title=name)


def operators_(pyplot: Any) -> None:
    """The operators of the spacecraft: which bodies carry which."""
    _, craft, q, *_ = examples.craft()
    o = operators.body_frames(craft, q)
    named = {"$E_\\phi$": o.E_phi, "$\\phi$": o.phi, "$M$": o.M}
    patterns(pyplot, named | {"$\\phi M \\phi^*$": o.phi @ o.M @ o.phi.T}, 6)


def composite_bodies(pyplot: Any) -> None:
    """The decomposition of the mass matrix's core."""
    _, craft, q, *_ = examples.craft()
    o = operators.body_frames(craft, q)
    names = ("$R$", "$\\tilde\\phi R$", "$R \\tilde\\phi^*$")
    parts = composite.decomposition(o, composite.composite_inertias(o))
    patterns(pyplot, dict(zip(names, parts, strict=True)), 6)


def innovations_(pyplot: Any) -> None:
    """The factors of the mass matrix, and of its inverse."""
    _, craft, q, *_ = examples.craft()
    o = operators.body_frames(craft, q)
    x = innovations.articulate(o)
    (L, D), (L_inverse, _) = innovations.factors(o, x), innovations.inverse_factors(o, x)
    M = operators.mass_matrix(o)
    patterns(
        pyplot, {"$\\mathcal{M}$": M, "$1 + H\\phi K$": L, "$D$": D, "$1 - H\\psi K$": L_inverse}
    )


def free_base(pyplot: Any) -> None:
    """The spacecraft's base turns while its left arm swings to and fro, without momentum."""
    _, craft, q, *_ = examples.craft()
    t = np.linspace(0, 4, 400)
    angle, turned = np.sin(0.5 * np.pi * t), np.zeros((len(t), 3))
    for k in range(1, len(t)):
        at, rates = q.copy(), np.zeros(5)
        at[0], rates[0] = angle[k], (angle[k] - angle[k - 1]) / (t[k] - t[k - 1])
        still = momentum.nulling_base_velocity(operators.body_frames(craft, at), rates)
        turned[k] = turned[k - 1] + still[:3] * (t[k] - t[k - 1])
    _, axes = pyplot.subplots(figsize=(6.4, 2.6), layout="constrained")
    axes.plot(t, angle, color=GREY, label="joint j1 of the left arm")
    axes.plot(t, turned[:, 1], color=BLUE, label="base, about the same axis")
    axes.set(xlabel="time [s]", ylabel="angle [rad]")
    axes.legend(frameon=False, loc="upper right")


def constraints_(pyplot: Any) -> None:
    """The distance between bus and slide, with and without the rod."""
    core, craft, q_0, _, _, tau = examples.craft()
    rod = constraints.Rod("bus", (0, 0, 0.5), "slide", (0, 0, 0.1))
    _, axes = pyplot.subplots(figsize=(6.4, 2.6), layout="constrained")
    for is_held, label, colour in ((False, "without", GREY), (True, "with the rod", BLUE)):
        q, qd, d, dt = q_0.copy(), np.zeros(5), [], 2e-3
        for _ in range(250):
            T = core.link_pose(q, "slide")
            d.append(np.linalg.norm(T[:3, 3] + T[:3, :3] @ rod.far_point - rod.near_point))
            free = core.aba(q, qd, tau)
            qdd = constraints.forward_dynamics(craft, q, qd, tau, [rod])[0] if is_held else free
            qd = qd + dt * qdd
            q = q + dt * qd
        axes.plot(dt * np.arange(250), d, color=colour, label=label)
    axes.set(xlabel="time [s]", ylabel="distance [m]")
    axes.legend(frameon=False)


FIGURES: dict[str, Callable[[Any], None]] = {
    "spatial_vectors": spatial_vectors,
    "rnea": rnea,
    "crba": crba,
    "aba": aba,
    "newton_euler": newton_euler,
    "articulated_bodies": articulated_bodies,
    "explicit_form": explicit_form,
    "operators": operators_,
    "composite_bodies": composite_bodies,
    "innovations": innovations_,
    "free_base": free_base,
    "constraints": constraints_,
}


def main() -> None:
    """Draw all of them."""
    for name, draw in FIGURES.items():
        with picture(FOLDER / f"{name}.svg", style=STYLE) as pyplot:
            draw(pyplot)
        print(f"docs/dynamics/{name}.svg")


if __name__ == "__main__":
    main()
