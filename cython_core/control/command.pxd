# The command for the last good state: the desired state at this time, the control law's effort, and
# the governor.

from libc.math cimport NAN, expm1, fabs, fmin
from libc.string cimport memcpy, memmove, memset

from control.arm cimport (accelerates, combine, drives_end_effector, gravity, leads_end_effector,
                          moves_virtual_arm, pass_time)
from control.cartesian_impedance cimport (cartesian_impedance, limited_motion, update_inertia,
                                          update_kinematics)
from control.cartesian_mode cimport (CartesianMode, follow_wrench, move_target, rest_anchored,
                                     return_to_anchor)
from control.controller_state cimport Command, Controller, is_open_loop, is_tracking, usual_step
from control.events cimport CAUSE_NOT_FINITE, CAUSE_NO_WRENCH, Reason, because
from control.fault_bounds cimport COASTING, FASTER, LIMIT_SLACK, LONGEST_STEP, REPEAT_TIME
from control.impedance_modes cimport joint_effort
from control.laws cimport cut_together, damped_gravity, feedback, law, slide
from control.measured_wrench cimport is_fresh
from control.motion cimport sample
from control.phase_changes cimport arrive, let_time_pass, respond
from control.phases cimport FAULT, FLOATING, REFERENCE, STOPPING, TRAJECTORY
from control.position_governor cimport govern_positions, govern_servos
from control.settings cimport FEEDBACK_TORQUES
from control.state_clock cimport StateClock, overdue_at
from control.state_observer cimport Observer, common, max_speed_share
from control.supervision cimport supervise
from control.torque_governor cimport (LASTING, SpeedLimit, begin_transfer, govern, note_feedback,
                                      push_no_further, transfer_left)
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport add_drives
from smooth_friction cimport after_motion, dry_torque, presliding

cdef extern from *:
    const double SPARSE "0.0125"  # [s] between states that are too far apart for the gains, or
                                  # commands for the acceleration of an instant: 80 Hz
    const double SPELL "0.015"    # [s] in which states may come in a burst


cdef inline void find_contact_effort(Controller* c) noexcept nogil:
    """Find the effort (n,) of what the end effector touches."""
    for i in range(c.n):
        c.sent.contact[i] = joint_effort(&c.task.cartesian.law,
                                         c.task.cartesian.measured.contact, i)


cdef inline void slide_end_effector(Controller* c, double dt) noexcept nogil:
    """Advance presliding states by the desired motion, and what a force adds to the torques."""
    cdef CartesianMode* mode = &c.task.cartesian
    cdef const double* speed = c.task.desired + c.n
    cdef double* sliding = c.task.presliding
    for i in range(c.n):
        more = joint_effort(&mode.law, mode.force_axes.more, i)
        if more == 0.0 or speed[i] != 0.0:
            sliding[i] = presliding(sliding[i], speed[i], dt,
                                    c.arm.settings.presliding_displacement)
        if more != 0.0:
            sliding[i] = after_motion(sliding[i], more, dry_torque(
                c.arm.joints.drives.coulomb[i], c.arm.joints.drives.load[i], c.sent.torque[i], 1.0))


cdef inline void lead_end_effector(Controller* c, double now, double dt) noexcept nogil:
    """Mode cartesian_impedance; the joints' desired state gives the end effector's, linearly."""
    cdef CartesianMode* mode = &c.task.cartesian
    cdef double* desired = c.task.desired
    cdef double* torque = c.sent.torque
    cdef Py_ssize_t n = c.n
    dt = fmin(dt, c.arm.settings.state_timeout)
    mode.measured.is_there = is_fresh(&mode.measured, now, c.arm.settings.wrench_timeout)
    if move_target(mode, now, c.arm.settings.target_timeout, dt):
        begin_transfer(&c.sent.governor, c.arm.settings.blend_time)
    gravity(&c.arm.models, c.observer.q, c.sent.gravity_torque)
    if cartesian_impedance(&mode.law, c.arm.models.newest.model, c.arm.joints.drives.armature,
                           c.observer.q, c.observer.qd, dt, c.sent.gravity_torque,
                           c.arm.joints.effort_limit, torque):
        torque[0] = NAN                                         # the model moves no inertia
    find_contact_effort(c)
    # at most the motion of one second
    limited_motion(&mode.law, mode.law.error, 1.0, 1.0, c.arm.limits.velocity, desired)
    memcpy(desired + n, mode.law.followed, n * sizeof(double))
    memset(desired + 2 * n, 0, 2 * n * sizeof(double))
    for i in range(n):
        desired[i] += c.observer.q[i]
        torque[i] += c.sent.gravity_torque[i]
        c.stuck.feedback[i] = torque[i]
    slide_end_effector(c, dt)
    add_drives(&c.arm.joints.drives, n, c.observer.q, desired + n, desired + 2 * n,
               c.task.presliding, torque)
    for i in range(n):
        c.stuck.feedback[i] -= torque[i]                        # what is not feedback


