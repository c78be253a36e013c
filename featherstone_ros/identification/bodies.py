"""The moving bodies, and deformations that keep them physically possible.

Links that are fixed to each other form one body: torque does not depend on how its mass is
distributed among them. A body's density is stretched, sheared, shifted and scaled, like a piece of
rubber, by an upper triangular A with positive diagonal,

    J = A J0 A^T,   A = U B(theta) U^-1,   J0 = U U^T,

so that every J is positive definite, and every positive definite J has one theta (C. Rucker and
P. Wensing, "Smooth parameterization of rigid-body inertia", RA-L 2022, with J0 in place of the unit
mass). theta = 0 is the URDF; a component of 1 is a factor e, or a shift by the body's own radius of
gyration: the same scale for bodies of all sizes. The links of a body are deformed with it, by the
same A in the body's frame: each stays possible, those without mass stay so, and the sum is exact.

The mass of a body within a box has along each axis

    integral (x - lower) (upper - x) dm >= 0,

which is linear in the parameters, and keeps the centre of mass within.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model
from featherstone_ros.model.primitives import (
    in_frame,
    inertial_parameters,
    pseudo_inertia,
    transform,
)

SIZE = 10  # parameters of a body
THINNEST = 0.05  # least radius of gyration along any direction, relative to the greatest
MIN_RADIUS = 0.005  # [m] of a body described as a point
FIRM = 1000.0  # standard deviations by which a mass is off that is its box's half edge outside
# theta = alpha, d1 d2 d3, s12 s23 s13, t1 t2 t3
_DIAGONAL, _LINEAR = slice(1, 4), slice(4, 10)
_ENTRIES = np.zeros((SIZE, 16))  # which of B, row by row, each of them gives
_ENTRIES[range(SIZE), [15, 0, 5, 10, 1, 6, 2, 3, 7, 11]] = 1.0


@dataclass(frozen=True, eq=False)
class Deformable:
    """Bodies that can be deformed."""

    U: Floats  # (b, 4, 4) upper triangular, U U^T the pseudo-inertia of each undeformed
    # (k, 10 b): times the parameters not negative for bodies within their volumes
    volume: Floats = field(default_factory=lambda: np.empty((0, 0)), kw_only=True)

    def outside(self, parameters: Floats) -> Floats:
        """Return (k,) by how much bodies of these parameters (10 b,) are outside, 0 within."""
        return np.minimum(self.volume @ parameters, 0.0) if self.volume.size else np.empty(0)

    def deformed(self, theta: Floats) -> Floats:
        """Return the parameters (10 b,) of bodies deformed by theta (10 b,)."""
        V = self.U @ deformation(theta.reshape(-1, SIZE))
        return inertial_parameters(V @ np.swapaxes(V, 1, 2)).ravel()

    def jacobian(self, theta: Floats) -> Floats:
        """Return the derivatives (b, 10, 10) of each body's parameters by its theta."""
        theta = theta.reshape(-1, SIZE)
        V = self.U @ deformation(theta)
        dV = self.U[:, None] @ deformation_derivatives(theta)
        half = dV @ np.swapaxes(V, 1, 2)[:, None]
        dpi = inertial_parameters(half + np.swapaxes(half, 2, 3))
        return np.swapaxes(dpi, 1, 2)

    def by_theta(self, columns: Floats, theta: Floats) -> Floats:
        """Return the derivatives (..., 10 b) by theta of columns (..., 10 b) times parameters."""
        by_body = columns.reshape(-1, len(self.U), SIZE).swapaxes(0, 1)
        return (by_body @ self.jacobian(theta)).swapaxes(0, 1).reshape(columns.shape)


