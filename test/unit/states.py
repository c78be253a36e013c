"""A robot in one random state, and derivatives by differences: what tests of identities need."""

import copy

import numpy as np
from comparison import solving_tolerance
from methods import METHODS, positions

from featherstone_ros import Dynamics

STEP = 1e-6  # of central differences [rad, m]
DIFFERENCE = 1e-8  # relative: what such a step leaves, epsilon / STEP and some
SAMPLED = 12  # links, joints or columns looked at in a big tree


class State:
    """A model with its dynamics, and one random state.

    A method of Dynamics takes the state, where it is not told otherwise: ``s.aba(qd=0 * s.qd)``.
    """

    def __init__(self, model, seed=8):
        self.model, self.dynamics = model, Dynamics(model)
        self.random = np.random.default_rng(seed)
        self.q = positions(model, self.random)
        self.qd, self.qdd, self.tau = self.random.uniform(-2, 2, (3, model.nv))
        self.still = np.zeros(model.nv)
        self.links = self.sample(model.link_names)
        names = sorted({model.base_link, *self.links})
        self.f_ext = {name: self.random.uniform(-30, 30, 6) for name in names}
        self.H = self.crba()
        self.solving = solving_tolerance(self.H)
        # Of the terms of the torque and its derivatives, which may cancel.
        self.weight = np.abs(self.gravity()).max(initial=0)
        self.size = np.abs(self.H).max(initial=0) * np.abs(self.qd).max(initial=0)
        self.scale = self.weight + np.abs(self.H).max(initial=0) * max(
            1, np.abs(self.qd).max(initial=0) ** 2
        )

    def __getattr__(self, name):
        if name not in METHODS:
            raise AttributeError(name)
        row = METHODS[name]

        def call(**changes):
            given = [changes.pop(array, getattr(self, array)) for array in row.names]
            return row.raw(self.dynamics, *given, **changes)

        return call

    def of(self, model):
        """Return another robot in the same state."""
        other = copy.copy(self)
        other.model, other.dynamics = model, Dynamics(model)
        return other

    @property
    def weightless(self):
        return self.of(self.model.with_gravity([0, 0, 0]))

    def sample(self, choices):
        """Return some of the choices, all if they are few."""
        if len(choices) <= SAMPLED:
            return list(choices)
        return [choices[k] for k in self.random.choice(len(choices), SAMPLED, replace=False)]

    def freedoms(self):
        """Yield numbers of some freedoms, and their unit vectors."""
        for k in self.sample(range(self.model.nv)):
            yield k, np.eye(self.model.nv)[k]

    def slope(self, function, direction):
        """Return the derivative of a function of the position along a direction (nv,)."""
        return difference(lambda t: function(self.model.integrate(self.q, direction, t)))


def difference(function, q=0.0, direction=1.0):
    """Return the derivative of ``function`` at q along ``direction``, by central differences."""
    ahead, behind = (function(q + sign * STEP * direction) for sign in (1, -1))
    return (np.asarray(ahead) - np.asarray(behind)) / (2 * STEP)
