"""Faults as vendors make them, put into sound URDFs: one editing function for each."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from featherstone_ros.model import urdf

MASS, INERTIA = "inertial/mass", "inertial/inertia"
OF_INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


class Fault(NamedTuple):
    """What is done to an element, and what must be found there.

    Attributes:
        kind: "link" or "joint", of the element.
        edit: Changes the element.
        rules: One of these is found there.
        status: Whether the command ends with exit status 1.
        suits: Whether the element can have this fault at all.
    """

    kind: str
    edit: Callable[[ET.Element], None]
    rules: tuple[str, ...]
    status: int
    suits: Callable[[ET.Element], bool] = lambda element: True


def scaled(path, factor):
    def edit(link):
        its = link.find(path)
        for key, value in its.items():
            its.set(key, repr(float(value) * factor))

    return edit


def with_inertia(*moments):
    figures = map(repr, (*moments, *[0.0] * (6 - len(moments))))
    return attribute(INERTIA, **dict(zip(OF_INERTIA, figures, strict=True)))


def moved_centre(link):
    """Put the centre of mass farther out than any geometry of the test robots."""
    place(link.find("inertial"), np.array([0.0, 0.0, 3.0]))


def in_mm(path):
    """Return what has the origin of an element in mm."""

    def edit(element):
        its = element.find(path)
        place(its, 1000 * urdf.Part(its, "").origin()[1])

    return edit


def about_the_origin(link):
    inertia, m, c = link.find("inertial/inertia"), mass(link), centre(link)
    R, _ = urdf.Part(link.find("inertial"), "").origin()
    added = R.T @ (m * (c @ c * np.eye(3) - np.outer(c, c))) @ R
    for key in OF_INERTIA:
        i, j = map("xyz".index, key[1:])
        inertia.set(key, repr(float(inertia.get(key, "0")) + float(added[i, j])))


def without(path):
    def edit(element):
        parent = element.find(path.rpartition("/")[0] or ".")
        parent.remove(element.find(path))

    return edit


def attribute(path, **values):
    def edit(element):
        child = element.find(path)
        if child is None:
            child = ET.SubElement(element, path)
        for key, value in values.items():
            child.set(key, value)

    return edit


def unlimited(*names):
    def edit(joint):
        for name in names:
            joint.find("limit").attrib.pop(name, None)

    return edit


def swapped_limits(joint):
    limit = joint.find("limit")
    lower, upper = limit.get("lower"), limit.get("upper")
    limit.set("lower", upper)
    limit.set("upper", lower)


def mass(link):
    return float(link.find("inertial/mass").get("value"))


def centre(link):
    return urdf.Part(link.find("inertial"), "").origin()[1]


def place(element, position):
    origin = element.find("origin")
    if origin is None:
        origin = ET.SubElement(element, "origin")
    origin.set("xyz", " ".join(map(repr, position.tolist())))


def is_revolute(joint):
    return joint.get("type") in ("revolute", "prismatic") and joint.find("mimic") is None


def lies_far_out(link):
    """Whether the centre of mass is far from the origin, as links of that inertia go."""
    inertia = link.find("inertial/inertia")
    gyration2 = max(float(inertia.get(f"i{axis}{axis}")) for axis in "xyz") / mass(link)
    return float(centre(link) @ centre(link)) > max(0.02**2, 3 * gyration2)


FAULTS = {
    "no inertial": Fault("link", without("inertial"), ("missing-inertia",), 0),
    "zero inertia": Fault("link", with_inertia(0.0), ("zero-inertia",), 1),
    "one moment zero": Fault(
        "link", with_inertia(1e-3, 1e-3), ("not-positive-definite", "inertia-too-large"), 0
    ),
    "negative moments": Fault("link", scaled(INERTIA, -1.0), ("not-positive-definite",), 1),
    "product too large": Fault(
        "link", with_inertia(1e-3, 1e-3, 1e-3, 5e-3), ("not-positive-definite",), 1
    ),
    "triangle": Fault("link", with_inertia(1e-3, 1e-3, 9e-3), ("triangle-inequality",), 1),
    "placeholder of 1 kg m^2": Fault(
        "link", with_inertia(1.0, 1.0, 1.0), ("inertia-too-large", "units"), 0
    ),
    "centre of mass outside": Fault("link", moved_centre, ("com-outside", "units"), 0),
    "centre of mass in mm": Fault("link", in_mm("inertial"), ("units",), 1, lies_far_out),
    "mass negative": Fault("link", attribute("inertial/mass", value="-1"), ("refused",), 1),
    "mass in g": Fault("link", scaled(MASS, 1e3), ("units", "inertia-too-small"), 0),
    "mass and inertia in g": Fault(
        "link", lambda e: (scaled(MASS, 1e3)(e), scaled(INERTIA, 1e3)(e)), ("units",), 0
    ),
    "inertia in kg mm^2": Fault("link", scaled(INERTIA, 1e6), ("units",), 1),
    "inertia in g mm^2": Fault("link", scaled(INERTIA, 1e9), ("units",), 1),
    "inertia a thousandth": Fault("link", scaled(INERTIA, 1e-3), ("inertia-too-small",), 0),
    "effort 0": Fault("joint", attribute("limit", effort="0"), ("effort-zero",), 0, is_revolute),
    "velocity 0": Fault(
        "joint", attribute("limit", velocity="0"), ("velocity-zero",), 0, is_revolute
    ),
    "no limit": Fault("joint", without("limit"), ("limits-missing",), 0, is_revolute),
    "no range": Fault("joint", unlimited("lower", "upper"), ("limits-missing",), 0, is_revolute),
    "no effort": Fault("joint", unlimited("effort"), ("effort-missing",), 0, is_revolute),
    "no velocity": Fault("joint", unlimited("velocity"), ("velocity-missing",), 0, is_revolute),
    "no way": Fault(
        "joint", attribute("limit", lower="0", upper="0"), ("limits-equal",), 0, is_revolute
    ),
    "limits swapped": Fault("joint", swapped_limits, ("limits-swapped",), 1, is_revolute),
    "negative effort": Fault(
        "joint", attribute("limit", effort="-5"), ("negative-limit",), 1, is_revolute
    ),
    "negative damping": Fault(
        "joint", attribute("dynamics", damping="-1"), ("negative-friction",), 1, is_revolute
    ),
    "mimic of nothing": Fault(
        "joint", attribute("mimic", joint="nobody"), ("mimic-of-nothing",), 0, is_revolute
    ),
    "axis of length 0": Fault("joint", attribute("axis", xyz="0 0 0"), ("refused",), 1),
    "mimic of itself": Fault(
        "joint",
        lambda e: attribute("mimic", joint=e.get("name"))(e),
        ("mimic-of-itself", "refused"),
        1,
        is_revolute,
    ),
    "origin in mm": Fault("joint", in_mm("."), ("units",), 1, lambda j: farther(j, 0.03)),
}


def farther(joint, distance):
    """Whether a joint is farther than that from its parent."""
    return bool(np.linalg.norm(urdf.Part(joint, "").origin()[1]) > distance)