@dataclass(frozen=True, eq=False)
class Bodies(Deformable):
    """The b bodies of a model that move and have mass, base first."""

    model: Model  # the robot
    names: tuple[str, ...]  # for each body, the link whose frame is the body's
    frame_link: NDArray[np.intp]  # (b,) index of that link
    members: tuple[NDArray[np.intp], ...]  # indices of the links that form each body
    J: Floats  # (b, 4, 4) pseudo-inertia of each in its frame, from the model
    prior: Floats  # (b, 4, 4) the same made positive definite: an impossible body is thickened
    repaired: tuple[str, ...]  # names of the bodies that were thickened
    massless: tuple[str, ...]  # names of moving bodies without mass, which are not deformed

    @classmethod
    def of(cls, model: Model, boxes: Mapping[str, tuple[Floats, Floats]] | None = None) -> Bodies:
        """Collect the bodies of a model."""
        tree = model.tree
        T = transform(tree.link_rotation, tree.link_translation)
        of_links = in_frame(pseudo_inertia(tree.link_parameters), T)
        kept, massless = [], []
        for body, name in enumerate(tree.body_names[1:]):
            members = np.flatnonzero(tree.link_body == body)
            J = of_links[members].sum(axis=0)
            if J[3, 3] > 0:
                kept.append((name, members, J))
            else:
                massless.append(name)
        names = tuple(name for name, *_ in kept)
        J = np.array([one for *_, one in kept]).reshape(-1, 4, 4)
        prior = np.array([thickened(one) for one in J]).reshape(-1, 4, 4)
        repaired = [n for n, a, b in zip(names, J, prior, strict=True) if not np.array_equal(a, b)]
        return cls(
            upper_cholesky(prior),
            model,
            names,
            np.array([tree.link_names.index(name) for name in names], dtype=np.intp),
            tuple(members for _, members, _ in kept),
            J,
            prior,
            tuple(repaired),
            tuple(massless),
            volume=_volumes(model, [members for _, members, _ in kept], prior, boxes or {}),
        )

    @property
    def parameters(self) -> Floats:
        """(10 b,) inertial parameters of the bodies in their frames, from the model."""
        return inertial_parameters(self.J).ravel()

    def columns(self) -> NDArray[np.intp]:
        """Return (10 b,) which columns of ``Dynamics.regressor`` are the bodies' parameters."""
        return (SIZE * self.frame_link[:, None] + np.arange(SIZE)).ravel()

    def link_parameters(self, theta: Floats) -> Floats:
        """Return the model's inertial parameters (10 L,) with every body and its links deformed."""
        tree = self.model.tree
        vector = tree.link_parameters.copy()
        B = deformation(theta.reshape(-1, SIZE))
        for b, members in enumerate(self.members):
            T = transform(tree.link_rotation[members], tree.link_translation[members])
            J = self._members_of_prior(b, members, T)
            A = np.linalg.inv(T) @ self.U[b] @ B[b] @ np.linalg.inv(self.U[b]) @ T
            changed = inertial_parameters(in_frame(J, A))
            massive = tree.link_parameters[members].any(axis=1)
            vector[members[massive]] = changed[massive]
        return vector.ravel()

    def _members_of_prior(self, b: int, members: NDArray[np.intp], T: Floats) -> Floats:
        """Return the links' pseudo-inertias (k, 4, 4) in their frames, adding up to the prior.

        What thickening adds to a body goes to its heaviest link. An impossible link in a possible
        body is thickened at the expense of the heaviest link.
        """
        own = pseudo_inertia(self.model.tree.link_parameters[members])
        J = np.array([thickened(one) if one[3, 3] > 0 else one for one in own])
        rest = self.prior[b] - in_frame(J, T).sum(axis=0)
        heaviest = int(np.argmax(own[:, 3, 3]))
        J[heaviest] += in_frame(rest, np.linalg.inv(T[heaviest]))
        if np.linalg.eigvalsh(J[heaviest])[0] > 0:
            return J
        # Too much for that link: all links become copies of the body, scaled to their own mass.
        share = np.maximum(own[:, 3, 3], 0.0) / np.maximum(own[:, 3, 3], 0.0).sum()
        return share[:, None, None] * in_frame(self.prior[b], np.asarray(np.linalg.inv(T), float))


