"""Pinocchio as a peer: the same robot, with states and results mapped."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pinocchio

from featherstone_ros.arrays import Floats
from featherstone_ros.tools.bench.race import Arrays, TimedCall
from featherstone_ros.tools.bench.robots import BenchRobot

STATEMENTS = {
    "rnea": "pinocchio.rnea(model, data, q, qd, qdd)",
    "aba": "pinocchio.aba(model, data, q, qd, tau)",
    "crba": "pinocchio.crba(model, data, q)",
    "minv": "pinocchio.computeMinverse(model, data, q)",
    "coriolis": "pinocchio.computeCoriolisMatrix(model, data, q, qd)",
    "rnea_derivatives": "pinocchio.computeRNEADerivatives(model, data, q, qd, qdd)",
    "aba_derivatives": "pinocchio.computeABADerivatives(model, data, q, qd, tau)",
}

# "q", "qd", "qdd" and "tau", each (nq,) or (nv,), or (B, ...), as ours.
State = Mapping[str, Floats]


class PinocchioPeer:
    """A robot in Pinocchio, a free-flyer if ours floats, without the joints locked in ours.

    Followers of mimic joints are joints of their own there: Pinocchio cannot read all robots with
    mimic joints, and has no forward dynamics with them. Here they move with their leaders,
    q = G q + c, and results are compared through G; only forward dynamics is an easier problem, as
    followers are free in it.
    """

    def __init__(self, robot: BenchRobot) -> None:
        """Build the model from the same URDF."""
        ours = robot.model
        root = [pinocchio.JointModelFreeFlyer()] if ours.floating else []
        self.model = _without_locked(pinocchio.buildModelFromXML(robot.text, *root), ours.locked)
        self.data = self.model.createData()
        self.has_followers = bool(ours.mimics)
        self.of_base = ours.nq - ours.n, ours.nv - ours.n  # numbers in q and in velocities
        index = {name: self.model.idx_vs[self.model.getJointId(name)] for name in ours.joint_names}
        self.leaders = np.array([*range(self.of_base[1]), *index.values()])
        self.G = np.zeros((self.model.nv, ours.nv))
        self.c = np.zeros(self.model.nv)
        self.G[self.leaders, np.arange(ours.nv)] = 1.0
        for name, (leader, multiplier, offset) in ours.mimics.items():
            i = self.model.idx_vs[self.model.getJointId(name)]
            self.G[i], self.c[i] = multiplier * self.G[index[leader]], offset

    def timed_call(self, algorithm: str, state: State) -> TimedCall:
        """Return a single call; for a batch, a call for its first state, compared for all.

        Args:
            algorithm: Key of ``STATEMENTS``.
            state: Ours.
        """
        if state["q"].ndim == 1:
            names = self._names(state)
            read = partial(self._ours, algorithm, names)
            return TimedCall(STATEMENTS[algorithm], names, read=read)
        batch = [{name: x[b] for name, x in state.items()} for b in range(len(state["q"]))]
        singles = [self.timed_call(algorithm, row) for row in batch]
        return TimedCall(
            singles[0].statement,
            singles[0].names,
            read=lambda _: np.array([single.outcome()[0] for single in singles]),
        )

    def _names(self, state: State) -> dict[str, Any]:
        """Return the variables of ``STATEMENTS``; continuous joints have (cos, sin) in q."""
        base, joints = np.split(state["q"], self.of_base[:1])
        moved = {name: self.G @ values for name, values in state.items() if name != "q"}
        moved["q"] = pinocchio.integrate(
            self.model,
            pinocchio.neutral(self.model),
            self.G[:, self.of_base[1] :] @ joints + self.c,
        )
        moved["q"][: len(base)] = base
        moved["tau"] = np.zeros(self.model.nv)
        moved["tau"][self.leaders] = state["tau"]
        return {"pinocchio": pinocchio, "model": self.model, "data": self.data, **moved}

    def _ours(self, algorithm: str, names: dict[str, Any], result: Arrays) -> Arrays:
        """Return a result in our form: reduced by G, in our order."""
        if algorithm == "aba" and self.has_followers:
            return self._coupled_forward_dynamics(names)
        if isinstance(result, tuple):
            return tuple(self._reduced(array) for array in result)
        return self._reduced(result)

    def _reduced(self, array: Floats) -> Floats:
        return self.G.T @ array if array.ndim == 1 else self.G.T @ array @ self.G

    def _coupled_forward_dynamics(self, names: dict[str, Any]) -> Floats:
        """Solve G^T M G qdd = G^T (tau - C)."""
        bias = pinocchio.nonLinearEffects(self.model, self.data, names["q"], names["qd"])
        rest = self.G.T @ (names["tau"] - bias)
        return np.linalg.solve(self._reduced(eval(STATEMENTS["crba"], names)), rest)


def _without_locked(model: pinocchio.Model, locked: Mapping[str, float]) -> pinocchio.Model:
    """Return the model with these joints fixed at these positions."""
    if not locked:
        return model
    ids = [model.getJointId(name) for name in locked]
    moved = np.zeros(model.nv)
    moved[[model.idx_vs[i] for i in ids]] = list(locked.values())
    return pinocchio.buildReducedModel(
        model, ids, pinocchio.integrate(model, pinocchio.neutral(model), moved)
    )
