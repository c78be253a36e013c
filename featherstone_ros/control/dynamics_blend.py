"""Inverse dynamics of a robot that is being given another payload or gravity."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.model import Model

Floats = NDArray[np.float64]

MOST_MODELS = 4  # changes that come faster than the blend are joined: the governor takes the step


class InverseDynamics(Protocol):
    """What the control laws need of ``featherstone_ros.Dynamics``."""

    model: Model

    def rnea(self, q: Floats, qd: Floats, qdd: Floats, *, out: Floats) -> Floats:
        """Return the joint efforts (n,) of a motion."""

    def gravity(self, q: Floats, *, out: Floats) -> Floats:
        """Return the joint efforts (n,) that hold a pose."""


class DynamicsBlend:
    """Inverse dynamics whose model can be replaced without a step in effort.

    Efforts are linear in the inertial parameters and in gravity, so a weighted mean of the efforts
    of two models is what the model half-way between them gives.
    """

    def __init__(self, dynamics: InverseDynamics, n: int) -> None:
        """Begin with one model.

        Args:
            dynamics: Its inverse dynamics.
            n: Number of joints.
        """
        self._new = dynamics
        self._old: list[tuple[InverseDynamics, float]] = []
        self._duration = 0.0
        self._elapsed = 0.0
        self._part = np.zeros(n)

    @property
    def blending(self) -> bool:
        """Tell whether an earlier model still has weight."""
        return bool(self._old)

    @property
    def model(self) -> Model:
        """The newest model, whatever weight it has by now."""
        return self._new.model

    def change(self, dynamics: InverseDynamics, duration: float) -> None:
        """Go over to another model, linearly in time, from whatever is in effect now.

        Args:
            dynamics: The new model's inverse dynamics, for the same joints.
            duration: [s]; 0 at once.
        """
        share = self._share()
        old = [(model, weight * (1.0 - share)) for model, weight in self._old]
        old = [*old, (self._new, share)][-MOST_MODELS:]
        total = sum(weight for _, weight in old)
        self._old = [(model, weight / total) for model, weight in old] if duration > 0.0 else []
        self._new = dynamics
        self._duration = duration
        self._elapsed = 0.0

    def advance(self, dt: float) -> None:
        """Let time pass [s]."""
        if self._old:
            self._elapsed += dt
            if self._elapsed >= self._duration:
                self._old = []

    def rnea(self, q: Floats, qd: Floats, qdd: Floats, out: Floats) -> Floats:
        """Return the joint efforts (n,) of a motion, in ``out``."""
        self._new.rnea(q, qd, qdd, out=out)
        if self._old:
            share = self._share()
            out *= share
            for model, weight in self._old:
                out += (1.0 - share) * weight * model.rnea(q, qd, qdd, out=self._part)
        return out

    def gravity(self, q: Floats, out: Floats) -> Floats:
        """Return the joint efforts (n,) that hold a pose, in ``out``."""
        self._new.gravity(q, out=out)
        if self._old:
            share = self._share()
            out *= share
            for model, weight in self._old:
                out += (1.0 - share) * weight * model.gravity(q, out=self._part)
        return out

    def _share(self) -> float:
        """Return the weight of the newest model, 0 to 1."""
        return self._elapsed / self._duration if self._old else 1.0
