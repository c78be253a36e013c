"""The registry: every method of Dynamics in one row, for the tests that ask the same of all.

A new method is a row of METHODS, and a function of that name among Pinocchio's
(test_dynamics_against_pinocchio.py), or identities (test_dynamics_identities.py). Batches, layouts,
out, wrenches, poison, shapes, threads and memory are then tested by the row.
"""

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from each import each
from random_trees import as_tree, random_tree

from featherstone_ros import Model, Simulator
from featherstone_ros.operational_space import OperationalSpace

# The first joint slides, the second turns; arrays() go beyond the stops. Six joints move the tip.
TREE = random_tree(54, 7, branching=0.1).replace('lower="-9"', 'lower="-1"')
MODELS = {
    "tree": Model.from_urdf(TREE),
    "with mimic": Model.from_urdf(random_tree(24, 9, branching=0.1, mimic=0.25)),
    "with screws": as_tree(TREE, screws=0.6).model(),
    "floating": Model.from_urdf(TREE, base="floating"),
}
POSITIONS = ("q", "q0", "q1")  # (nq,); all other arrays are (nv,)


class Method(NamedTuple):
    """How to call a method of Dynamics.

    Attributes:
        arrays: Names of the arrays that it takes first, q, then (nv,) each.
        wrenches: Whether it takes f_ext.
        out: How many arrays it takes as out.
        solves: Whether it solves equations with the inertia, whose condition costs digits.
        others: Its other arguments; functions of the model and the arrays.
        name: If the row has another.
        call: Computes it of dynamics and the arrays, if it is no method of Dynamics.
    """

    arrays: str
    wrenches: bool = False
    out: int = 0
    solves: bool = False
    others: dict[str, Any] = MappingProxyType({})
    name: str = ""
    call: Callable | None = None

    @property
    def names(self):
        return self.arrays.split()

    def raw(self, dynamics, *given, **more):
        """Return what it returns."""
        if self.call:
            return self.call(dynamics, *given, **more)
        others = {
            name: value(dynamics.model, given) if callable(value) else value
            for name, value in self.others.items()
            if name not in more
        }
        return getattr(dynamics, self.name)(*given, **others, **more)

    def __call__(self, dynamics, *given, **more):
        """Return one array of all that it returns."""
        return joined(self.raw(dynamics, *given, **more), max(map(np.ndim, given)) == 2)

    def states(self, dynamics, *batch, seed=3):
        """Return the arrays that it takes, seeded."""
        random = np.random.default_rng(seed)
        return [
            positions(dynamics.model, random, *batch)
            if name in POSITIONS
            else random.uniform(-2, 2, (*batch, dynamics.model.nv))
            for name in self.names
        ]


def positions(model, random, *batch):
    """Return positions of joints from -2 to 2, beyond stops, and a floating base turned anyhow."""
    q = random.uniform(-2, 2, (*batch, model.nq))
    if model.floating:
        q[..., 3:7] /= np.linalg.norm(q[..., 3:7], axis=-1, keepdims=True)
    return q


def random_state(model, random, speed=1.0):
    """Return q as above, and qd."""
    return positions(model, random), random.uniform(-speed, speed, model.nv)


def parts(result):
    """Return the arrays of a result."""
    if isinstance(result, OperationalSpace):  # but for its rank, a whole number
        return result.Lambda, result.mu, result.p, result.Jbar, result.N
    return result if isinstance(result, tuple) else (result,)


def joined(result, batch):
    """Return a result's array, or several side by side in one, the rows of a batch kept."""
    if isinstance(result, np.ndarray):
        return result
    flat = [np.reshape(x, (*x.shape[:batch], math.prod(x.shape[batch:])))
            for x in map(np.asarray, parts(result))]  # fmt: skip
    return np.concatenate(flat, axis=-1)


def where_torques_pull(model, given):
    """Return for each freedom whether its torque is above zero; what is no number is not."""
    tau = np.asarray(given[3])
    return tau > 0 if tau.dtype.kind in "biuf" else np.zeros(model.nv, dtype=bool)


