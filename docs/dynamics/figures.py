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
import featherstone_ros as fr
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
STYLE = PICTURE_STYLE | {
    "svg.hashsalt": "featherstone_ros",
    "font.size": 11,
    "mathtext.fontset": "stix",
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.05,
}
WIDTH = 4.6  # in: as wide as the text of a page on a telephone
Axes = Any


def sketch(pyplot: Any, height: float, *titles: str, shares: ArrayLike | None = None) -> Any:
    """Return axes beside each other, one for each title, without scales and equal in x and y."""
    titles = titles or ("",)
    _, row = pyplot.subplots(
        1, len(titles), figsize=(WIDTH, height), layout="constrained", width_ratios=shares
    )
    for axes, title in zip(np.atleast_1d(row), titles, strict=True):
        axes.set_aspect("equal", anchor="N")
        axes.axis("off")
        axes.margins(0.1)
        axes.set_title(title, color=INK, fontsize=11, loc="center")
    return row


def label(axes: Axes, point: ArrayLike, text: str, side: ArrayLike, colour: str = INK) -> None:
    """Write beside a point, on that side of it."""
    x, y = np.asarray(side, float) / max(np.hypot(*np.asarray(side, float)), 1e-9)
    axes.annotate(
        text,
        point,
        (5 * x, 5 * y),
        textcoords="offset points",
        annotation_clip=False,
        color=colour,
        ha="left" if x > 0.4 else "right" if x < -0.4 else "center",
        va="bottom" if y > 0.4 else "top" if y < -0.4 else "center",
    )


def arrow(
    axes: Axes,
    start: ArrayLike,
    end: ArrayLike,
    text: str = "",
    colour: str = INK,
    beside: int = 0,
    dashed: bool = False,
) -> None:
    """Draw an arrow; its name is beyond the tip, or beside: 1 on its left, -1 on its right."""
    (a, b), way = np.array([start, end], float), np.subtract(end, start)
    line = {"lw": 1.6, "ls": "--" if dashed else "-"}
    axes.plot(*np.transpose([a, b]), alpha=0)  # an annotation does not widen the limits
    shape = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0} | line
    axes.annotate("", b, a, arrowprops=shape)
    aside = beside * np.array([-way[1], way[0]])
    label(axes, (a + b) / 2 if beside else b, text, aside if beside else way, colour)


