"""What a shadow computes, repeated in plain NumPy, one state after the other."""

import numpy as np

import featherstone_ros as fr
from featherstone_ros.model.drives import RELEASE_TIME
from featherstone_ros.observer.effort_contract import (
    MOTOR_CURRENT,
    WITHOUT_FRICTION,
    WITHOUT_GRAVITY,
)
from featherstone_ros.observer.shadow_settings import default_threshold

PLAY = 0.5  # of the presliding displacement, within which an encoder may flicker


class NumpyShadow:
    """Follows states that follow on each other; settings are a ShadowSettings with arrays (n,)."""

    def __init__(self, model, settings, link):
        self.dynamics, self.settings, self.link = fr.Dynamics(model), settings, link
        self.simulator = fr.Simulator(
            model,
            settings.time_step,
            settings.integrator,
            **settings.drives.of_simulator,
        )
        self.last, self.place = None, None
        given = settings.contact_threshold
        self.threshold = default_threshold(model) if given is None else np.asarray(given)
        self.least, self.contact = np.zeros(model.n), np.zeros(model.n, bool)
        self.sliding = np.outer([-1.0, 1.0], np.ones(model.n))  # the least and the greatest

    def follow(self, dt, q):
        """Advance the presliding states (2, n) to a position."""
        displacement = self.settings.drives.presliding_displacement
        if self.place is None:
            self.place = q
            return
        way = q - self.place
        way = np.sign(way) * np.maximum(np.abs(way) - PLAY * displacement, 0.0)
        self.place = self.place + way
        end = np.where(way == 0.0, [[-1.0], [1.0]], np.sign(way))
        kept = np.exp(-np.where(way == 0.0, dt / RELEASE_TIME, np.abs(way) / displacement))
        self.sliding = end + (self.sliding - end) * kept

    def moving(self, q, qd):
        s = self.settings.drives
        standing = s.offset + s.stiffness * q
        return s.viscous * qd / (1.0 + s.thinning * np.abs(qd)) + standing

    def carried(self, q, qd, torque, state):
        """Return what the gears carry of a torque (n,): friction is the rest."""
        s = self.settings.drives
        carried = torque - self.moving(q, qd) - s.coulomb * state
        return carried / (1.0 + s.load * np.sign(carried) * state)

    def friction(self, q, qd, torque):
        """Return the least and the greatest friction (2, n) in a torque."""
        if self.settings.effort_contract == WITHOUT_FRICTION:  # it has been added
            return np.array([torque - self.effort(torque, q, qd)] * 2)
        return torque - self.carried(q, qd, torque, self.sliding)

    def hidden(self, q, qd, carried):
        """Return what of the joint torque (n,) is not in the effort."""
        drives = self.settings.drives
        dry = (drives.coulomb + drives.load * np.abs(carried)) * self.sliding.mean(axis=0)
        return {
            WITHOUT_GRAVITY: self.dynamics.gravity(q),
            WITHOUT_FRICTION: self.moving(q, qd) + dry,
        }.get(self.settings.effort_contract, 0.0)

    def gain(self):
        return self.settings.effort_gain if self.settings.effort_contract == MOTOR_CURRENT else 1

    def torque(self, q, qd, effort):
        return self.gain() * effort + self.hidden(q, qd, effort)

    def effort(self, torque, q, qd):
        """Return what an arm under the contract reports (n,) for a joint torque (n,)."""
        carried = self.carried(q, qd, torque, self.sliding.mean(axis=0))
        return (torque - self.hidden(q, qd, carried)) / self.gain()

    def predicted(self, duration, q, qd, torque):
        """Return position and velocity after a time under a constant torque."""
        simulator = self.simulator
        steps = max(1, round(duration / simulator.time_step))
        simulator.set_state(q, qd)
        drives = self.settings.drives
        for _ in range(steps):
            simulator.step(torque - drives.offset - drives.stiffness * simulator.q)
        rest = duration - steps * simulator.time_step
        later = simulator.qd + rest * simulator.qdd
        return simulator.q + rest * (later - 0.5 * rest * simulator.qdd), later

    def said(self, external):
        """Return the external torque (n,) of bounds (2, n): the least, in contact the middle."""
        before, self.least = self.least, np.clip(0.0, *external)
        same = before * self.least > 0.0
        size = np.where(same, np.minimum(np.abs(before), np.abs(self.least)), 0.0)
        end = (1.0 - np.asarray(self.settings.contact_hysteresis)) * self.threshold
        self.contact = (size > self.threshold) | (self.contact & (size >= end))
        return external.mean(axis=0) if self.contact.any() else self.least

    def wrench(self, q, external):
        J, R = (f(q, self.link) for f in (self.dynamics.jacobian, self.dynamics.link_pose))
        damped = J @ J.T + self.settings.wrench_damping**2 * np.eye(6)
        return (np.linalg.solve(damped, J @ external).reshape(2, 3) @ R[:3, :3]).ravel()

    def update(self, dt, q, qd, effort):
        """Return prediction (2, n), and position, velocity, torque and wrench of the residual."""
        dynamics, s = self.dynamics, self.settings
        self.follow(dt, q)
        torque = self.torque(q, qd, effort)
        p = dynamics.crba(q) @ qd + s.drives.armature * qd
        C = dynamics.coriolis(q, qd)
        beta = torque - self.friction(q, qd, torque) + C.T @ qd - dynamics.gravity(q)
        residual = None
        if self.last is None:
            external = np.zeros((2, len(q)))
        else:
            q_before, qd_before, torque_before, p_before, beta_before, external = self.last
            expected = self.predicted(dt, q_before, qd_before, torque_before)
            mean = (p - p_before) / dt - 0.5 * (beta_before + beta)
            external = external - np.expm1(-s.observer_gain * dt) * (mean - external)
            said = self.said(external)
            residual = q - expected[0], qd - expected[1], said, self.wrench(q, said)
        self.last = q, qd, torque, p, beta, external
        return self.predicted(s.prediction_horizon, q, qd, torque), residual