cdef inline bint has_lost_wrench(Controller* c, double now) noexcept nogil:
    """Bring the end effector to rest if no wrench is measured any more; to where it was held it
    goes back as soon as there is a wrench again. Returns whether a motion has to be given up.
    """
    cdef CartesianMode* mode = &c.task.cartesian
    cdef bint was_there = mode.measured.is_there
    cdef bint fresh = is_fresh(&mode.measured, now, c.arm.settings.wrench_timeout)
    mode.measured.is_there = fresh and c.machine.phase != STOPPING
    if mode.measured.is_there:
        return_to_anchor(mode)
    elif was_there and not fresh:
        rest_anchored(mode, c.arm.models.newest.model, c.arm.settings.stop_time)
        return c.machine.phase == REFERENCE
    return False


cdef inline void lead_virtual_arm(Controller* c, double now, double dt) noexcept nogil:
    """The desired state of mode admittance."""
    cdef const DynamicsInterface* model = c.arm.models.newest.model
    cdef CartesianMode* mode = &c.task.cartesian
    cdef double stop_time = c.arm.settings.stop_time
    # After a gap it goes on where it was: the drives would have to jump to where it would be.
    dt = fmin(dt, fmin(2.0 * usual_step(c), REPEAT_TIME))
    update_kinematics(&mode.law, model, mode.virtual_arm.q, mode.virtual_arm.qd)
    move_target(mode, now, c.arm.settings.target_timeout, dt)
    # Rotors only where links have no inertia: the virtual arm has none.
    if not (follow_wrench(mode, model, c.zero, &c.arm.limits, stop_time, dt, c.task.desired)
            or follow_wrench(mode, model, c.arm.joints.drives.armature, &c.arm.limits, stop_time,
                             dt, c.task.desired)):
        c.task.desired[0] = NAN
    find_contact_effort(c)


cdef inline const SpeedLimit* speed_limit(const Controller* c, const double* added) noexcept nogil:
    """The speed limit while the end effector is led, or just was; otherwise NULL."""
    cdef bint leaves = c.sent.leaves_end_effector and c.machine.phase == FLOATING
    if is_open_loop(&c.machine) or not (drives_end_effector(&c.arm) or leaves):
        return NULL
    if (not is_tracking(&c.machine)
            and update_inertia(&c.task.cartesian.law, c.arm.models.newest.model,
                               c.arm.joints.drives.armature, c.observer.q)):
        return NULL
    combine(&c.arm.models, c.observer.q, c.observer.qd, NULL, c.sent.bias)
    if added != NULL:
        for i in range(c.n):
            c.sent.bias[i] -= added[i]
    return &c.sent.speed


cdef inline double longest_step(const Controller* c) noexcept nogil:
    """How much time one command may make up for where drives follow positions [s]: twice the
    longest in a spell, the median of the last three. So a gap is no usual step: after it, another
    one would end in a step of the position.
    """
    cdef const double* spells = c.sent.longest + 1
    usual = max(min(spells[0], spells[1]), min(max(spells[0], spells[1]), spells[2]))
    return max(2.0 * usual, LONGEST_STEP)


cdef inline void command_positions(Controller* c, double dt) noexcept nogil:
    """Work out what drives with position loops follow: where no motion is asked for, the measured
    position at rest, so that they damp the arm; where that is unknown, they stop.
    """
    cdef const double* goal = c.observer.q
    cdef const double* speed = c.zero
    if (is_tracking(&c.machine) or c.machine.phase == FLOATING
            or (is_open_loop(&c.machine) and c.task.has_planned_stop)):
        goal, speed = c.task.desired, c.task.desired + c.n
    elif is_open_loop(&c.machine):
        goal = c.positions.q
    govern_positions(&c.positions, &c.arm.limits, goal, speed, dt, longest_step(c))
    if c.servos.governor.used:
        # A position that follows the measured one must not run ahead of it.
        govern_servos(&c.servos, &c.arm.limits, &c.positions, c.sent.governor.command,
                      c.servos.ahead if is_tracking(&c.machine) else 0.0, dt, longest_step(c))


