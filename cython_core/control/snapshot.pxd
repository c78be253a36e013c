# What others want to know of the controller, all of it of one moment.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from control.controller_state cimport Controller, Hold, is_tracking, leads_end_effector
from control.cycle_state cimport ControlCycle
from control.impedance_wrench cimport max_strain
from control.model_blend cimport gravity
from control.motion_messages cimport work_out_model_torque

cdef struct SnapshotFigures:
    double time              # the controller's [s]
    double origin            # stamp at which that was zero; NaN: states have none
    double received          # steady time of the last good state [s]
    double late              # its age then [s]
    int32_t sec              # its stamp
    uint32_t nanosec
    int32_t phase
    uint64_t path            # number of the path in force; 0: none
    double elapsed           # its time [s]
    double since_end         # of the motion [s]
    double strain            # of the end effector's spring, relative to the most
    long long causes

cdef struct SnapshotPayload:
    double* arrays           # (9, n): q, qd, desired (4), command, what was asked for, gravity
    double* model_torque     # (n,)
    double[18] hand          # (3, 6): error from its desired pose, that pose's way to the target,
                             # commanded wrench; base axes, linear first
    Hold hold
    SnapshotFigures figures


cdef inline void take_snapshot(const ControlCycle* cycle, SnapshotPayload* snapshot) noexcept nogil:
    cdef const Controller* c = &cycle.controller
    cdef SnapshotFigures* figures = &snapshot.figures
    cdef Py_ssize_t n = c.n
    memcpy(snapshot.arrays, c.observer.q, n * sizeof(double))
    memcpy(snapshot.arrays + n, c.observer.qd, n * sizeof(double))
    memcpy(snapshot.arrays + 2 * n, c.desired, 4 * n * sizeof(double))
    memcpy(snapshot.arrays + 6 * n, c.governor.command, n * sizeof(double))
    memcpy(snapshot.arrays + 7 * n, c.governor.asked, n * sizeof(double))
    gravity(&c.models, c.observer.q, snapshot.arrays + 8 * n)
    work_out_model_torque(c, snapshot.model_torque)
    figures.time, figures.origin = c.clock.time, c.clock.origin
    figures.received, figures.phase = c.clock.received, c.phase
    figures.late = c.clock.late
    figures.sec, figures.nanosec = cycle.sec, cycle.nanosec
    figures.path, figures.elapsed = cycle.path_number, c.clock.time - c.motion.path_start
    figures.since_end = c.clock.time - c.motion.end
    figures.causes, figures.strain = c.causes, 0.0
    snapshot.hold = c.hold
    memset(snapshot.hand, 0, 18 * sizeof(double))
    if leads_end_effector(c) and is_tracking(c):
        memcpy(snapshot.hand, c.hand.law.error, 6 * sizeof(double))
        memcpy(snapshot.hand + 6, c.hand.law.remaining, 6 * sizeof(double))
        memcpy(snapshot.hand + 12, c.hand.law.feedforward, 6 * sizeof(double))
        figures.strain = max_strain(&c.hand.law)