def free_inertias(dynamics, q, **more):
    """Return articulated inertias, which joints have that are free: of others composite ones."""
    of = dynamics.composite_inertias if dynamics.model.mimics else dynamics.articulated_inertias
    return of(q, **more)


LINK = {"link": lambda model, given: model.link_names[-1]}
POINT = LINK | {"point": (0.1, -0.2, 0.3)}
MOTION, TORQUES = "q qd qdd", "q qd tau"
METHODS = {
    "rnea": Method(MOTION, wrenches=True, out=1),
    "bias": Method("q qd", wrenches=True, out=1),
    "gravity": Method("q", out=1),
    "aba": Method(TORQUES, wrenches=True, out=1, solves=True),
    "crba": Method("q", out=1),
    "minv": Method("q", out=1, solves=True),
    "rnea_derivatives": Method(MOTION, wrenches=True, out=3),
    "aba_derivatives": Method(TORQUES, wrenches=True, out=3, solves=True),
    "coriolis": Method("q qd"),
    "hybrid": Method(
        "q qd qdd tau", wrenches=True, solves=True, others={"prescribed": where_torques_pull}
    ),
    "joint_wrenches": Method(MOTION, wrenches=True),
    "regressor": Method(MOTION, wrenches=True, out=1),
    "link_pose": Method("q", others=LINK),
    "link_velocity": Method("q qd", others=LINK),
    "link_acceleration": Method(MOTION, others=LINK),
    "jacobian": Method("q", others=LINK),
    "jacobian at a point": Method("q", others=POINT, name="jacobian"),
    "jacobian_derivative": Method("q qd", others=POINT),
    "operational_space_inertia": Method("q", solves=True, others=POINT),
    "operational_space": Method("q qd", solves=True, others=POINT),
    "composite_inertias": Method("q"),
    "articulated_inertias": Method("q", solves=True, call=free_inertias),
    "log_det_inertia": Method("q", solves=True),
    "impulse_response": Method("q", wrenches=True, out=1, solves=True),
    "energy": Method("q qd"),
    "momentum": Method("q qd"),
    "centroidal_momentum_matrix": Method("q"),
    "centre_of_mass": Method("q"),
    "centre_of_mass_jacobian": Method("q"),
}
METHODS = {name: row._replace(name=row.name or name) for name, row in METHODS.items()}


def steps(integrator):
    """Return a function like those above: q, qd and qdd after some steps, drives and stops on."""

    def call(d, q, qd, tau, **f_ext):
        simulator = Simulator(
            d.model, 0.01, integrator, damping=0.2, friction=0.5, armature=0.1,
            stop_stiffness=500, stop_damping=5, load=0.1, thinning=0.2,
        )  # fmt: skip
        simulator.reset(q, qd)
        simulator.step(tau, steps=3, **f_ext)
        return np.concatenate([simulator.q, simulator.qd, simulator.qdd], axis=-1)

    return call


INTEGRATORS = ("semi_implicit_euler", "implicit", "rk4")
CALLS = METHODS | {
    name: Method(TORQUES, wrenches=True, solves=True, call=steps(name)) for name in INTEGRATORS
}
OF_MODELS = {
    "integrate": Method("q v", call=lambda d, q, v: d.model.integrate(q, v, 0.1)),
    "difference": Method("q0 q1", call=lambda d, q0, q1: d.model.difference(q0, q1)),
}
WITH_WRENCHES = {name: method for name, method in METHODS.items() if method.wrenches}
WITH_OUT = {name: method for name, method in METHODS.items() if method.out}
ALL = CALLS | OF_MODELS
every_call = each("method", ALL)
method_with_wrenches = each("method", WITH_WRENCHES)
method_with_out = each("method", WITH_OUT)
TIP = MODELS["tree"].link_names[-1]


def read_only(x):
    """Return a copy that cannot be written to."""
    x = x.copy()
    x.flags.writeable = False
    return x
