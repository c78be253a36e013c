# The simulated arm: its state, its command, the wrenches on it, its drives, brakes and sensors,
# advanced step by step.
#
# Arrays are (n,) in joint order. A floating base's pose (7) and velocity (6) come before those of
# the joints, see ``Model``: ``q_all``, ``qd_all`` and ``qdd_all`` are (nq,) or (nv,), and equal to
# ``q``, ``qd`` and ``qdd`` if the base is fixed. The base has neither drives nor sensors, and has
# brakes only until the first command. ``now`` is steady time [ns]; only the command time-out
# depends on it. Otherwise the same calls give the same states, bit for bit. twin.pyx owns the
# memory of these structures.

from libc.math cimport INFINITY, fabs, isfinite, rint
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from ros.atomic cimport SECOND
from simulation.fault cimport BEYOND_BOUNDS, DIVERGED, NO_FAULT, SINGULAR, FaultKind
from simulation.noise cimport Generator, seed, standard_normal
from simulator_interface cimport Loads, SimulatorInterface

cdef extern from *:
    """
    #define NEVER INT64_MAX
    #define ABSURD_SPEED 1e4
    #define STOPPING_TIME 0.1
    """
    const int64_t NEVER
    const double ABSURD_SPEED          # [rad/s or m/s] no joint moves so fast: divergence
    const double STOPPING_TIME         # [s] the brakes take to stop the joints

cdef enum:
    MAX_LOADS = 64                    # wrenches at the same time

cdef struct Fault:
    FaultKind kind
    int32_t joint                      # negative: the floating base
    double position, velocity          # that the joint would have had; for the base only velocity

cdef struct Settings:                  # constant while in use
    const SimulatorInterface* simulator
    double period                      # simulation time between two states [s]
    double time_step                   # [s]
    int64_t steps_per_period
    double real_time_factor            # 0: as fast as possible
    bint lockstep, hold_until_command, owns_time, follows_ros_time
    int64_t command_timeout, wrench_timeout             # [ns], 0: never
    uint64_t noise_seed
    bint noisy
    double[3] deviation                # of measured position, velocity and effort
    bint stops                         # there are joint stops
    const double* lower                # position limits
    const double* upper
    const double* home                 # (nq,) position after a reset
    const double* limit                # of effort
    const double* armature
    const double* offset               # constant friction
    const double* drive_p              # of the drives' own position loop
    const double* drive_d

cdef struct Arm:
    Py_ssize_t n, nq, nv
    Py_ssize_t base                    # degrees of freedom of the base: 6 where it floats, else 0
    const Settings* settings
    int64_t elapsed_before, steps      # simulation time when the settings changed [ns], steps since
    double* q_all                      # true state: (nq,)
    double* qd_all                     # (nv,)
    double* qdd_all                    # (nv,)
    double* q                          # the joints' part of these three
    double* qd
    double* qdd
    double* command                    # effort, before the limits
    double* desired_q                  # of joints whose drives follow a position or velocity
    double* desired_qd
    bint* follows_position
    bint* follows_velocity
    bint servo                         # some drive closes a position or velocity loop
    double* applied                    # effort of the drives
    double* measured                   # (3, n) position, velocity, effort
    double* good_q                     # (nq,) of the last good state
    double* good_qd                    # (nv,)
    double* scratch                    # (5, nq)
    double* motion                     # (3, n, 3) of the joints within a time step
    int64_t command_time               # NEVER: the time-out waits for a first command
    int64_t saturated                  # commands that the effort limits cut
    bint braked
    double braking_left                # [s] until the brakes have stopped the arm
    double* braking                    # deceleration
    Loads loads                        # room for MAX_LOADS
    int64_t* load_end                  # simulation time [ns]
    Fault fault
    Generator generator


cdef inline int64_t simulation_time(const Arm* arm) noexcept nogil:
    """Since the reset [ns]."""
    return arm.elapsed_before + <int64_t> rint(arm.steps * arm.settings.time_step * SECOND)


