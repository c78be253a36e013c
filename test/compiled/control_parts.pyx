"""The parts of the controller one by one, from the product's sources: see __init__.py."""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, NAN, isfinite

from control.laws cimport damped_gravity, law, model_torque
from control.model_blend cimport ModelBlend, change_model, combine, gravity, pass_time
from control.settings cimport Settings
from control.speed_limit cimport SpeedLimit
from control.state_estimate cimport best_estimate
from control.state_validator cimport accept
from control.torque_governor cimport (Governor, begin_transfer, drive_no_further, govern,
                                      start_from, transfer_weight)
from control.validator_state cimport (FALLBACK_SPEED, REJECTIONS, StateValidator, forget,
                                      forget_clocks, trust)
from dynamics_interface cimport DynamicsInterface

import numpy as np

from featherstone_ros._control import ConfigureRequest
from featherstone_ros._core import BoundDynamics

cnp.import_array()

include "control/arrays.pxi"


cdef double* own(list owned, Py_ssize_t count):
    """Room for numbers, zero at first, that lives as long as the list."""
    array = np.zeros(count)
    owned.append(array)
    return <double*> cnp.PyArray_DATA(<cnp.ndarray> array)


cdef cnp.ndarray view(object owner, double* values, Py_ssize_t count):
    cdef cnp.npy_intp size = count
    cdef cnp.ndarray array = cnp.PyArray_SimpleNewFromData(1, &size, cnp.NPY_DOUBLE, values)
    cnp.set_array_base(array, owner)
    return array


cdef class TorqueGovernor:
    """The torque governor: see torque_governor.pxd.

    Args:
        effort_limit, torque_rate: (n,).

    Attributes:
        command: (n,) the last command, overwritten by the next call.
    """

    cdef Governor its
    cdef Settings settings
    cdef SpeedLimit speed
    cdef list owned
    cdef readonly cnp.ndarray command

    def __cinit__(self, effort_limit, torque_rate):
        cdef Py_ssize_t n = len(effort_limit)
        self.owned = []
        self.its.n = n
        self.its.command, self.its.asked = own(self.owned, n), own(self.owned, n)
        self.its.difference, self.its.wanted = own(self.owned, n), own(self.owned, n)
        self.its.moving = own(self.owned, n)
        self.its.allowed.low, self.its.allowed.high = own(self.owned, n), own(self.owned, n)
        self.speed.acceleration, self.speed.given_up = own(self.owned, n), own(self.owned, n)
        self.settings.effort_limit, self.settings.torque_rate = (
            own(self.owned, n), own(self.owned, n))
        self.command = view(self, self.its.command, n)
        self.configure(effort_limit, torque_rate)

    def configure(self, effort_limit, torque_rate):
        """Take other limits; the command moves into them at the rate limit."""
        cdef Py_ssize_t i
        for i in range(self.its.n):
            self.settings.effort_limit[i], self.settings.torque_rate[i] = (
                effort_limit[i], torque_rate[i])

    def start(self, cnp.ndarray effort not None):
        """Begin anew, as if this effort (n,), clamped to the limits, had been the last command."""
        start_from(&self.its, &self.settings, numbers(effort, self.its.n, "effort"))

    def begin_transfer(self, double duration, cnp.ndarray velocity=None):
        """Begin a bumpless transfer with the next command, which drives no joint on that moves.

        duration: [s]; velocity: (n,) of the joints, None: they may stand.
        """
        begin_transfer(&self.its, duration)
        if velocity is not None:
            drive_no_further(&self.its, numbers(velocity, self.its.n, "velocity"))

    def govern(self, cnp.ndarray asked not None, double dt, added=None, motion=None):
        """The next command (n,), or None, with nothing changed, if ``asked`` is not finite.

        Args:
            asked: (n,) [N m] or [N].
            dt: Time since the last command [s].
            added: (n,) that the drives add by themselves; the limits hold for the sum.
            motion: What the speed limit needs (speed_limit.pxd): arrays (n,) of the limits and
                velocities, (n, n) of the inverse inertia, (n,) of the torque that accelerates
                nothing; None: no speed limit.
        """
        cdef const double* others = NULL
        cdef const SpeedLimit* speed = NULL
        if added is not None:
            others = numbers(added, self.its.n, "added")
        if motion is not None:
            speed = self._speed_limit(motion)
        asked_for = numbers(asked, self.its.n, "asked")
        return (self.command if govern(&self.its, &self.settings, asked_for, others, speed, dt)
                else None)

    cdef const SpeedLimit* _speed_limit(self, motion) except NULL:
        cdef Py_ssize_t n = self.its.n
        limit, qd, Minv, bias = motion
        self.speed.speed, self.speed.qd = numbers(limit, n, "limit"), numbers(qd, n, "qd")
        self.speed.Minv, self.speed.bias = numbers(Minv, n * n, "Minv"), numbers(bias, n, "bias")
        return &self.speed

    saturated = property(lambda self: self.counts()[0])
    interventions = property(lambda self: self.counts()[1])

    def counts(self):
        """Commands of which an effort limit changed some joint, and of which any limit did."""
        return self.its.saturated, self.its.interventions


