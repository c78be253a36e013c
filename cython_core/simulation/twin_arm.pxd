# The simulated arm: its state, its command, the wrenches on it, its drives, brakes and sensors,
# advanced step by step.
#
# Arrays are (n,) in joint order. A floating base's pose (7) and velocity (6) come before those of
# the joints, see ``Model``: ``q_all``, ``qd_all`` and ``qdd_all`` are (nq,) or (nv,), and equal to
# ``q``, ``qd`` and ``qdd`` if the base is fixed. The base has neither drives nor sensors, and is
# held only until the first command. ``now`` [ns] is the time by which commands time out; nothing
# else depends on it. Otherwise the same calls give the same states, bit for bit. twin.pyx owns the
# memory of these structures.

from libc.math cimport INFINITY, fabs, isfinite, log, rint, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from drive_units cimport (LAW_DUTY, LAW_POSITION, LAW_TORQUE, DriveUnits, Law, clipped,
                          effort_of, motor_share, stall_torque)
from joint_drives cimport JointDrives, has_spring, standing_torque, take_standing
from locked_positions cimport LockedJoints, follow_locked
from ros.atomic cimport SECOND
from simulation.fault cimport (BEYOND_BOUNDS, DIVERGED, NO_FAULT, SINGULAR, UNMEASURABLE,
                               FaultKind)
from simulator_interface cimport Loads, Prescribed, SimulatorInterface
from stopping_speed cimport speed_to_reach

cdef extern from *:
    """
    #define NEVER INT64_MAX
    #define ABSURD_SPEED 1e4
    #define STOPPING_TIME 0.1
    #define PLANNED_BRAKING 0.7
    #define RIGID 1e6
    """
    const int64_t NEVER
    const double ABSURD_SPEED          # [rad/s or m/s] no joint moves so fast: divergence
    const double STOPPING_TIME         # [s] a brake takes to stop its joint
    const double PLANNED_BRAKING       # share of its acceleration by which a drive plans to brake
    const double RIGID                 # [kg m^2 or kg] beside which every inertia is nothing

cdef enum:
    MAX_LOADS = 64                    # wrenches at the same time
    TOGETHER = 4                      # attempts that change all drives at once, then one by one
    ATTEMPTS = 10                     # for each joint; on all known arms fewer than 1

# Seeded white noise: the same seed gives the same numbers.
#
# Bits by xoshiro256++ (Blackman and Vigna, Scrambled linear pseudorandom number generators, 2021),
# normal numbers from them by the polar method (Marsaglia and Bray, A convenient method for
# generating normal variables, 1964).

cdef struct Generator:
    uint64_t[4] state
    double spare         # the second number of a pair from the polar method
    bint has_spare


cdef inline void seed(Generator* g, uint64_t number) noexcept nogil:
    """Seed by splitmix64, as the authors of xoshiro recommend."""
    for k in range(4):
        number += 0x9E3779B97F4A7C15ULL
        z = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ULL
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
        g.state[k] = z ^ (z >> 31)
    g.has_spare = False


cdef inline uint64_t rotate_left(uint64_t x, int by) noexcept nogil:
    return (x << by) | (x >> (64 - by))


cdef inline uint64_t next_bits(Generator* g) noexcept nogil:
    """xoshiro256++."""
    cdef uint64_t* s = g.state
    cdef uint64_t result = rotate_left(s[0] + s[3], 23) + s[0], t = s[1] << 17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotate_left(s[3], 45)
    return result


cdef inline double between_minus_one_and_one(Generator* g) noexcept nogil:
    return <double> (next_bits(g) >> 11) * 2.0**-52 - 1.0


cdef inline double standard_normal(Generator* g) noexcept nogil:
    """A normal number of mean 0 and deviation 1."""
    if g.has_spare:
        g.has_spare = False
        return g.spare
    while True:                        # a point within the unit circle
        x, y = between_minus_one_and_one(g), between_minus_one_and_one(g)
        square = x * x + y * y
        if 0.0 < square < 1.0:
            break
    scale = sqrt(-2.0 * log(square) / square)
    g.spare, g.has_spare = scale * y, True
    return scale * x


