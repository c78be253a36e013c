# The simulated arm: its state, its command, the wrenches on it, its drives, brakes and sensors,
# advanced step by step.
#
# Arrays are (n,) in joint order. A floating base's pose (7) and velocity (6) come before those of
# the joints, see ``Model``: ``q_all``, ``qd_all`` and ``qdd_all`` are (nq,) or (nv,), and equal to
# ``q``, ``qd`` and ``qdd`` if the base is fixed. The base has neither drives nor sensors, and is
# held only until the first command. ``now`` [ns] is the time by which commands time out; nothing
# else depends on it. Otherwise the same calls give the same states, bit for bit. twin.pyx owns the
# memory of these structures.

from libc.math cimport INFINITY, fabs, isfinite, rint
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from ros.atomic cimport SECOND
from simulation.fault cimport BEYOND_BOUNDS, DIVERGED, NO_FAULT, SINGULAR, FaultKind
from simulation.noise cimport Generator, seed, standard_normal
from simulator_interface cimport Loads, Prescribed, SimulatorInterface

cdef extern from *:
    """
    #define NEVER INT64_MAX
    #define ABSURD_SPEED 1e4
    #define STOPPING_TIME 0.1
    """
    const int64_t NEVER
    const double ABSURD_SPEED          # [rad/s or m/s] no joint moves so fast: divergence
    const double STOPPING_TIME         # [s] a brake takes to stop its joint

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
    double* effort                     # of the drives, or of the brakes that are on
    double* measured                   # (3, n) position, velocity, effort
    double* good_q                     # (nq,) of the last good state
    double* good_qd                    # (nv,)
    double* scratch                    # (5, nq)
    int64_t* command_time              # NEVER: the time-out waits for a first command
    int64_t saturated                  # commands that the effort limits cut
    bint base_held                     # no command has come yet
    bint* braked
    double* braking                    # deceleration
    double* braking_left               # [s] until the brake has stopped the joint
    Prescribed held                    # the joints whose brakes are on, within a time step
    Loads loads                        # room for MAX_LOADS
    int64_t* load_end                  # simulation time [ns]
    Fault fault
    Generator generator


cdef inline int64_t simulation_time(const Arm* arm) noexcept nogil:
    """Since the reset [ns]."""
    return arm.elapsed_before + <int64_t> rint(arm.steps * arm.settings.time_step * SECOND)


cdef inline double clipped(double value, double limit) noexcept nogil:
    return max(min(value, limit), -limit)


# Brakes, one for each joint: they prescribe the motion instead of applying a torque. The joint's
# speed falls linearly to zero whatever its inertia and load, which is stable at any time step; a
# joint stop ends the motion. A joint that is commanded has no brake on, whatever the others do. A
# floating base is held, too, until the first command of a run, so that the robot does not fall
# before its controller is there. After that it moves freely under the braking joints.

cdef inline void engage_brake(Arm* arm, Py_ssize_t i) noexcept nogil:
    arm.braked[i], arm.braking[i] = True, arm.qd[i] / STOPPING_TIME
    arm.braking_left[i] = STOPPING_TIME if arm.qd[i] != 0.0 else 0.0


cdef inline void list_brakes(Arm* arm) noexcept nogil:
    cdef Py_ssize_t i
    arm.held.count = 0
    for i in range(arm.n):
        if arm.braked[i]:
            arm.held.freedom[arm.held.count] = arm.base + i
            arm.held.count += 1


cdef inline bint base_is_free(const Arm* arm) noexcept nogil:
    return arm.base > 0 and not arm.base_held


cdef inline void plan_braking(Arm* arm) noexcept nogil:
    """Position, velocity and acceleration of the joints that are held, at the instants of a time
    step; joint stops still act.
    """
    cdef const Settings* settings = arm.settings
    cdef double h = settings.time_step, left, t, slowing, after, there
    cdef double lowest = -INFINITY, highest = INFINITY
    cdef double* motion
    cdef Py_ssize_t instants = settings.simulator.instants, i, j, k
    for j in range(arm.held.count):
        i = arm.held.freedom[j] - arm.base
        left = max(arm.braking_left[i] - h, 0.0)
        slowing = (arm.braking[i] * left - arm.qd[i]) / h
        if settings.stops:
            lowest, highest = min(arm.q[i], settings.lower[i]), max(arm.q[i], settings.upper[i])
            if not lowest <= arm.q[i] + h * (arm.qd[i] + 0.5 * h * slowing) <= highest:
                arm.braking[i] = 0.0                            # its stop ends the motion
        after = arm.braking[i] * left
        for k in range(instants + 1):
            t = h * k / instants
            there = min(max(arm.q[i] + t * (arm.qd[i] + 0.5 * t * slowing), lowest), highest)
            motion = arm.held.motion + 3 * (k * arm.held.count + j)
            motion[0], motion[2] = there, (after - arm.qd[i]) / h
            motion[1] = arm.qd[i] + t * motion[2]
        motion[1] = after