def _volumes(
    model: Model,
    bodies: list[NDArray[np.intp]],
    prior: Floats,
    boxes: Mapping[str, tuple[Floats, Floats]],
) -> Floats:
    """Return ``Deformable.volume`` of bodies of these links; none where a link's is not known."""
    tree = model.tree
    rows = []
    for b, members in enumerate(bodies):
        known = [k for k in members if tree.link_names[k] in boxes]
        if any(tree.link_parameters[k].any() for k in members if k not in known):
            continue
        T = transform(tree.link_rotation[known], tree.link_translation[known])
        corners = [
            T[i, :3, :3] @ corner + T[i, :3, 3]
            for i, k in enumerate(known)
            for corner in product(*zip(*boxes[tree.link_names[k]], strict=True))
        ]
        own = np.zeros((3, len(bodies), SIZE))
        own[:, b] = within(prior[b], np.min(corners, axis=0), np.max(corners, axis=0))
        rows.append(own.reshape(3, -1))
    return np.concatenate(rows) if rows else np.empty((0, SIZE * len(bodies)))


def within(J: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return (3, 10): times a body's parameters not negative for mass between two corners (3,).

    ``J`` (4, 4) pseudo-inertia of a body that counts as within, whatever its box; the scale.
    ``lower``: corner of the box [m].
    """
    basis, axes = pseudo_inertia(np.eye(SIZE)), np.arange(3)
    second, first, mass = basis[:, axes, axes].T, basis[:, :3, 3].T, basis[:, 3, 3]
    rows = (lower + upper)[:, None] * first - (lower * upper)[:, None] * mass - second
    given = (rows @ inertial_parameters(J))[:, None] / J[3, 3]
    rows += np.maximum(-given, 0.0) * mass
    half = np.maximum((upper - lower) / 2, MIN_RADIUS)
    return np.asarray(FIRM / (J[3, 3] * half**2)[:, None] * rows, float)


def _terms(theta: Floats) -> Floats:
    """Return the entries (..., 10) of B that are not 0: the last diagonal one, then as theta."""
    terms = theta.copy()
    terms[..., 0] = 1.0
    terms[..., _DIAGONAL] = np.exp(theta[..., _DIAGONAL])
    return np.asarray(np.exp(theta[..., :1]) * terms)


def deformation(theta: Floats) -> Floats:
    """Return B(theta) (..., 4, 4), the identity at 0."""
    return (_terms(theta) @ _ENTRIES).reshape(*theta.shape[:-1], 4, 4)


def deformation_derivatives(theta: Floats) -> Floats:
    """Return dB / dtheta (..., 10, 4, 4)."""
    terms = _terms(theta)
    slopes = terms.copy()
    slopes[..., _LINEAR] = np.exp(theta[..., :1])
    dB = slopes[..., None] * _ENTRIES
    dB[..., 0, :] = terms @ _ENTRIES
    return dB.reshape(*theta.shape, 4, 4)


def upper_cholesky(J: Floats) -> Floats:
    """Return the upper triangular U (..., n, n) with positive diagonal and U U^T = J."""
    lower = np.linalg.cholesky(J[..., ::-1, ::-1])
    return np.asarray(lower[..., ::-1, ::-1], float)


def thickened(J: Floats) -> Floats:
    """Return a similar pseudo-inertia (4, 4) of a body of some thickness; its mass is positive."""
    mass, c = J[3, 3], J[:3, 3] / J[3, 3]
    about_com = J[:3, :3] / mass - np.outer(c, c)
    squares, axes = np.linalg.eigh(about_com)
    least = max(THINNEST * np.sqrt(max(squares[-1], 0.0)), MIN_RADIUS) ** 2
    if squares[0] >= (1 - 1e-9) * least:
        return J
    thick = (axes * np.maximum(squares, least)) @ axes.T
    result = J.copy()
    result[:3, :3] = mass * (thick + np.outer(c, c))
    return result