cdef struct Fault:
    FaultKind kind
    int32_t joint                      # negative: the floating base
    double position, velocity          # that the joint would have had; for the base only velocity

cdef struct SimulatorSettings:            # constant while in use
    const SimulatorInterface* simulator
    double period                      # simulation time between two states [s]
    double time_step                   # [s]
    int64_t steps_per_period
    double real_time_factor            # 0: as fast as possible
    bint lockstep, hold_until_command, owns_time, follows_ros_time
    bint paced                         # lockstep is no faster than real_time_factor
    bint wall_time                     # simulated time begins at ROS time
    int64_t command_timeout, wrench_timeout             # [ns], 0: never
    uint64_t noise_seed
    bint noisy
    double[3] deviation                # of measured position, velocity and effort
    bint stops                         # there are joint stops
    const double* lower                # position limits
    const double* upper
    const double* home                 # (nq,) position after a reset
    const double* locked               # (m,) where locked joints stand that no joint state tells of
    const double* limit                # of effort
    JointDrives drives
    DriveUnits units                   # of commands and measured efforts
    const double* drive_p              # of the drives' own position loop
    const double* drive_d
    const double* drive_speed          # within which it keeps the joints
    const double* drive_acceleration

cdef struct TwinArm:
    Py_ssize_t n, nq, nv
    Py_ssize_t base                    # degrees of freedom of the base: 6 where it floats, else 0
    const SimulatorSettings* settings
    int64_t elapsed_before, steps      # simulation time when the settings changed [ns], steps since
    double* q_all                      # true state: (nq,)
    double* qd_all                     # (nv,)
    double* qdd_all                    # (nv,)
    double* q                          # the joints' part of these three
    double* qd
    double* qdd
    double* command                    # effort, before the limits
    double* stalled                    # the motor's, at standstill, by a current or duty
    double* share                      # the motor's torque per torque, there
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
    LockedJoints locked
    Fault fault
    Generator generator


cdef inline int64_t simulation_time(const TwinArm* arm) noexcept nogil:
    """Since the reset [ns]."""
    return arm.elapsed_before + <int64_t> rint(arm.steps * arm.settings.time_step * SECOND)


# Brakes, one for each joint: they prescribe the motion instead of applying a torque. The joint's
# speed falls linearly to zero whatever its inertia and load, which is stable at any time step; a
# joint stop ends the motion. A joint that is commanded has no brake on, whatever the others do. A
# floating base is held, too, until the first command of a run, so that the robot does not fall
# before its controller is there. After that it moves freely under the braking joints.

cdef inline void engage_brake(TwinArm* arm, Py_ssize_t i) noexcept nogil:
    arm.braked[i], arm.braking[i] = True, arm.qd[i] / STOPPING_TIME
    arm.braking_left[i] = STOPPING_TIME if arm.qd[i] != 0.0 else 0.0


cdef inline void list_brakes(TwinArm* arm) noexcept nogil:
    arm.held.count = 0
    for i in range(arm.n):
        if arm.braked[i]:
            arm.held.freedom[arm.held.count] = arm.base + i
            arm.held.count += 1


cdef inline bint base_is_free(const TwinArm* arm) noexcept nogil:
    return arm.base > 0 and not arm.base_held


cdef inline void plan_braking(TwinArm* arm) noexcept nogil:
    """Position, velocity and acceleration of the joints that are held, at the instants of a time
    step; joint stops still act.
    """
    cdef const SimulatorSettings* settings = arm.settings
    cdef double h = settings.time_step
    cdef double lowest = -INFINITY, highest = INFINITY
    cdef Py_ssize_t instants = settings.simulator.instants
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


