"""Base parameters: the combinations of inertial parameters on which torque depends.

Parameters whose columns of the regressor are linear combinations of others, in every motion, cannot
be identified separately. A QR factorisation with column pivoting of the regressor in random states
finds r independent columns, Y[:, independent] = Q1 R1, and how the others depend on them,
Y[:, dependent] = Y[:, independent] K
with K = R1^-1 R2 (M. Gautier, "Numerical calculation of the base inertial parameters of robots",
J. Robotic Systems 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats, Indices
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.filtering import needed_from_scipy
from featherstone_ros.model import Model

SYMBOLS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
STATES_PER_PARAMETER = 3  # random states that determine the rank
NEGLIGIBLE = 1e-8  # relative to the greatest diagonal entry of R


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Which of p parameters are independent, and how the others combine with them."""

    # p names, of bodies' ("link3.mx") and drives' parameters ("armature.joint3")
    names: tuple[str, ...]
    independent: Indices  # (r,) indices, ascending
    dependent: Indices  # (p - r,) indices, ascending
    K: Floats  # (r, p - r), base = x[independent] + K x[dependent]

    @cached_property
    def mapping(self) -> Floats:
        """(r, p): base parameters = mapping @ x."""
        mapping = np.zeros((len(self.independent), len(self.names)))
        mapping[np.arange(len(self.independent)), self.independent] = 1.0
        mapping[:, self.dependent] = self.K
        return mapping

    def texts(self, terms: int = 3) -> list[str]:
        """Return each base parameter as a sum in words, cut off after ``terms`` terms."""
        return [self._text(row, terms) for row in range(len(self.independent))]

    def _text(self, row: int, terms: int) -> str:
        added = [(self.K[row, k], self.names[d]) for k, d in enumerate(self.dependent)]
        added = [(factor, name) for factor, name in added if abs(factor) > NEGLIGIBLE]
        text = self.names[self.independent[row]]
        for factor, name in added[: terms - 1]:
            size = "" if abs(abs(factor) - 1) < NEGLIGIBLE else f"{abs(factor):.3g} "
            text += f" {'-' if factor < 0 else '+'} {size}{name}"
        return text + (" ..." if len(added) >= terms else "")


def base_parameters(
    model: Model, armature: bool = True, offset: bool = False, negligible: float = NEGLIGIBLE
) -> BaseParameters:
    """Find the base parameters of a model's bodies, see ``Bodies``.

    ``armature``: count the drives' inertia among the parameters. (That of the first joint, for
    example, is never separable from its link's moment about the axis.) ``offset``: count the
    drives' constant torque, after their inertia. (That of a vertical lift is never separable from
    mass and inertia.) ``negligible``: share of a column that others need not replace.
    """
    bodies = Bodies.of(model)
    names = [f"{body}.{symbol}" for body in bodies.names for symbol in SYMBOLS]
    terms = ["armature"] * armature + ["offset"] * offset
    W = _regressor_in_random_states(model, bodies, terms)
    names += [f"{term}.{joint}" for term in terms for joint in model.joint_names]
    scale = np.linalg.norm(W, axis=0)
    scale[scale < NEGLIGIBLE * scale.max(initial=0.0)] = np.inf  # only rounding errors
    _, R, order = needed_from_scipy("linalg").qr(W / scale, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > negligible * diagonal[:1].max(initial=0.0)).sum())
    K = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
    moved = np.where(np.isfinite(scale), scale, 0.0)
    K = K / moved[order[:rank], None] * moved[order[rank:]]
    K[np.abs(K) < NEGLIGIBLE * max(np.abs(K).max(initial=0.0), 1.0)] = 0.0
    rows, columns = np.argsort(order[:rank]), np.argsort(order[rank:])
    return BaseParameters(
        tuple(names), order[:rank][rows], order[rank:][columns], K[rows][:, columns]
    )


def _regressor_in_random_states(model: Model, bodies: Bodies, terms: Sequence[str]) -> Floats:
    random, p = np.random.default_rng(0), 10 * len(bodies.names) + model.n
    lower, upper = np.sort(model.position_range, axis=0)
    B = STATES_PER_PARAMETER * p // max(model.n, 1) + 10
    q = random.uniform(lower, upper, (B, model.n))
    qd, qdd = random.normal(size=(2, B, model.n)) * [[[1.0]], [[3.0]]]
    Y = Dynamics(model).regressor(q, qd, qdd)[:, :, bodies.columns()]
    own = {"armature": qdd, "offset": np.ones_like(qdd)}
    drives = [own[term][:, :, None] * np.eye(model.n) for term in terms]
    return np.concatenate([Y, *drives], axis=2).reshape(B * model.n, -1)
