"""An identification as tables, 80 columns wide at most, JSON, URDF, parameters, and a picture.

The picture: torque held out, friction over speed, parameters with bars.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table
from rich.text import Text

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.effort_gains import EffortGains, gains_by_links, gains_by_load
from featherstone_ros.identification.explanation import (
    OF_TORQUE,
    RESOLVED,
    Explanation,
    common_factor,
    frictionless,
    outside,
    unexplained,
    weights_as_offsets,
    worse,
)
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.identification import Identification, Options, recorded
from featherstone_ros.model import Model, read_file, urdf_edit
from featherstone_ros.model.drive_units import ANOTHER_UNIT, CURRENT, motor_constants
from featherstone_ros.model.drives import PRESLIDING_DISPLACEMENT
from featherstone_ros.model.parameter_files import each_joint, of_joint, parameter_text, rounded
from featherstone_ros.tools import panels, study
from featherstone_ros.tools.study import load_text, r2_text, score_table, scores
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, YELLOW, new_table, sentences

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAMED = 8  # of what could not be identified


def tables(
    found: Identification, whole: Explanation, held_out: Explanation, before: Explanation
) -> Group:
    """Return the report for the terminal."""
    explanations = [
        (("held out, URDF\nwith friction", "yellow"), before),
        (("held out,\nidentified", "bold cyan"), held_out),
        (("whole recording,\nidentified", "cyan"), whole),
    ]
    return Group(
        score_table(found.joint_names, explanations, "N m, N"), Text(), _drives(found), Text(),
        _links(found), *_remarks(found, held_out, before),
    )  # fmt: skip


def _drives(found: Identification) -> Table:
    terms = (*used_terms(found), "armature")
    table = new_table("Friction and drives, SI units", "joint", figures=terms)
    for j in found.judged:
        *friction, armature = (getattr(found.arm.drives, term)[j] for term in terms)
        cells = [f"{value:.3f}" for value in friction]
        table.add_row(found.model.joint_names[j], *cells, f"{max(armature, 0.0):.4f}")
    return table


def _links(found: Identification) -> Table:
    headings = ("mass before\nkg", "mass\nkg", "centre of mass\nmoved by, mm")
    table = new_table("Links, with what is fixed to them", "link", figures=headings)
    b = found.bodies
    old, new = b.parameters.reshape(-1, 10), b.deformed(found.fit.theta).reshape(-1, 10)
    for name, was, now in zip(b.names, old, new, strict=True):
        moved = np.linalg.norm(now[1:4] / now[0] - was[1:4] / was[0])
        table.add_row(name, f"{was[0]:.3f}", f"{now[0]:.3f}", f"{1e3 * moved:.1f}")
    return table


def _remarks(found: Identification, held_out: Explanation, before: Explanation) -> list[Text]:
    left, was = np.nansum(1 - held_out.r2), np.nansum(1 - before.r2)
    lines = [
        Text(
            f"Unexplained share of variance, summed over joints, held out: {was:.3g} before, "
            f"{left:.3g} identified.",
            style="bold",
        )
    ]
    links = [n for n in found.estimate.unidentified if "." in n]
    total = len(found.estimate.names)
    if links:
        named = ", ".join(links[:MAX_NAMED]) + (" ..." if len(links) > MAX_NAMED else "")
        lines.append(
            Text(
                f"{len(links)} of {total} base parameters are known no better than from the URDF "
                f"(30 %) and stay near it: {named}.",
                style="yellow",
            )
        )
    lines.append(Text(law_in_words(found), style="dim"))
    told = (*found.faults, *found.suspicions, *doubts(found, held_out))
    lines += [Text(text, style="bold red") for text in told]
    if found.load is not None:
        lines.append(Text(load_text(found.load), style="bold red"))
    return lines + sentences(found.notes)


def doubts(found: Identification, held_out: Explanation) -> list[str]:
    """Return what is odd about a result, in words."""
    drives, model = found.arm.drives.of_joints(found.judged), found.arm.model
    return [
        *unexplained(found.joint_names, held_out),
        *frictionless(found.joint_names, drives),
        *outside(model, found.model, found.boxes),
        *scaled(found),
    ]


def scaled(found: Identification, refused: bool = False) -> list[str]:
    """Say by what factor all links came out, where it is one; or that far off, to refuse."""
    now, was = (
        Dynamics(model).rnea(*found.motion.state)[:, found.judged]
        for model in (found.arm.model, found.model)
    )
    factor = common_factor(now, was)
    far = not ANOTHER_UNIT[0] < factor < ANOTHER_UNIT[1]
    if factor == 1.0 or (refused and not far):
        return []
    return [
        f"All links came out {factor:.3g} times as heavy as described: is that the efforts' unit, "
        "or the known load's mass?"
    ]


def forbidden(found: Identification) -> list[str]:
    """Say what of a result is nonsense, however well it explains the torque."""
    drives, gravity = found.arm.drives.of_joints(found.judged), Dynamics(found.arm.model).gravity
    borne = gravity(found.motion.position)[:, found.judged]
    return [
        *weights_as_offsets(found.joint_names, drives, borne),
        *scaled(found, refused=True),
    ]


def least_error(found: Identification) -> Floats:
    """Return the RMS (n,) of a torque's error that nobody minds [N m or N].

    In a rest, any little error is all that there is: the motion that was fitted is what counts.
    """
    limit = found.model.effort_limit[list(found.judged)]
    share = OF_TORQUE * found.motion.effort[:, found.judged].std(axis=0)
    return np.maximum(share, RESOLVED * np.where(np.isfinite(limit), limit, 0.0))


def reasons_against(
    found: Identification, held_out: Explanation, before: Explanation, least: Floats
) -> list[str]:
    """Return faults of the recordings, and whether the given URDF explains them better.

    ``least``: see ``worse``.
    """
    joints = worse(found.joint_names, held_out, before, least)
    if not joints:
        return list(found.faults)
    return [
        *found.faults,
        "What was identified leaves more of the torque that was not fitted unexplained than the "
        f"URDF with friction does, where joints move: {joints} (RMS). Did these joints move alike "
        "in what was fitted, both ways and at these speeds? Record what `featherstone-ros excite` "
        "plans, or hold out another recording (--held-out).",
    ]


def law_in_words(found: Identification) -> str:
    """Say which law of friction the cross-validation chose."""
    law = found.law
    terms = ["viscous", "Coulomb"]
    terms += ["growing with the load"] if law.loaded else []
    terms += ["viscous thinned by speed"] if np.any(law.thinning) else []
    springs = _springs(found)
    terms += [f"torque that grows with the position of {', '.join(springs)}"] if springs else []
    return (
        f"Friction, as cross-validation chose it: {', '.join(terms)}; turning round over "
        f"{1e3 * law.displacement:g} mrad or mm."
    )


def _springs(found: Identification) -> list[str]:
    """Return the joints with a stiffness, each with its standard deviation by the data alone."""
    e = found.estimate
    return [
        f"{name.split('.', 1)[1]} ({fitted:.3g} ± {deviation:.1g} N m/rad or N/m)"
        for name, fitted, deviation in zip(e.names, e.fitted, e.deviation, strict=True)
        if name.startswith("stiffness.") and fitted
    ]


TERMS = ("coulomb", "viscous", "offset")
FURTHER = ("load", "thinning", "stiffness")  # terms that not every arm needs


def write_urdf(model: Model, source: Path, path: Path) -> None:
    """Write a description with a model's inertials, otherwise unchanged; xacro is expanded."""
    text = read_file(source)
    encoding = urdf_edit.encoding(text) if isinstance(text, bytes) else "utf-8"
    path.write_bytes(model.to_urdf(text).encode(encoding))