cdef inline void end_braking(Arm* arm) noexcept nogil:
    """Move the joints that are held to the end of the time step."""
    cdef const double* motion
    cdef Py_ssize_t i, j
    for j in range(arm.held.count):
        i = arm.held.freedom[j] - arm.base
        motion = arm.held.motion + 3 * (arm.settings.simulator.instants * arm.held.count + j)
        arm.q[i], arm.qd[i] = motion[0], motion[1]
        # the impact on a stop is not an acceleration of the brake
        arm.qdd[i] = motion[2] if arm.braking[i] != 0.0 else 0.0
        arm.braking_left[i] = max(arm.braking_left[i] - arm.settings.time_step, 0.0)


cdef inline Py_ssize_t find_brake_effort(Arm* arm) noexcept nogil:
    """Efforts in which those of the brakes, friction offset and armature included, take the place
    of the drives', into ``effort``.

    Returns what ``SimulatorInterface.hold`` returns.
    """
    cdef const Settings* settings = arm.settings
    cdef const SimulatorInterface* simulator = settings.simulator
    cdef Py_ssize_t i, j, failure
    memset(arm.qdd_all, 0, arm.base * sizeof(double))
    failure = simulator.hold(simulator.simulator, base_is_free(arm), arm.q_all, arm.qd_all,
                             &arm.loads, arm.qdd_all, arm.scratch)
    for j in range(arm.held.count):
        i = arm.held.freedom[j] - arm.base
        arm.effort[i] = (arm.scratch[arm.base + i] + settings.armature[i] * arm.qdd[i]
                         + settings.offset[i])
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
                                          &arm.held, &arm.loads, arm.q_all, arm.qd_all,
                                          arm.qdd_all)


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
        p = settings.drive_p[i] if arm.follows_position[i] and not arm.braked[i] else 0.0
        d = settings.drive_d[i] if arm.follows_velocity[i] and not arm.braked[i] else 0.0
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
    """Advance; returns what the simulator's function returns."""
    cdef int64_t k
    cdef Py_ssize_t failure = 0
    cdef bint forced = arm.held.count < arm.n or base_is_free(arm)       # something moves by forces
    if forced and not arm.servo and not arm.held.count:
        return integrate(arm, steps, arm.applied, NULL)
    for k in range(steps):
        plan_braking(arm)
        if forced:
            failure = servo_step(arm) if arm.servo else integrate(arm, 1, arm.applied, NULL)
        if failure:
            return failure
        end_braking(arm)
    return 0


cdef inline bint saturate(Arm* arm, Py_ssize_t i) noexcept nogil:
    """applied: the command within the effort limit; returns whether that cut it."""
    arm.applied[i] = clipped(arm.command[i], arm.settings.limit[i])
    return arm.applied[i] != arm.command[i]


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


cdef inline void measure(Arm* arm) noexcept nogil:
    """Measure, unless an effort is not finite: that is a fault, and is never published."""
    cdef Py_ssize_t i, failure
    memcpy(arm.effort, arm.applied, arm.n * sizeof(double))
    if arm.held.count:
        failure = find_brake_effort(arm)
        if failure:
            set_fault(arm, SINGULAR, failure - 1)
            return
    for i in range(arm.n):
        if not isfinite(arm.effort[i]):
            set_fault(arm, BEYOND_BOUNDS, arm.base + i)
            return
    sense(arm, 0, arm.q)
    sense(arm, 1, arm.qd)
    sense(arm, 2, arm.effort)


cdef inline void measure_now(Arm* arm) noexcept nogil:
    """Measure after the state was set: no effort was applied on the way to it."""
    list_brakes(arm)
    memset(arm.qdd, 0, arm.n * sizeof(double))
    measure(arm)


# Actions on the arm.

cdef inline void adopt_settings(Arm* arm, const Settings* settings) noexcept nogil:
    """Use these settings from now on; state, command and time are kept."""
    cdef const Settings* before = arm.settings
    cdef Py_ssize_t i
    if before != NULL:
        arm.elapsed_before = simulation_time(arm)
    if (before == NULL or before.noise_seed != settings.noise_seed
            or not same_noise(before, settings)):
        seed(&arm.generator, settings.noise_seed)
    arm.steps, arm.settings = 0, settings
    for i in range(arm.n):
        saturate(arm, i)


cdef inline bint same_noise(const Settings* one, const Settings* other) noexcept nogil:
    cdef int k
    for k in range(3):
        if one.deviation[k] != other.deviation[k]:
            return False
    return True


