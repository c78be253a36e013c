# The command for the last good state: the desired state at this time, the control law's effort, and
# the governor.

from libc.math cimport fabs, fmin
from libc.string cimport memcpy, memset

from control.cartesian_mode cimport (drop_stale, impedance_torque, is_idle, joint_motion,
                                     move_target)
from control.controller_state cimport Controller, fire, is_blind, is_tracking, leads_hand
from control.end_effector cimport update_inertia
from control.events cimport CAUSE_NOT_FINITE
from control.faults cimport ABANDONED_TIME, MOST_ABANDONED, fall_back, max_speed_share
from control.laws cimport add_drives, damped_gravity, law, slide
from control.model_blend cimport combine, gravity, pass_time
from control.monitoring cimport watch_oscillation, watch_path, watch_speed, watch_standing
from control.motion cimport leads_to_rest, sample
from control.phases cimport (ARRIVED, DAMPED, FAULT, FLOATING, HOLDING, RECOVER, REFERENCE, SETTLED,
                             SETTLING, SET_POINTS_STOPPED, STOPPED, STOPPING, TRAJECTORY)
from control.speed_limit cimport SpeedLimit
from control.stop cimport begin_hold, begin_tracking, stop_desired
from control.state_estimate cimport SPARSE
from control.torque_governor cimport begin_transfer, govern, transfer_left

cdef extern from *:
    """
    #define STANDING (0.02)
    #define STANDING_MOST (0.05)
    #define FASTER (1.1)
    #define COASTING (0.5)
    """
    const double STANDING          # share of the velocity limit below which an arm stands,
    const double STANDING_MOST     # [rad/s, m/s] at most
    const double FASTER            # times the speed from which a fault began to brake, or the limit
    const double COASTING          # [s] without damping then


cdef inline void keep_within_limits(Controller* c) noexcept nogil:
    """Keep the desired position within the limits, or at the arm if it is beyond them: the arm must
    not press on a stop for ever.
    """
    cdef double lower, upper
    cdef Py_ssize_t i
    for i in range(c.n):
        lower, upper = (
            min(c.limits.lower[i], c.validator.likely_q[i]),
            max(c.limits.upper[i], c.validator.likely_q[i]))
        if not lower <= c.desired[i] <= upper:
            c.desired[i] = min(max(c.desired[i], lower), upper)
            c.desired[c.n + i] = c.desired[2 * c.n + i] = 0.0


cdef inline void move_on(Controller* c, double now, double time) noexcept nogil:
    """Find the desired state at ``time``."""
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


cdef inline void lead_hand(Controller* c, double now, double dt) noexcept nogil:
    """The effort of mode cartesian_impedance.

    The joints' desired state is the one that gives the hand's, to first order.
    """
    cdef Py_ssize_t n = c.n, i
    dt = fmin(dt, c.settings.state_timeout)
    if drop_stale(&c.hand, now, c.settings.target_timeout):
        begin_transfer(&c.governor, c.settings.blend_time)
    move_target(&c.hand, now, c.settings.target_timeout, dt)
    impedance_torque(&c.hand.law, c.models.newest.model, c.settings.armature, c.validator.likely_q,
                     c.validator.likely_qd, dt, c.torque)
    # at most the motion of one second
    joint_motion(&c.hand.law, c.hand.law.error, c.limits.velocity, c.desired)
    joint_motion(&c.hand.law, c.hand.law.desired_velocity, c.limits.velocity, c.desired + n)
    memset(c.desired + 2 * n, 0, 2 * n * sizeof(double))
    gravity(&c.models, c.validator.likely_q, c.scratch)
    for i in range(n):
        c.desired[i] += c.validator.likely_q[i]
        c.reckoning.given[i] = c.torque[i]
        c.torque[i] += c.scratch[i]
    slide(&c.settings, n, c.desired + n, dt, c.presliding)
    add_drives(&c.settings, n, c.desired + n, c.desired + 2 * n, c.presliding, c.torque)
    for i in range(n):
        c.reckoning.given[i] -= c.torque[i]                     # what is not feedback
        if c.settings.hardware_adds_gravity:
            c.reckoning.given[i] += c.scratch[i]
    if c.phase == REFERENCE and is_idle(&c.hand, now, c.settings.target_timeout):
        fire(c, SET_POINTS_STOPPED)