cdef inline double clipped(double value, double limit) noexcept nogil:
    return max(min(value, limit), -limit)


# Brakes: they prescribe the motion instead of applying a torque. Each joint's speed falls linearly
# to zero whatever its inertia and load, which is stable at any time step; a joint stop ends the
# motion. A floating base is held, too, until the first command of a run, so that the robot does not
# fall before its controller is there. After that it moves freely under the braking joints.

cdef inline void engage_brakes(Arm* arm) noexcept nogil:
    cdef Py_ssize_t i
    arm.braked, arm.braking_left = True, 0.0
    for i in range(arm.n):
        arm.braking[i] = arm.qd[i] / STOPPING_TIME
        if arm.qd[i] != 0.0:
            arm.braking_left = STOPPING_TIME


cdef inline bint base_is_free(const Arm* arm) noexcept nogil:
    return arm.base > 0 and not (arm.braked and arm.command_time == NEVER)


cdef inline void braked_motion(Arm* arm, int64_t instants) noexcept nogil:
    """Position, velocity and acceleration of the joints at the instants of a time step; joint stops
    still act.
    """
    cdef const Settings* settings = arm.settings
    cdef double h = settings.time_step, left = max(arm.braking_left - h, 0.0), t, slowing, after
    cdef double there
    cdef double lowest = -INFINITY, highest = INFINITY
    cdef double* motion
    cdef Py_ssize_t i, k
    for i in range(arm.n):
        slowing = (arm.braking[i] * left - arm.qd[i]) / h
        if settings.stops:
            lowest, highest = min(arm.q[i], settings.lower[i]), max(arm.q[i], settings.upper[i])
            if not lowest <= arm.q[i] + h * (arm.qd[i] + 0.5 * h * slowing) <= highest:
                arm.braking[i] = 0.0                            # its stop ends the motion
        after = arm.braking[i] * left
        for k in range(instants + 1):
            t = h * k / instants
            there = min(max(arm.q[i] + t * (arm.qd[i] + 0.5 * t * slowing), lowest), highest)
            motion = arm.motion + 3 * (k * arm.n + i)
            motion[0], motion[2] = there, (after - arm.qd[i]) / h
            motion[1] = arm.qd[i] + t * motion[2]
        motion[1] = after


cdef inline Py_ssize_t brake(Arm* arm, int64_t steps) noexcept nogil:
    """Advance under the brakes; returns what the simulator's function returns."""
    cdef const SimulatorInterface* simulator = arm.settings.simulator
    cdef const double* motion
    cdef Py_ssize_t i, failure
    cdef int64_t k
    for k in range(steps):
        braked_motion(arm, simulator.instants)
        if base_is_free(arm):
            failure = simulator.advance_base(simulator.simulator, arm.motion, &arm.loads, arm.q_all,
                                             arm.qd_all, arm.qdd_all)
            if failure:
                return failure
        for i in range(arm.n):
            motion = arm.motion + 3 * (simulator.instants * arm.n + i)
            arm.q[i], arm.qd[i] = motion[0], motion[1]
            # the impact on a stop is not an acceleration of the brakes
            arm.qdd[i] = motion[2] if arm.braking[i] != 0.0 else 0.0
        arm.braking_left = max(arm.braking_left - arm.settings.time_step, 0.0)
    return 0


cdef inline Py_ssize_t brake_effort(Arm* arm, double* effort) noexcept nogil:
    """effort (nv,) that the brakes exert, friction offset and armature included.

    Returns what ``SimulatorInterface.hold`` returns.
    """
    cdef const Settings* settings = arm.settings
    cdef const SimulatorInterface* simulator = settings.simulator
    cdef Py_ssize_t i, failure
    memset(arm.qdd_all, 0, arm.base * sizeof(double))
    failure = simulator.hold(simulator.simulator, base_is_free(arm), arm.q_all, arm.qd_all,
                             &arm.loads, arm.qdd_all, effort)
    for i in range(arm.n):
        effort[arm.base + i] += settings.armature[i] * arm.qdd[i] + settings.offset[i]
    return failure