def parameter_file(found: Identification, sources: str, more: Mapping[str, object]) -> str:
    """Return friction, armature and offset of the joints whose effort counted."""
    drives, names, terms = found.arm.drives, found.model.joint_names, used_terms(found)
    friction = {
        names[j]: {
            term: value
            for term in terms
            for value in [getattr(drives, term)[j]]
            if value or term != "stiffness"  # few joints have one
        }
        for j in found.judged
    }
    armature = {names[j]: rounded(drives.armature[j]) for j in found.judged}
    common: dict[str, object] = {"friction": each_joint(friction), "armature": armature}
    if found.law.displacement != PRESLIDING_DISPLACEMENT:
        common["presliding_displacement"] = found.law.displacement
    head = [
        f"Drives of {found.model.name}, for both nodes, with the URDF of the same name:",
        f"identified by featherstone-ros from {sources}.",
    ]
    return parameter_text(head, {"/**": {**common, **more}})


def used_terms(found: Identification) -> tuple[str, ...]:
    """Return the terms of friction that the law has."""
    further = [term for term in FURTHER if np.any(getattr(found.arm.drives, term))]
    return (*TERMS, *further)


def as_dict(
    found: Identification, whole: Explanation, held_out: Explanation, before: Explanation
) -> dict[str, Any]:
    """Return scores and parameters as numbers in SI units."""
    e, drives = found.estimate, found.arm.drives
    return {
        "robot": found.model.name,
        "joints": found.joint_names,
        **scores(whole),
        "held_out": scores(held_out),
        "before": {"held_out": scores(before)},
        "friction": {
            found.model.joint_names[j]: {
                term: getattr(drives, term)[j] for term in (*used_terms(found), "armature")
            }
            for j in found.judged
        },
        "presliding_displacement": found.law.displacement,
        "base_parameters": [
            {
                "name": name,
                "value": value,
                "standard_deviation": deviation,
                "urdf": urdf,
                "written": fitted,
                "identified": bool(known),
            }
            for name, value, deviation, urdf, fitted, known in zip(
                e.names,
                *(e.value, e.deviation, e.urdf, e.fitted, e.identified),
                strict=True,
            )
        ],
        "unidentified": e.unidentified,
        "prior_width": {"mass": found.width[0], "shape": found.width[1]},
        "noise": found.sigma,
        "cut_off": found.cut_off,
        "faults": found.faults,
        "suspicions": found.suspicions,
        "notes": found.notes,
    }


