# The simulated arm: its state, its command, the wrenches on it, its drives, brakes and sensors, advanced step by step.
#
# Arrays are (n,) in joint order. ``now`` is steady time [ns]; all that happens in the simulation goes by simulation time,
# so that the same calls give the same states, bit for bit. Whoever makes these structures owns their memory (twin.pyx).

from libc.math cimport fabs, isfinite, rint
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from simulation.noise cimport Generator, seed, standard_normal
from simulator_interface cimport Load, SimulatorInterface

cdef extern from *:
    """
    #define NEVER INT64_MAX
    #define ABSURD_SPEED 1e4
    #define STOPPING_TIME 0.1
    """
    const int64_t NEVER
    const double ABSURD_SPEED          # [rad/s or m/s]: no robot's joint moves so fast, a diverging simulation does
    const double STOPPING_TIME         # [s] in which the brakes stop every joint

cdef enum:
    SECOND = 1_000_000_000             # [ns]
    MOST_LOADS = 64                    # wrenches at the same time

cdef enum FaultKind:
    NO_FAULT
    SINGULAR                           # the joint moves no inertia
    DIVERGED                           # the joint's state
    BEYOND_BOUNDS                      # the joint's effort is no number any more

cdef struct Fault:
    FaultKind kind
    int32_t joint
    double position, velocity          # that it would have had

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
    const double* home                 # position after a reset
    const double* limit                # of effort
    const double* armature
    const double* offset               # constant friction: what the drive has to give on top
    const double* drive_p              # of the drives' own position loop
    const double* drive_d

cdef struct Arm:
    Py_ssize_t n
    const Settings* settings
    int64_t elapsed_before, steps      # simulation time when the settings came into effect [ns], steps since
    double* q                          # true state
    double* qd
    double* qdd
    double* command                    # effort, as told
    double* desired_q                  # of joints whose drives follow a position or velocity
    double* desired_qd
    bint* follows_position
    bint* follows_velocity
    bint servo                         # some joint's drive follows one of them
    double* applied                    # effort of the drives
    double* measured                   # (3, n) position, velocity, effort
    double* scratch                    # (5, n)
    int64_t command_time               # NEVER: the time-out waits for a first command
    int64_t saturated                  # commands that the effort limits cut
    bint braked
    double braking_left                # [s] until the brakes have stopped the arm
    double* braking                    # deceleration
    Load* loads                        # (MOST_LOADS,)
    int64_t* load_end                  # simulation time [ns]
    Py_ssize_t load_count
    Fault fault
    Generator generator


cdef inline int64_t simulation_time(const Arm* arm) noexcept nogil:
    """Since the reset [ns]."""
    return arm.elapsed_before + <int64_t> rint(arm.steps * arm.settings.time_step * SECOND)


cdef inline double clipped(double value, double limit) noexcept nogil:
    return max(min(value, limit), -limit)


# Brakes: they impose the motion instead of applying a torque. Each joint's speed falls linearly to zero whatever its
# inertia and load, so they are stable at any time step.

cdef inline void engage_brakes(Arm* arm) noexcept nogil:
    cdef Py_ssize_t i
    arm.braked, arm.braking_left = True, 0.0
    for i in range(arm.n):
        arm.braking[i] = arm.qd[i] / STOPPING_TIME
        if arm.qd[i] != 0.0:
            arm.braking_left = STOPPING_TIME


cdef inline void brake(Arm* arm, double duration) noexcept nogil:
    """Move on under the brakes; stops stop all the same."""
    cdef const Settings* settings = arm.settings
    cdef double t = min(duration, arm.braking_left), there, lowest, highest
    cdef Py_ssize_t i
    arm.braking_left = max(arm.braking_left - duration, 0.0)
    for i in range(arm.n):
        arm.qdd[i] = -arm.braking[i] if t > 0.0 else 0.0
        there = arm.q[i] + t * (arm.qd[i] + 0.5 * t * arm.qdd[i])
        if settings.stops:
            lowest, highest = min(arm.q[i], settings.lower[i]), max(arm.q[i], settings.upper[i])
            there = min(max(there, lowest), highest)
        arm.q[i], arm.qd[i] = there, arm.braking_left * arm.braking[i]