cdef inline void end_braking(TwinArm* arm) noexcept nogil:
    """Move the joints that are held to the end of the time step."""
    cdef const double* motion
    for j in range(arm.held.count):
        i = arm.held.freedom[j] - arm.base
        motion = arm.held.motion + 3 * (arm.settings.simulator.instants * arm.held.count + j)
        arm.q[i], arm.qd[i] = motion[0], motion[1]
        # the impact on a stop is not an acceleration of the brake
        arm.qdd[i] = motion[2] if arm.braking[i] != 0.0 else 0.0
        arm.braking_left[i] = max(arm.braking_left[i] - arm.settings.time_step, 0.0)


cdef inline Py_ssize_t find_brake_effort(TwinArm* arm) noexcept nogil:
    """Efforts in which those of the brakes, spring, offset and armature included, take the place of
    the drives', into ``effort``.

    Returns what ``SimulatorInterface.hold`` returns.
    """
    cdef const SimulatorSettings* settings = arm.settings
    cdef const SimulatorInterface* simulator = settings.simulator
    memset(arm.qdd_all, 0, arm.base * sizeof(double))
    failure = simulator.hold(simulator.simulator, base_is_free(arm), arm.q_all, arm.qd_all,
                             &arm.loads, arm.qdd_all, arm.scratch)
    for j in range(arm.held.count):
        i = arm.held.freedom[j] - arm.base
        arm.effort[i] = (arm.scratch[arm.base + i] + settings.drives.armature[i] * arm.qdd[i]
                         + standing_torque(&settings.drives, i, arm.q[i]))
    return failure


# Drives.

cdef inline Py_ssize_t integrate(TwinArm* arm, int64_t steps, const double* effort,
                                 const double* armature) noexcept nogil:
    """Time steps under the drives' effort (n,), armature (nv,) or NULL; returns what the
    simulator's function returns.
    """
    cdef double* tau = arm.scratch
    cdef int64_t each = 1 if has_spring(&arm.settings.drives, arm.n) else steps
    cdef Py_ssize_t failure = 0
    memset(tau, 0, arm.base * sizeof(double))
    while steps > 0 and not failure:
        take_standing(&arm.settings.drives, arm.n, arm.q, effort, tau + arm.base)
        failure = arm.settings.simulator.advance(arm.settings.simulator.simulator, each, tau,
                                                 armature, &arm.held, &arm.loads, arm.q_all,
                                                 arm.qd_all, arm.qdd_all)
        steps -= each
    return failure


# A drive that closes its own loop is a spring and a damper: effort + p (desired_q - q)
# + d (desired_qd - qd). As real ones ramp their set-points, it keeps its joint to a speed and an
# acceleration, and to a speed from which it can stop where it is to be. So its effort falls with
# the speed at the end of a time step h: the limit below the lowest speed that it allows, between
# them spring and damper, within the limit, and minus the limit above the highest. On each of these
# pieces
#
#     effort = applied - stiffness (qd - qd before)
#
# with a stiffness of 0 at a limit, RIGID / h at a speed, d + h p between them. Being of the end of
# the step it is stable for any gains; the stiffness acts like an armature of h stiffness. There is
# one solution, found by trying pieces (Judice, Pires, "A block principal pivoting algorithm for
# large-scale strictly monotone linear complementarity problems", 1994).
#
# In their own units (drive_units.pxd), a drive that is told a position is such a spring, and one
# that is told a duty cycle such a damper, by its back-EMF. Losses in gears are those at the speed
# with which a time step begins.

cdef inline Law law_of(const TwinArm* arm, Py_ssize_t i) noexcept nogil:
    return <Law> arm.settings.units.law[i] if arm.settings.units.converts else LAW_TORQUE


cdef inline void lose_in_gears(TwinArm* arm) noexcept nogil:
    """Bring the torques of motors that are told currents or duties behind their gears."""
    cdef const DriveUnits* u = &arm.settings.units
    for i in range(arm.n):
        if law_of(arm, i) in (LAW_TORQUE, LAW_POSITION):
            continue
        torque = arm.stalled[i]
        if arm.follows_velocity[i]:
            torque -= arm.settings.drive_d[i] * arm.qd[i]
        arm.share[i] = motor_share(u, i, torque, arm.qd[i])
        arm.command[i] = arm.stalled[i] / arm.share[i]
        saturate(arm, i)