def transfer_weight_at(double progress):
    """Weight of the difference during a bumpless transfer, 1 at progress 0 and 0 at 1."""
    return transfer_weight(progress)


cdef class InverseDynamicsBlend:
    """Inverse dynamics of a robot that is being given another payload or gravity: see
    model_blend.pxd.

    Args:
        model: A ``Model``.
    """

    cdef ModelBlend its
    cdef list owned

    def __cinit__(self, model):
        self.owned = []
        self.its.part = own(self.owned, model.n)
        self.its.newest.model, self.its.newest.weight = self._bind(model), 1.0

    cdef const DynamicsInterface* _bind(self, model) except NULL:
        bound = BoundDynamics(model)
        self.owned.append(bound)
        return <const DynamicsInterface*> PyCapsule_GetPointer(
            bound.capsule, "featherstone_ros.DynamicsInterface")

    def change(self, model, double duration):
        """Go over to another model, linearly in time [s]."""
        change_model(&self.its, self._bind(model), len(self.owned), duration)

    def advance(self, double dt):
        """Let time pass [s]."""
        pass_time(&self.its, dt)

    @property
    def blending(self):
        return self.its.olds > 0

    def rnea(self, cnp.ndarray q not None, cnp.ndarray qd not None, cnp.ndarray qdd not None):
        """tau (n,)."""
        cdef Py_ssize_t n = self.its.newest.model.n
        cdef cnp.ndarray tau = np.empty(n)
        combine(&self.its, numbers(q, n, "q"), numbers(qd, n, "qd"), numbers(qdd, n, "qdd"),
                result(tau, n, "tau"))
        return tau

    def gravity(self, cnp.ndarray q not None):
        """g(q), (n,)."""
        cdef Py_ssize_t n = self.its.newest.model.n
        cdef cnp.ndarray tau = np.empty(n)
        gravity(&self.its, numbers(q, n, "q"), result(tau, n, "tau"))
        return tau


cdef class ControlLaws:
    """The control laws with their gains: see laws.pxd. Arrays are (n,), ``desired`` is (3, n) or
    (4, n).

    Args:
        model: A ``Model``.
        settings: A ``featherstone_ros.control.Settings``.
    """

    cdef InverseDynamicsBlend models
    cdef object request
    cdef const Settings* settings
    cdef Py_ssize_t n

    def __cinit__(self, model, settings):
        self.models, self.request, self.n = (
            InverseDynamicsBlend(model), ConfigureRequest(settings), model.n)
        self.settings = <const Settings*> <size_t> self.request.address

    cdef cnp.ndarray _motion_state(self, desired):
        state = np.zeros((4, self.n))
        state[:len(desired)] = desired
        return state

    def torque(self, q, qd, desired, double held=0.0):
        """The effort that the mode in force asks for, in a motion that has slid already.

        Args:
            held: How long it will act, if that is long [s].
        """
        cdef cnp.ndarray state = self._motion_state(desired), tau = np.empty(self.n)
        cdef cnp.ndarray scratch = np.empty(4 * self.n), sliding = np.sign(state[1])
        law(self.settings, &self.models.its, self.n, numbers(q, self.n, "q"),
            numbers(qd, self.n, "qd"), numbers(state, 4 * self.n, "desired"), numbers(sliding, self.n, "sliding"), held,
            <double*> cnp.PyArray_DATA(scratch), result(tau, self.n, "tau"))
        return tau

    def model_torque(self, desired):
        """What the mode takes from the model, without feedback, likewise."""
        cdef cnp.ndarray state = self._motion_state(desired), tau = np.empty(self.n)
        cdef cnp.ndarray sliding = np.sign(state[1])
        model_torque(self.settings, &self.models.its, self.n, numbers(state, 4 * self.n, "desired"), numbers(sliding, self.n, "sliding"),
                     result(tau, self.n, "tau"))
        return tau

    def damped_gravity(self, q, qd, double share=1.0):
        """g(q) - share * D qd."""
        cdef cnp.ndarray tau = np.empty(self.n)
        damped_gravity(self.settings, &self.models.its, self.n, numbers(q, self.n, "q"),
                       numbers(qd, self.n, "qd"), share, result(tau, self.n, "tau"))
        return tau


