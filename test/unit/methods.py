"""Every method of Dynamics in one form, for the tests that ask the same of all of them."""

import inspect

import numpy as np
from random_trees import as_tree, random_tree

from featherstone_ros import Model, Simulator

N = 5
TIP = "link5"
POINT = (0.1, -0.2, 0.3)
# The first joint slides, the second turns; arrays() go beyond the stops.
TREE = random_tree(1, N, branching=0.6).replace('lower="-9"', 'lower="-1"')
MODELS = {
    "tree": Model.from_urdf(TREE),
    "with mimic": Model.from_urdf(random_tree(12, N + 2, mimic=0.4)),
    "with screws": as_tree(TREE, screws=0.6).model(),
}

# Every method as a function of dynamics and the arrays (n,) that it takes, giving one array.
METHODS = {
    "rnea": lambda d, q, qd, qdd: d.rnea(q, qd, qdd),
    "aba": lambda d, q, qd, tau: d.aba(q, qd, tau),
    "bias": lambda d, q, qd: d.bias(q, qd),
    "gravity": lambda d, q: d.gravity(q),
    "crba": lambda d, q: d.crba(q),
    "link_pose": lambda d, q: d.link_pose(q, d.model.link_names[-1]),
    "jacobian": lambda d, q: d.jacobian(q, d.model.link_names[-1]),
    "link_velocity": lambda d, q, qd: d.link_velocity(q, qd, d.model.link_names[-1]),
    "centre_of_mass": lambda d, q: d.centre_of_mass(q),
    "energy": lambda d, q, qd: np.stack(d.energy(q, qd), axis=-1),
    "coriolis": lambda d, q, qd: d.coriolis(q, qd),
    "hybrid": lambda d, q, qd, qdd, tau: np.concatenate(
        d.hybrid(q, qd, qdd, tau, np.asarray(tau) > 0), axis=-1
    ),
    "joint_wrenches": lambda d, q, qd, qdd: d.joint_wrenches(q, qd, qdd),
    "momentum": lambda d, q, qd: d.momentum(q, qd),
    "regressor": lambda d, q, qd, qdd: d.regressor(q, qd, qdd),
    "jacobian_at_a_point": lambda d, q: d.jacobian(q, d.model.link_names[-1], POINT),
    "jacobian_derivative": lambda d, q, qd: d.jacobian_derivative(q, qd, d.model.link_names[-1]),
    "link_acceleration": lambda d, q, qd, qdd: d.link_acceleration(
        q, qd, qdd, d.model.link_names[-1]
    ),
    "centroidal_momentum_matrix": lambda d, q: d.centroidal_momentum_matrix(q),
    "centre_of_mass_jacobian": lambda d, q: d.centre_of_mass_jacobian(q),
    "minv": lambda d, q: d.minv(q),
    "rnea_derivatives": lambda d, q, qd, qdd: np.stack(d.rnea_derivatives(q, qd, qdd), axis=-3),
    "aba_derivatives": lambda d, q, qd, tau: np.stack(d.aba_derivatives(q, qd, tau), axis=-3),
}


def steps(integrator):
    """Return a function like those above: q, qd and qdd after some steps, drives and stops on."""

    def call(d, q, qd, tau):
        simulator = Simulator(
            d.model, 0.01, integrator, damping=0.2, friction=0.5, armature=0.1,
            stop_stiffness=500, stop_damping=5,
        )  # fmt: skip
        simulator.reset(q, qd)
        simulator.step(tau, steps=3)
        return np.concatenate([simulator.q, simulator.qd, simulator.qdd], axis=-1)

    return call


INTEGRATORS = ("semi_implicit_euler", "implicit", "rk4")
CALLS = METHODS | {integrator: steps(integrator) for integrator in INTEGRATORS}
WITH_WRENCHES = {
    "rnea": lambda d, f_ext, q, qd, qdd: d.rnea(q, qd, qdd, f_ext=f_ext),
    "aba": lambda d, f_ext, q, qd, tau: d.aba(q, qd, tau, f_ext=f_ext),
    "bias": lambda d, f_ext, q, qd: d.bias(q, qd, f_ext=f_ext),
    "joint_wrenches": lambda d, f_ext, q, qd, qdd: d.joint_wrenches(q, qd, qdd, f_ext=f_ext),
    "hybrid": lambda d, f_ext, q, qd, qdd, tau: np.concatenate(
        d.hybrid(q, qd, qdd, tau, np.asarray(tau) > 0, f_ext=f_ext), axis=-1
    ),
    "rnea_derivatives": lambda d, f_ext, q, qd, qdd: np.stack(
        d.rnea_derivatives(q, qd, qdd, f_ext=f_ext), axis=-3
    ),
    "aba_derivatives": lambda d, f_ext, q, qd, tau: np.stack(
        d.aba_derivatives(q, qd, tau, f_ext=f_ext), axis=-3
    ),
}
WITH_OUT = {
    "rnea": lambda d, out, q, qd, qdd: d.rnea(q, qd, qdd, out=out),
    "aba": lambda d, out, q, qd, tau: d.aba(q, qd, tau, out=out),
    "bias": lambda d, out, q, qd: d.bias(q, qd, out=out),
    "gravity": lambda d, out, q: d.gravity(q, out=out),
    "crba": lambda d, out, q: d.crba(q, out=out),
    "minv": lambda d, out, q: d.minv(q, out=out),
}


def names_of_arrays(method):
    """Return which arrays (n,) a method or an integrator takes."""
    return list(inspect.signature(CALLS[method]).parameters)[1:]


def arrays(method, dynamics, *batch):
    """Return the arrays that it takes, (*batch, n) each, seeded."""
    shape = (len(names_of_arrays(method)), *batch, dynamics.model.n)
    return list(np.random.default_rng(3).uniform(-2, 2, shape))


def read_only(x):
    """Return a copy that cannot be written to."""
    x = x.copy()
    x.flags.writeable = False
    return x