cdef inline bint issue_command(Controller* c, double now, double dt) noexcept nogil:
    """Make ``sent.torque``, gravity included, the next command; False if it is not finite."""
    cdef Command* sent = &c.sent
    cdef const double* added = NULL
    cdef bint together = is_tracking(&c.machine) and accelerates(&c.arm)
    if c.arm.settings.hardware_adds_gravity:                    # where the torque is for
        gravity(&c.arm.models, c.observer.q, sent.gravity_torque)
        for i in range(c.n):
            sent.torque[i] -= sent.gravity_torque[i]
        added = sent.gravity_torque
    sent.leaves_end_effector &= transfer_left(&sent.governor) > 0.0
    if not (sent.governor.begins or is_tracking(&c.machine) or is_open_loop(&c.machine)):
        # no feedback would end the motion
        push_no_further(&sent.governor, c.observer.qd, dt / (dt + LASTING))
    limit = speed_limit(c, added)
    if not govern(&sent.governor, &c.arm.joints, sent.torque, added, limit, together, dt,
                  max(c.arm.settings.command_period, LONGEST_STEP)):
        return False
    if c.positions.used:
        command_positions(c, dt)
    share = -expm1(-2.0 * dt / c.clock.late) if c.clock.late > 0.0 and sent.has_begun else 1.0
    for i in range(c.n):
        sent.acting[i] += share * (sent.governor.command[i] - sent.acting[i])
    sent.interval = now - sent.at if sent.has_begun else 0.0
    sent.spell += max(sent.interval, 0.0)                       # a simulation may begin anew
    sent.longest[0] = max(sent.longest[0], sent.interval)
    if sent.spell > SPELL:
        memmove(sent.longest + 1, sent.longest, 3 * sizeof(double))
        sent.longest[0] = sent.spell = 0.0
    sent.at, sent.has_begun = now, True
    sent.count += 1
    return True


cdef inline void damped_torque(Controller* c, double now) noexcept nogil:
    """Gravity and damping. Damping that makes an arm faster than it was as a fault began is that of
    wrong velocities: then gravity's torque alone is left for a while.
    """
    cdef const Observer* o = &c.observer
    cdef bint coasts
    if c.machine.phase == FAULT:
        fastest = max_speed_share(o)
        if fastest > FASTER * max(c.watch.braked_from, 1.0):
            c.watch.braked_from, c.watch.coasts_until = fastest, now + COASTING
    coasts = now < c.watch.coasts_until
    damped_gravity(&c.arm, o.q, 0.0 if coasts else 1.0, c.sent.torque)
    if c.machine.phase == FAULT and not coasts:
        for i in range(c.n):
            c.sent.torque[i] -= o.qd[i] * max(c.arm.joints.fault_damping[i]
                                              - c.arm.joints.damping[i], 0.0)


cdef inline double held_for(const StateClock* k) noexcept nogil:
    """How long a command will act [s] where states are too far apart for the gains, else 0."""
    return k.interval if k.interval > SPARSE else 0.0


cdef inline void joint_law(const Controller* c, double* torque) noexcept nogil:
    """What the law of the joints asks for, in the state of the last command."""
    law(&c.arm, c.observer.q, c.task.desired, c.task.presliding, held_for(&c.clock), torque)


cdef inline void sample_held(Controller* c, double time, double held, double dt) noexcept nogil:
    """The desired state, dt [s] after the last command, of one that will act for ``held`` [s].

    Where that is too long for the motion of an instant, its acceleration leads to the velocity at
    the end of it from that to which those before have led: so they add up, also where the motion
    has changed in between. What is beyond the limits, at a corner of a path, is left to the
    feedback.
    """
    cdef double* desired = c.task.desired
    cdef Py_ssize_t n = c.n
    for i in range(n):
        c.task.driven[i] += dt * desired[2 * n + i]
    sample(&c.task.motion, time, desired)
    if held <= SPARSE:
        memcpy(c.task.driven, desired + n, n * sizeof(double))
        return
    sample(&c.task.motion, time + held, c.task.state)
    for i in range(n):
        bound = max(c.arm.limits.acceleration[i], c.arm.limits.deceleration[i],
                    fabs(desired[2 * n + i]))
        a = (c.task.state[n + i] - c.task.driven[i]) / held
        desired[2 * n + i] = min(max(a, -bound), bound)
        c.task.driven[i] = c.task.state[n + i] - desired[2 * n + i] * held


