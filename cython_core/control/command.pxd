# The command for the last good state: the desired state at this time, the control law's effort, and
# the governor.

from libc.math cimport NAN, expm1, fabs, fmin
from libc.string cimport memcpy, memmove, memset

from control.arm cimport (Arm, combine, drives_end_effector, gravity, leads_end_effector,
                          moves_virtual_arm, pass_time)
from control.cartesian_impedance cimport cartesian_impedance, update_inertia, update_kinematics
from control.cartesian_mode cimport (CartesianMode, drop_stale, follow_wrench, joint_motion,
                                     move_target, rest_anchored, return_to_anchor)
from control.controller_state cimport (Command, Controller, Supervision, Task,
                                       is_open_loop, is_tracking, usual_step)
from control.events cimport CAUSE_NOT_FINITE, CAUSE_NO_WRENCH, Reason, because
from control.fault_bounds cimport COASTING, FASTER, LIMIT_SLACK, LONGEST_STEP, REPEAT_TIME
from control.impedance_modes cimport joint_effort
from control.laws cimport damped_gravity, feedback, law, slide
from control.measured_wrench cimport is_fresh
from control.motion cimport sample
from control.phase_changes cimport arrive, let_time_pass, respond
from control.phases cimport FAULT, FLOATING, REFERENCE, STOPPING, TRAJECTORY
from control.position_governor cimport (PositionGovernor, ServoGovernor, govern_positions,
                                        govern_servos)
from control.settings cimport FEEDBACK_TORQUES, JointLimits
from control.state_clock cimport StateClock, is_overdue
from control.state_observer cimport Observer, common, max_speed_share
from control.stuck_joints cimport StuckJoints
from control.supervision cimport supervise
from control.torque_governor cimport (LASTING, Governor, SpeedLimit, begin_transfer, govern,
                                      note_feedback, push_no_further, transfer_left)
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport add_drives
from smooth_friction cimport after_motion, dry_torque, presliding

cdef extern from *:
    const double SPARSE "0.0125"  # [s] between states that are too far apart for the gains, or
                                  # commands for the acceleration of an instant: 80 Hz
    const double SPELL "0.015"    # [s] in which states may come in a burst


cdef inline void keep_within_limits(const Observer* o, double slack,
                                    double* desired) noexcept nogil:
    """Keep the desired position within the limits and a slack, or at the arm if it is beyond them:
    the arm must not press on a stop for ever. desired: (3, n).
    """
    cdef Py_ssize_t n = o.n
    for i in range(n):
        lower = min(o.limits.lower[i] - slack, o.q[i])
        upper = max(o.limits.upper[i] + slack, o.q[i])
        if not lower <= desired[i] <= upper:
            desired[i] = min(max(desired[i], lower), upper)
            desired[n + i] = desired[2 * n + i] = 0.0


cdef inline void find_contact_effort(const CartesianMode* mode, double* contact) noexcept nogil:
    """Find the effort (n,) of what the end effector touches."""
    for i in range(mode.law.n):
        contact[i] = joint_effort(&mode.law, mode.measured.contact, i)


cdef inline void slide_end_effector(Task* task, const Arm* arm, const double* torque,
                                    double dt) noexcept nogil:
    """Advance presliding states by the desired motion, and by what a force adds to the torques that
    press (measured_wrench.pxd). torque: (n,) so far.
    """
    cdef CartesianMode* mode = &task.cartesian
    cdef const double* speed = task.desired + mode.law.n
    for i in range(mode.law.n):
        more = joint_effort(&mode.law, mode.force_axes.more, i)
        if more == 0.0 or speed[i] != 0.0:
            task.presliding[i] = presliding(task.presliding[i], speed[i], dt,
                                            arm.settings.presliding_displacement)
        if more != 0.0:
            task.presliding[i] = after_motion(task.presliding[i], more, dry_torque(
                arm.joints.drives.coulomb[i], arm.joints.drives.load[i], torque[i], 1.0))