cdef inline double position_gain(const TwinArm* arm, Py_ssize_t i) noexcept nogil:
    return arm.settings.drive_p[i] if arm.follows_position[i] and not arm.braked[i] else 0.0


cdef inline double velocity_gain(const TwinArm* arm, Py_ssize_t i) noexcept nogil:
    if not arm.follows_velocity[i] or arm.braked[i]:
        return 0.0
    return arm.settings.drive_d[i] / arm.share[i]


cdef inline double spring_effort(const TwinArm* arm, Py_ssize_t i, double q,
                                 double next) noexcept nogil:
    """Of spring and damper after a step from q, with the speed ``next`` then."""
    cdef double p = position_gain(arm, i), d = velocity_gain(arm, i), effort = arm.command[i]
    if d:                              # else nothing may be desired
        effort += d * (arm.desired_qd[i] - next)
    if p:
        effort += p * (arm.desired_q[i] - q - arm.settings.time_step * next)
    return effort


cdef inline void allowed_speeds(const TwinArm* arm, Py_ssize_t i, double q, double qd,
                                double* lowest, double* highest) noexcept nogil:
    """After a step from a state."""
    cdef double fastest = arm.settings.drive_speed[i]
    cdef double h = arm.settings.time_step, acceleration = arm.settings.drive_acceleration[i]
    lowest[0], highest[0] = -fastest, fastest
    # A servo that is told torques as offsets moves past what it is told.
    if arm.follows_position[i] and law_of(arm, i) != LAW_POSITION:
        distance, speed = arm.desired_q[i] - q, arm.desired_qd[i]
        speed += speed_to_reach(distance, qd - speed, PLANNED_BRAKING * acceleration, h)
        if distance < 0.0:
            lowest[0] = clipped(speed, fastest)
        else:
            highest[0] = clipped(speed, fastest)
    lowest[0] = max(min(lowest[0], qd + acceleration * h), qd - acceleration * h)
    highest[0] = max(min(highest[0], qd + acceleration * h), qd - acceleration * h)


cdef inline void use_spring(TwinArm* arm, Py_ssize_t i, double q, double qd,
                            double* stiffness) noexcept nogil:
    """Spring and damper; a drive that closes no loop applies its command."""
    cdef double value = velocity_gain(arm, i) + arm.settings.time_step * position_gain(arm, i)
    cdef double effort = spring_effort(arm, i, q, qd)
    arm.applied[i] = effort if value else clipped(effort, arm.settings.limit[i])
    stiffness[0] = value


cdef inline bint change_piece(TwinArm* arm, Py_ssize_t i, double q, double qd,
                              double* stiffness) noexcept nogil:
    """After a step from a state: whether the drive is on another piece than was tried."""
    cdef double rigid = RIGID / arm.settings.time_step, limit = arm.settings.limit[i]
    cdef double next = arm.qd[i], effort = arm.applied[i] - stiffness[0] * (next - qd)
    cdef double meant = clipped(spring_effort(arm, i, q, next), limit), lowest, highest
    allowed_speeds(arm, i, q, qd, &lowest, &highest)
    if stiffness[0] == rigid:
        if fabs(effort) > limit:
            arm.applied[i], stiffness[0] = clipped(effort, limit), 0.0
        elif (lowest < highest and effort != meant
              and (effort > meant) == (2.0 * next > lowest + highest)):
            use_spring(arm, i, q, qd, stiffness)
        else:
            return False
    elif next > highest and effort > -limit:
        arm.applied[i], stiffness[0] = rigid * (highest - qd), rigid
    elif next < lowest and effort < limit:
        arm.applied[i], stiffness[0] = rigid * (lowest - qd), rigid
    elif stiffness[0] == 0.0 and lowest <= next <= highest and effort != meant:
        use_spring(arm, i, q, qd, stiffness)
    elif fabs(effort) > limit:
        arm.applied[i], stiffness[0] = clipped(effort, limit), 0.0
    else:
        return False
    return True