SMALL = 8  # [point] of a parameter's name
LETTER = 0.068  # [inch] of such a name
LINE = 0.155  # [inch] height of a parameter's row
LEAST = 5.0  # [inch] of all rows
FAR = 3.0  # [times 30 %] where bars are cut off


def draw(
    found: Identification,
    motion: SmoothMotion,
    held_out: Explanation,
    before: Explanation,
    path: Path,
) -> None:
    """Write the picture."""
    drives = found.arm.drives.of_joints(found.judged)
    own = drives.friction_torque(motion.velocity, motion.sliding) + drives.offset
    names = _names(found)
    study.draw(
        path,
        f"{found.model.name}: torque that was not fitted [N m, N]",
        motion,
        found.joint_names,
        [
            ("measured", panels.MEASURED, motion.effort),
            ("URDF with friction", YELLOW, before.effort),
            ("identified", BLUE, held_out.effort),
        ],
        lambda j: f"R²  {r2_text(before.r2[j])}  →  {r2_text(held_out.r2[j])}",
        friction=(
            "Friction [N m, N] over velocity",
            motion.effort - held_out.effort + own,  # what links and the drives' inertia leave
            drives,
        ),
        beside=study.Beside(
            "Base parameters: data ± 2 σ; written: |",
            max(LEAST, LINE * len(names)),
            LETTER * max(map(len, names), default=0) + 0.2,
            lambda axes: _draw_parameters(axes, found),
        ),
    )


def _are_links(found: Identification) -> NDArray[np.bool_]:
    """Return which parameters are those of links, and have a scale."""
    e = found.estimate
    return np.isfinite(e.urdf) & np.isfinite(e.scale) & (e.scale > 0)


def _names(found: Identification) -> list[str]:
    names = zip(found.estimate.names, _are_links(found), strict=True)
    return [name.split(" ")[0] for name, is_links in names if is_links]