cdef inline void lead_end_effector(Task* task, Command* sent, StuckJoints* stuck,
                                   const Controller* c, double now, double dt) noexcept nogil:
    """The effort of mode cartesian_impedance.

    The joints' desired state is the one that gives the end effector's, to first order.
    """
    cdef CartesianMode* mode = &task.cartesian
    cdef double timeout = c.arm.settings.target_timeout
    cdef Py_ssize_t n = c.n
    dt = fmin(dt, c.arm.settings.state_timeout)
    mode.measured.is_there = is_fresh(&mode.measured, now, c.arm.settings.wrench_timeout)
    if drop_stale(mode, now, timeout):
        begin_transfer(&sent.governor, c.arm.settings.blend_time)
    move_target(mode, now, timeout, dt)
    gravity(&c.arm.models, c.observer.q, sent.gravity_torque)
    if cartesian_impedance(&mode.law, c.arm.models.newest.model, c.arm.joints.drives.armature,
                           c.observer.q, c.observer.qd, dt, sent.gravity_torque,
                           c.arm.joints.effort_limit, sent.torque):
        sent.torque[0] = NAN                                    # the model moves no inertia
    find_contact_effort(mode, sent.contact)
    # at most the motion of one second
    joint_motion(&mode.law, mode.law.error, c.arm.limits.velocity, task.desired)
    memcpy(task.desired + n, mode.law.followed, n * sizeof(double))
    memset(task.desired + 2 * n, 0, 2 * n * sizeof(double))
    for i in range(n):
        task.desired[i] += c.observer.q[i]
        sent.torque[i] += sent.gravity_torque[i]
        stuck.feedback[i] = sent.torque[i]
    slide_end_effector(task, &c.arm, sent.torque, dt)
    add_drives(&c.arm.joints.drives, n, c.observer.q, task.desired + n, task.desired + 2 * n,
               task.presliding, sent.torque)
    for i in range(n):
        stuck.feedback[i] -= sent.torque[i]                     # what is not feedback


cdef inline bint has_lost_wrench(CartesianMode* mode, const Controller* c,
                                 double now) noexcept nogil:
    """Bring the end effector to rest if no wrench is measured any more; to where it was held it
    goes back as soon as there is a wrench again. Returns whether a motion has to be given up.
    """
    cdef bint was_there = mode.measured.is_there
    cdef bint fresh = is_fresh(&mode.measured, now, c.arm.settings.wrench_timeout)
    mode.measured.is_there = fresh and c.machine.phase != STOPPING
    if mode.measured.is_there:
        return_to_anchor(mode)
    elif was_there and not fresh:
        rest_anchored(mode, c.arm.models.newest.model, c.arm.settings.stop_time)
        return c.machine.phase == REFERENCE
    return False


cdef inline void lead_virtual_arm(Task* task, const Controller* c, double now, double dt,
                                  double* contact) noexcept nogil:
    """The desired state of mode admittance; contact: (n,) effort of what the end effector touches.
    """
    cdef const DynamicsInterface* model = c.arm.models.newest.model
    cdef CartesianMode* mode = &task.cartesian
    cdef double stop_time = c.arm.settings.stop_time, timeout = c.arm.settings.target_timeout
    # After a gap it goes on where it was: the drives would have to jump to where it would be.
    dt = fmin(dt, fmin(2.0 * usual_step(c), REPEAT_TIME))
    update_kinematics(&mode.law, model, mode.virtual_arm.q, mode.virtual_arm.qd)
    drop_stale(mode, now, timeout)
    move_target(mode, now, timeout, dt)
    # Rotors only where links have no inertia: the virtual arm has none.
    if not (follow_wrench(mode, model, c.zero, &c.arm.limits, stop_time, dt, task.desired)
            or follow_wrench(mode, model, c.arm.joints.drives.armature, &c.arm.limits, stop_time,
                             dt, task.desired)):
        task.desired[0] = NAN
    find_contact_effort(mode, contact)


cdef inline const SpeedLimit* speed_limit(const Controller* c, const double* added) noexcept nogil:
    """The joints' speed limit while the end effector is led or has just been let go; otherwise, and
    for a model without inertia, NULL.
    """
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


cdef inline void note_interval(Command* sent, double interval) noexcept nogil:
    """Note the time between the last two commands [s]."""
    sent.interval = interval
    sent.spell += max(interval, 0.0)                            # a simulation may begin anew
    sent.longest[0] = max(sent.longest[0], interval)
    if sent.spell > SPELL:
        memmove(sent.longest + 1, sent.longest, 3 * sizeof(double))
        sent.longest[0] = sent.spell = 0.0


cdef inline double longest_step(const Controller* c) noexcept nogil:
    """How much time one command may make up for where drives follow positions [s]: twice the
    longest in a spell, the median of the last three. So a gap is no usual step: after it, another
    one would end in a step of the position.
    """
    cdef const double* spells = c.sent.longest + 1
    usual = max(min(spells[0], spells[1]), min(max(spells[0], spells[1]), spells[2]))
    return max(2.0 * usual, LONGEST_STEP)