cdef inline const SpeedLimit* speed_limit(Controller* c, const double* added) noexcept nogil:
    """The joints' speed limit while the hand is led or has just been let go; NULL otherwise, and
    for a model without inertia.
    """
    cdef Py_ssize_t i
    c.let_go &= transfer_left(&c.governor) > 0.0
    if is_blind(c) or not (leads_hand(c) or (c.let_go and c.phase == FLOATING)):
        return NULL
    if (not is_tracking(c)
            and update_inertia(&c.hand.law, c.models.newest.model, c.settings.armature,
                               c.validator.likely_q)):
        return NULL
    combine(&c.models, c.validator.likely_q, c.validator.likely_qd, NULL, c.bias)
    if added != NULL:
        for i in range(c.n):
            c.bias[i] -= added[i]
    return &c.speed


cdef inline bint issue_command(Controller* c, double now, double dt,
                               const double* torque) noexcept nogil:
    """Turn an effort that includes gravity into the next command; False if it is not finite."""
    cdef const double* added = NULL
    cdef Py_ssize_t i
    if c.settings.hardware_adds_gravity:                        # where the torque is for
        gravity(&c.models, c.desired if is_blind(c) and c.expects else c.validator.likely_q,
                c.gravity_torque)
        for i in range(c.n):
            c.torque[i] = torque[i] - c.gravity_torque[i]
        added, torque = c.gravity_torque, c.torque
    if not govern(&c.governor, &c.settings, torque, added, speed_limit(c, added), dt):
        return False
    c.commanded, c.has_commanded = now, True
    c.commands += 1
    return True


cdef inline bint damped_command(Controller* c, double now, double dt) noexcept nogil:
    """Gravity and damping for the likely state, which is fresh.

    Damping that makes an arm faster than it was as a fault began is that of wrong velocities: then
    gravity's torque alone is left for a while.
    """
    cdef const double* qd = c.validator.likely_qd
    cdef double fastest
    cdef bint coasts
    cdef Py_ssize_t i
    if c.phase == FAULT:
        fastest = max_speed_share(c)
        if fastest > FASTER * max(c.watch.braked_from, 1.0):
            c.watch.braked_from, c.watch.coasts_until = fastest, now + COASTING
    coasts = now < c.watch.coasts_until
    damped_gravity(&c.settings, &c.models, c.n, c.validator.likely_q, qd, 0.0 if coasts else 1.0,
                   c.torque)
    if c.phase == FAULT and not coasts:
        for i in range(c.n):
            c.torque[i] -= max(c.settings.fault_damping[i] - c.settings.damping[i], 0.0) * qd[i]
    return issue_command(c, now, dt, c.torque)


cdef inline double held_for(const Controller* c) noexcept nogil:
    """How long a command will act [s] where states are too far apart for the gains, else 0."""
    return c.validator.interval if c.validator.interval > SPARSE else 0.0


cdef inline double standing_speed(const Controller* c, Py_ssize_t i) noexcept nogil:
    return min(STANDING * c.limits.velocity[i], STANDING_MOST)


cdef inline bint stands(const Controller* c) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(c.n):
        if fabs(c.validator.qd[i]) > standing_speed(c, i):
            return False
    return True


cdef inline bint command(Controller* c, double now, double time, double dt) noexcept nogil:
    """Work out the command for the last good state; returns whether there is one."""
    cdef Py_ssize_t i
    pass_time(&c.models, dt)
    c.watch.abandoned = max(c.watch.abandoned - dt * MOST_ABANDONED / ABANDONED_TIME, 0.0)
    c.watch.incident = max(c.watch.incident - dt, 0.0)
    if is_tracking(c):
        watch_speed(c, now, dt)
        watch_oscillation(c, now, dt)
    if (c.phase == SETTLING and now - c.held_since >= c.settings.give_up_after and stands(c)
            and fire(c, SETTLED)):
        c.has_commanded = False
        return False
    if c.phase == DAMPED and now >= c.hold_until and fire(c, RECOVER):
        begin_tracking(c)
    if not is_tracking(c):
        memset(c.presliding, 0, c.n * sizeof(double))
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
        slide(&c.settings, c.n, c.desired + c.n, dt, c.presliding)
        law(&c.settings, &c.models, c.n, c.validator.likely_q, c.validator.likely_qd, c.desired,
            c.presliding, held_for(c), c.scratch, c.torque)
    if issue_command(c, now, dt, c.torque):
        if leads_hand(c):
            for i in range(c.n):
                c.reckoning.given[i] += c.governor.command[i]
        return True
    fall_back(c, now, CAUSE_NOT_FINITE, 0.0, 0.0)
    return damped_command(c, now, dt)
