# The torque controller as one state machine: a joint state, a request or the time in, at most one command out.
#
# The phases and what leads from one to another stand in featherstone_ros/control/phases.py; ``fire`` looks there.
# Times called ``now`` are of a steady clock [s]; what moves (motions, fades, rate limits) goes by the controller's time,
# the sum of the times between joint states (state_validator.pxd). Arrays are (n,) in joint order.

from libc.math cimport INFINITY, M_PI, NAN, fabs, fmin, isfinite, round
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from dynamics_interface cimport DynamicsInterface
from control.cartesian_mode cimport (CartesianMode, CartesianTarget, begin_mode, carry_target, copy_impedance, drop_stale, find_inverse_inertia, hand_torque, is_idle,
                                     joint_motion, rest_ahead, set_target)
from control.dead_reckoning cimport Reckoning, accelerate, add_reckoned, reckon
from control.governor cimport Governor, all_finite, begin_transfer, govern, start_from, transfer_left
from control.laws cimport add_drives, damped_gravity, law, model_torque, motion_torque
from control.model_blend cimport ModelBlend, change_model, combine, gravity, pass_time
from control.motion cimport Motion, Path, any_nonzero, extrapolate, follow_path, hold_at, lead_in, lead_in_duration, leads_to_rest, sample, sample_path, stop_from
from control.settings cimport CARTESIAN_IMPEDANCE, GRAVITY_COMPENSATION, JointLimits, Settings
from control.speed_limit cimport SpeedLimit
from control.state_validator cimport CONTRADICTORY, REPEATED, Judged, StateValidator, accept, best_estimate, common, elapsed, forget, forget_clocks, is_frozen, same, seen_since, trust, was_misled

cdef enum Phase:             # as in phases.py, which a test compares
    INACTIVE, WAITING, FLOATING, HOLDING, TRAJECTORY, REFERENCE, DAMPED, FAULT, BLIND, SILENT
    STOPPING, SETTLING, LEAVING_BLIND, PHASES

cdef enum Event:
    ACTIVATE, DEACTIVATE, STATE, STATES_STOPPED, GIVE_UP, FOLLOW, ARRIVED, SET_POINT, SET_POINTS_STOPPED
    HOLD, ABANDON, FALL_BACK, RECOVER, FAIL, FLOAT, TRACK, STOPPED, SETTLED, EVENTS

cdef enum Cause:             # of a hold or an abandoned motion; the texts are in featherstone_ros.control.events
    NO_CAUSE, CAUSE_DEACTIVATED, CAUSE_NO_STATES, CAUSE_GAP, CAUSE_OFF_PATH, CAUSE_NOT_FINITE, CAUSE_LATE_COMMANDS
    CAUSE_TOO_FAST, CAUSE_OSCILLATION, CAUSE_OFTEN, CAUSE_EXECUTOR, CAUSE_CANNOT_HOLD, CAUSE_FAILURE
    CAUSE_OFF_SPEED, CAUSE_IN_A_ROW, CAUSE_OUTSIDE, CAUSE_STANDS, CAUSE_FROZEN

cdef enum Refusal:           # the answer to a request; 0: granted
    GRANTED, NOT_RUNNING, FOLLOWS_NOTHING, ENDED, STARTS_TOO_FAR, SET_POINT_TOO_FAR, IN_FAULT, GRAVITY_IN_USE
    FOLLOWS_POSES, FOLLOWS_NO_POSES, NO_TIP

cdef enum NoteKind:          # what the controller has to say by itself
    NOTE_PHASE               # index: event; values: phase before, phase now
    NOTE_CAUSE               # index: joint; values: cause, found, bound
    NOTE_REJECTED            # index: joint; values: rejection, found, bound
    NOTE_OUTSIDE             # index: joint, beyond its limits when commands begin; values: position, lower, upper
    NOTE_MESSAGE             # index: joint; values: fault, field, claimed, expected

cdef extern from *:
    """
    #define STALL (3.0)
    #define NOTE_INTERVAL (0.1)
    #define EFFORT_TOLERANCE (1.5)
    #define DEAD_RECKONING (0.001)
    #define STANDING (0.02)
    #define STANDING_MOST (0.05)
    #define SPEEDING (1.2)
    #define SPEEDING_TIME (0.1)
    #define SWING (0.25)
    #define MOST_SWINGS (6)
    #define SWING_TIME (2.0)
    #define MOST_ABANDONED (3)
    #define ABANDONED_TIME (10.0)
    #define HALF_WAY (0.5)
    #define FAULT_SHARE (0.2)
    #define LIMIT_SLACK (1e-3)
    #define SPARSE (0.0125)
    #define SET_POINT_SLACK (0.01)
    #define SET_POINT_SPEED (1.5)
    #define PUSHED (0.1)
    #define PULLED_FAR (0.2)
    #define PULLED_TIME (0.5)
    """
    const double NOTE_INTERVAL     # [s] between two rejected states that are told of
    const double STALL             # periods without a call of tick: the process stood still, not the arm
    const double EFFORT_TOLERANCE  # times the effort limit that a measured effort may be, to be believed
    const double DEAD_RECKONING    # [s] time step: some 50 us of computing for 0.1 s of a 7-joint arm
    const double STANDING          # share of the velocity limit below which an arm stands,
    const double STANDING_MOST     # [rad/s, m/s] at most
    const double SPEEDING          # times the velocity limit, or the desired velocity, that is too fast
    const double SPEEDING_TIME     # [s] of the last ones
    const double SWING             # share of the velocity limit by which an oscillation is too fast to and fro
    const int MOST_SWINGS          # within
    const double SWING_TIME        # [s]
    const int MOST_ABANDONED       # motions within
    const double ABANDONED_TIME    # [s]
    const double HALF_WAY          # share of the tolerance that the state before has to be off
    const double FAULT_SHARE       # of the effort limit, by which damping brakes in a fault at the velocity limit
    const double LIMIT_SLACK       # [rad, m] beyond a limit that an encoder may say
    const double SPARSE            # [s] between states: below 80 Hz, or some are missing
    const double SET_POINT_SLACK   # [rad, m] that a set-point may be off without being led in
    const double SET_POINT_SPEED   # velocity limits that set-points may differ by
    const double PUSHED            # share of the effort limit that, beyond friction, moves any joint that is free,
    const double PULLED_FAR        # [rad, m] that the hand's target moves meanwhile, and
    const double PULLED_TIME       # [s] longer than a fade

