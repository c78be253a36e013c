"""The compiled digital twin: a simulated arm, run by a loop without the interpreter or called from
Python.

``twin_arm.pxd`` simulates the arm, ``pacing.pxd`` follows real time, ``twin_cycle.pxi`` handles
messages, requests and ticks. The classes here own the memory. Times are of the steady clock [ns].
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.float cimport DBL_MAX
from libc.math cimport NAN, fabs, isfinite
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from cycle cimport (STOP_REQUESTED, Cycle, IncomingMessage, Output, Record, Request,
                    record_values)
from drive_units cimport LAW_DUTY, LAW_POSITION, LAW_TORQUE, DriveUnits
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport JointDrives
from locked_positions cimport LockedJoints, hear_message
from ros.atomic cimport CLOCK_REALTIME, SECOND, clock_now
from ros.message_faults cimport (FIELD_EFFORT, FIELD_FRAME, FIELD_NAME, FIELD_POSITION,
                                 FIELD_VELOCITY, MESSAGE_WHOLE, NO_JOINT, OTHER_LENGTH,
                                 TOO_MANY_LOADS, UNKNOWN_JOINT, Field)
from ros.messages cimport (HEADER_SIZE, MAX_NAMES, Doubles, JointNames, JointParts,
                           JointStateMessage, Reader, Template, gather, open_message,
                           read_joint_names, read_joint_values, refuse_message, write_last,
                           write_time)
from ros.refusals cimport (ABSURD, REFUSED, Refusals, begin_message, read_efforts, read_wrench,
                           refuse_figure, refuse_name, refuse_reader, within)
from simulation.fault cimport NO_FAULT
from simulation.pacing cimport (Pace, count_due, has_fallen_behind, next_due, period_due,
                                restart_pace, set_pace, take_period)
from simulation.twin_arm cimport (ABSURD_SPEED, MAX_LOADS, NEVER, Fault, SimulatorSettings, TwinArm,
                                  adopt_settings, advance_arm, apply_load, base_is_free,
                                  command_drive, external_wrench, law_of, reset_arm,
                                  restart_timeout, simulation_time, state_was_set, take_command)
from simulator_interface cimport SIMULATOR_INTERFACE, Load, Loads, SimulatorInterface

import numpy as np

from featherstone_ros.message_templates import joint_state, stamped

cnp.import_array()

# Each may use those above it.
include "message_memory.pxi" # MessageMemory: all that the twin points to
include "joint_arrays.pxi"
include "cycle_owner.pxi"    # CycleOwner: a cycle called from Python; uses both
include "simulated_drives.pxi"
include "drive_units.pxi"
include "twin_cycle.pxi"     # the twin as such a cycle

REQUESTS = {"start": START, "use_settings": USE_SETTINGS, "reset": RESET, "pause": PAUSE,
            "resume": RESUME, "step": STEP}
ANSWERS = {"not_paused": NOT_PAUSED, "stopped": STOPPED}  # why a request was not granted
INPUTS = {"commands": COMMANDS, "joint_commands": JOINT_COMMANDS,
          "external_wrench": EXTERNAL_WRENCH, "set_state": SET_STATE}
OUTPUTS = {"joint_states": JOINT_STATES, "clock": CLOCK}
RECORDS = {"refused": REFUSED, "fault": FAULT}


cdef class Snapshot:
    """Settings of a twin as compiled code reads them, to be kept while they are in use.

    ``simulator``: used for nothing else; ``settings``: ``SimulatorSettings``, checked against the
    model; ``home``: (nq,) initial position; ``offset``, ``stiffness``: (n,) constant friction and
    the joints' springs; ``drive_speed``, ``drive_acceleration``: (n,) within which the drives' own
    loop of gains ``drive_p``, ``drive_d`` keeps the joints; ``locked``: (m,) where locked joints
    stand as long as no joint state tells.
    """

    cdef SimulatorSettings settings
    cdef readonly size_t address       # for the request ``use_settings``
    cdef Memory memory
    cdef tuple owned

    def __cinit__(self, simulator, settings, home, limit, offset, stiffness, drive_p, drive_d,
                  drive_speed, drive_acceleration, locked):
        cdef SimulatorSettings* s = &self.settings
        model = simulator.model
        n = model.n
        cdef Memory memory = Memory()
        self.memory, self.address = memory, <size_t> s
        self.owned = (simulator, simulator._interface)
        s.simulator = <const SimulatorInterface*> PyCapsule_GetPointer(self.owned[1],
                                                                       SIMULATOR_INTERFACE)
        noise = settings.noise
        s.period, s.time_step, s.steps_per_period = (
            settings.period, simulator.time_step, settings.steps_per_period)
        s.real_time_factor = settings.real_time_factor
        s.command_timeout = round(settings.command_timeout * SECOND)
        s.wrench_timeout = round(settings.wrench_timeout * SECOND)
        s.lockstep, s.hold_until_command = settings.lockstep, settings.hold_until_command
        s.owns_time = settings.owns_time
        s.paced, s.wall_time = settings.paced, settings.wall_time and s.lockstep
        s.follows_ros_time = settings.follows_ros_time
        s.noise_seed = noise.seed
        s.deviation = (noise.position, noise.velocity, noise.effort)
        s.noisy = noise.position or noise.velocity or noise.effort
        s.stops = bool(simulator.stop_stiffness.any())
        s.lower, s.upper, s.home = (
            memory.copy(model.lower, n), memory.copy(model.upper, n), memory.copy(home, model.nq))
        s.locked = memory.copy(locked, len(model.locked_joints))
        s.limit = memory.copy(limit, n)
        copy_drives(&s.drives, memory, simulator, offset, stiffness, n)
        copy_drive_units(&s.units, memory, settings.units)
        s.drive_p, s.drive_d = memory.copy(drive_p, n), memory.copy(drive_d, n)
        s.drive_speed, s.drive_acceleration = (
            memory.copy(drive_speed, n), memory.copy(drive_acceleration, n))


cdef class StepRequest:
    """The payload of the request ``step``; ``time``: simulation time after the steps [ns]."""

    cdef Steps steps
    cdef readonly size_t address

    def __cinit__(self, int64_t count):
        """Request ``count`` integration steps."""
        self.steps.count, self.address = count, <size_t> &self.steps

    @property
    def time(self) -> int:
        return self.steps.time


cdef class Twin(CycleOwner):
    """The compiled part of ``featherstone_ros.simulation.Twin``: a simulated arm with its clock.

    ``other_names``: joints that messages may name although they are not the arm's, ignored;
    ``base_messages``: about a floating base, each bytes and the offsets of stamp, pose and twist,
    as from ``message_templates.odometry``; ``own_commands``: topics of commands for some joints
    each, as their indices: the inputs after those in ``INPUTS``; ``wrench_sensor``: link whose
    external wrench is published, as the last output; ``wrench_link``: that of external wrenches
    whose frame is no link's, None: they are refused.
    """

    cdef TwinCycle twin
    cdef readonly int n

    def __cinit__(self, joint_names, other_names, link_names, Snapshot snapshot not None,
                  bint clock=False, base_messages=(), own_commands=(), wrench_sensor=None,
                  wrench_link=None):
        self.n = len(joint_names)
        self.allocate_arm(snapshot.settings.simulator)
        self.memory.list_names(&self.twin.joints, [*joint_names, *other_names])
        self.memory.list_names(&self.twin.links, link_names)
        self.twin.wrench_link = -1 if wrench_link is None else link_names.index(wrench_link)
        self.twin.names.index = <int32_t*> self.memory.block(self.twin.joints.n, np.int32)
        self.twin.wanted = self.memory.doubles(max(3 * self.n, 6))
        self.twin.commanded = <bint*> self.memory.block(self.n, np.intc)
        self.list_joints(&self.twin.commands, range(self.n))
        if len(own_commands) > MAX_TOPICS:
            raise ValueError(f"topics that command some of the joints: got {len(own_commands)}, "
                             f"expected at most {MAX_TOPICS}")
        for joints in own_commands:
            self.list_joints(&self.twin.own[self.twin.own_count], joints)
            self.twin.own_count += 1
        self.memory.template(&self.twin.states, joint_state(joint_names))
        if clock:
            self.memory.template(&self.twin.clock, b"\0\1\0\0" + bytes(8))
        self.take_base_messages(base_messages)
        if wrench_sensor is not None:
            self.twin.sensor = link_names.index(wrench_sensor)
            self.memory.template(&self.twin.sensed, stamped(wrench_sensor, 6))
        self.keep(USE_SETTINGS, snapshot)
        model = snapshot.owned[0].model
        self.lay_out_locked(&self.twin.arm.locked, model)
        self.memory.list_names(&self.twin.locked, (), model.locked_joints)
        self.twin.of_locked.index = <int32_t*> self.memory.block(self.twin.locked.others, np.int32)
        adopt_settings(&self.twin.arm, &snapshot.settings)
        reset_arm(&self.twin.arm)
        self.cycle.self, self.cycle.message, self.cycle.request = (
            &self.twin, twin_message, twin_request)
        self.cycle.due, self.cycle.tick, self.cycle.is_safe_to_end = (
            twin_due, twin_tick, twin_is_safe_to_end)

    cdef int list_joints(self, CommandTopic* topic, joints) except -1:
        topic.n = len(joints)
        topic.joint = <int32_t*> self.memory.block(topic.n, np.int32)
        for k in range(topic.n):
            topic.joint[k] = range(self.n)[joints[k]]
        return 0

    cdef int take_base_messages(self, messages) except -1:
        if len(messages) > (MAX_BASE_MESSAGES if self.twin.arm.base else 0):
            raise ValueError(f"base_messages: got {len(messages)}, too many")
        for content, stamp, pose, twist in messages:
            base = &self.twin.base[self.twin.base_count]
            self.memory.template(&base.message, content)
            base.stamp, base.pose, base.twist = stamp, pose, twist
            self.twin.base_count += 1
        return 0

    cdef int allocate_arm(self, const SimulatorInterface* simulator) except -1:
        cdef Memory memory = self.memory
        cdef TwinArm* arm = &self.twin.arm
        cdef Py_ssize_t n = self.n, nq = simulator.nq, nv = simulator.nv
        if nv not in (n, n + 6):
            raise ValueError(f"joint_names: {n} for a simulator of {nv} degrees of freedom")
        arm.n, arm.nq, arm.nv, arm.base = n, nq, nv, nv - n
        arm.q_all, arm.qd_all, arm.qdd_all = (
            memory.doubles(nq), memory.doubles(nv), memory.doubles(nv))
        arm.q, arm.qd, arm.qdd = arm.q_all + (nq - n), arm.qd_all + (nv - n), arm.qdd_all + (nv - n)
        arm.good_q, arm.good_qd = memory.doubles(nq), memory.doubles(nv)
        arm.command, arm.desired_q, arm.desired_qd = (
            memory.doubles(n), memory.doubles(n), memory.doubles(n))
        arm.stalled, arm.share = memory.doubles(n), memory.doubles(n)
        arm.applied, arm.effort, arm.measured = (
            memory.doubles(n), memory.doubles(n), memory.doubles(3 * n))
        arm.braking, arm.braking_left = memory.doubles(n), memory.doubles(n)
        arm.held.motion, arm.scratch = memory.doubles(9 * n), memory.doubles(5 * nq)
        arm.held.freedom = <Py_ssize_t*> memory.block(n, np.intp)
        arm.command_time = <int64_t*> memory.block(n, np.int64)
        arm.braked = <bint*> memory.block(n, np.intc)
        arm.follows_position = <bint*> memory.block(n, np.intc)
        arm.follows_velocity = <bint*> memory.block(n, np.intc)
        arm.loads.load = <Load*> memory.block(MAX_LOADS * sizeof(Load), np.uint8)
        arm.load_end = <int64_t*> memory.block(MAX_LOADS, np.int64)
        return 0

    # State.

    @property
    def q(self):
        """True position (n,) [rad or m]; all arrays are copies."""
        return values(self.twin.arm.q, self.n)

    @property
    def qd(self):
        """True velocity (n,) [rad/s or m/s]."""
        return values(self.twin.arm.qd, self.n)

    @property
    def base_pose(self):
        """Pose of a floating base in the world (7,): position of the base link's origin [m], unit
        quaternion x y z w; None if the base is fixed.
        """
        return values(self.twin.arm.q_all, 7) if self.twin.arm.base else None

    @property
    def base_velocity(self):
        """Velocity of a floating base in its own axes (6,): linear [m/s], angular [rad/s]; None if
        the base is fixed.
        """
        return values(self.twin.arm.qd_all, 6) if self.twin.arm.base else None

    @property
    def base_is_held(self) -> bool:
        """Whether the base does not move: it is fixed, or braked until the first command."""
        return not base_is_free(&self.twin.arm)

    @property
    def position(self):
        """Measured position (n,) [rad or m]."""
        return values(self.twin.arm.measured, self.n)

    @property
    def velocity(self):
        """Measured velocity (n,) [rad/s or m/s]."""
        return values(self.twin.arm.measured + self.n, self.n)

    @property
    def effort(self):
        """Measured effort (n,) of the drives or, while the brakes are on, of these, in the drives'
        units.
        """
        return values(self.twin.arm.measured + 2 * self.n, self.n)

    @property
    def time(self) -> int:
        """Simulation time since the reset [ns]."""
        return simulation_time(&self.twin.arm)

    @property
    def is_braked(self) -> bool:
        """Whether the brakes of all joints are on."""
        return bool(self.braked.all())

    @property
    def braked(self):
        """Whether each joint's brake is on (n,)."""
        return np.array([self.twin.arm.braked[i] for i in range(self.n)], dtype=bool)

    @property
    def paused(self) -> bool:
        """Whether time stands still."""
        return self.twin.paused

    @property
    def saturated(self) -> int:
        """Number of commands that the effort limits cut."""
        return self.twin.arm.saturated

    @property
    def overruns(self) -> int:
        """Number of stalls too long to be caught up."""
        return self.twin.pace.overruns

    @property
    def refused(self) -> int:
        """Number of messages refused."""
        return self.twin.refusals.count

    @property
    def _fault(self):
        """``FaultKind``, joint, and the position and velocity that it would have had."""
        return (<int> self.twin.arm.fault.kind, self.twin.arm.fault.joint,
                self.twin.arm.fault.position, self.twin.arm.fault.velocity)

    @property
    def _loads(self):
        """The wrenches that act now: (link index, wrench (6,)) each."""
        cdef const Loads* loads = &self.twin.arm.loads
        return [(loads.load[k].link, [loads.load[k].wrench[i] for i in range(6)])
                for k in range(loads.count)]

    # Call by call.

    def _take_command(self, cnp.ndarray command not None, int64_t now):
        """Take what the drives are told (n,); releases the brakes."""
        cdef TwinArm* arm = &self.twin.arm
        cdef const double* told = numbers(command, self.n, "command")
        for i in range(self.n):
            command_drive(arm, i, told[i])
            self.twin.commanded[i] = True
        take_command(arm, self.twin.commanded, now)

    def _advance(self, int64_t steps, int64_t now):
        """Advance by integration steps; 0: by a period."""
        advance_arm(&self.twin.arm, steps, now)
