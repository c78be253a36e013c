"""The compiled shadow: it follows an arm's joint states, run by a loop without the interpreter or
called from Python.

``shadow.pxd`` processes a state, ``shadow_cycle.pxi`` messages and requests. The classes here own
the memory.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.math cimport INFINITY, NAN, rint
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from cycle cimport STOP_REQUESTED, Cycle, IncomingMessage, Output, Record, Request, record_values
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport JointDrives, place_rows
from locked_positions cimport LockedJoints, follow_locked, hear_message
from observer.effort cimport Friction
from observer.restart_reason cimport NO_RESTART
from observer.shadow_settings cimport ShadowSettings
from observer.shadow cimport (Outcome, Shadow, adopt, first_absurd, joint_torque, remember_command,
                              restart, update)
from ros.atomic cimport CLOCK_REALTIME, SECOND, clock_now
from ros.message_faults cimport (FIELD_EFFORT, FIELD_NAME, FIELD_POSITION, FIELD_VELOCITY, FOREIGN,
                                 MESSAGE_WHOLE, MISSING_JOINTS, NOT_MEASURED, OTHER_LENGTH, Field)
from ros.messages cimport (HEADER_SIZE, MAX_NAMES, Doubles, JointNames, JointParts,
                           JointStateMessage, Reader, Template, collect_joints, read_joint_state,
                           write_last, write_time)
from ros.queue cimport StateRing, next_row, oldest_row, put_row, take_row
from ros.refusals cimport (ABSURD, REFUSED, Refusals, begin_message, read_efforts, refuse_figure,
                           refuse_joints, refuse_reader, within)
from simulator_interface cimport SIMULATOR_INTERFACE, SimulatorInterface

import numpy as np

from featherstone_ros.message_templates import joint_state, stamped

cnp.import_array()


# Each may use those above it.
include "message_memory.pxi" # MessageMemory: all that the shadow points to
include "joint_arrays.pxi"
include "cycle_owner.pxi"    # CycleOwner: a cycle called from Python; uses both
include "simulated_drives.pxi"
include "shadow_cycle.pxi"   # the shadow as such a cycle

INPUTS = {"joint_states": JOINT_STATES, "commands": COMMANDS}
OUTPUTS = {"predicted_joint_states": PREDICTED, "residual": RESIDUAL,
           "external_wrench_estimate": WRENCH, "contact": CONTACT}
REQUESTS = {"use_settings": USE_SETTINGS, "collect": COLLECT, "place": PLACE}
RECORDS = {"refused": REFUSED, "restarted": RESTARTED, "rested": RESTED, "slid": SLID}
MAX_PLAUSIBLE = ABSURD


cdef class Snapshot:
    """Settings of a shadow as compiled code reads them, to be kept while they are in use.

    ``number``: identifies these settings in records; ``simulator``: used for nothing else;
    ``settings``: ``ShadowSettings``, checked against the model; ``displacement``: presliding [rad
    or m]; ``commanded``: predict under the last commanded torque, not the measured one;
    ``behind_gears``: efforts are torques without friction; ``link``: the one on which the wrench is
    estimated; ``joints``: arrays (n,) by the names that shadow_settings.pxd has for them.
    """

    cdef ShadowSettings settings
    cdef readonly size_t address       # for the request ``use_settings``
    cdef MessageMemory memory
    cdef tuple owned
    cdef Py_ssize_t n

    def __cinit__(self, int number, simulator, settings, double displacement, bint commanded,
                  bint behind_gears, str link, dict joints):
        cdef ShadowSettings* s = &self.settings
        cdef MessageMemory memory = MessageMemory()
        cdef Py_ssize_t n = simulator.model.n
        self.n, self.address = n, <size_t> s
        self.memory, self.owned = memory, (simulator, simulator._interface)
        s.simulator = <const SimulatorInterface*> PyCapsule_GetPointer(self.owned[1],
                                                                       SIMULATOR_INTERFACE)
        s.number, s.time_step, s.commanded, s.behind_gears = (
            number, simulator.time_step, commanded, behind_gears)
        s.horizon, s.max_gap = settings.prediction_horizon, settings.max_gap
        s.displacement = displacement
        s.link, s.wrench_damping = simulator.model.link_names.index(link), settings.wrench_damping
        memory.template(&s.wrench, stamped(link, 6))
        copy_drives(&s.drives, memory, simulator, joints["offset"], joints["stiffness"], n)
        s.gain = memory.copy(joints["gain"], n)
        s.units.effort_gain, s.units.hides_gravity = (
            memory.copy(joints["effort_gain"], n), memory.copy(joints["hides_gravity"], n))
        s.begin, s.end = memory.copy(joints["begin"], n), memory.copy(joints["end"], n)


cdef class StateBuffer:
    """States of n joints on their way from a loop to Python; dropped while it is full."""

    cdef StateRing ring
    cdef readonly size_t address       # for the request ``collect``
    cdef Memory memory

    def __cinit__(self, Py_ssize_t n, Py_ssize_t capacity):
        self.memory, self.address = Memory(), <size_t> &self.ring
        self.ring.capacity, self.ring.width = capacity, 1 + 3 * n
        self.ring.rows = self.memory.doubles(capacity * self.ring.width)

    def take(self):
        """The oldest state, (1 + 3 n,): time [s], position, velocity and joint torque; or None."""
        cdef const double* row = oldest_row(&self.ring)
        cdef cnp.ndarray state
        if row == NULL:
            return None
        state = np.empty(self.ring.width)
        memcpy(cnp.PyArray_DATA(state), row, cnp.PyArray_NBYTES(state))
        take_row(&self.ring)
        return state


cdef class CompiledShadow(CycleOwner):
    """The compiled part of ``observer.Shadow``; ``dynamics``: used for nothing else."""

    cdef ShadowCycle state
    cdef object dynamics
    cdef readonly int n

    def __cinit__(self, dynamics, joint_names, Snapshot snapshot not None):
        cdef Cycle* cycle = &self.cycle
        self.n, self.dynamics = len(joint_names), dynamics
        self.keep(USE_SETTINGS, snapshot)
        self.state.shadow.dynamics = interface_of(dynamics)
        if not self.n == self.state.shadow.dynamics.n == snapshot.n:
            raise ValueError(f"joint_names: expected {snapshot.n}, got {self.n}")
        model = dynamics.model
        self.lay_out_locked(&self.state.locked, model)
        self.allocate()
        self.memory.list_names(&self.state.joints, joint_names, model.locked_joints)
        state = joint_state(joint_names)
        self.memory.template(&self.state.predicted, state)
        self.memory.template(&self.state.residual, state)
        self.memory.template(&self.state.contact, b"\0\1\0\0\0")
        adopt(&self.state.shadow, &snapshot.settings)
        cycle.self, cycle.message, cycle.request = &self.state, on_message, on_request
        cycle.due, cycle.tick, cycle.is_safe_to_end = never_due, on_tick, is_safe_to_end

    cdef int allocate(self) except -1:
        cdef Memory memory = self.memory
        cdef Shadow* s = &self.state.shadow
        cdef Py_ssize_t n = self.n
        s.n = n
        place_rows(<double**> &s.friction, sizeof(Friction), memory.doubles(6 * n), n)
        place_rows(&s.rest.effort, 5 * sizeof(double*), memory.doubles(5 * n), n)
        place_rows(&s.observer.external, 6 * sizeof(double*), memory.doubles(6 * n), n)
        s.observer.H, s.observer.C = memory.doubles(n * n), memory.doubles(n * n)
        place_rows(&s.sliding.time, 3 * sizeof(double*), memory.doubles(6 * n), 2 * n)
        s.sliding.filtered, s.sliding.share = memory.doubles(n), memory.doubles(n)
        s.gravity, s.torque, s.before = memory.doubles(n), memory.doubles(n), memory.doubles(n)
        s.assumed, s.commanded = memory.doubles(n), memory.doubles(n)
        s.state, s.residual, s.predicted = (
            memory.doubles(3 * n), memory.doubles(3 * n), memory.doubles(3 * n))
        s.expected, s.scratch = memory.doubles(2 * n), memory.doubles(6 * n)
        s.contact = <bint*> memory.block(n, np.intc)
        self.state.message.index = <int32_t*> memory.block(n + self.state.locked.n, np.int32)
        self.memory.place_parts(&self.state.parts, n)
        self.state.command = memory.doubles(n)
        return 0

    # State.

    @property
    def restarts(self) -> int:
        """How often the observer restarted: after a gap, a jump of time, a failed prediction."""
        return self.state.shadow.restarts

    @property
    def passed_over(self) -> dict:
        """How many joint states were skipped, by reason."""
        its = &self.state.shadow.timeline
        counts = {"repeated": its.repeated, "late": its.late}
        return {reason: count for reason, count in counts.items() if count}

    @property
    def states(self) -> int:
        """Number of states from messages that were used."""
        return self.state.states

    @property
    def received(self) -> float:
        """When the last of them came, steady time [s]; 0 before the first."""
        return self.state.received * 1e-9

    @property
    def refused(self) -> int:
        """Number of messages refused."""
        return self.state.refusals.count

    @property
    def contact(self):
        """(n,) bool: the joints whose external torque shows a contact."""
        return np.array([self.state.shadow.contact[i] for i in range(self.n)], bool)

    @property
    def missing(self) -> list:
        """Indices of the joints still missing from a state that comes in several messages."""
        there = [self.state.parts.there[i] for i in range(self.n)]
        return [i for i in range(self.n) if not there[i]] if any(there) else []

    # Call by call.

    def restart(self):
        """Make the next joint state the first one."""
        restart(&self.state.shadow)

    def _place(self, LockedPlaces places not None):
        memcpy(self.state.locked.given, floats(places.positions),
               self.state.locked.n * sizeof(double))
        if follow_locked(&self.state.locked, INFINITY):
            place_locked(&self.state)

    def _torque(self, cnp.ndarray state not None):
        """Joint torque (n,) of a state (3, n)."""
        cdef const double* q = numbers(state, 3 * self.n, "state")
        cdef cnp.ndarray gravity = np.empty(self.n), torque = np.empty(self.n)
        cdef const DynamicsInterface* dynamics = self.state.shadow.dynamics
        dynamics.gravity(dynamics.self, q, floats(gravity))
        joint_torque(self.state.shadow.settings, self.n, floats(gravity), q,
                     &self.state.shadow.friction, floats(torque))
        return torque

    def _command(self, cnp.ndarray torque not None):
        """Remember a command (n,); returns the index of an absurd value in it, or -1."""
        cdef const double* tau = numbers(torque, self.n, "torque")
        cdef Py_ssize_t bad = first_absurd(tau, self.n)
        if bad < 0:
            remember_command(&self.state.shadow, tau)
        return bad

    def _update(self, int64_t time, cnp.ndarray state not None):
        """Take a state (3, n) of a time [ns]: used, or 2 + an absurd value's index; and records."""
        cdef Collector collector = Collector(0)
        cdef const double* q = numbers(state, 3 * self.n, "state")
        cdef Py_ssize_t bad = first_absurd(q, 3 * self.n), used = bad + 2
        if bad < 0:
            used = update(&self.state.shadow, time, q)
            if used:
                record_outcome(&self.state.shadow, time, &collector.output)
        return used, collector.records

    @property
    def _prediction(self):
        """(3, n) position, velocity and assumed torque ``horizon`` ahead, or None."""
        return (values(self.state.shadow.predicted, (3, self.n))
                if self.state.shadow.outcome.has_prediction else None)

    @property
    def _residual(self):
        """Residual (3, n), wrench (6,) and contact of the last state; or None."""
        cdef Shadow* shadow = &self.state.shadow
        if not shadow.outcome.has_residual:
            return None
        return (values(shadow.residual, (3, self.n)), values(shadow.wrench, 6),
                bool(shadow.in_contact))
