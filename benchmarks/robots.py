"""The robots of the benchmarks."""

from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np

import featherstone_ros as fr
from featherstone_ros.model.robots import robot_file

EXAMPLES = "example-robot-data"
STANDARD = {"ur10_robot": "UR10", "g1_29dof_rev_1_0": "G1 humanoid"}  # of these, beside the Panda


@dataclass(frozen=True)
class Robot:
    """A description that every peer reads."""

    name: str  # for tables
    text: str = field(repr=False)  # its URDF
    base: str = "fixed"  # as ``Model.from_urdf`` takes it

    @cached_property
    def model(self) -> fr.Model:
        """Ours."""
        return fr.Model.from_urdf(self.text, base=self.base)

    @cached_property
    def simple(self) -> bool:
        """Whether it has joints, all of them moving on their own: peers treat the others apart."""
        return self.model.n > 0 and not (self.model.mimics or self.model.locked)

    @cached_property
    def last_link(self) -> str:
        """The last one that joints move."""
        dynamics, q = fr.Dynamics(self.model), np.zeros(self.model.nq)
        q[3 : 7 * (self.base == "floating")] = 0.5
        links = reversed(self.model.link_names)
        return next(link for link in links if dynamics.jacobian(q, link).any())

    def state(self, *batch: int) -> dict[str, Any]:
        """Return the names in ``ARGUMENTS``: a state, always the same, and the last link."""
        n = self.model.nv
        random = np.random.default_rng(0).uniform(-1, 1, (4, *batch, n))
        state: dict[str, Any] = dict(zip(("q", "qd", "qdd", "tau"), random, strict=True))
        if self.base == "floating":  # a quaternion in place of three numbers
            x, y, z = np.moveaxis(state["q"][..., 3:6], -1, 0)
            w = np.sqrt(4 - x * x - y * y - z * z)
            state["q"] = np.insert(state["q"], 6, w, axis=-1)
            state["q"][..., 3:7] /= 2
        link = self.last_link
        return state | {
            "prescribed": np.arange(n) % 2 == 0, "link": link, "f_ext": {link: np.ones(6)},
        }  # fmt: skip


def read(path: str) -> Robot:
    """Return a robot of the package by name, or of a URDF file."""
    file = robot_file(path)
    return Robot("Panda" if path == "panda" else file.stem, file.read_text())


def example_files() -> list[Any]:
    """Return the URDFs of example-robot-data; none where it is not installed."""
    try:
        files = metadata.files(EXAMPLES) or ()
    except metadata.PackageNotFoundError:
        return []
    return sorted(file for file in files if file.suffix == ".urdf")


def example_robots() -> dict[str, Robot]:
    """Return all of example-robot-data by name; of two of the same name the last."""
    texts = {file.stem: file.read_text() for file in example_files()}
    return {
        name: Robot(STANDARD.get(name, name), text)
        for name, text in texts.items()
        if "<link" in text
    }