cdef inline void brake_effort(const Arm* arm, double* effort) noexcept nogil:
    """What imposes the acceleration that the brakes impose."""
    cdef const Settings* settings = arm.settings
    cdef Py_ssize_t i
    settings.simulator.rnea(settings.simulator.simulator, arm.q, arm.qd, arm.qdd, arm.loads, arm.load_count, effort)
    for i in range(arm.n):
        effort[i] += settings.armature[i] * arm.qdd[i] + settings.offset[i]


# Drives.

cdef inline Py_ssize_t integrate(Arm* arm, int64_t steps, const double* effort, const double* armature) noexcept nogil:
    """Time steps under the drives' effort; returns what the simulator does."""
    cdef double* tau = arm.scratch
    cdef Py_ssize_t i
    for i in range(arm.n):
        tau[i] = effort[i] - arm.settings.offset[i]
    return arm.settings.simulator.advance(arm.settings.simulator.simulator, steps, tau, armature, arm.loads,
                                          arm.load_count, arm.q, arm.qd, arm.qdd)


cdef inline Py_ssize_t servo_step(Arm* arm) noexcept nogil:
    """One time step with drives that close their own loop, effort + p (desired_q - q) + d (desired_qd - qd).

    The loop is taken at the end of the step, where (d + h p) h qdd of it resists like an armature, so that it is stable
    under any gains. A joint that would need more than its limit is driven by the limit instead: the step is taken anew.
    """
    cdef const Settings* settings = arm.settings
    cdef Py_ssize_t n = arm.n, i, attempt, failure
    cdef double* armature = arm.scratch + n
    cdef double* start_q = armature + n
    cdef double* start_qd = start_q + n
    cdef double* stiffness = start_qd + n                       # d + h p
    cdef double h = settings.time_step, p, d, effort
    cdef bint limited = True
    memcpy(start_q, arm.q, n * sizeof(double))
    memcpy(start_qd, arm.qd, n * sizeof(double))
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
    while limited:                                              # each time at least one joint more than before
        failure = integrate(arm, 1, arm.applied, armature)
        if failure:
            return failure
        limited = False
        for i in range(n):
            effort = arm.applied[i] - stiffness[i] * (arm.qd[i] - start_qd[i])
            if stiffness[i] and fabs(effort) > settings.limit[i]:
                arm.applied[i] = clipped(effort, settings.limit[i])
                stiffness[i], armature[i], limited = 0.0, settings.armature[i], True
        if limited:
            memcpy(arm.q, start_q, n * sizeof(double))
            memcpy(arm.qd, start_qd, n * sizeof(double))
    for i in range(n):
        arm.applied[i] -= stiffness[i] * (arm.qd[i] - start_qd[i])
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
    """Work out what the drives apply of the command; whether that is less."""
    cdef bint cut = False
    cdef Py_ssize_t i
    for i in range(arm.n):
        arm.applied[i] = clipped(arm.command[i], arm.settings.limit[i])
        cut |= arm.applied[i] != arm.command[i]
    return cut


# Faults.

cdef inline void stop_with(Arm* arm, FaultKind kind, Py_ssize_t joint) noexcept nogil:
    arm.fault.kind, arm.fault.joint = kind, <int32_t> joint
    arm.fault.position, arm.fault.velocity = arm.q[joint], arm.qd[joint]


cdef inline void find_divergence(Arm* arm) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(arm.n):
        if not (isfinite(arm.q[i]) and fabs(arm.qd[i]) <= ABSURD_SPEED):
            stop_with(arm, DIVERGED, i)
            return


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
    """Measure, unless an effort is no number: that is never told to anybody."""
    cdef Py_ssize_t i
    for i in range(arm.n):
        if not isfinite(effort[i]):
            stop_with(arm, BEYOND_BOUNDS, i)
            return
    sense(arm, 0, arm.q)
    sense(arm, 1, arm.qd)
    sense(arm, 2, effort)


