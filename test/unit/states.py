"""A robot in one random state, and derivatives by differences: what tests of identities need."""

import numpy as np

from featherstone_ros import Dynamics

STEP = 1e-6  # of central differences [rad, m]
DIFFERENCE = 1e-8  # relative: what such a step leaves, epsilon / STEP and some
SAMPLED = 12  # links, joints or columns looked at in a big tree


class RobotInState:
    """A model with its dynamics, and one random state."""

    def __init__(self, model):
        self.model = model
        self.dynamics = Dynamics(self.model)
        self.random = np.random.default_rng(8)
        self.q, self.qd, self.qdd, self.tau = self.random.uniform(-2, 2, (4, self.model.n))
        self.inertia = self.dynamics.crba(self.q)

    def sample(self, choices):
        """Return some of the choices, all if they are few."""
        if len(choices) <= SAMPLED:
            return list(choices)
        return [choices[k] for k in self.random.choice(len(choices), SAMPLED, replace=False)]

    def wrenches(self):
        """Wrenches on some links, the base link among them."""
        names = {self.model.base_link, *self.sample(self.model.link_names)}
        return {name: self.random.uniform(-30, 30, 6) for name in sorted(names)}


def difference(function, q, direction):
    """Return the derivative of ``function`` at q along ``direction``, by central differences."""
    ahead, behind = (function(q + sign * STEP * direction) for sign in (1, -1))
    return (np.asarray(ahead) - np.asarray(behind)) / (2 * STEP)