cdef struct Watch:           # for what no single state shows
    double* speeding         # (n,) time spent too fast, leaking [s]
    double* swings           # (n,) changes of direction at speed, leaking
    double* direction        # (n,) of the last swing: -1, 0, 1
    double abandoned         # motions off their path, leaking
    int in_a_row             # trajectories off their path since one has arrived

cdef struct Hold:            # why the arm is, or was last, held instead of moved
    Cause cause
    Py_ssize_t joint
    double found, bound

# How the controller says something: to a loop's records, or to Python's own.
ctypedef void (*Say)(void* listener, NoteKind kind, Py_ssize_t index, double a, double b, double c, double d) noexcept nogil

cdef struct Controller:
    Py_ssize_t n
    Phase phase
    signed char[PHASES][EVENTS] next     # -1: nothing changes
    Settings settings
    JointLimits limits
    StateValidator validator
    Reckoning reckoning
    ModelBlend models
    Governor governor
    SpeedLimit speed
    Motion motion
    CartesianMode hand
    Watch watch
    Hold hold
    Hold fault               # that has not been asked to end yet; NO_CAUSE: none
    Hold fallen              # why no recovery from DAMPED before hold_until
    long long causes         # that there have been
    double* desired          # (4, n) of the last command
    double* torque
    double* gravity_torque   # gravity at the arm's position: what drives that add it carry
    double* bias             # (n,) torque that leaves the joints unaccelerated
    double* scratch          # (4, n)
    double* offset           # (4, n)
    double* zero             # (4, n)
    double* state            # (4, n) of a blind stop
    double* expected         # (n,) position that states are compared with
    double* turned           # (n,) whole turns that were added to the last good position [rad]
    double* turns            # (n,) likewise, of the state that is being looked at
    bint expects             # the motion is that of a blind stop, by steady time
    bint has_commanded       # since it was activated
    bint floats              # mode gravity_compensation
    bint let_go              # the hand was led a moment ago: what is left of its torque fades
    double commanded         # steady time of the last command
    double set_point_at
    double held_since
    double hold_until        # no recovery from DAMPED before
    double updated           # when ``tick`` last ran
    double noted_at          # when a rejected state was last told of
    double heartbeat         # when Python last gave a sign of life; inf: it need not
    long long commands
    Say say
    void* listener


cdef inline void note(Controller* c, NoteKind kind, Py_ssize_t index, double a, double b, double d,
                      double e) noexcept nogil:
    if c.say != NULL:
        c.say(c.listener, kind, index, a, b, d, e)


cdef inline bint fire(Controller* c, Event event) noexcept nogil:
    """Change the phase if the table says so; returns whether it did."""
    cdef Phase before = c.phase
    cdef int following = c.next[<int> before][<int> event]
    if following < 0:
        return False
    c.phase = <Phase> following
    note(c, NOTE_PHASE, event, <int> before, <int> c.phase, 0.0, 0.0)
    return True


cdef inline void because(Controller* c, Cause cause, Py_ssize_t joint, double found, double bound) noexcept nogil:
    """Keep and say why the arm is held; on the way out that stays what led there."""
    if c.phase != SETTLING or cause == CAUSE_DEACTIVATED:
        c.hold.cause, c.hold.joint, c.hold.found, c.hold.bound = cause, joint, found, bound
        c.causes += 1
    note(c, NOTE_CAUSE, joint, <int> cause, found, bound, 0.0)


cdef inline bint is_tracking(const Controller* c) noexcept nogil:
    """Whether the arm is asked to be somewhere."""
    return c.phase == HOLDING or c.phase == TRAJECTORY or c.phase == REFERENCE or c.phase == STOPPING


cdef inline bint sees(const Controller* c) noexcept nogil:
    """Whether commands go out that answer joint states."""
    return is_tracking(c) or c.phase == FLOATING or c.phase == DAMPED or c.phase == FAULT or c.phase == SETTLING


cdef inline bint is_blind(const Controller* c) noexcept nogil:
    return c.phase == BLIND or c.phase == LEAVING_BLIND


cdef inline bint leads_hand(const Controller* c) noexcept nogil:
    return c.settings.mode == CARTESIAN_IMPEDANCE


cdef inline double standing_speed(const Controller* c, Py_ssize_t i) noexcept nogil:
    return min(STANDING * c.limits.velocity[i], STANDING_MOST)


cdef inline bint stands(const Controller* c) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(c.n):
        if fabs(c.validator.qd[i]) > standing_speed(c, i):
            return False
    return True


# Motions of the arm's own.

cdef inline void stop_motion(Controller* c, double time, const double* state) noexcept nogil:
    """Ask the arm to come to rest from a motion state (not ``offset``)."""
    stop_from(&c.motion, time, state, c.settings.stop_time, c.limits.lower, c.limits.upper, c.offset, c.zero)


cdef inline void stop_desired(Controller* c) noexcept nogil:
    """Ask the arm to come to rest from what it is asked for now."""
    if leads_hand(c):
        rest_ahead(&c.hand.law, c.settings.stop_time)
        begin_transfer(&c.governor, c.settings.blend_time)
    sample(&c.motion, c.validator.time, c.scratch)
    stop_motion(c, c.validator.time, c.scratch)


cdef inline void latch(Controller* c) noexcept nogil:
    """Ask the arm to come to rest from the state that it is in."""
    memset(c.state, 0, 4 * c.n * sizeof(double))
    memcpy(c.state, c.validator.q, c.n * sizeof(double))
    memcpy(c.state + c.n, c.validator.qd, c.n * sizeof(double))
    stop_motion(c, c.validator.time, c.state)
    c.reckoning.begins = True
    sample(&c.motion, c.validator.time, c.desired)
    if leads_hand(c):
        begin_mode(&c.hand, c.models.newest.model, c.validator.q, c.validator.qd, c.settings.stop_time)
    begin_transfer(&c.governor, c.settings.blend_time)