# Drives.

cdef inline Py_ssize_t integrate(Arm* arm, int64_t steps, const double* effort,
                                 const double* armature) noexcept nogil:
    """Time steps under the drives' effort (n,), armature (nv,) or NULL; returns what the
    simulator's function returns.
    """
    cdef double* tau = arm.scratch
    cdef Py_ssize_t i
    memset(tau, 0, arm.base * sizeof(double))
    for i in range(arm.n):
        tau[arm.base + i] = effort[i] - arm.settings.offset[i]
    return arm.settings.simulator.advance(arm.settings.simulator.simulator, steps, tau, armature,
                                          &arm.loads, arm.q_all, arm.qd_all, arm.qdd_all)


cdef inline Py_ssize_t servo_step(Arm* arm) noexcept nogil:
    """One time step with drives that close their own loop, effort + p (desired_q - q) + d
    (desired_qd - qd).

    The loop is evaluated at the end of the step, so that it is stable for any gains: its part
    (d + h p) h qdd then acts like an armature of h (d + h p). If a drive would exceed its limit,
    the step is repeated with the limit as effort.
    """
    cdef const Settings* settings = arm.settings
    cdef Py_ssize_t n = arm.n, i, attempt, failure
    cdef double* armature_all = arm.scratch + arm.nq
    cdef double* armature = armature_all + arm.base
    cdef double* start_q = armature_all + arm.nq
    cdef double* start_qd = start_q + arm.nq
    cdef double* stiffness = start_qd + arm.nq                  # d + h p
    cdef double h = settings.time_step, p, d, effort
    cdef bint limited = True
    memset(armature_all, 0, arm.base * sizeof(double))
    memcpy(start_q, arm.q_all, arm.nq * sizeof(double))
    memcpy(start_qd, arm.qd_all, arm.nv * sizeof(double))
    for i in range(n):
        p = settings.drive_p[i] if arm.follows_position[i] else 0.0
        d = settings.drive_d[i] if arm.follows_velocity[i] else 0.0
        stiffness[i] = d + h * p
        effort = arm.command[i]
        if d:
            effort += d * (arm.desired_qd[i] - arm.qd[i])
        if p:
            effort += p * (arm.desired_q[i] - arm.q[i] - h * arm.qd[i])
        arm.applied[i] = effort if stiffness[i] else clipped(effort, settings.limit[i])
        armature[i] = settings.armature[i] + h * stiffness[i]
    while limited:                     # at most n times: each time one more joint is limited
        failure = integrate(arm, 1, arm.applied, armature_all)
        if failure:
            return failure
        limited = False
        for i in range(n):
            effort = arm.applied[i] - stiffness[i] * (arm.qd[i] - start_qd[arm.base + i])
            if stiffness[i] and fabs(effort) > settings.limit[i]:
                arm.applied[i] = clipped(effort, settings.limit[i])
                stiffness[i], armature[i], limited = 0.0, settings.armature[i], True
        if limited:
            memcpy(arm.q_all, start_q, arm.nq * sizeof(double))
            memcpy(arm.qd_all, start_qd, arm.nv * sizeof(double))
    for i in range(n):
        arm.applied[i] -= stiffness[i] * (arm.qd[i] - start_qd[arm.base + i])
    return 0


cdef inline Py_ssize_t drive(Arm* arm, int64_t steps) noexcept nogil:
    cdef int64_t k
    cdef Py_ssize_t failure
    if not arm.servo:
        return integrate(arm, steps, arm.applied, NULL)
    for k in range(steps):
        failure = servo_step(arm)
        if failure:
            return failure
    return 0


cdef inline bint saturate(Arm* arm) noexcept nogil:
    """applied: the command within the effort limits; returns whether they cut it."""
    cdef bint cut = False
    cdef Py_ssize_t i
    for i in range(arm.n):
        arm.applied[i] = clipped(arm.command[i], arm.settings.limit[i])
        cut |= arm.applied[i] != arm.command[i]
    return cut