cdef inline void reset_arm(Arm* arm) noexcept nogil:
    """Back to the initial position at time 0, without command, wrenches and fault."""
    cdef Py_ssize_t i
    arm.fault.kind = NO_FAULT
    arm.elapsed_before = arm.steps = arm.loads.count = 0
    memcpy(arm.q_all, arm.settings.home, arm.nq * sizeof(double))
    memset(arm.qd_all, 0, arm.nv * sizeof(double))
    memset(arm.qdd_all, 0, arm.nv * sizeof(double))
    arm.servo, arm.base_held = False, arm.settings.hold_until_command
    for i in range(arm.n):
        command_effort(arm, i, 0.0)
        saturate(arm, i)
        arm.command_time[i], arm.braked[i] = NEVER, False
        if arm.settings.hold_until_command:
            engage_brake(arm, i)
    seed(&arm.generator, arm.settings.noise_seed)
    measure_now(arm)


cdef inline void command_effort(Arm* arm, Py_ssize_t i, double effort) noexcept nogil:
    """Write an effort as a joint's command: its drive follows no position or velocity."""
    arm.command[i], arm.follows_position[i], arm.follows_velocity[i] = effort, False, False


cdef inline void take_command(Arm* arm, const bint* commanded, int64_t now) noexcept nogil:
    """Apply the command that has been written for the joints ``commanded`` (n,), and release their
    brakes.
    """
    cdef bint cut = False
    cdef Py_ssize_t i
    arm.servo = arm.base_held = False
    for i in range(arm.n):
        arm.servo = arm.servo or arm.follows_position[i] or arm.follows_velocity[i]
        if commanded[i]:
            cut |= saturate(arm, i)
            arm.command_time[i], arm.braked[i] = now, False
    arm.saturated += cut


cdef inline void restart_timeout(Arm* arm, int64_t now) noexcept nogil:
    """Count the command time-outs from now, e.g. after a pause."""
    cdef Py_ssize_t i
    for i in range(arm.n):
        if arm.command_time[i] != NEVER:
            arm.command_time[i] = now


cdef inline void state_was_set(Arm* arm) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(arm.n):
        if arm.braked[i]:
            engage_brake(arm, i)
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


cdef inline void external_wrench(const Arm* arm, Py_ssize_t link, double* wrench) noexcept nogil:
    """wrench (6): what acts on a link from outside, as it was applied."""
    cdef Py_ssize_t k
    memset(wrench, 0, 6 * sizeof(double))
    for k in range(arm.loads.count):
        if arm.loads.load[k].link == link:
            memcpy(wrench, arm.loads.load[k].wrench, 6 * sizeof(double))


cdef inline void end_loads(Arm* arm) noexcept nogil:
    """Remove the wrenches that have timed out; the others keep their order."""
    cdef Py_ssize_t k, left = 0
    cdef int64_t now = simulation_time(arm)
    for k in range(arm.loads.count):
        if arm.load_end[k] > now:
            arm.loads.load[left], arm.load_end[left] = arm.loads.load[k], arm.load_end[k]
            left += 1
    arm.loads.count = left


cdef inline void brake_uncommanded(Arm* arm, int64_t now) noexcept nogil:
    """Brake the joints whose commands have ended."""
    cdef int64_t timeout = arm.settings.command_timeout
    cdef Py_ssize_t i
    if timeout <= 0 or arm.settings.lockstep:
        return
    for i in range(arm.n):
        if (not arm.braked[i] and arm.command_time[i] != NEVER
                and now - arm.command_time[i] > timeout):
            engage_brake(arm, i)


cdef inline void advance_arm(Arm* arm, int64_t steps, int64_t now) noexcept nogil:
    """Advance by time steps (0: by a period), unless there is a fault.

    If that fails, it sets a fault and restores the last good state.
    """
    cdef Py_ssize_t failure
    if arm.fault.kind != NO_FAULT:
        return
    if steps == 0:
        steps = arm.settings.steps_per_period
    brake_uncommanded(arm, now)
    list_brakes(arm)
    end_loads(arm)
    memcpy(arm.good_q, arm.q_all, arm.nq * sizeof(double))
    memcpy(arm.good_qd, arm.qd_all, arm.nv * sizeof(double))
    failure = drive(arm, steps)
    if failure > 0:
        set_fault(arm, SINGULAR, failure - 1)
    elif failure < 0:
        set_fault(arm, DIVERGED, (-failure - 1) % arm.nv)
    else:
        find_divergence(arm)
    if arm.fault.kind == NO_FAULT:
        measure(arm)
    if arm.fault.kind != NO_FAULT:
        memcpy(arm.q_all, arm.good_q, arm.nq * sizeof(double))
        memcpy(arm.qd_all, arm.good_qd, arm.nv * sizeof(double))
        return
    arm.steps += steps