def spin(
    axes: Axes, path: ArrayLike, text: str = "", colour: str = BLUE, side: ArrayLike = (1, 0)
) -> None:
    """Draw a curve (2, m) that ends in an arrow, its name beside the middle."""
    path = np.asarray(path, float)
    axes.plot(*path[:, :-1], color=colour, lw=1.6)
    arrow(axes, path[:, -3], path[:, -1], "", colour)
    label(axes, path[:, path.shape[1] // 2], text, side, colour)


def arc(centre: ArrayLike, radius: float, begin: float, end: float) -> Any:
    """Return the points of a part of a circle, from angle to angle [degrees]."""
    t = np.radians(np.linspace(begin, end, 40))
    return np.reshape(centre, (2, 1)) + radius * np.array([np.cos(t), np.sin(t)])


def frame(
    axes: Axes, at: ArrayLike, name: str, turn: float = 0, size: float = 0.4, colour: str = GREY
) -> None:
    """Draw the axes x and y of a frame, turned by an angle [degrees]."""
    for letter, angle in (("x", turn), ("y", turn + 90)):
        way = size * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        arrow(axes, at, np.add(at, way), f"${letter}_{{{name}}}$", colour)
    axes.plot(*np.reshape(at, (2, 1)), "o", color=colour, ms=4)


def body(axes: Axes, centre: ArrayLike, radii: ArrayLike, turn: float = 0) -> None:
    """Draw a body as an ellipse, turned by an angle [degrees]."""
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    circle = np.reshape(radii, (2, 1)) * arc((0, 0), 1, 0, 360)
    axes.fill(*(np.reshape(centre, (2, 1)) + [[c, -s], [s, c]] @ circle), color=FAINT, zorder=0)


def joint(axes: Axes, *points: ArrayLike) -> None:
    """Draw joints whose axes lead out of the picture."""
    axes.plot(*np.transpose(points), "o", color="white", mec=INK, ms=8, zorder=2)


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
    joint(axes, *joints[:-1])


def ground(axes: Axes, y: float, size: float = 0.3) -> None:
    """Draw the base below the first joint."""
    axes.fill([-size, size, size, -size], [y, y, y - size / 2, y - size / 2], color=GREY)


def oblique(points: ArrayLike) -> Any:
    """Return points (..., 3) as the eye sees them from the right above, (..., 2)."""
    return np.asarray(points, float) @ np.array([[-0.5, -0.35], [0.95, -0.12], [0.0, 1.0]])


CHAIN = np.array([[0.0, 0.0], [0.6, 0.9], [1.7, 1.2], [2.6, 0.6]])


def spatial_vectors(pyplot: Any) -> None:
    """A body's velocity and a force, at the origin O that they are told at."""
    left, right = sketch(pyplot, 2.6, "velocity", "force")
    C, w, v_O = np.array([1.1, 1.0]), 0.6, np.array([0.62, -0.05])
    turning = w * np.array([-C[1], C[0]])
    for axes in (left, right):
        body(axes, C, (0.9, 0.6), 20)
        axes.plot(0, 0, "o", color=INK, ms=4)
        axes.set(xlim=(-0.75, 2.1), ylim=(-0.8, 1.8))
    label(left, (0, 0), "$O$", (-1, -1))
    label(right, (0, 0), "$O$", (-0.3, -1))
    arrow(left, (0, 0), C, "$c$", GREY, beside=1)
    arrow(left, (0, 0), v_O, "$v_O$", BLUE)
    arrow(left, C, C + v_O, "$v_O$", BLUE, beside=-1, dashed=True)
    arrow(left, C + v_O, C + v_O + turning, r"$\omega \times c$", BLUE, beside=-1, dashed=True)
    arrow(left, C, C + v_O + turning, "$v_C$", BLUE, beside=1)
    spin(left, arc(C, 0.5, 245, 325), r"$\omega$", BLUE, (0, -1))
    p, f = np.array([0.6, 1.3]), np.array([0.8, -0.6])
    right.plot(*np.transpose([p - 0.35 * f, p + 1.6 * f]), ":", color=GREY)
    arrow(right, (0, 0), p, "$p$", GREY, beside=-1)
    arrow(right, p, p + f, "$f$", RED, beside=1)
    arrow(right, (0, 0), f, "$f$", RED)
    spin(right, arc((0, 0), 0.35, 210, 80), "", RED)
    label(right, (0.1, 0.4), r"$n_O = p \times f$", (-1, 0.5), RED)


def frames_x(pyplot: Any) -> None:
    """One body's velocity in two frames."""
    axes = sketch(pyplot, 2.6)
    r, w, v_A = np.array([2.0, 0.4]), 0.3, np.array([0.75, -0.8])
    turning = w * np.array([-r[1], r[0]])
    body(axes, r / 2 + [0.1, 0.0], (1.8, 0.75), 12)
    frame(axes, (0, 0), "A")
    frame(axes, r, "B", 30)
    arrow(axes, (0, 0), r, "$r$", INK, beside=1)
    spin(axes, arc(r, 0.62, 0, 28), "$E$", GREY)
    axes.plot(*np.transpose([r, r + np.array([0.75, 0])]), ":", color=GREY)
    arrow(axes, (0, 0), v_A, "$v_A$", BLUE)
    arrow(axes, r, r + v_A, "$v_A$", BLUE, beside=-1, dashed=True)
    arrow(axes, r + v_A, r + v_A + turning, r"$\omega \times r$", BLUE, beside=-1, dashed=True)
    arrow(axes, r, r + v_A + turning, "$v_B$", BLUE)


def joint_and_tree(pyplot: Any) -> None:
    """Where a joint sits and how it moves, and how the bodies of the spacecraft hang together."""
    left, right = sketch(pyplot, 2.9, "joint $i$", "tree", shares=(2, 1))
    place, turn = np.array([1.7, 0.5]), 50
    along = np.array([np.cos(np.radians(turn)), np.sin(np.radians(turn))])
    body(left, 0.55 * place, (1.3, 0.42), 16)
    body(left, place + 0.75 * along, (1.1, 0.36), turn)
    frame(left, (0, 0), "")
    label(left, (-0.2, -0.3), "parent", (0, -1), GREY)
    frame(left, place, "", 0, 0.7)
    label(left, place + np.array([0.45, -0.05]), "joint", (0, -1), GREY)
    frame(left, place, "", turn, 0.7, BLUE)
    label(left, place + 1.85 * along, "body", (-0.2, 1), BLUE)
    arrow(left, (0, 0), place)
    label(left, 0.6 * place, "Xtree[i]", (0.5, -1))
    spin(left, arc(place, 0.5, 0, turn - 4), "XJ", BLUE)
    _, craft, *_ = examples.craft()
    at = np.array([[-0.7, 1], [-0.7, 2], [-1.3, 3], [-0.1, 3], [0.7, 1], [0, 0]], float)
    for i, point in enumerate(at):
        if i < craft.N:
            right.plot(*np.transpose([at[craft.parent[i]], point]), color=INK, lw=1.2, zorder=0)
        right.plot(*point, "o", ms=19, color=FAINT, clip_on=False)
        right.text(*point, f"{i}" if i < craft.N else "base", ha="center", va="center", size=9)


def rnea(pyplot: Any) -> None:
    """Velocities and accelerations go outwards, forces inwards."""
    axes = sketch(pyplot, 2.5)
    ground(axes, -0.1)
    links(axes, CHAIN)
    for a, b in pairwise(CHAIN):
        along = (b - a) / np.linalg.norm(b - a)
        aside = np.array([-along[1], along[0]])
        arrow(axes, a + 0.22 * aside, b + 0.22 * aside - 0.1 * along, "", BLUE)
        arrow(axes, b - 0.22 * aside, a - 0.22 * aside + 0.1 * along, "", RED)
    axes.text(0.9, 1.5, "outwards: $v_i,\\ a_i$", color=BLUE, ha="center")
    axes.text(1.7, 0.1, "inwards: $f_i$,\nand $\\tau_i = S_i^T f_i$", color=RED, ha="center")
    axes.text(-0.4, 0.2, "$a_0 = -a_g$", ha="right", color=BLUE)


def crba(pyplot: Any) -> None:
    """What joint 2 carries is one rigid body; its force acts on the joints below."""
    axes = sketch(pyplot, 2.6)
    ground(axes, -0.1)
    axes.plot(
        *CHAIN[1:].T,
        color=YELLOW,
        alpha=0.35,
        lw=34,
        solid_capstyle="round",
        zorder=0,
        clip_on=False,
    )
    links(axes, CHAIN)
    axes.text(1.7, 1.55, "$I^c_2$: joints beyond 2 locked", color=INK)
    axes.text(0.5, 1.2, "$\\ddot q_2 = 1$", ha="right", color=BLUE)
    arrow(axes, (0.9, 0.75), (0.35, -0.05), "", RED)
    axes.text(
        0.8,
        -0.1,
        "$F = I^c_2 S_2$: $H_{22} = S_2^T F$,\nand on to joint 1: $H_{21} = F^T S_1$",
        color=RED,
    )


def aba(pyplot: Any) -> None:
    """Cut joint 2: what is beyond answers a force by an acceleration."""
    axes = sketch(pyplot, 2.4)
    ground(axes, -0.1)
    links(axes, CHAIN[:2])
    beyond = CHAIN[1:] + np.array([0.55, 0.1])
    links(axes, beyond, 2, YELLOW)
    arrow(axes, beyond[0] + [-0.3, -0.3], beyond[0], "", RED)
    label(axes, beyond[0] + [-0.3, -0.3], "$f$", (0, -1), RED)
    arrow(axes, beyond[0] + [0, 0.15], beyond[0] + [0.1, 0.6], "$a$", BLUE)
    axes.text(*(beyond[1] + [-0.6, 0.3]), "joints beyond: free,\nunder their $\\tau$")
    axes.text(1.55, 0.3, "$f = I^A a + p^A$", fontsize=13)


def near_and_far(pyplot: Any) -> None:
    """A force moves one body; its neighbours are put back at their distance, from near to far."""
    axes = sketch(pyplot, 2.4)
    before = np.array([[0, 0], [1, 0.15], [2, 0], [3, 0.2], [4, 0.1]])
    after = before + np.array([[-0.2, 0.8], *np.zeros((4, 2))])
    for i in range(1, len(before)):
        back = before[i] - after[i - 1]
        distance = np.hypot(*(before[i] - before[i - 1]))
        after[i] = after[i - 1] + distance * back / np.hypot(*back)
    axes.plot(*before.T, "o--", color=GREY, mfc=FAINT, ms=9, lw=1.2, zorder=0, clip_on=False)
    axes.plot(*after.T, "o-", color=BLUE, mfc="white", ms=9, zorder=1, clip_on=False)
    for old, new in zip(before, after, strict=True):
        arrow(axes, old, new)
    arrow(axes, after[0], after[0] + 0.6 * (after[0] - before[0]), "$f$", RED)
    label(axes, before[0] - [0, 0.12], "near", (0, -1))
    label(axes, before[-1] - [0, 0.12], "far", (0, -1))


def newton_euler(pyplot: Any) -> None:
    """One body: its vectors, what its two neighbours do to it, and what it needs."""
    axes = sketch(pyplot, 2.8)
    parent, origin, centre, child = np.array([[-1.3, 0.1], [0, 0], [1.0, 0.55], [2.0, 0.2]])
    axes.plot(*np.transpose([parent, origin]), color=FAINT, lw=14, solid_capstyle="round", zorder=0)
    body(axes, (1.0, 0.3), (1.3, 0.65))
    joint(axes, origin, child)
    arrow(axes, parent, origin, "$P$", beside=1)
    arrow(axes, origin, child, "$P_j$", beside=-1)
    arrow(axes, origin, centre, "$c$", beside=1)
    arrow(axes, centre, (0.75, 1.3), "$F, N$: what it needs", BLUE)
    arrow(axes, (-0.55, -0.55), origin, "", RED)
    label(axes, (-0.55, -0.55), "$f_i, n_i$ from the parent", (0, -1), RED)
    arrow(axes, child, (2.5, -0.3), "", RED)
    label(axes, (2.1, -0.55), "$-f_j, -n_j$ from a child", (0, -1), RED)
    arrow(axes, centre, (1.85, 0.95), "$f^x$ from outside", RED)


def articulated_bodies(pyplot: Any) -> None:
    """Mobility of the RP arm's second link: a hand pushes with 1 N in all directions."""
    axes = sketch(pyplot, 3.0)
    _, _, robot, _, _ = examples.rp_arm()
    pushes = np.array([*arc((0, 0), 1, 0, 360), np.zeros(40)])
    joint(axes, (0, 0))
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


def mirtich_frames(pyplot: Any) -> None:
    """Two links, their frames at the centres of mass, and the vectors from and to the axis."""
    axes = sketch(pyplot, 2.5)
    near, axis, far = np.array([[0.0, 0.0], [1.5, 0.1], [2.55, 0.95]])
    body(axes, (0.1, 0), (1.6, 0.55), 5)
    body(axes, far - [0.05, 0.05], (1.3, 0.48), 38)
    joint(axes, axis)
    axes.plot(*axis, "o", color=INK, ms=3, zorder=3)
    label(axes, axis, "$u_i$", (0.6, -1))
    frame(axes, near, "i-1", -25, 0.5)
    frame(axes, far, "i", 60, 0.5)
    arrow(axes, near, far, "$r_i$", BLUE, beside=1)
    arrow(axes, axis, far, "$d_i$", RED, beside=-1)
    label(axes, near, "$C_{i-1}$", (-1, -0.3))
    label(axes, far, "$C_i$", (1, -1))


def cube(pyplot: Any) -> None:
    """A cube, the axes at its corner, its centre and one element of its mass."""
    axes = sketch(pyplot, 2.8)
    corners = np.array(list(np.ndindex(2, 2, 2)))
    for p, q in ((p, q) for p in corners for q in corners if sum(q - p) == sum(q != p) == 1):
        axes.plot(*oblique([p, q]).T, color=GREY, lw=1)
    origin, C, element = oblique([[0, 0, 0], [0.5, 0.5, 0.5], [0.3, 0.45, 0.85]])
    axes.plot(*np.transpose([origin, oblique([1, 1, 1])]), ":", color=BLUE)
    for name, end in zip("xyz", 1.4 * np.eye(3), strict=True):
        arrow(axes, origin, oblique(end), f"${name}$")
    arrow(axes, origin, C, "$c$", BLUE, beside=-1)
    axes.plot(*C, "o", color=BLUE, ms=5)
    arrow(axes, origin, element, "$p$", RED, beside=1)
    axes.plot(*element, "s", color=RED, ms=6)
    label(axes, element, "$dm$", (1, 0), RED)
    label(axes, oblique([1, 0.5, 0]), "$a$", (0, -1), GREY)


HINGES = {  # axes to turn about and to slide along, rows of H
    "revolute": ("z", "", 1),
    "prismatic": ("", "z", 1),
    "screw": ("z", "", 1),
    "cylindrical": ("z", "z", 2),
    "universal": ("xy", "", 2),
    "planar": ("z", "xy", 3),
    "spherical": ("xyz", "", 3),
    "free": ("xyz", "xyz", 6),
}


def hinge_types(pyplot: Any) -> None:
    """Each hinge: what it turns about, what it slides along, and how many rows H has."""
    _, grid = pyplot.subplots(2, 4, figsize=(WIDTH, 3.0), layout="constrained")
    for axes, (name, (turns, slides, rows)) in zip(grid.flat, HINGES.items(), strict=True):
        axes.set(xlim=(-0.9, 1.15), ylim=(-0.85, 1.2), aspect="equal")
        axes.axis("off")
        axes.set_title(f"{name}, {rows}", color=INK, fontsize=10, loc="center", y=-0.1)
        first, last, pitch = (-0.5, 15.1, 0.045) if name == "screw" else (-2.6, 2.6, 0)
        t = np.linspace(first, last, 100)
        ring = np.array([0.32 * np.cos(t), 0.32 * np.sin(t), 0.62 + pitch * (t - 5)])
        for k, letter in enumerate("xyz"):
            axis = np.eye(3)[k]
            if letter in turns + slides:
                axes.plot(*oblique([-0.3 * axis, axis]).T, color=GREY, lw=1)
            if letter in turns:
                spin(axes, oblique(np.roll(ring, k + 1, axis=0).T).T)
            if letter in slides:
                arrow(axes, oblique(0.62 * axis), oblique(1.1 * axis), "", RED)
        axes.plot(0, 0, "o", color=INK, ms=4)


def constrained_rod(pyplot: Any) -> None:
    """A rod between two bodies: it closes a loop, and pushes both ends apart."""
    axes = sketch(pyplot, 2.8)
    near, far = np.array([0.75, 0.2]), np.array([1.75, 1.75])
    body(axes, (0, 0), (1.1, 0.6))
    links(axes, [[-0.1, 0.4], [0.1, 1.6], [2.3, 1.8]])
    u = (far - near) / np.hypot(*(far - near))
    axes.plot(*np.transpose([near, far]), color=YELLOW, alpha=0.5, lw=7, zorder=0)
    arrow(axes, near, far, "$r$", INK, beside=-1)
    arrow(axes, far, far + 0.6 * u, "$F u$", RED)
    arrow(axes, near, near - 0.6 * u, "$-F u$", RED)
    axes.plot(*np.transpose([near, far]), "o", color=INK, ms=5)
    label(axes, near, "near", (1, -0.3))
    label(axes, far, "far", (-0.7, 1.2))


def operator_frames(pyplot: Any) -> None:
    """Frames and hinges of three bodies of a chain, and what the operators carry between them."""
    axes = sketch(pyplot, 2.8)
    at, turns = np.array([[0, 0], [1.6, 0.6], [3.2, 0.3], [4.2, 0.9]]), (-10, 25, 0)
    for (a, b), turn, name in zip(pairwise(at), turns, (r"\lambda", "i", "j"), strict=True):
        way = b - a
        body(axes, (a + b) / 2, (0.56 * np.hypot(*way), 0.35), np.degrees(np.arctan2(*way[::-1])))
        frame(axes, a, name, turn, 0.5)
        label(axes, (a + b) / 2, f"$M_{{{name}}}$", (0, 0))
    joint(axes, *at[:3])
    up = np.array([0, 0.95])
    for a, b, parent, child in ((*at[:2], r"\lambda", "i"), (*at[1:3], "i", "j")):
        arrow(axes, b - up, a - up, f"${{}}^{{{parent}}}X_{{{child}}}^*$", RED, beside=1)
        arrow(axes, a + up, b + up, f"${{}}^{{{child}}}X_{{{parent}}}$", BLUE, beside=1)
    spin(axes, arc(at[1], 0.35, 200, 340), r"$H_i^* \dot q_i$", BLUE, (0, -1))


def effective_mass(pyplot: Any) -> None:
    """How a Panda's hand yields to 1 N in all directions of its vertical plane, in two postures."""
    model = fr.Model.from_robot("panda")
    core, plane = fr.Dynamics(model), [0, 2]
    row = sketch(pyplot, 2.0, "bent", "stretched")
    for axes, q in zip(row, ((-0.3, -2.2, 1.9), (0.6, -1.2, 3.0)), strict=True):
        at = np.zeros(7)
        at[[1, 3, 5]] = q
        places = [core.link_pose(at, link)[plane, 3] for link in model.link_names[:9]]
        axes.plot(*np.transpose(places), color=FAINT, lw=9, zorder=0)
        J = core.jacobian(at, "panda_hand")[plane]
        yields = J @ core.minv(at) @ J.T
        hand = core.link_pose(at, "panda_hand")[plane, 3]
        axes.plot(*(hand[:, None] + 0.5 * yields @ arc((0, 0), 1, 0, 360)), color=BLUE)
        for per_newton, way in zip(*np.linalg.eigh(yields), strict=True):
            half = 0.5 * per_newton * way * np.sign(way[1])
            axes.plot(*np.transpose([hand, hand + half]), color=BLUE)
            label(axes, hand + half, f"{1 / per_newton:.1f} kg", half, BLUE)
        axes.set(xlim=(-0.15, 1.25), ylim=(0.25, 1.05))


def explicit_form(pyplot: Any) -> None:
    """Khatib's RP arm, with the columns of both Jacobians."""
    axes = sketch(pyplot, 2.8)
    *_, q, _ = examples.rp_arm()
    along = np.array([np.cos(q[0]), np.sin(q[0])])
    aside = np.array([-along[1], along[0]])
    ground(axes, -0.04, 0.1)
    axes.plot(*np.transpose([0 * along, 0.7 * along]), color=FAINT, lw=16, solid_capstyle="round")
    axes.plot(*np.transpose([0.55 * along, 1.0 * along]), color=YELLOW, lw=9, alpha=0.7)
    joint(axes, (0, 0))
    for centre, name in ((0.5, "1"), (0.8, "2")):
        at = centre * along
        axes.plot(*at, "o", color=INK, ms=4)
        arrow(axes, at, at + 0.45 * centre * aside, f"$J_{{v{name},1}}$", BLUE)
    arrow(axes, 0.8 * along, 1.15 * along, "$J_{v2,2}$", RED)
    axes.text(0.2, 0.02, "$\\theta$")
    axes.text(0.35, 0.05, "$l_1$ and $d$: along the arm", color=GREY)


def patterns(pyplot: Any, matrices: dict[str, Any], block: int = 1) -> None:
    """Draw where matrices are not zero, beside each other."""
    _, row = pyplot.subplots(
        1, len(matrices), figsize=(WIDTH, 0.5 + WIDTH / len(matrices)), layout="constrained"
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
    _, axes = pyplot.subplots(figsize=(WIDTH, 2.6), layout="constrained")
    axes.plot(t, angle, color=GREY, label="joint j1 of the left arm")
    axes.plot(t, turned[:, 1], color=BLUE, label="base, about the same axis")
    axes.set(xlabel="time [s]", ylabel="angle [rad]")
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))


def constraints_(pyplot: Any) -> None:
    """The distance between bus and slide, with and without the rod."""
    core, craft, q_0, _, _, tau = examples.craft()
    rod = constraints.Rod("bus", (0, 0, 0.5), "slide", (0, 0, 0.1))
    _, axes = pyplot.subplots(figsize=(WIDTH, 2.6), layout="constrained")
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
    "frames_x": frames_x,
    "joint_and_tree": joint_and_tree,
    "rnea": rnea,
    "crba": crba,
    "aba": aba,
    "newton_euler": newton_euler,
    "cube": cube,
    "articulated_bodies": articulated_bodies,
    "mirtich_frames": mirtich_frames,
    "near_and_far": near_and_far,
    "hinge_types": hinge_types,
    "constrained_rod": constrained_rod,
    "operator_frames": operator_frames,
    "effective_mass": effective_mass,
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