cdef inline void lead_joints(Controller* c, double time, double dt) noexcept nogil:
    """The joints' desired state at the controller's time, dt [s] after the last command: within the
    limits, or at an arm that is beyond them, which must not press on a stop for ever.
    """
    cdef double* desired = c.task.desired
    cdef double slack = LIMIT_SLACK if c.machine.phase == TRAJECTORY else 0.0
    if c.machine.phase == FLOATING:
        memcpy(desired, c.observer.q, 2 * c.n * sizeof(double))
        memset(desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    elif is_tracking(&c.machine) and not leads_end_effector(&c.arm):
        sample_held(c, time, min(dt, c.sent.interval), dt)
        for i in range(c.n):
            lower = min(c.arm.limits.lower[i] - slack, c.observer.q[i])
            upper = max(c.arm.limits.upper[i] + slack, c.observer.q[i])
            if not lower <= desired[i] <= upper:
                desired[i] = min(max(desired[i], lower), upper)
                desired[c.n + i] = desired[2 * c.n + i] = 0.0


cdef inline void mode_torque(Controller* c, double now, double dt) noexcept nogil:
    """The effort of the mode in force."""
    if drives_end_effector(&c.arm):
        lead_end_effector(c, now, dt)
        return
    if is_tracking(&c.machine):
        slide(c.n, c.task.desired + c.n, c.arm.settings.presliding_displacement, dt,
              c.task.presliding)
    joint_law(c, c.sent.torque)
    if accelerates(&c.arm):
        c.stuck.share = cut_together(&c.arm, c.observer.q, c.task.desired, c.task.presliding,
                                     c.sent.torque)


cdef inline void note_feedback_given(Controller* c, double dt) noexcept nogil:
    """Note what of the command is feedback. That which leads the end effector moves a joint no
    further than the whole command, which a limit may have cut; see note_feedback for that of gains.
    """
    for i in range(c.n if drives_end_effector(&c.arm) else 0):
        whole = c.sent.governor.command[i] + c.sent.contact[i]
        if not c.arm.settings.hardware_adds_gravity:
            whole -= c.sent.gravity_torque[i]
        c.stuck.feedback[i] = common(whole, whole + c.stuck.feedback[i])
    if c.arm.settings.mode.feedback == FEEDBACK_TORQUES and not leads_end_effector(&c.arm):
        for i in range(c.n):
            asked = feedback(&c.arm.joints, i, c.n, c.observer.q, c.task.desired)
            note_feedback(&c.sent.governor, i, asked, c.task.desired[c.n + i] == 0.0, dt)


cdef inline bint command(Controller* c, double now, double time, double dt) noexcept nogil:
    """Command for the estimated state; returns whether there is one, not an open-loop stop."""
    cdef Reason no_wrench = because(CAUSE_NO_WRENCH, -1, now - c.task.cartesian.measured.at,
                                    c.arm.settings.wrench_timeout)
    cdef Reason not_finite = because(CAUSE_NOT_FINITE, -1, 0.0, 0.0)
    pass_time(&c.arm.models, dt)
    memset(c.sent.contact, 0, c.n * sizeof(double))
    if let_time_pass(c, now, time):
        return False
    if is_tracking(&c.machine) and moves_virtual_arm(&c.arm):
        if has_lost_wrench(c, now):
            respond(c, now, &no_wrench)
        lead_virtual_arm(c, now, dt)
    else:
        lead_joints(c, time, dt)
    if now < overdue_at(&c.clock, c.arm.settings.state_timeout):        # else nothing is seen
        supervise(c, now, dt)
        if c.machine.phase == TRAJECTORY and time >= c.task.motion.end:
            arrive(c)
    if is_open_loop(&c.machine):
        return False
    if is_tracking(&c.machine):
        memcpy(c.observer.qdd, c.task.desired + 2 * c.n, c.n * sizeof(double))
    else:
        memset(c.task.presliding, 0, c.n * sizeof(double))
        memset(c.observer.qdd, 0, c.n * sizeof(double))
    if is_tracking(&c.machine) or c.machine.phase == FLOATING:
        mode_torque(c, now, dt)
        if issue_command(c, now, dt):
            note_feedback_given(c, dt)
            return True
        respond(c, now, &not_finite)
    damped_torque(c, now)
    return issue_command(c, now, dt)