cdef inline void command_positions(PositionGovernor* positions, ServoGovernor* servos,
                                   const Controller* c, double dt) noexcept nogil:
    """Work out what drives with position loops of their own are to follow.

    Where no motion is asked for, that is the measured position at rest: the drives damp the arm.
    Where that is unknown, they stop.
    """
    cdef const double* goal = c.observer.q
    cdef const double* speed = c.zero
    if (is_tracking(&c.machine) or c.machine.phase == FLOATING
            or (is_open_loop(&c.machine) and c.task.has_planned_stop)):
        goal, speed = c.task.desired, c.task.desired + c.n
    elif is_open_loop(&c.machine):
        goal = c.positions.q
    govern_positions(positions, &c.arm.limits, goal, speed, dt, longest_step(c))
    if servos.governor.used:
        # A position that follows the measured one must not run ahead of it.
        govern_servos(servos, &c.arm.limits, positions, c.sent.governor.command,
                      servos.ahead if is_tracking(&c.machine) else 0.0, dt, longest_step(c))


cdef inline bint issue_command(Command* sent, PositionGovernor* positions, ServoGovernor* servos,
                               const Controller* c, double now, double dt,
                               const double* torque) noexcept nogil:
    """Turn an effort that includes gravity into the next command; False if it is not finite."""
    cdef const double* added = NULL
    if c.arm.settings.hardware_adds_gravity:                    # where the torque is for
        gravity(&c.arm.models, c.observer.q, sent.gravity_torque)
        for i in range(c.n):
            sent.torque[i] = torque[i] - sent.gravity_torque[i]
        added, torque = sent.gravity_torque, sent.torque
    sent.leaves_end_effector &= transfer_left(&sent.governor) > 0.0
    if not (sent.governor.begins or is_tracking(&c.machine) or is_open_loop(&c.machine)):
        # no feedback would end the motion
        push_no_further(&sent.governor, c.observer.qd, dt / (dt + LASTING))
    if not govern(&sent.governor, &c.arm.joints, torque, added, speed_limit(c, added), dt,
                  max(c.arm.settings.command_period, LONGEST_STEP)):
        return False
    if positions.used:
        command_positions(positions, servos, c, dt)
    share = -expm1(-2.0 * dt / c.clock.late) if c.clock.late > 0.0 and sent.has_begun else 1.0
    for i in range(c.n):
        sent.acting[i] += share * (sent.governor.command[i] - sent.acting[i])
    note_interval(sent, now - sent.at if sent.has_begun else 0.0)
    sent.at, sent.has_begun = now, True
    sent.count += 1
    return True


cdef inline void damped_torque(Supervision* watch, const Controller* c, double now,
                               double* torque) noexcept nogil:
    """Gravity and damping, (n,).

    Damping that makes an arm faster than it was as a fault began is that of wrong velocities: then
    gravity's torque alone is left for a while.
    """
    cdef const Observer* o = &c.observer
    cdef bint coasts
    if c.machine.phase == FAULT:
        fastest = max_speed_share(o)
        if fastest > FASTER * max(watch.braked_from, 1.0):
            watch.braked_from, watch.coasts_until = fastest, now + COASTING
    coasts = now < watch.coasts_until
    damped_gravity(&c.arm, o.q, 0.0 if coasts else 1.0, torque)
    if c.machine.phase == FAULT and not coasts:
        for i in range(c.n):
            torque[i] -= o.qd[i] * max(c.arm.joints.fault_damping[i] - c.arm.joints.damping[i], 0.0)


cdef inline double held_for(const StateClock* k) noexcept nogil:
    """How long a command will act [s] where states are too far apart for the gains, else 0."""
    return k.interval if k.interval > SPARSE else 0.0


cdef inline void joint_law(const Controller* c, double* torque) noexcept nogil:
    """What the law of the joints asks for, in the state of the last command."""
    law(&c.arm, c.observer.q, c.task.desired, c.task.presliding, held_for(&c.clock), torque)


cdef inline void sample_held(Task* task, const JointLimits* limits, double time, double held,
                             double dt) noexcept nogil:
    """The desired state, dt [s] after the last command, of one that will act for ``held`` [s].

    Where that is too long for the motion of an instant, its acceleration leads to the velocity at
    the end of it from that to which those before have led: so they add up, also where the motion
    has changed in between. What is beyond the limits, at a corner of a path, is left to the
    feedback.
    """
    cdef double* desired = task.desired
    cdef Py_ssize_t n = task.motion.n
    for i in range(n):
        task.driven[i] += dt * desired[2 * n + i]
    sample(&task.motion, time, desired)
    if held <= SPARSE:
        memcpy(task.driven, desired + n, n * sizeof(double))
        return
    sample(&task.motion, time + held, task.state)
    for i in range(n):
        bound = max(max(limits.acceleration[i], limits.deceleration[i]), fabs(desired[2 * n + i]))
        a = (task.state[n + i] - task.driven[i]) / held
        desired[2 * n + i] = min(max(a, -bound), bound)
        task.driven[i] = task.state[n + i] - desired[2 * n + i] * held


