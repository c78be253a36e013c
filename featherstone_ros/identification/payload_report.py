"""Describes a payload: in words, as controller parameters, and as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from featherstone_ros.identification.explanation import CERTAIN
from featherstone_ros.identification.first_moment import FirstMoment
from featherstone_ros.identification.payload import Payload
from featherstone_ros.model.parameter_files import parameter_text, rounded
from featherstone_ros.model.pseudo_inertia import UPPER


def lines(found: Payload) -> list[str]:
    """Return mass, centre of mass and moments with two standard deviations, and a verdict."""
    width = max(map(len, found.joints))
    text = [
        f"On {found.link}, with two standard deviations:",
        f"  mass            {found.mass:.3f} ± {2 * found.mass_deviation:.3f} kg",
        f"  centre of mass  {_centre(found)}",
        f"  inertia         {_moments(found)} kg m² (xx yy zz about it)",
        f"  explains {int(100 * found.explained)} % of the torque that the arm leaves (squares), "
        "RMS without and with it [N m or N]:",
        *(
            f"    {joint:{width}} {before:8.3f} {after:8.3f}"
            for joint, before, after in zip(found.joints, found.before, found.after, strict=True)
        ),
    ]
    if found.free_mass < -CERTAIN * found.free_deviation:
        text.append(
            f"The arm carries less than its model has: {found.free_mass:.3f} kg. Is something in "
            "the URDF not mounted?"
        )
    elif not found.significant:
        text.append(
            "The data show no load beyond what noise and errors of the arm's own model may cause: "
            f"{found.free_mass:.3f} ± {2 * found.free_deviation:.3f} kg by them alone; a longer "
            "motion tells more."
        )
    return text


def snippet(found: Payload) -> str:
    """Return the controller's parameters, as YAML."""
    inertia = found.inertia[UPPER]
    payload = {
        "name": "",  # these numbers, whichever of payload.names was carried before
        "link": found.link,
        "mass": rounded(found.mass),
        "com": [rounded(x) for x in found.com],
        "inertia": [rounded(x) for x in inertia],
    }
    return parameter_text((), {"/**": {"payload": payload}})


def in_short(found: Payload) -> str:
    """Return what was found on one line."""
    if not found.significant:
        return lines(found)[-1]
    mass = f"{found.mass:.3f} ± {2 * found.mass_deviation:.3f} kg"
    return f"{mass} on {found.link}, centre of mass at {_centre(found)} (two standard deviations)"


def commented(found: Payload) -> str:
    """Return the words as YAML comments, followed by the parameters if there is a load."""
    words = "".join(f"# {line}\n" for line in lines(found))
    return words + snippet(found) if found.significant else words


def as_dict(found: Payload, joints: list[str]) -> dict[str, Any]:
    """Return numbers in SI units; inertia is xx xy xz yy yz zz about the centre of mass."""
    deviations = {
        "mass": found.mass_deviation,
        "com": found.com_deviation.tolist(),
        "inertia": found.inertia_deviation[UPPER].tolist(),
    }
    return {
        "link": found.link,
        "mass": found.mass,
        "com": found.com.tolist(),
        "inertia": found.inertia[UPPER].tolist(),
        "standard_deviation": deviations,
        "significant": bool(found.significant),
        "least_squares": {"mass": found.free_mass, "standard_deviation": found.free_deviation},
        "explained": found.explained,
        "joints": joints,
        "rms_before": found.before.tolist(),
        "rms": found.after.tolist(),
    }


def moment_as_dict(link: str, moment: FirstMoment) -> dict[str, Any]:
    """Return what is known of a load whose mass is not, in SI units."""
    return {
        "link": link,
        "mass": None,
        "first_moment": {
            "about": moment.about,
            "directions": moment.directions,
            "values": moment.values,
            "standard_deviation": moment.deviations,
        },
    }


def _centre(found: Payload) -> str:
    if not found.com_deviation.any():
        return f"{', '.join(f'{x:.4g}' for x in 1e3 * found.com)} mm, as given"
    return f"{_three(1e3 * found.com, 2e3 * found.com_deviation, '.0f')} mm"


def _three(values: np.ndarray, deviations: np.ndarray, form: str) -> str:
    return ", ".join(f"{v:{form}} ± {d:{form}}" for v, d in zip(values, deviations, strict=True))


def _moments(found: Payload) -> str:
    moments, deviations = np.diag(found.inertia), 2 * np.diag(found.inertia_deviation)
    return _three(moments, deviations, ".2g")