cdef inline void reset_watch(Controller* c) noexcept nogil:
    memset(c.watch.speeding, 0, c.n * sizeof(double))
    memset(c.watch.swings, 0, c.n * sizeof(double))
    memset(c.watch.direction, 0, c.n * sizeof(double))


cdef inline void begin_tracking(Controller* c) noexcept nogil:
    """After a change of phase to HOLDING that follows no desired state."""
    latch(c)
    reset_watch(c)
    if c.floats:
        fire(c, FLOAT)


cdef inline void begin_hold(Controller* c, double now) noexcept nogil:
    """Fade to what holds the arm without asking it to be anywhere."""
    c.held_since, c.expects = now, False
    memset(c.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    begin_transfer(&c.governor, c.settings.decay_time)


cdef inline void begin_fault(Controller* c, double now) noexcept nogil:
    """The last command is part of what went wrong: only the rate limit delays that it ends."""
    if c.phase == FAULT:
        c.fault = c.hold
    begin_hold(c, now)
    begin_transfer(&c.governor, 0.0)
    reset_watch(c)


cdef inline void abandon(Controller* c, double now, Cause cause, Py_ssize_t joint, double found, double bound) noexcept nogil:
    """Give the motion up and come to rest from the state that the arm is in; too often, and it is a fault.

    Of single states that may be wrong, none counts: the one before has to be on its way there. Nor does a tolerance of
    the trajectory's own, nor a motion that is ahead because the stamps have leapt.
    """
    cdef bint was_trajectory = c.phase == TRAJECTORY
    cdef bint shown_twice = joint >= 0 and fabs(common(c.desired[joint] - c.validator.q[joint],
                                                       c.desired[joint] - c.validator.last_q[joint])) > HALF_WAY * bound
    if not fire(c, ABANDON):
        return
    because(c, cause, joint, found, bound)
    latch(c)
    if cause == CAUSE_STANDS or (cause == CAUSE_OFF_PATH and shown_twice and bound == c.settings.path_tolerance
                                 and c.validator.dt <= c.settings.state_timeout):
        c.watch.abandoned += 1.0
        c.watch.in_a_row += was_trajectory
        if c.watch.abandoned > MOST_ABANDONED - 0.5:
            disobeyed(c, now, CAUSE_OFTEN, joint, ABANDONED_TIME)
        elif c.watch.in_a_row >= MOST_ABANDONED:
            disobeyed(c, now, CAUSE_IN_A_ROW, joint, bound)


cdef inline void disobeyed(Controller* c, double now, Cause cause, Py_ssize_t joint, double bound) noexcept nogil:
    """The arm does not do what it is asked to."""
    if fire(c, FAIL):
        c.watch.abandoned, c.watch.in_a_row = 0.0, 0
        because(c, cause, joint, MOST_ABANDONED, bound)
        begin_fault(c, now)


cdef inline void return_to_fault(Controller* c, double now) noexcept nogil:
    """After a time without states a fault is still one: nobody has asked the arm to hold."""
    if c.fault.cause != NO_CAUSE and fire(c, FAIL):
        because(c, c.fault.cause, c.fault.joint, c.fault.found, c.fault.bound)
        begin_fault(c, now)


cdef inline void fail(Controller* c, double now, Cause cause, Py_ssize_t joint, double found, double bound) noexcept nogil:
    if fire(c, FAIL):
        because(c, cause, joint, found, bound)
        begin_fault(c, now)


# The beginning.

cdef inline bint is_plausible_effort(const Controller* c, const double* effort) noexcept nogil:
    """Whether a measured effort can be what holds the arm.

    An effort of exactly zero on all joints means that it is not measured, or that brakes hold the arm; one beyond the
    limits, that it is not what the drives apply.
    """
    cdef bint acts = False
    cdef Py_ssize_t i
    for i in range(c.n):
        if not fabs(effort[i]) <= EFFORT_TOLERANCE * c.settings.effort_limit[i] or not isfinite(effort[i]):
            return False
        acts |= effort[i] != 0.0
    return acts


cdef inline const double* holding_effort(Controller* c, const double* effort) noexcept nogil:
    """The command that continues what holds the arm. effort: measured, NULL for none.

    Drives that add gravity themselves hold the arm at command zero, whatever they report. After silence the drives still
    have the last command.
    """
    cdef bint adds = c.settings.hardware_adds_gravity
    if effort != NULL and c.settings.start_from_measured_effort and not adds and is_plausible_effort(c, effort):
        return effort
    if c.has_commanded:
        return c.governor.command
    if adds:
        return c.zero
    gravity(&c.models, c.validator.q, c.gravity_torque)
    return c.gravity_torque


cdef inline Py_ssize_t too_heavy(Controller* c) noexcept nogil:
    """The first joint that its effort limit cannot hold where the arm is, or -1; leaves gravity in ``gravity_torque``."""
    cdef Py_ssize_t i
    gravity(&c.models, c.validator.q, c.gravity_torque)
    for i in range(c.n):
        if not fabs(c.gravity_torque[i]) <= c.settings.effort_limit[i]:
            return i
    return -1


cdef inline void note_outside(Controller* c) noexcept nogil:
    """Say which joints stand beyond their limits."""
    cdef double slack = c.settings.start_tolerance
    cdef Py_ssize_t i
    for i in range(c.n):
        if not c.limits.lower[i] - slack <= c.validator.q[i] <= c.limits.upper[i] + slack:
            note(c, NOTE_OUTSIDE, i, c.validator.q[i], c.limits.lower[i], c.limits.upper[i], 0.0)


cdef inline Py_ssize_t where_no_arm_is(const Controller* c) noexcept nogil:
    """The first joint that stands further beyond its limits than start_tolerance, or -1.

    Or at all beyond them, if all positions are exactly zero: that is what hardware says that has not heard of its arm yet.
    """
    cdef double slack = c.settings.start_tolerance if any_nonzero(c.validator.q, c.n) else LIMIT_SLACK
    cdef Py_ssize_t i
    for i in range(c.n):
        if not c.limits.lower[i] - slack <= c.validator.q[i] <= c.limits.upper[i] + slack:
            return i
    return -1


cdef inline bint begin(Controller* c, double now, const double* effort) noexcept nogil:
    """Begin at the effort that holds the arm now; not if nothing can, nor where no arm is."""
    cdef Py_ssize_t i = where_no_arm_is(c) if c.phase == WAITING else -1
    if i >= 0:
        if c.hold.cause != CAUSE_OUTSIDE:
            because(c, CAUSE_OUTSIDE, i, c.validator.q[i],
                    c.limits.lower[i] if c.validator.q[i] < c.limits.lower[i] else c.limits.upper[i])
        forget(&c.validator)
        return False
    i = too_heavy(c)
    if i >= 0:
        if c.hold.cause != CAUSE_CANNOT_HOLD:
            because(c, CAUSE_CANNOT_HOLD, i, c.gravity_torque[i], c.settings.effort_limit[i])
        forget(&c.validator)
        return False
    if c.hold.cause == CAUSE_CANNOT_HOLD or c.hold.cause == CAUSE_OUTSIDE:
        c.hold.cause = NO_CAUSE
    note_outside(c)
    start_from(&c.governor, &c.settings, holding_effort(c, effort))
    fire(c, STATE)
    begin_tracking(c)
    return_to_fault(c, now)
    return True


# What every command is checked for.

cdef inline double surplus(const StateValidator* v, Py_ssize_t i, double desired) noexcept nogil:
    """Velocity beyond the desired one that both velocity and positions show: one wrong number makes no motion."""
    return common(v.qd[i] - desired, (v.q[i] - v.last_q[i]) / v.dt - desired) if v.dt > 0.0 else 0.0


cdef inline void watch_speed(Controller* c, double now, double dt) noexcept nogil:
    """A speed beyond what is allowed or asked for, for longer than a bump lasts."""
    cdef double speed, bound
    cdef Py_ssize_t i
    for i in range(c.n):
        speed = fabs(surplus(&c.validator, i, 0.0))
        bound = SPEEDING * max(c.limits.velocity[i], fabs(c.desired[c.n + i]))
        c.watch.speeding[i] = max(c.watch.speeding[i] + (dt * speed / bound if speed > bound else -0.5 * dt), 0.0)
        if c.watch.speeding[i] > SPEEDING_TIME:
            fail(c, now, CAUSE_TOO_FAST, i, speed, bound)
            return


cdef inline void watch_swings(Controller* c, double now, double dt) noexcept nogil:
    """A joint that goes to and fro at speed without being asked to."""
    cdef double error, bound, direction
    cdef Py_ssize_t i
    for i in range(c.n):
        error = surplus(&c.validator, i, c.desired[c.n + i])
        bound = SWING * c.limits.velocity[i]
        c.watch.swings[i] = max(c.watch.swings[i] - dt * MOST_SWINGS / SWING_TIME, 0.0)
        if fabs(error) <= bound:
            continue
        direction = 1.0 if error > 0.0 else -1.0
        if direction == -c.watch.direction[i]:
            c.watch.swings[i] += 1.0
        c.watch.direction[i] = direction
        if c.watch.swings[i] > 0.5 * MOST_SWINGS:
            fail(c, now, CAUSE_OSCILLATION, i, fabs(error), bound)
            return


cdef inline void watch_path(Controller* c, double now) noexcept nogil:
    """A motion that the arm does not follow: what holds it may let go at any time."""
    cdef const double* own = c.motion.path.tolerance if c.phase == TRAJECTORY and c.motion.path != NULL else c.zero
    cdef double worst = 1.0, error, bound
    cdef Py_ssize_t i, joint = -1
    for i in range(c.n):
        error, bound = fabs(c.desired[i] - c.validator.q[i]), smaller_tolerance(c.settings.path_tolerance, own[i])
        if bound > 0.0 and error > worst * bound:
            worst, joint = error / bound, i
    if joint >= 0:
        bound = smaller_tolerance(c.settings.path_tolerance, own[joint])
        abandon(c, now, CAUSE_OFF_PATH, joint, worst * bound, bound)
        return
    for i in range(c.n):
        error, bound = fabs(c.desired[c.n + i] - c.validator.qd[i]), own[c.n + i]
        if 0.0 < bound < error:
            abandon(c, now, CAUSE_OFF_SPEED, i, error, bound)
            return


cdef inline void watch_standing(Controller* c, double now, double dt) noexcept nogil:
    """A hand that is pulled on and an arm that does not move by a bit: brakes hold it, or its states are frozen."""
    cdef Py_ssize_t n = c.n, i, k
    cdef double effort, bound
    if not same(n, c.validator.q, c.validator.last_q):
        memcpy(c.hand.standing_from, c.desired, n * sizeof(double))
        c.hand.pulled = 0.0
        return
    for i in range(n):
        effort, bound = 0.0, c.settings.coulomb[i] + PUSHED * c.settings.effort_limit[i]
        for k in range(6):
            effort += c.hand.J[k * n + i] * c.hand.law.wrench[k]
        if fabs(effort) > bound and fabs(c.desired[i] - c.hand.standing_from[i]) > PULLED_FAR:
            c.hand.pulled += dt
            if c.hand.pulled > PULLED_TIME:
                abandon(c, now, CAUSE_STANDS, i, fabs(effort), bound)
            return
    c.hand.pulled = 0.0


cdef inline double smaller_tolerance(double a, double b) noexcept nogil:
    """The smaller of two tolerances, of which 0 means none."""
    return min(a, b) if a > 0.0 and b > 0.0 else max(a, b)


cdef inline void keep_within_limits(Controller* c) noexcept nogil:
    """What the arm is asked for ends at the position limits, or where it is if that is beyond: a stop is not pressed for good."""
    cdef double lower, upper
    cdef Py_ssize_t i
    for i in range(c.n):
        lower, upper = min(c.limits.lower[i], c.validator.q[i]), max(c.limits.upper[i], c.validator.q[i])
        if not lower <= c.desired[i] <= upper:
            c.desired[i] = min(max(c.desired[i], lower), upper)
            c.desired[c.n + i] = c.desired[2 * c.n + i] = 0.0


cdef inline void lead_hand(Controller* c, double now, double dt) noexcept nogil:
    """The effort of mode cartesian_impedance. The desired state is what the joints would do for the hand's, to first order."""
    cdef Py_ssize_t n = c.n, i
    dt = fmin(dt, c.settings.state_timeout)
    if drop_stale(&c.hand, now, c.settings.target_timeout):
        begin_transfer(&c.governor, c.settings.blend_time)
    carry_target(&c.hand, now, c.settings.target_timeout, dt)
    hand_torque(&c.hand, c.models.newest.model, c.settings.armature, c.validator.q, c.validator.qd, dt, c.torque)
    joint_motion(&c.hand, c.hand.law.error, c.limits.velocity, c.desired)           # what a second brings at most
    joint_motion(&c.hand, c.hand.law.desired_velocity, c.limits.velocity, c.desired + n)
    memset(c.desired + 2 * n, 0, 2 * n * sizeof(double))
    gravity(&c.models, c.validator.q, c.scratch)
    for i in range(n):
        c.desired[i] += c.validator.q[i]
        c.torque[i] += c.scratch[i]
    add_drives(&c.settings, n, c.desired + n, c.desired + 2 * n, c.torque)
    if c.phase == REFERENCE and is_idle(&c.hand, now, c.settings.target_timeout):
        fire(c, SET_POINTS_STOPPED)


cdef inline void move_on(Controller* c, double now, double time) noexcept nogil:
    """Bring the desired state to ``time``."""
    if c.phase == FLOATING:
        memcpy(c.desired, c.validator.q, c.n * sizeof(double))
        memcpy(c.desired + c.n, c.validator.qd, c.n * sizeof(double))
        memset(c.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
        return
    if (c.phase == REFERENCE and now - c.set_point_at > c.settings.reference_timeout
            and not leads_to_rest(&c.motion, c.n, time) and fire(c, SET_POINTS_STOPPED)):
        stop_desired(c)
    sample(&c.motion, time, c.desired)
    if c.phase == REFERENCE or c.phase == HOLDING:
        keep_within_limits(c)
    if c.phase != STOPPING:
        watch_path(c, now)
    if c.phase == TRAJECTORY and time >= c.motion.end:
        fire(c, ARRIVED)
        c.watch.in_a_row = 0


cdef inline const SpeedLimit* speed_limit(Controller* c, const double* added) noexcept nogil:
    """What keeps the joints' speed where the hand is led, or let go; NULL elsewhere, or where the model moves no inertia."""
    cdef Py_ssize_t i
    c.let_go &= transfer_left(&c.governor) > 0.0
    if is_blind(c) or not (leads_hand(c) or (c.let_go and c.phase == FLOATING)):
        return NULL
    if not is_tracking(c) and find_inverse_inertia(&c.hand, c.models.newest.model, c.settings.armature, c.validator.q):
        return NULL
    c.speed.qd = c.validator.qd                                 # it takes turns with last_qd
    combine(&c.models, c.validator.q, c.validator.qd, NULL, c.bias)
    if added != NULL:
        for i in range(c.n):
            c.bias[i] -= added[i]
    return &c.speed


cdef inline bint give(Controller* c, double now, double dt, const double* torque) noexcept nogil:
    """Turn an effort that includes gravity into the next command; False if it is not finite."""
    cdef const double* added = NULL
    cdef Py_ssize_t i
    if c.settings.hardware_adds_gravity:
        gravity(&c.models, c.desired if is_blind(c) and c.expects else c.validator.q, c.gravity_torque)
        for i in range(c.n):
            c.torque[i] = torque[i] - c.gravity_torque[i]
        added, torque = c.gravity_torque, c.torque
    if not govern(&c.governor, &c.settings, torque, added, speed_limit(c, added), dt):
        return False
    c.commanded, c.has_commanded = now, True
    c.commands += 1
    return True


cdef inline double fault_damping(const Controller* c, Py_ssize_t i) noexcept nogil:
    """Damping that ends a fault's motion soon, and that bears delays which the gains may not; 0 without limits."""
    cdef double damping = FAULT_SHARE * c.settings.effort_limit[i] / c.limits.velocity[i]
    return damping if isfinite(damping) else 0.0


cdef inline bint damped_command(Controller* c, double now, double dt) noexcept nogil:
    """Gravity and damping for the last good state, which is fresh."""
    cdef Py_ssize_t i
    damped_gravity(&c.settings, &c.models, c.n, c.validator.q, c.validator.qd, 1.0, c.torque)
    if c.phase == FAULT:
        for i in range(c.n):
            c.torque[i] -= max(fault_damping(c, i) - c.settings.damping[i], 0.0) * c.validator.qd[i]
    return give(c, now, dt, c.torque)


cdef inline double held_for(const Controller* c) noexcept nogil:
    """How long a command may act, where states are so far apart that the gains cannot bear it, else 0 [s]."""
    return c.validator.interval if c.validator.interval > SPARSE else 0.0


cdef inline bint command(Controller* c, double now, double time, double dt) noexcept nogil:
    """Work out the command for the last good state; returns whether there is one."""
    pass_time(&c.models, dt)
    c.watch.abandoned = max(c.watch.abandoned - dt * MOST_ABANDONED / ABANDONED_TIME, 0.0)
    if is_tracking(c):
        watch_speed(c, now, dt)
        watch_swings(c, now, dt)
    if c.phase == SETTLING and now - c.held_since >= c.settings.give_up_after and stands(c) and fire(c, SETTLED):
        c.has_commanded = False
        return False
    if c.phase == DAMPED and now >= c.hold_until and fire(c, RECOVER):
        begin_tracking(c)
    if not (is_tracking(c) or c.phase == FLOATING):
        return damped_command(c, now, dt)
    if c.phase == FLOATING or not leads_hand(c):
        move_on(c, now, time)
    elif c.phase != STOPPING:
        watch_standing(c, now, dt)
    if c.phase == STOPPING and time >= c.motion.end and fire(c, STOPPED):
        begin_hold(c, now)
        return damped_command(c, now, dt)
    if c.phase == FAULT:                                        # since a moment ago
        return damped_command(c, now, dt)
    if leads_hand(c):
        lead_hand(c, now, dt)
    else:
        law(&c.settings, &c.models, c.n, c.validator.q, c.validator.qd, c.desired, held_for(c), c.scratch, c.torque)
    if give(c, now, dt, c.torque):
        return True
    fall_back(c, now, CAUSE_NOT_FINITE, 0.0, 0.0)
    return damped_command(c, now, dt)


cdef inline void fall_back(Controller* c, double now, Cause cause, double found, double bound) noexcept nogil:
    """Abandon the motion for the damped gravity hold, for decay_time after the last call at least."""
    if fire(c, FALL_BACK):
        because(c, cause, -1, found, bound)
        begin_hold(c, now)
    c.fallen.cause, c.fallen.joint, c.fallen.found, c.fallen.bound = cause, -1, found, bound
    c.hold_until = now + c.settings.decay_time


# Without states.

cdef inline void dead_reckoning(Controller* c, double duration, double* state) noexcept nogil:
    """Bring a motion state to where an arm comes under the last command.

    The acceleration is the one that it has under this command in the end: an effort worked out for a motion that begins
    with this state begins with this command, too. state: (4, n).
    """
    cdef const Settings* its = &c.settings
    cdef double h = DEAD_RECKONING
    cdef double* applied = c.offset
    cdef Py_ssize_t n = c.n, i, k, steps = max(<Py_ssize_t> (duration / h + 0.5), 1)
    for k in range(steps):
        if its.hardware_adds_gravity:
            gravity(&c.models, state, c.gravity_torque)
        for i in range(n):
            applied[i] = c.governor.command[i] - its.offset[i]
            if its.hardware_adds_gravity:
                applied[i] += c.gravity_torque[i]
        if not accelerate(c.models.newest.model, state, state + n, applied, its.armature, its.viscous, its.coulomb, h,
                          state + n, state + 2 * n, c.offset + n):
            memset(state + 2 * n, 0, n * sizeof(double))        # neither links nor armature: only the velocity is known
        for i in range(n):
            state[i] += h * state[n + i]


cdef inline void expect(Controller* c, double now) noexcept nogil:
    """Make the motion by which the arm is to come to rest from where it must be by now, in steady time.

    Since the last good state it has had the last command.
    """
    cdef double age = now - seen_since(&c.validator)
    cdef Py_ssize_t i
    memset(c.state, 0, 4 * c.n * sizeof(double))
    best_estimate(&c.validator, c.state, c.state + c.n)
    if is_frozen(&c.validator) and not c.reckoning.begins:
        add_reckoned(&c.reckoning, &c.settings, c.desired, c.state, c.state + c.n)
        age -= c.reckoning.until
    memcpy(c.expected, c.state, c.n * sizeof(double))
    dead_reckoning(c, min(age, c.settings.state_timeout + c.settings.period), c.state)
    for i in range(c.n):
        c.state[i] = min(max(c.state[i], min(c.limits.lower[i], c.expected[i])), max(c.limits.upper[i], c.expected[i]))
    if is_frozen(&c.validator):                                 # what pushes it on is what is wrong
        memset(c.state + 2 * c.n, 0, c.n * sizeof(double))
    stop_motion(c, now, c.state)
    c.expects = True


cdef inline bint blind_command(Controller* c, double now) noexcept nogil:
    """Brake the arm by the model, or hold the last good state; its velocity says less and less: the damping fades."""
    cdef double dt = now - c.commanded
    cdef Py_ssize_t i
    pass_time(&c.models, dt)
    if c.settings.blind_stop:
        if not c.expects:
            expect(c, now)
        sample(&c.motion, now, c.desired)
        motion_torque(&c.settings, &c.models, c.n, c.desired, c.torque)
        if c.validator.last.rejection == CONTRADICTORY and now - c.validator.compared_at < c.settings.state_timeout:
            for i in range(c.n):                                # its positions are seen: they show how well it brakes
                c.torque[i] += fault_damping(c, i) * (c.desired[c.n + i] - c.validator.shown[i])
    else:
        damped_gravity(&c.settings, &c.models, c.n, c.validator.q, c.validator.qd, transfer_left(&c.governor), c.torque)
    return give(c, now, dt, c.torque)


# What comes in.

cdef inline void note_rejection(Controller* c, double now) noexcept nogil:
    """Tell of a state that is not believed, not of every one."""
    if now - c.noted_at < NOTE_INTERVAL:
        return
    c.noted_at = now
    note(c, NOTE_REJECTED, c.validator.last.joint, <int> c.validator.last.rejection, c.validator.last.found,
         c.validator.last.bound, 0.0)


cdef inline void count_turns(Controller* c, double* q) noexcept nogil:
    """Put joints that turn without end on the turn that they are on, whatever range they are measured in."""
    cdef Py_ssize_t i
    for i in range(c.n):
        if c.limits.continuous[i] and c.validator.accepted and isfinite(q[i]):
            c.turns[i] = 2.0 * M_PI * round((c.validator.q[i] - q[i]) / (2.0 * M_PI))
            q[i] += c.turns[i]


cdef inline bint accept_state(Controller* c, double now, double stamp, double on_its_way, const double* q,
                              const double* qd) noexcept nogil:
    """Whether a joint state is believed, by what the arm is asked to do."""
    cdef const double* desired = q
    cdef const double* pushed = c.zero
    cdef const double* likely = c.zero
    if is_tracking(c) and not leads_hand(c):    # a hand may be far from where it is led: see ``watch_standing``
        desired = c.desired
        reckon(&c.reckoning, &c.settings, &c.models, &c.validator, desired, elapsed(&c.validator, now, stamp))
        pushed, likely = c.reckoning.sure, c.scratch
        memset(c.scratch, 0, 2 * c.n * sizeof(double))
        add_reckoned(&c.reckoning, &c.settings, desired, c.scratch, c.scratch + c.n)
    else:
        c.reckoning.begins = True
    return accept(&c.validator, now, stamp, on_its_way, q, qd, desired, pushed, likely, c.settings.jump_tolerance,
                  c.settings.velocity_cutoff, c.settings.state_timeout)


cdef inline bint take_state(Controller* c, double now, double stamp, double on_its_way, double* q, const double* qd,
                            const double* effort) noexcept nogil:
    """Answer a joint state; returns whether there is a command.

    stamp: [s], 0 for none; on_its_way: [s] by two clocks, NaN if unknown; q: put on the turn that the arm is on; qd: NaN
    where it was not measured; effort: NULL if it was not.
    """
    cdef double last = c.validator.received, dt
    cdef bint blind = is_blind(c), follows_first = c.validator.dt == 0.0
    c.updated = now
    if c.phase == INACTIVE:
        return False
    count_turns(c, q)
    if not accept_state(c, now, stamp, on_its_way, q, qd):
        note_rejection(c, now)
        if c.validator.last.rejection in (REPEATED, CONTRADICTORY) and sees(c):    # feedback has pushed the arm on
            go_blind(c, now, now - seen_since(&c.validator))
            return is_blind(c) and blind_command(c, now)
        return False
    memcpy(c.turned, c.turns, c.n * sizeof(double))
    dt = c.validator.dt
    if c.phase == WAITING or c.phase == SILENT:
        if not begin(c, now, effort):
            return False
    elif blind:
        dt = now - c.commanded                                  # commands have gone out since the last state
        resume(c, now)
    elif min(now - last, dt) > c.settings.state_timeout:
        # As if the watchdog had looked in between: by now the motion would be far ahead.
        abandon(c, now, CAUSE_GAP, -1, dt, c.settings.state_timeout)
    elif c.phase == HOLDING and follows_first and was_misled(&c.validator):
        begin_tracking(c)
    if c.settings.on_timer:
        return False
    return command(c, now, c.validator.time, dt)


cdef inline void resume(Controller* c, double now) noexcept nogil:
    """States are back."""
    fire(c, STATE)
    if c.phase != HOLDING:                                      # leaving
        begin_hold(c, now)
        return
    begin_tracking(c)
    return_to_fault(c, now)
    if now < c.hold_until and fire(c, FALL_BACK):
        because(c, c.fallen.cause, c.fallen.joint, c.fallen.found, c.fallen.bound)
        begin_hold(c, now)


cdef inline void go_blind(Controller* c, double now, double age) noexcept nogil:
    """Do without states."""
    cdef const Judged* frozen = &c.validator.frozen
    if not fire(c, STATES_STOPPED):
        return
    if is_frozen(&c.validator):
        because(c, CAUSE_FROZEN, frozen.joint, frozen.found, frozen.bound)
        begin_hold(c, now)
        begin_transfer(&c.governor, 0.0)                        # what the feedback asked for was wrong
    else:
        because(c, CAUSE_NO_STATES, -1, age, c.settings.state_timeout)
        begin_hold(c, now)


cdef inline bint has_stopped_frozen(const Controller* c, double now) noexcept nogil:
    """Whether a blind stop is over for positions that lie: what would hold the arm there lets it fall where it is."""
    return is_frozen(&c.validator) and c.expects and now >= c.motion.end


cdef inline bint check_age(Controller* c, double now) noexcept nogil:
    """See how old the last good state is; to be called every period. Returns whether there is a command."""
    cdef bint stalled = now - c.updated > STALL * c.settings.period
    cdef double age = now - c.validator.received
    c.updated = now
    # After a stall of this process the states that arrived meanwhile are still to be read.
    if sees(c) and age > c.settings.state_timeout and not stalled:
        go_blind(c, now, age)
    if is_blind(c):
        if age > c.settings.state_timeout:                      # not after one state that contradicts itself
            forget(&c.validator)
        if now - c.held_since < c.settings.give_up_after and not has_stopped_frozen(c, now):
            return blind_command(c, now)
        c.has_commanded = c.phase == BLIND
        fire(c, GIVE_UP)
        forget(&c.validator)
    watch_executor(c, now)
    if c.settings.on_timer and sees(c):
        return command(c, now, c.validator.time + age, now - c.commanded)
    return False


cdef inline void watch_executor(Controller* c, double now) noexcept nogil:
    """Without a sign of life from Python nobody could ask for a stop: hold where the arm is."""
    cdef double age = now - c.heartbeat
    if (c.phase == TRAJECTORY or c.phase == REFERENCE) and age > c.settings.executor_timeout > 0.0:
        if fire(c, HOLD):
            because(c, CAUSE_EXECUTOR, -1, age, c.settings.executor_timeout)
            stop_desired(c)


# Requests. Each returns why it is refused, or GRANTED; refused, it changes nothing.

cdef inline void activate(Controller* c, double now) noexcept nogil:
    """Begin with the next joint state, or go on where the arm has not come to rest yet."""
    c.updated = now
    c.hold.cause = c.fault.cause = NO_CAUSE
    if c.phase == INACTIVE:
        forget(&c.validator)
        forget_clocks(&c.validator)                             # they may have been set meanwhile
        trust(&c.validator)
    if fire(c, ACTIVATE) and c.phase == HOLDING:
        begin_tracking(c)


cdef inline void deactivate(Controller* c, double now) noexcept nogil:
    """Come to rest; then the commands end."""
    if not fire(c, DEACTIVATE):
        return
    because(c, CAUSE_DEACTIVATED, -1, 0.0, 0.0)
    if c.phase == STOPPING:
        if leads_hand(c):                                       # its target may be far away
            latch(c)
        else:
            stop_desired(c)
        c.held_since = now
    elif c.phase == SETTLING:
        begin_hold(c, now)
    elif c.phase == INACTIVE:
        c.has_commanded = False


cdef inline Refusal why_not(const Controller* c) noexcept nogil:
    """Why nothing can be followed now."""
    if c.phase == FAULT:
        return IN_FAULT
    if c.phase == FLOATING:
        return FOLLOWS_NOTHING
    return GRANTED if c.phase == HOLDING or c.phase == TRAJECTORY or c.phase == REFERENCE else NOT_RUNNING


cdef inline Refusal why_no_joints(const Controller* c) noexcept nogil:
    """Why no motion of the joints can be followed now."""
    cdef Refusal refusal = why_not(c)
    return FOLLOWS_POSES if refusal == GRANTED and leads_hand(c) else refusal


cdef inline Refusal hold(Controller* c, double now) noexcept nogil:
    """Come to rest within stop_time and stay there; ends a fault."""
    cdef Refusal refusal = why_not(c)
    if refusal == IN_FAULT:
        fire(c, HOLD)
        c.hold.cause = c.fault.cause = NO_CAUSE
        c.watch.in_a_row = 0
        begin_tracking(c)
        return GRANTED
    if refusal == GRANTED:
        fire(c, HOLD)
        if c.motion.has_effort:
            begin_transfer(&c.governor, c.settings.blend_time)
        stop_desired(c)
    return refusal


cdef inline Refusal follow(Controller* c, const Path* path, double start, Hold* detail) noexcept nogil:
    """Follow a trajectory from now on; ``start`` is when its time is zero, by the controller's time; -inf: now.

    A point still to come may be as far away as the velocity limits allow until then, plus start_tolerance; where the
    trajectory is already under way, the tolerance alone counts.
    """
    cdef double time = c.validator.time, elapsed, wait, allowed, distance
    cdef Py_ssize_t i, piece = 0
    cdef Refusal refusal = why_no_joints(c)
    if refusal != GRANTED:
        return refusal
    if start == -INFINITY:
        start = time
    elapsed = time - start
    detail.found, detail.joint, detail.bound = elapsed - path.duration, -1, 0.0
    if elapsed > path.duration:
        return ENDED
    while piece + 1 < path.pieces and path.times[piece + 1] <= elapsed:
        piece += 1
    memset(c.scratch, 0, 4 * c.n * sizeof(double))
    sample_path(path, c.n, piece, elapsed, c.scratch)
    wait = max(path.times[0] - elapsed, 0.0)
    for i in range(c.n):
        allowed = c.settings.start_tolerance + (c.limits.velocity[i] * wait if wait > 0.0 else 0.0)
        distance = fabs(c.scratch[i] - c.validator.q[i])
        if not distance <= allowed:
            detail.joint, detail.found, detail.bound = i, distance, allowed
            return STARTS_TOO_FAR
    sample(&c.motion, time, c.state)
    follow_path(&c.motion, path, start, time, c.state, &c.limits, c.settings.stop_time, c.offset, c.zero)
    fire(c, FOLLOW)
    return GRANTED


cdef inline Refusal take_set_point(Controller* c, double now, const double* state, Hold* detail) noexcept nogil:
    """Follow a set-point (4, n), extrapolated at constant acceleration until the next one.

    One that differs by more than the arm may move meanwhile is led in.
    """
    cdef double time = c.validator.time, since = now - c.set_point_at if c.phase == REFERENCE else 0.0
    cdef bint jumps = False
    cdef Py_ssize_t i
    cdef Refusal refusal = why_no_joints(c)
    if refusal != GRANTED:
        return refusal
    sample(&c.motion, time, c.scratch)
    for i in range(c.n):
        detail.joint, detail.found, detail.bound = i, fabs(state[i] - c.scratch[i]), c.settings.start_tolerance
        if not detail.found <= detail.bound:
            return SET_POINT_TOO_FAR
        jumps |= detail.found > SET_POINT_SLACK + SET_POINT_SPEED * c.limits.velocity[i] * since
    if jumps and not (c.phase == REFERENCE and time < c.motion.correction_end):
        for i in range(4 * c.n):
            c.offset[i] = c.scratch[i] - state[i]
        extrapolate(&c.motion, time, state)
        lead_in(&c.motion, time, c.offset, lead_in_duration(c.n, c.offset, c.limits.velocity, c.settings.stop_time), c.zero)
    else:
        extrapolate(&c.motion, time, state)
    if c.phase != REFERENCE:
        begin_transfer(&c.governor, c.settings.blend_time)
    c.set_point_at = now
    fire(c, SET_POINT)
    return GRANTED


cdef inline Refusal take_target(Controller* c, double now, const CartesianTarget* target) noexcept nogil:
    """Lead the hand to a target."""
    cdef Refusal refusal = why_not(c)
    if refusal != GRANTED:
        return refusal
    if not leads_hand(c):
        return FOLLOWS_NO_POSES
    set_target(&c.hand, now, target)
    fire(c, SET_POINT)
    return GRANTED


cdef inline Refusal configure(Controller* c, const Settings* settings) noexcept nogil:
    """Take other settings, without a step in the command."""
    cdef bint commanding = sees(c) or is_blind(c), led_hand = leads_hand(c)
    cdef Settings mine = c.settings
    if settings.mode == CARTESIAN_IMPEDANCE and c.hand.link < 0:
        return NO_TIP
    if commanding and settings.hardware_adds_gravity != c.settings.hardware_adds_gravity:
        return GRAVITY_IN_USE
    c.settings = settings[0]
    copy_arrays(&c.settings, &mine, settings, c.n)
    if settings.impedance != NULL:
        copy_impedance(&c.hand, settings.impedance)
    c.settings.impedance = NULL                                 # a request's, which does not last
    c.reckoning.begins = True
    c.floats = settings.mode == GRAVITY_COMPENSATION
    if not (c.phase == FLOATING or c.phase == FAULT or is_tracking(c)):
        return GRANTED
    begin_transfer(&c.governor, c.settings.blend_time)
    c.let_go |= led_hand and c.floats
    if c.floats:
        fire(c, FLOAT)
        c.fault.cause = NO_CAUSE
    elif fire(c, TRACK):
        begin_tracking(c)
    elif led_hand != leads_hand(c) and c.phase != FAULT:
        fire(c, HOLD)
        begin_tracking(c)
    return GRANTED


cdef inline void copy_arrays(Settings* to, const Settings* mine, const Settings* given, Py_ssize_t n) noexcept nogil:
    """Copy the arrays of settings into the memory that the controller has for them."""
    to.p, to.d, to.damping, to.coulomb, to.viscous = mine.p, mine.d, mine.damping, mine.coulomb, mine.viscous
    to.offset, to.armature, to.effort_limit, to.torque_rate = mine.offset, mine.armature, mine.effort_limit, mine.torque_rate
    memcpy(to.p, given.p, 9 * n * sizeof(double))


cdef inline void take_model(Controller* c, const DynamicsInterface* model, uint64_t number, double transition) noexcept nogil:
    """Go over to another payload or gravity; at once while no commands go out."""
    cdef bint commanding = sees(c) or is_blind(c)
    change_model(&c.models, model, number, transition if commanding else 0.0)
    c.reckoning.begins = True
    if commanding and (transition <= 0.0 or leads_hand(c)):     # the hand's inertia changes at once
        begin_transfer(&c.governor, c.settings.blend_time)


cdef inline bint is_at_rest(const Controller* c) noexcept nogil:
    """Whether no commands go out, so that nothing ends when they do."""
    return not (sees(c) or is_blind(c))
