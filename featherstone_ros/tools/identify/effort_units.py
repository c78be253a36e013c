"""What torque the recorded efforts are, by the same motion with a known load or by the links."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.text import Text

from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.effort_gains import EffortGains, gains_by_links, gains_by_load
from featherstone_ros.identification.identification import Options, recorded
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import CURRENT, motor_constants
from featherstone_ros.model.parameter_files import of_joint, rounded
from featherstone_ros.tools.style import new_table


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


def parameters(gains: EffortGains | None) -> dict[str, object]:
    """Return what both nodes are to know of the efforts: currents, behind a gear of 1."""
    if gains is None:
        return {}
    drives: dict[str, object] = {}
    for name, gain in by_joint(gains).items():
        drives |= of_joint(name, {"effort": CURRENT, **motor_constants(gain)})
    return {"drives": drives}


def as_dict(gains: EffortGains | None) -> dict[str, Any]:
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


def table(gains: EffortGains | None) -> Group:
    """Return the gains for the terminal."""
    if gains is None:
        return Group()
    rows = new_table("Torque per unit of effort", "joint", figures=("gain", "±"))
    for name, gain, deviation in zip(gains.joints, gains.gain, gains.deviation, strict=True):
        known = name in gains.found
        rows.add_row(name, f"{gain:.4g}" if known else "unknown", f"{deviation:.2g}" * known)
    line = " ".join(f"{name}={gain:g}" for name, gain in by_joint(gains).items())
    return Group(rows, Text(f"For other commands: --current-gain {line}"), Text())