cdef inline void measure_braked(Arm* arm) noexcept nogil:
    brake_effort(arm, arm.scratch)
    measure(arm, arm.scratch)


cdef inline void measure_now(Arm* arm) noexcept nogil:
    """Measure after the state was set: no effort was applied on the way to it."""
    if arm.braked:
        memset(arm.qdd, 0, arm.n * sizeof(double))
        measure_braked(arm)
    else:
        measure(arm, arm.applied)


# What is done to the arm.

cdef inline void adopt_settings(Arm* arm, const Settings* settings) noexcept nogil:
    """Go by these settings; state, command and time go on."""
    cdef const Settings* before = arm.settings
    if before != NULL:
        arm.elapsed_before = simulation_time(arm)
    if before == NULL or before.noise_seed != settings.noise_seed or not same_noise(before, settings):
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
    cdef size_t size = arm.n * sizeof(double)
    arm.fault.kind = NO_FAULT
    arm.elapsed_before = arm.steps = arm.load_count = 0
    arm.command_time = NEVER
    memcpy(arm.q, arm.settings.home, size)
    memset(arm.qd, 0, size)
    memset(arm.qdd, 0, size)
    memset(arm.command, 0, size)
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
    """Let go of the brakes and go by the command, which has been written."""
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
    """Apply a wrench to a link until the next one on it or the time-out; False if there are too many."""
    cdef Py_ssize_t k = 0
    while k < arm.load_count and arm.loads[k].link != link:
        k += 1
    if k == MOST_LOADS:
        return False
    arm.load_count = max(arm.load_count, k + 1)
    arm.loads[k].link = link
    memcpy(arm.loads[k].wrench, wrench, 6 * sizeof(double))
    arm.load_end[k] = NEVER
    if arm.settings.wrench_timeout:
        arm.load_end[k] = simulation_time(arm) + arm.settings.wrench_timeout
    return True


cdef inline void end_loads(Arm* arm) noexcept nogil:
    """Forget the wrenches whose time is over; the others keep their order."""
    cdef Py_ssize_t k, left = 0
    cdef int64_t now = simulation_time(arm)
    for k in range(arm.load_count):
        if arm.load_end[k] > now:
            arm.loads[left], arm.load_end[left] = arm.loads[k], arm.load_end[k]
            left += 1
    arm.load_count = left


cdef inline bint is_timed_out(const Arm* arm, int64_t now) noexcept nogil:
    cdef int64_t timeout = arm.settings.command_timeout
    return timeout > 0 and arm.command_time != NEVER and now - arm.command_time > timeout and not arm.settings.lockstep


cdef inline void advance_driven(Arm* arm, int64_t steps) noexcept nogil:
    """Integrate; if that fails, report a fault and stay at the last good state."""
    cdef size_t size = arm.n * sizeof(double)
    cdef double* good = arm.measured + 3 * arm.n                # (2, n)
    cdef Py_ssize_t failure
    memcpy(good, arm.q, size)
    memcpy(good + arm.n, arm.qd, size)
    failure = drive(arm, steps)
    if failure > 0:
        stop_with(arm, SINGULAR, failure - 1)
    elif failure < 0:
        stop_with(arm, DIVERGED, (-failure - 1) % arm.n)
    else:
        find_divergence(arm)
    if arm.fault.kind == NO_FAULT:
        measure(arm, arm.applied)
    if arm.fault.kind != NO_FAULT:
        memcpy(arm.q, good, size)
        memcpy(arm.qd, good + arm.n, size)


cdef inline void advance_arm(Arm* arm, int64_t steps, int64_t now) noexcept nogil:
    """Advance by time steps, 0 for a period; nothing happens while there is a fault."""
    if arm.fault.kind != NO_FAULT:
        return
    if steps == 0:
        steps = arm.settings.steps_per_period
    if not arm.braked and is_timed_out(arm, now):
        engage_brakes(arm)
    end_loads(arm)
    if arm.braked:
        brake(arm, steps * arm.settings.time_step)
        measure_braked(arm)
    else:
        advance_driven(arm, steps)
    if arm.fault.kind == NO_FAULT:
        arm.steps += steps