cdef inline bint change_pieces(TwinArm* arm, bint one, const double* q, const double* qd,
                               double* stiffness) noexcept nogil:
    """Whether some drive is on another piece, of which ``one`` or all are changed."""
    cdef bint another = False
    for i in range(arm.n):
        another |= ((position_gain(arm, i) != 0.0 or velocity_gain(arm, i) != 0.0)
                    and change_piece(arm, i, q[i], qd[i], stiffness + i))
        if another and one:
            return True
    return another


cdef inline Py_ssize_t servo_step(TwinArm* arm) noexcept nogil:
    """One time step with drives that close their own loop."""
    cdef Py_ssize_t n = arm.n, last = ATTEMPTS * (n + 1)
    cdef double* armature_all = arm.scratch + arm.nq
    cdef double* start_q = armature_all + arm.nq
    cdef double* start_qd = start_q + arm.nq
    cdef double* stiffness = start_qd + arm.nq
    cdef double* q = start_q + (arm.nq - n)
    cdef double* qd = start_qd + arm.base
    memset(armature_all, 0, arm.base * sizeof(double))
    memcpy(start_q, arm.q_all, arm.nq * sizeof(double))
    memcpy(start_qd, arm.qd_all, arm.nv * sizeof(double))
    for i in range(n):
        use_spring(arm, i, q[i], qd[i], stiffness + i)
    for attempt in range(last + 1):
        memcpy(arm.q_all, start_q, arm.nq * sizeof(double))
        memcpy(arm.qd_all, start_qd, arm.nv * sizeof(double))
        for i in range(n):
            armature_all[arm.base + i] = (arm.settings.drives.armature[i]
                                          + arm.settings.time_step * stiffness[i])
        failure = integrate(arm, 1, arm.applied, armature_all)
        if failure:
            return failure
        if attempt == last or not change_pieces(arm, attempt >= TOGETHER, q, qd, stiffness):
            break
    for i in range(n):
        arm.applied[i] -= stiffness[i] * (arm.qd[i] - qd[i])
    return 0


cdef inline Py_ssize_t drive(TwinArm* arm, int64_t steps) noexcept nogil:
    """Advance; returns what the simulator's function returns."""
    cdef Py_ssize_t failure = 0
    cdef bint forced = arm.held.count < arm.n or base_is_free(arm)       # something moves by forces
    if forced and not (arm.servo or arm.held.count or arm.settings.units.loses):
        return integrate(arm, steps, arm.applied, NULL)
    for k in range(steps):
        plan_braking(arm)
        if arm.settings.units.loses:
            lose_in_gears(arm)
        if forced:
            failure = servo_step(arm) if arm.servo else integrate(arm, 1, arm.applied, NULL)
        if failure:
            return failure
        end_braking(arm)
    return 0


cdef inline bint saturate(TwinArm* arm, Py_ssize_t i) noexcept nogil:
    """applied: the command within the effort limit; returns whether that cut it."""
    arm.applied[i] = clipped(arm.command[i], arm.settings.limit[i])
    return arm.applied[i] != arm.command[i]


# Faults.

cdef inline void set_fault(TwinArm* arm, FaultKind kind, Py_ssize_t freedom) noexcept nogil:
    cdef Py_ssize_t joint = freedom - arm.base
    arm.fault.kind, arm.fault.joint = kind, <int32_t> joint
    arm.fault.position, arm.fault.velocity = (
        arm.q[joint] if joint >= 0 else 0.0, arm.qd_all[freedom])


cdef inline void find_divergence(TwinArm* arm) noexcept nogil:
    cdef Py_ssize_t first = arm.nq - arm.nv
    for i in range(arm.nv):
        if not (isfinite(arm.q_all[first + i]) and fabs(arm.qd_all[i]) <= ABSURD_SPEED):
            set_fault(arm, DIVERGED, i)
            return
    if not isfinite(arm.q_all[0]):
        set_fault(arm, DIVERGED, 0)


