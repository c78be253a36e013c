"""The parts of the controller one by one, from the product's sources: see __init__.py."""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, NAN
from libc.string cimport memcpy

from control.controller cimport is_timely
from control.fault_bounds cimport LONGEST_STEP
from control.position_governor cimport PositionGovernor, govern_positions
from control.settings cimport JointLimits, JointSettings, Settings
from control.torque_governor cimport (Governor, SpeedLimit, begin_transfer, govern, push_no_further,
                                      start_from, transfer_weight)
from control.state_clock cimport StateClock, pass_time, start_clock
from control.state_observer cimport (REJECTIONS, Observer, forget, observe_state, oldest,
                                     predict, reach, speed_reach)
from dynamics_interface cimport DynamicsInterface

import numpy as np

cnp.import_array()

include "memory.pxi"
include "joint_arrays.pxi"


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
    cdef JointSettings settings
    cdef SpeedLimit speed
    cdef list owned
    cdef readonly cnp.ndarray command

    def __cinit__(self, effort_limit, torque_rate):
        cdef Py_ssize_t n = len(effort_limit)
        self.owned = []
        self.its.n = n
        self.its.command, self.its.asked = own(self.owned, n), own(self.owned, n)
        self.its.difference, self.its.wanted = own(self.owned, n), own(self.owned, n)
        self.its.moving, self.its.feedback = own(self.owned, n), own(self.owned, 2 * n)
        self.its.noise = own(self.owned, n)
        self.its.low, self.its.high = own(self.owned, n), own(self.owned, n)
        self.speed.acceleration, self.speed.reduction = own(self.owned, n), own(self.owned, n)
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
            push_no_further(&self.its, numbers(velocity, self.its.n, "velocity"), 1.0)

    def govern(self, cnp.ndarray asked not None, double dt, added=None, motion=None,
               bint together=False):
        """The next command (n,), or None, with nothing changed, if ``asked`` is not finite.

        Args:
            asked: (n,) [N m] or [N].
            dt: Time since the last command [s].
            added: (n,) that the drives add by themselves; the limits hold for the sum.
            motion: What the speed limit needs (torque_governor.pxd): arrays (n,) of the limits
                and velocities, (n, n) of the inverse inertia, (n,) of the torque that accelerates
                nothing; None: no speed limit.
            together: One factor cuts the steps of all joints.
        """
        cdef const double* others = NULL
        cdef const SpeedLimit* speed = NULL
        if added is not None:
            others = numbers(added, self.its.n, "added")
        if motion is not None:
            speed = self._speed_limit(motion)
        asked_for = numbers(asked, self.its.n, "asked")
        return (self.command if govern(&self.its, &self.settings, asked_for, others, speed,
                                       together, dt, LONGEST_STEP)
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


def govern_joints(cnp.ndarray told not None, cnp.ndarray asked not None, lower, upper, velocity,
                  double dt):
    """What drives with position loops are told next, as the position governor changes ``told``.

    Args:
        told, asked: (2, n) position and velocity.
        lower, upper, velocity: (n,) limits.
        dt: Time since the last command [s].
    """
    cdef Py_ssize_t n = told.shape[1]
    cdef JointLimits limits
    cdef PositionGovernor its
    limits.lower = <double*> numbers(lower, n, "lower")
    limits.upper = <double*> numbers(upper, n, "upper")
    limits.velocity = <double*> numbers(velocity, n, "velocity")
    its.n, its.q = n, <double*> numbers(told, 2 * n, "told")
    its.qd = its.q + n
    goal = numbers(asked, 2 * n, "asked")
    govern_positions(&its, &limits, goal, goal + n, dt, dt)


def transfer_weight_at(double progress):
    """Weight of the difference during a bumpless transfer, 1 at progress 0 and 0 at 1."""
    return transfer_weight(progress)


cdef class JointStateClock:
    """Tells the controller's time by joint states: see state_clock.pxd.

    Args:
        state_timeout: [s] that a state may be on its way.
    """

    cdef StateClock clock
    cdef Observer observer
    cdef double state_timeout

    def __cinit__(self, double state_timeout=0.1):
        self.state_timeout = state_timeout
        start_clock(&self.clock, -INFINITY)

    def take(self, double now, double stamp, double on_its_way=NAN):
        """Advance to a state that arrives now [s], if it is newer than those before and not late.

        Args:
            stamp: [s], 0 for none.
            on_its_way: [s] by two clocks, NaN: unknown.

        Returns:
            What is wrong with it, a ``Rejection``; 0: nothing.
        """
        if is_timely(&self.clock, &self.observer, self.state_timeout, now, stamp, on_its_way,
                     False):
            pass_time(&self.clock, now, stamp, on_its_way, True, self.state_timeout)
        return <int> self.observer.last.code

    @property
    def dt(self):
        """Time between the last two states [s]."""
        return self.clock.dt

    @property
    def time(self):
        return self.clock.time

    @property
    def late(self):
        """Age of the last state as it came [s]."""
        return self.clock.late


cdef class JointObserver:
    """The observer of the arm's state: see state_observer.pxd.

    Args:
        velocity_limit: (n,) [rad/s] or [m/s], infinite where there is none.
        lower, upper: (n,) position limits, infinite where there is none; None: nowhere.
        state_timeout: [s] without a usable position after which there is no estimate.
        velocity_cutoff: Corner frequency [Hz] of velocities that are not measured.
    """

    cdef Observer its
    cdef JointLimits limits
    cdef Settings settings
    cdef list owned

    def __cinit__(self, velocity_limit, lower=None, upper=None, double state_timeout=0.1,
                  double velocity_cutoff=30.0):
        cdef Observer* o = &self.its
        cdef Py_ssize_t n = len(velocity_limit), i
        self.owned = []
        o.n, o.limits, o.inconsistent = n, &self.limits, -1
        o.q = own(self.owned, 4 * n)
        o.qd, o.qdd = o.q + n, o.q + 2 * n
        o.accepted_q, o.outlier = own(self.owned, n), own(self.owned, n)
        o.outlier_count = own(self.owned, n)
        o.age, o.unchanged, o.step = own(self.owned, 2 * n), own(self.owned, n), own(self.owned, n)
        o.disagreed = own(self.owned, n)
        o.proven_speed, o.discrepancy, o.travelled = (
            own(self.owned, n), own(self.owned, n), own(self.owned, n))
        self.limits.lower, self.limits.upper, self.limits.velocity = (
            own(self.owned, n), own(self.owned, n), own(self.owned, n))
        for i in range(n):
            self.limits.velocity[i] = velocity_limit[i]
            self.limits.lower[i] = -INFINITY if lower is None else lower[i]
            self.limits.upper[i] = INFINITY if upper is None else upper[i]
        self.settings.state_timeout, self.settings.velocity_cutoff = state_timeout, velocity_cutoff

    def observe(self, cnp.ndarray q not None, cnp.ndarray qd not None, double dt):
        """Use a joint state; returns whether there is an estimate.

        Args:
            q, qd: (n,) NaN where it was not measured.
            dt: Time since the last one [s].
        """
        cdef Py_ssize_t n = self.its.n
        return bool(observe_state(&self.its, numbers(q, n, "q"), numbers(qd, n, "qd"), dt,
                                  dt > self.settings.state_timeout, True, &self.settings))

    def accelerate(self, cnp.ndarray qdd not None):
        """Say which acceleration (n,) the command causes."""
        cdef const double* acceleration = numbers(qdd, self.its.n, "qdd")
        cdef Py_ssize_t i
        for i in range(self.its.n):
            self.its.qdd[i] = acceleration[i]

    def predict(self, double dt):
        """Advance the estimate between two states, as commands by a timer do."""
        predict(&self.its, dt)
        self.its.advanced += dt

    def forget(self):
        """Begin anew with the next state."""
        forget(&self.its)

    def reach(self, Py_ssize_t i, double age):
        """How far a position of joint i may be from its prediction, and a velocity, when they were
        last used for so long ago [s].
        """
        return reach(&self.its, i, age), speed_reach(&self.its, i, age)

    q = property(lambda self: self.estimate()[0])
    qd = property(lambda self: self.estimate()[1])

    def estimate(self):
        """Position and velocity, (2, n), a copy."""
        return view(self, self.its.q, 2 * self.its.n).copy().reshape(2, -1)

    def ages(self):
        """For how long positions and velocities were not used as they were measured, (2, n)."""
        return view(self, self.its.age, 2 * self.its.n).copy().reshape(2, -1)

    @property
    def oldest(self):
        return oldest(&self.its)

    @property
    def last(self):
        """What was wrong with the last state: ``Rejection``, joint, what was found, its bound."""
        cdef Observer* o = &self.its
        return <int> o.last.code, o.last.joint, o.last.found, o.last.bound

    @property
    def is_reset(self):
        """Whether the last state has shown that a joint is elsewhere."""
        return bool(self.its.reset)

    @property
    def inconsistent(self):
        """First joint whose velocity is inconsistent with its positions, -1: none."""
        return self.its.inconsistent

    @property
    def accepted(self):
        return self.its.accepted

    @property
    def rejected(self):
        """Numbers of states with something wrong, by ``Rejection``."""
        return [self.its.rejected[k] for k in range(REJECTIONS)]