cdef inline void lead_joints(Task* task, const Controller* c, double time,
                             double dt) noexcept nogil:
    """The joints' desired state at the controller's time, dt [s] after the last command."""
    cdef double slack = LIMIT_SLACK if c.machine.phase == TRAJECTORY else 0.0
    if c.machine.phase == FLOATING:
        memcpy(task.desired, c.observer.q, 2 * c.n * sizeof(double))
        memset(task.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    elif is_tracking(&c.machine) and not leads_end_effector(&c.arm):
        sample_held(task, &c.arm.limits, time, min(dt, c.sent.interval), dt)
        keep_within_limits(&c.observer, slack, task.desired)


cdef inline void mode_torque(Task* task, Command* sent, StuckJoints* stuck, const Controller* c,
                             double now, double dt) noexcept nogil:
    """The effort of the mode in force."""
    if drives_end_effector(&c.arm):
        lead_end_effector(task, sent, stuck, c, now, dt)
    else:
        if is_tracking(&c.machine):
            slide(c.n, task.desired + c.n, c.arm.settings.presliding_displacement, dt,
                  task.presliding)
        joint_law(c, sent.torque)


cdef inline void complete_feedback(StuckJoints* stuck, const Controller* c) noexcept nogil:
    """Complete the feedback that is in the command, where it leads the end effector. It moves a
    joint no further than the whole command, which a limit may have cut.
    """
    if drives_end_effector(&c.arm):
        for i in range(c.n):
            whole = c.sent.governor.command[i] + c.sent.contact[i]
            if not c.arm.settings.hardware_adds_gravity:
                whole -= c.sent.gravity_torque[i]
            stuck.feedback[i] = common(whole, whole + stuck.feedback[i])


cdef inline void note_errors(Governor* governor, const Controller* c, double dt) noexcept nogil:
    """Note what errors ask for in the command, where they are its feedback; see note_feedback."""
    if c.arm.settings.mode.feedback == FEEDBACK_TORQUES and not leads_end_effector(&c.arm):
        for i in range(c.n):
            asked = feedback(&c.arm.joints, i, c.n, c.observer.q, c.task.desired)
            note_feedback(governor, i, asked, c.task.desired[c.n + i] == 0.0, dt)


cdef inline bint command(Controller* c, double now, double time, double dt) noexcept nogil:
    """Work out the command for the estimated state; returns whether there is one. There is none if
    this begins an open-loop stop.
    """
    cdef Reason no_wrench = because(CAUSE_NO_WRENCH, -1, now - c.task.cartesian.measured.at,
                                    c.arm.settings.wrench_timeout)
    cdef Reason not_finite = because(CAUSE_NOT_FINITE, -1, 0.0, 0.0)
    pass_time(&c.arm.models, dt)
    memset(c.sent.contact, 0, c.n * sizeof(double))
    if let_time_pass(c, now, time):
        return False
    if is_tracking(&c.machine) and moves_virtual_arm(&c.arm):
        if has_lost_wrench(&c.task.cartesian, c, now):
            respond(c, now, &no_wrench)
        lead_virtual_arm(&c.task, c, now, dt, c.sent.contact)
    else:
        lead_joints(&c.task, c, time, dt)
    if not is_overdue(&c.clock, c.arm.settings.state_timeout, now):     # else nothing is seen
        supervise(c, now, dt)
        if c.machine.phase == TRAJECTORY and time >= c.task.motion.end:
            arrive(&c.machine, &c.watch)
    if is_open_loop(&c.machine):
        return False
    if is_tracking(&c.machine):
        memcpy(c.observer.qdd, c.task.desired + 2 * c.n, c.n * sizeof(double))
    else:
        memset(c.task.presliding, 0, c.n * sizeof(double))
        memset(c.observer.qdd, 0, c.n * sizeof(double))
    if is_tracking(&c.machine) or c.machine.phase == FLOATING:
        mode_torque(&c.task, &c.sent, &c.stuck, c, now, dt)
        if issue_command(&c.sent, &c.positions, &c.servos, c, now, dt, c.sent.torque):
            complete_feedback(&c.stuck, c)
            note_errors(&c.sent.governor, c, dt)
            return True
        respond(c, now, &not_finite)
    damped_torque(&c.watch, c, now, c.sent.torque)
    return issue_command(&c.sent, &c.positions, &c.servos, c, now, dt, c.sent.torque)