# Sensors.

cdef inline void sense(TwinArm* arm, int k, const double* values) noexcept nogil:
    """Measure the k-th of position, velocity and effort."""
    cdef double* measured = arm.measured + k * arm.n
    memcpy(measured, values, arm.n * sizeof(double))
    if arm.settings.noisy:
        for i in range(arm.n):
            measured[i] += arm.settings.deviation[k] * standard_normal(&arm.generator)


cdef inline void report_in_units(TwinArm* arm) noexcept nogil:
    """Put the measured efforts in the drives' units."""
    cdef const DriveUnits* u = &arm.settings.units
    cdef const SimulatorInterface* simulator = arm.settings.simulator
    cdef double* effort = arm.measured + 2 * arm.n
    cdef double* weight = arm.scratch + arm.base
    if not u.measures:
        return
    if u.hides:
        memset(arm.scratch + arm.nq, 0, 2 * arm.nq * sizeof(double))
        simulator.hold(simulator.simulator, False, arm.q_all, arm.scratch + arm.nq, NULL,
                       arm.scratch + 2 * arm.nq, arm.scratch)
    for i in range(arm.n):
        effort[i] = effort_of(u, i, effort[i], weight[i] if u.hides else 0.0)


cdef inline void measure(TwinArm* arm) noexcept nogil:
    """Measure; what is not finite is a fault, and is never published."""
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
    report_in_units(arm)
    for i in range(3 * arm.n):
        if not isfinite(arm.measured[i]):
            set_fault(arm, UNMEASURABLE, arm.base + i % arm.n)
            return


cdef inline void measure_now(TwinArm* arm) noexcept nogil:
    """Measure after the state was set: no effort was applied on the way to it."""
    list_brakes(arm)
    memset(arm.qdd, 0, arm.n * sizeof(double))
    measure(arm)


# Actions on the arm.

cdef inline void adopt_settings(TwinArm* arm, const SimulatorSettings* settings) noexcept nogil:
    """Use these settings from now on; state, command and time are kept."""
    cdef const SimulatorSettings* before = arm.settings
    if before != NULL:
        arm.elapsed_before = simulation_time(arm)
    if (before == NULL or before.noise_seed != settings.noise_seed
            or memcmp(before.deviation, settings.deviation, sizeof(settings.deviation))):
        seed(&arm.generator, settings.noise_seed)
    arm.steps, arm.settings = 0, settings
    memcpy(arm.locked.given, settings.locked, arm.locked.n * sizeof(double))
    settings.simulator.place(settings.simulator.simulator, arm.locked.at)
    for i in range(arm.n):
        saturate(arm, i)


cdef inline void move_locked(TwinArm* arm, double duration) noexcept nogil:
    """Move the locked joints to where they are now, in a time [s]; they stand while the arm moves.
    """
    cdef const SimulatorInterface* simulator = arm.settings.simulator
    if follow_locked(&arm.locked, duration):
        simulator.place(simulator.simulator, arm.locked.at)


cdef inline void reset_arm(TwinArm* arm) noexcept nogil:
    """Back to the initial position at time 0, without command, wrenches and fault."""
    arm.fault.kind = NO_FAULT
    arm.elapsed_before = arm.steps = arm.loads.count = 0
    memcpy(arm.q_all, arm.settings.home, arm.nq * sizeof(double))
    memset(arm.qd_all, 0, arm.nv * sizeof(double))
    memset(arm.qdd_all, 0, arm.nv * sizeof(double))
    arm.servo, arm.base_held = False, arm.settings.hold_until_command
    for i in range(arm.n):
        command_drive(arm, i, arm.q[i] if law_of(arm, i) == LAW_POSITION else 0.0)
        arm.servo = arm.servo or arm.follows_velocity[i]
        saturate(arm, i)
        arm.command_time[i], arm.braked[i] = NEVER, False
        if arm.settings.hold_until_command:
            engage_brake(arm, i)
    seed(&arm.generator, arm.settings.noise_seed)
    move_locked(arm, INFINITY)
    measure_now(arm)