def _draw_parameters(axes: Axes, found: Identification) -> None:
    """Draw the links' base parameters minus the URDF's, in units of its assumed error."""
    e = found.estimate
    links = _are_links(found)
    rows = np.arange(links.sum())
    value = ((e.value - e.urdf) / e.scale)[links]
    bars = np.minimum(2 * (e.deviation / e.scale)[links], 3 * FAR)
    fitted = ((e.fitted - e.urdf) / e.scale)[links]
    colours = [BLUE if known else FAINT for known in e.identified[links]]
    axes.hlines(rows, value - bars, value + bars, color=colours, lw=1.6)
    axes.scatter(value, rows, s=9, color=[BLUE if k else GREY for k in e.identified[links]])
    axes.plot(fitted, rows, "|", color=INK, ms=6)
    axes.axvline(0, color=GREY, lw=0.7)
    axes.set_yticks(rows, _names(found), fontsize=SMALL, color=INK)
    axes.yaxis.tick_right()
    axes.set_xlim(-FAR, FAR)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("off the URDF, in units of 30 %")
    axes.spines["left"].set_visible(False)


# What torque the recorded efforts are, by the same motion with a known load or by the links.


def find_gains(args: argparse.Namespace, urdf: Path, options: Options) -> EffortGains | None:
    """Return the gains of the recorded efforts; None if they are not asked for."""
    if bool(args.loaded) != bool(args.load):
        args.parser.error("--loaded and --load LINK=KG belong together")
    if args.loaded and args.gains_by_links:
        args.parser.error("--loaded finds gains without the links: leave out --gains-by-links")
    if args.gains_by_links:
        (bare,), names, _ = recorded(args.bags[:1], urdf, options)
        model = Model.from_file(urdf, joints=bare.joint_names, gravity=options.gravity)
        found, by = gains_by_links(model, bare, options.cut_off), "the links"
    elif args.loaded:
        (loaded, bare), names, _ = recorded([args.loaded, args.bags[0]], urdf, options)
        model = Model.from_file(urdf, joints=bare.joint_names, gravity=options.gravity)
        link, mass = args.load
        found = gains_by_load(model, loaded, bare, link, mass, cut_off=options.cut_off)
        by = f"{mass:g} kg on {link}"
    else:
        return None
    if not any(name in names for name in found.found):
        raise IdentificationError(
            f"{by} tell of no joint what torque its effort is: give "
            f"a {'heavier' if args.loaded else 'known'} load (--loaded, --load), or a motion that "
            "turns more joints against gravity"
        )
    return found


def with_gains(options: Options, gains: EffortGains | None) -> Options:
    """Return options that make torques of the efforts, of those joints whose gains are known."""
    if gains is None:
        return options
    known = by_joint(gains)
    scale = {name: known[name] * options.gains.get(name, 1.0) for name in known}
    asked = options.joints or gains.joints
    return replace(options, gains=scale, joints=[name for name in asked if name in known])


def by_joint(gains: EffortGains) -> dict[str, float]:
    """Return the gains that are known."""
    values = zip(gains.joints, gains.gain, strict=True)
    return {name: rounded(float(gain)) for name, gain in values if name in gains.found}


def gain_parameters(gains: EffortGains | None) -> dict[str, object]:
    """Return what both nodes are to know of the efforts: currents, behind a gear of 1."""
    if gains is None:
        return {}
    drives: dict[str, object] = {}
    for name, gain in by_joint(gains).items():
        drives |= of_joint(name, {"effort": CURRENT, **motor_constants(gain)})
    return {"drives": drives}


def gains_as_dict(gains: EffortGains | None) -> dict[str, Any]:
    """Return the gains as numbers in SI units, with their standard deviations."""
    if gains is None:
        return {}
    rows = zip(gains.joints, gains.gain, gains.deviation, strict=True)
    return {
        "effort_gain": {
            name: {"value": gain, "standard_deviation": deviation, "identified": name in known}
            for known in [gains.found]
            for name, gain, deviation in rows
        }
    }


def gain_table(gains: EffortGains | None) -> Group:
    """Return the gains for the terminal."""
    if gains is None:
        return Group()
    rows = new_table("Torque per unit of effort", "joint", figures=("gain", "±"))
    for name, gain, deviation in zip(gains.joints, gains.gain, gains.deviation, strict=True):
        known = name in gains.found
        rows.add_row(name, f"{gain:.4g}" if known else "unknown", f"{deviation:.2g}" * known)
    line = " ".join(f"{name}={gain:g}" for name, gain in by_joint(gains).items())
    return Group(rows, Text(f"For other commands: --current-gain {line}"), Text())