cdef class JointStateValidator:
    """Judges joint states one by one and keeps the last good one: see state_validator.pxd.

    Args:
        velocity_limit: (n,) [rad/s] or [m/s], infinite or 0 where there is none.
        lower, upper: (n,) position limits, infinite where there is none; None: nowhere.
    """

    cdef StateValidator its
    cdef list owned

    def __cinit__(self, velocity_limit, lower=None, upper=None):
        cdef StateValidator* v = &self.its
        cdef Py_ssize_t n = len(velocity_limit)
        cdef Py_ssize_t i
        self.owned = []
        v.n = n
        v.q, v.qd, v.last_q, v.last_qd = (
            own(self.owned, n), own(self.owned, n), own(self.owned, n), own(self.owned, n))
        v.likely_q, v.likely_qd = own(self.owned, n), own(self.owned, n)
        v.seen, v.plausible_speed = own(self.owned, n), own(self.owned, n)
        v.middle, v.half_range = own(self.owned, n), own(self.owned, n)
        v.compared_q, v.compared_qd = own(self.owned, n), own(self.owned, n)
        v.discrepancy, v.travelled, v.repeated_from = (
            own(self.owned, n), own(self.owned, n), own(self.owned, n))
        v.step_velocity, v.shown = own(self.owned, n), own(self.owned, n)
        v.moved, v.smallest_step = own(self.owned, n), own(self.owned, n)
        for i in range(n):
            limited = isfinite(velocity_limit[i]) and velocity_limit[i] > 0.0
            v.plausible_speed[i] = 2.0 * (velocity_limit[i] if limited else FALLBACK_SPEED)
            v.half_range[i] = INFINITY
            if lower is not None and isfinite(upper[i] - lower[i]):
                v.middle[i], v.half_range[i] = (lower[i] + upper[i]) / 2.0, (upper[i] - lower[i]) / 2.0
        v.received = v.seen_at = v.compared_at = -INFINITY
        v.origin = NAN
        forget_clocks(v)
        v.fresh, v.jumped = True, INFINITY
        trust(v)

    def accept(self, double now, double stamp, cnp.ndarray q not None, qd,
               double jump_tolerance=0.1, double velocity_cutoff=30.0, double state_timeout=0.1,
               double on_its_way=NAN, desired=None, pushed=None, likely=None):
        """Judge one state and take it over if it is good; returns whether it is.

        Args:
            now: Steady time [s].
            stamp: Its stamp [s], 0 for none.
            q: (n,) position; qd: (n,) velocity, NaN where it was not measured; None: nowhere.
            jump_tolerance: Step in position that is believed at any rate [rad] or [m].
            velocity_cutoff: Corner frequency of the estimate [Hz].
            state_timeout: [s] that a state may be on its way, and that two may be apart to be
                compared.
            on_its_way: [s] by two clocks; NaN: unknown.
            desired: (n,) position that is asked for; None: none is.
            pushed: (n,) how far feedback has moved each joint for sure since its position last
                changed; None: nowhere.
            likely: (n,) how far it has come since then if it does what it is asked to; None:
                nowhere.
        """
        cdef Py_ssize_t n = self.its.n
        cdef cnp.ndarray velocity = (np.full(n, NAN) if qd is None
                                     else np.ascontiguousarray(qd, dtype=float))
        cdef cnp.ndarray moved = np.zeros(n) if pushed is None else pushed
        cdef cnp.ndarray asked = np.zeros(n) if likely is None else likely
        cdef const double* position = numbers(q, n, "q")
        return accept(&self.its, now, stamp, on_its_way, position, numbers(velocity, n, "qd"),
                      position if desired is None else numbers(desired, n, "desired"),
                      numbers(moved, n, "pushed"), numbers(asked, n, "likely"), jump_tolerance,
                      velocity_cutoff, state_timeout)

    def forget(self):
        """Take the next state wherever the arm is."""
        forget(&self.its)

    def best_estimate(self):
        """Position and velocity (n,) at the time of the last good state, as reliable as possible.
        """
        q, qd = np.empty(self.its.n), np.empty(self.its.n)
        best_estimate(&self.its, result(q, self.its.n, "q"), result(qd, self.its.n, "qd"))
        return q, qd

    q = property(lambda self: self.last_good()[0])
    qd = property(lambda self: self.last_good()[1])

    def last_good(self):
        """Position and velocity (n,) of the last good state, copies."""
        return view(self, self.its.q, self.its.n).copy(), view(self, self.its.qd, self.its.n).copy()

    @property
    def time(self):
        return self.its.time

    @property
    def dt(self):
        return self.its.dt

    @property
    def rejected(self):
        """Numbers of states that were not accepted, by ``Rejection``."""
        return [self.its.rejected[k] for k in range(REJECTIONS)]