cdef inline void command_drive(TwinArm* arm, Py_ssize_t i, double value) noexcept nogil:
    """Write what a drive is told, in its unit and within its own limits, as its command."""
    cdef const DriveUnits* u = &arm.settings.units
    cdef Law law = law_of(arm, i)
    arm.follows_position[i] = law == LAW_POSITION
    arm.follows_velocity[i] = law == LAW_POSITION or law == LAW_DUTY
    arm.desired_qd[i], arm.command[i], arm.share[i] = 0.0, 0.0, 1.0
    if law == LAW_POSITION:
        arm.desired_q[i] = value
    elif law == LAW_TORQUE:
        arm.command[i] = value
    else:
        arm.stalled[i] = arm.command[i] = stall_torque(u, i, clipped(value, u.max_command[i]))


cdef inline void take_command(TwinArm* arm, const bint* commanded, int64_t now) noexcept nogil:
    """Apply the command that has been written for the joints ``commanded`` (n,), and release their
    brakes.
    """
    cdef bint cut = False
    arm.servo = arm.base_held = False
    for i in range(arm.n):
        arm.servo = arm.servo or arm.follows_position[i] or arm.follows_velocity[i]
        if commanded[i]:
            cut |= saturate(arm, i)
            arm.command_time[i], arm.braked[i] = now, False
    arm.saturated += cut


cdef inline void restart_timeout(TwinArm* arm, int64_t now) noexcept nogil:
    """Count the command time-outs from now, e.g. after a pause."""
    for i in range(arm.n):
        if arm.command_time[i] != NEVER:
            arm.command_time[i] = now


cdef inline void state_was_set(TwinArm* arm) noexcept nogil:
    for i in range(arm.n):
        if arm.braked[i]:
            engage_brake(arm, i)
    measure_now(arm)


cdef inline bint apply_load(TwinArm* arm, Py_ssize_t link, const double* wrench) noexcept nogil:
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


cdef inline void external_wrench(const TwinArm* arm, Py_ssize_t link,
                                 double* wrench) noexcept nogil:
    """wrench (6): what acts on a link from outside, as it was applied."""
    memset(wrench, 0, 6 * sizeof(double))
    for k in range(arm.loads.count):
        if arm.loads.load[k].link == link:
            memcpy(wrench, arm.loads.load[k].wrench, 6 * sizeof(double))


cdef inline void end_loads(TwinArm* arm) noexcept nogil:
    """Remove the wrenches that have timed out; the others keep their order."""
    cdef Py_ssize_t left = 0
    cdef int64_t now = simulation_time(arm)
    for k in range(arm.loads.count):
        if arm.load_end[k] > now:
            arm.loads.load[left], arm.load_end[left] = arm.loads.load[k], arm.load_end[k]
            left += 1
    arm.loads.count = left


cdef inline void brake_uncommanded(TwinArm* arm, int64_t now) noexcept nogil:
    """Brake the joints whose commands have ended."""
    cdef int64_t timeout = arm.settings.command_timeout
    if timeout <= 0 or arm.settings.lockstep:
        return
    for i in range(arm.n):
        if (not arm.braked[i] and arm.command_time[i] != NEVER
                and now - arm.command_time[i] > timeout):
            engage_brake(arm, i)


cdef inline void advance_arm(TwinArm* arm, int64_t steps, int64_t now) noexcept nogil:
    """Advance by time steps (0: by a period), unless there is a fault.

    If that fails, it sets a fault and restores the last good state.
    """
    if arm.fault.kind != NO_FAULT:
        return
    if steps == 0:
        steps = arm.settings.steps_per_period
    brake_uncommanded(arm, now)
    list_brakes(arm)
    end_loads(arm)
    move_locked(arm, steps * arm.settings.time_step)
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