# Faults.

cdef inline void set_fault(Arm* arm, FaultKind kind, Py_ssize_t freedom) noexcept nogil:
    cdef Py_ssize_t joint = freedom - arm.base
    arm.fault.kind, arm.fault.joint = kind, <int32_t> joint
    arm.fault.position, arm.fault.velocity = (
        arm.q[joint] if joint >= 0 else 0.0, arm.qd_all[freedom])


cdef inline void find_divergence(Arm* arm) noexcept nogil:
    cdef Py_ssize_t first = arm.nq - arm.nv, i
    for i in range(arm.nv):
        if not (isfinite(arm.q_all[first + i]) and fabs(arm.qd_all[i]) <= ABSURD_SPEED):
            set_fault(arm, DIVERGED, i)
            return
    if not isfinite(arm.q_all[0]):
        set_fault(arm, DIVERGED, 0)


# Sensors.

cdef inline void sense(Arm* arm, int k, const double* values) noexcept nogil:
    """Measure the k-th of position, velocity and effort."""
    cdef double* measured = arm.measured + k * arm.n
    cdef Py_ssize_t i
    memcpy(measured, values, arm.n * sizeof(double))
    if arm.settings.noisy:
        for i in range(arm.n):
            measured[i] += arm.settings.deviation[k] * standard_normal(&arm.generator)


cdef inline void measure(Arm* arm, const double* effort) noexcept nogil:
    """Measure, unless an effort is not finite: that is a fault, and is never published."""
    cdef Py_ssize_t i
    for i in range(arm.n):
        if not isfinite(effort[i]):
            set_fault(arm, BEYOND_BOUNDS, arm.base + i)
            return
    sense(arm, 0, arm.q)
    sense(arm, 1, arm.qd)
    sense(arm, 2, effort)


cdef inline void measure_braked(Arm* arm) noexcept nogil:
    cdef Py_ssize_t failure = brake_effort(arm, arm.scratch)
    if failure:
        set_fault(arm, SINGULAR, failure - 1)
    else:
        measure(arm, arm.scratch + arm.base)


cdef inline void measure_now(Arm* arm) noexcept nogil:
    """Measure after the state was set: no effort was applied on the way to it."""
    if arm.braked:
        memset(arm.qdd, 0, arm.n * sizeof(double))
        measure_braked(arm)
    else:
        measure(arm, arm.applied)


# Actions on the arm.

cdef inline void adopt_settings(Arm* arm, const Settings* settings) noexcept nogil:
    """Use these settings from now on; state, command and time are kept."""
    cdef const Settings* before = arm.settings
    if before != NULL:
        arm.elapsed_before = simulation_time(arm)
    if (before == NULL or before.noise_seed != settings.noise_seed
            or not same_noise(before, settings)):
        seed(&arm.generator, settings.noise_seed)
    arm.steps, arm.settings = 0, settings
    saturate(arm)


cdef inline bint same_noise(const Settings* one, const Settings* other) noexcept nogil:
    cdef int k
    for k in range(3):
        if one.deviation[k] != other.deviation[k]:
            return False
    return True


cdef inline void reset_arm(Arm* arm) noexcept nogil:
    """Back to the initial position at time 0, without command, wrenches and fault."""
    arm.fault.kind = NO_FAULT
    arm.elapsed_before = arm.steps = arm.loads.count = 0
    arm.command_time = NEVER
    memcpy(arm.q_all, arm.settings.home, arm.nq * sizeof(double))
    memset(arm.qd_all, 0, arm.nv * sizeof(double))
    memset(arm.qdd_all, 0, arm.nv * sizeof(double))
    memset(arm.command, 0, arm.n * sizeof(double))
    release_joints(arm)
    saturate(arm)
    seed(&arm.generator, arm.settings.noise_seed)
    arm.braked = False
    if arm.settings.hold_until_command:
        engage_brakes(arm)
    measure_now(arm)


cdef inline void release_joints(Arm* arm) noexcept nogil:
    """No drive follows a position or velocity."""
    memset(arm.follows_position, 0, arm.n * sizeof(bint))
    memset(arm.follows_velocity, 0, arm.n * sizeof(bint))
    arm.servo = False


cdef inline void take_command(Arm* arm, int64_t now) noexcept nogil:
    """Release the brakes and apply the command, which has been written into ``arm``."""
    cdef Py_ssize_t i
    arm.servo = False
    for i in range(arm.n):
        arm.servo = arm.servo or arm.follows_position[i] or arm.follows_velocity[i]
    arm.saturated += saturate(arm)
    arm.command_time = now
    arm.braked = False


cdef inline void restart_timeout(Arm* arm, int64_t now) noexcept nogil:
    """Count the command time-out from now, e.g. after a pause."""
    if arm.command_time != NEVER:
        arm.command_time = now


cdef inline void state_was_set(Arm* arm) noexcept nogil:
    if arm.braked:
        engage_brakes(arm)
    measure_now(arm)


cdef inline bint apply_load(Arm* arm, Py_ssize_t link, const double* wrench) noexcept nogil:
    """Apply a wrench to a link until its next wrench or the time-out; False if there are too many.
    """
    cdef Py_ssize_t k = 0
    while k < arm.loads.count and arm.loads.load[k].link != link:
        k += 1
    if k == MAX_LOADS:
        return False
    arm.loads.count = max(arm.loads.count, k + 1)
    arm.loads.load[k].link = link
    memcpy(arm.loads.load[k].wrench, wrench, 6 * sizeof(double))
    arm.load_end[k] = NEVER
    if arm.settings.wrench_timeout:
        arm.load_end[k] = simulation_time(arm) + arm.settings.wrench_timeout
    return True


cdef inline void end_loads(Arm* arm) noexcept nogil:
    """Remove the wrenches that have timed out; the others keep their order."""
    cdef Py_ssize_t k, left = 0
    cdef int64_t now = simulation_time(arm)
    for k in range(arm.loads.count):
        if arm.load_end[k] > now:
            arm.loads.load[left], arm.load_end[left] = arm.loads.load[k], arm.load_end[k]
            left += 1
    arm.loads.count = left


cdef inline bint is_timed_out(const Arm* arm, int64_t now) noexcept nogil:
    cdef int64_t timeout = arm.settings.command_timeout
    return (timeout > 0 and arm.command_time != NEVER and now - arm.command_time > timeout
            and not arm.settings.lockstep)


cdef inline void advance_arm(Arm* arm, int64_t steps, int64_t now) noexcept nogil:
    """Advance by time steps (0: by a period), unless there is a fault.

    If that fails, it sets a fault and restores the last good state.
    """
    cdef Py_ssize_t failure
    if arm.fault.kind != NO_FAULT:
        return
    if steps == 0:
        steps = arm.settings.steps_per_period
    if not arm.braked and is_timed_out(arm, now):
        engage_brakes(arm)
    end_loads(arm)
    memcpy(arm.good_q, arm.q_all, arm.nq * sizeof(double))
    memcpy(arm.good_qd, arm.qd_all, arm.nv * sizeof(double))
    failure = brake(arm, steps) if arm.braked else drive(arm, steps)
    if failure > 0:
        set_fault(arm, SINGULAR, failure - 1)
    elif failure < 0:
        set_fault(arm, DIVERGED, (-failure - 1) % arm.nv)
    else:
        find_divergence(arm)
    if arm.fault.kind == NO_FAULT:
        if arm.braked:
            measure_braked(arm)
        else:
            measure(arm, arm.applied)
    if arm.fault.kind != NO_FAULT:
        memcpy(arm.q_all, arm.good_q, arm.nq * sizeof(double))
        memcpy(arm.qd_all, arm.good_qd, arm.nv * sizeof(double))
        return
    arm.steps += steps
