# The command for the last good state: the desired state at this time, the control law's effort, and
# the governor.

from libc.math cimport NAN, expm1, fmin
from libc.string cimport memcpy, memset

from control.cartesian_mode cimport (VirtualArm, drop_stale, follow_wrench, joint_motion,
                                     move_target, rest_anchored, return_to_anchor)
from control.arm cimport combine, drives_end_effector, gravity, leads_end_effector, pass_time
from control.cartesian_impedance cimport cartesian_impedance, update_inertia, update_kinematics
from control.controller_state cimport Controller, Hold, hold_reason, is_open_loop, is_tracking
from control.events cimport CAUSE_NOT_FINITE, CAUSE_NO_WRENCH
from control.fault_bounds cimport COASTING, FASTER, LIMIT_SLACK, LONGEST_STEP, REPEAT_TIME
from control.impedance_modes cimport joint_effort
from control.laws cimport damped_gravity, drives_of, law, slide
from control.measured_wrench cimport is_fresh
from control.motion cimport sample
from control.phase_changes cimport arrive, let_time_pass, respond
from control.phases cimport FAULT, FLOATING, REFERENCE, STOPPING, TRAJECTORY
from control.position_governor cimport govern_positions, govern_servos
from control.settings cimport ADMITTANCE
from control.state_clock cimport StateClock
from control.state_observer cimport Observer, max_speed_share
from control.supervision cimport supervise
from control.torque_governor cimport SpeedLimit, begin_transfer, govern, transfer_left
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport JointDrives, add_drives
from smooth_friction cimport after_motion, dry_torque, presliding

cdef extern from *:
    """
    #define SPARSE (0.0125)
    """
    const double SPARSE            # [s] between states that are too far apart for the gains: 80 Hz


cdef inline void keep_within_limits(const Observer* o, double slack,
                                    double* desired) noexcept nogil:
    """Keep the desired position within the limits and a slack, or at the arm if it is beyond them:
    the arm must not press on a stop for ever. desired: (3, n).
    """
    cdef double lower, upper
    cdef Py_ssize_t n = o.n, i
    for i in range(n):
        lower = min(o.limits.lower[i] - slack, o.q[i])
        upper = max(o.limits.upper[i] + slack, o.q[i])
        if not lower <= desired[i] <= upper:
            desired[i] = min(max(desired[i], lower), upper)
            desired[n + i] = desired[2 * n + i] = 0.0


cdef inline void find_contact_effort(Controller* c) noexcept nogil:
    """Find the effort of what the end effector touches."""
    cdef Py_ssize_t i
    for i in range(c.n):
        c.contact[i] = joint_effort(&c.hand.law, c.hand.measured.contact, i)


cdef inline void slide_end_effector(Controller* c, double dt) noexcept nogil:
    """Advance presliding states by the desired motion, and by what a force adds to the torques that
    press (measured_wrench.pxd); c.torque: so far.
    """
    cdef Py_ssize_t n = c.n, i
    cdef double more
    for i in range(n):
        more = joint_effort(&c.hand.law, c.hand.force_axes.more, i)
        if more == 0.0 or c.desired[n + i] != 0.0:
            c.presliding[i] = presliding(c.presliding[i], c.desired[n + i], dt,
                                         c.arm.settings.presliding_displacement)
        if more != 0.0:
            c.presliding[i] = after_motion(c.presliding[i], more, dry_torque(
                c.arm.joints.coulomb[i], c.arm.joints.load[i], c.torque[i], 1.0))


cdef inline void lead_end_effector(Controller* c, double now, double dt) noexcept nogil:
    """The effort of mode cartesian_impedance.

    The joints' desired state is the one that gives the end effector's, to first order.
    """
    cdef JointDrives drives = drives_of(&c.arm.joints)
    cdef Py_ssize_t n = c.n, i
    dt = fmin(dt, c.arm.settings.state_timeout)
    c.hand.measured.is_there = is_fresh(&c.hand.measured, now, c.arm.settings.wrench_timeout)
    if drop_stale(&c.hand, now, c.arm.settings.target_timeout):
        begin_transfer(&c.governor, c.arm.settings.blend_time)
    move_target(&c.hand, now, c.arm.settings.target_timeout, dt)
    gravity(&c.arm.models, c.observer.q, c.gravity_torque)
    if cartesian_impedance(&c.hand.law, c.arm.models.newest.model, c.arm.joints.armature,
                           c.observer.q, c.observer.qd, dt, c.gravity_torque,
                           c.arm.joints.effort_limit, c.torque):
        c.torque[0] = NAN                                       # the model moves no inertia
    find_contact_effort(c)
    # at most the motion of one second
    joint_motion(&c.hand.law, c.hand.law.error, c.arm.limits.velocity, c.desired)
    joint_motion(&c.hand.law, c.hand.law.desired_velocity, c.arm.limits.velocity, c.desired + n)
    memset(c.desired + 2 * n, 0, 2 * n * sizeof(double))
    for i in range(n):
        c.desired[i] += c.observer.q[i]
        c.stuck.given[i] = c.torque[i]
        c.torque[i] += c.gravity_torque[i]
    slide_end_effector(c, dt)
    add_drives(&drives, n, c.desired + n, c.desired + 2 * n, c.presliding, c.torque)
    for i in range(n):
        c.stuck.given[i] += c.contact[i] - c.torque[i]      # what is not feedback
        if c.arm.settings.hardware_adds_gravity:
            c.stuck.given[i] += c.gravity_torque[i]


cdef inline void watch_wrench(Controller* c, double now) noexcept nogil:
    """Bring the end effector to rest if no wrench is measured any more. A motion is given up; to
    where it was held it goes back as soon as there is a wrench again.
    """
    cdef const DynamicsInterface* model = c.arm.models.newest.model
    cdef double bound = c.arm.settings.wrench_timeout
    cdef bint was_there = c.hand.measured.is_there, fresh = is_fresh(&c.hand.measured, now, bound)
    cdef Hold reason = hold_reason(CAUSE_NO_WRENCH, -1, now - c.hand.measured.at, bound)
    c.hand.measured.is_there = fresh and c.machine.phase != STOPPING
    if c.hand.measured.is_there:
        return_to_anchor(&c.hand)
    elif was_there and not fresh:
        rest_anchored(&c.hand, model, c.arm.settings.stop_time)
        if c.machine.phase == REFERENCE:
            respond(c, now, &reason)


cdef inline void lead_virtual_arm(Controller* c, double now, double dt) noexcept nogil:
    """The desired state of mode admittance."""
    cdef const DynamicsInterface* model = c.arm.models.newest.model
    cdef const VirtualArm* v = &c.hand.virtual_arm
    cdef double stop_time = c.arm.settings.stop_time
    cdef double usual = c.arm.settings.period if c.arm.settings.on_timer else c.clock.usual
    # After a gap it goes on where it was: the drives would have to jump to where it would be.
    dt = fmin(dt, fmin(2.0 * usual, REPEAT_TIME))
    watch_wrench(c, now)
    update_kinematics(&c.hand.law, model, v.q, v.qd)
    drop_stale(&c.hand, now, c.arm.settings.target_timeout)
    move_target(&c.hand, now, c.arm.settings.target_timeout, dt)
    # Rotors only where links have no inertia: the virtual arm has none.
    if not (follow_wrench(&c.hand, model, c.zero, &c.arm.limits, stop_time, dt, c.desired)
            or follow_wrench(&c.hand, model, c.arm.joints.armature, &c.arm.limits, stop_time, dt,
                             c.desired)):
        c.desired[0] = NAN
    find_contact_effort(c)


cdef inline const SpeedLimit* speed_limit(const Controller* c, const double* added) noexcept nogil:
    """The joints' speed limit while the end effector is led or has just been let go; otherwise, and
    for a model without inertia, NULL.
    """
    cdef Py_ssize_t i
    if is_open_loop(&c.machine) or not (drives_end_effector(&c.arm)
                                    or (c.let_go and c.machine.phase == FLOATING)):
        return NULL
    if (not is_tracking(&c.machine)
            and update_inertia(&c.hand.law, c.arm.models.newest.model, c.arm.joints.armature,
                               c.observer.q)):
        return NULL
    combine(&c.arm.models, c.observer.q, c.observer.qd, NULL, c.bias)
    if added != NULL:
        for i in range(c.n):
            c.bias[i] -= added[i]
    return &c.speed


cdef inline double longest_step(const Controller* c) noexcept nogil:
    """How much time one command may make up for where drives follow positions [s]."""
    return max(2.0 * (c.arm.settings.period if c.arm.settings.on_timer else c.clock.usual),
               LONGEST_STEP)


cdef inline void command_positions(Controller* c, double dt) noexcept nogil:
    """Work out what drives with position loops of their own are to follow.

    Where no motion is asked for, that is the measured position at rest: the drives damp the arm.
    Where that is unknown, they stop.
    """
    cdef const double* goal = c.observer.q
    cdef const double* speed = c.zero
    if (is_tracking(&c.machine) or c.machine.phase == FLOATING
            or (is_open_loop(&c.machine) and c.has_planned_stop)):
        goal, speed = c.desired, c.desired + c.n
    elif is_open_loop(&c.machine):
        goal = c.positions.q
    govern_positions(&c.positions, &c.arm.limits, goal, speed, dt, longest_step(c))
    if c.servos.told.used:
        govern_servos(&c.servos, &c.arm.limits, &c.positions, c.governor.command, dt,
                      longest_step(c))


cdef inline bint issue_command(Controller* c, double now, double dt,
                               const double* torque) noexcept nogil:
    """Turn an effort that includes gravity into the next command; False if it is not finite."""
    cdef const double* added = NULL
    cdef double share
    cdef Py_ssize_t i
    if c.arm.settings.hardware_adds_gravity:                    # where the torque is for
        gravity(&c.arm.models, c.observer.q, c.gravity_torque)
        for i in range(c.n):
            c.torque[i] = torque[i] - c.gravity_torque[i]
        added, torque = c.gravity_torque, c.torque
    c.let_go &= transfer_left(&c.governor) > 0.0
    if not govern(&c.governor, &c.arm.joints, torque, added, speed_limit(c, added), dt):
        return False
    if c.positions.used:
        command_positions(c, dt)
    share = -expm1(-2.0 * dt / c.clock.late) if c.clock.late > 0.0 and c.has_commanded else 1.0
    for i in range(c.n):
        c.acting[i] += share * (c.governor.command[i] - c.acting[i])
    c.commanded, c.has_commanded = now, True
    c.commands += 1
    return True


cdef inline bint damped_command(Controller* c, double now, double dt) noexcept nogil:
    """Gravity and damping.

    Damping that makes an arm faster than it was as a fault began is that of wrong velocities: then
    gravity's torque alone is left for a while.
    """
    cdef const Observer* o = &c.observer
    cdef double fastest
    cdef bint coasts
    cdef Py_ssize_t i
    if c.machine.phase == FAULT:
        fastest = max_speed_share(o)
        if fastest > FASTER * max(c.watch.braked_from, 1.0):
            c.watch.braked_from, c.watch.coasts_until = fastest, now + COASTING
    coasts = now < c.watch.coasts_until
    damped_gravity(&c.arm, o.q, 0.0 if coasts else 1.0, c.torque)
    if c.machine.phase == FAULT and not coasts:
        for i in range(c.n):
            c.torque[i] -= o.qd[i] * max(
                c.arm.joints.fault_damping[i] - c.arm.joints.damping[i], 0.0)
    return issue_command(c, now, dt, c.torque)


cdef inline double held_for(const StateClock* k) noexcept nogil:
    """How long a command will act [s] where states are too far apart for the gains, else 0."""
    return k.interval if k.interval > SPARSE else 0.0


cdef inline void joint_law(const Controller* c, double* torque) noexcept nogil:
    """What the law of the joints asks for, in the state of the last command."""
    law(&c.arm, c.observer.q, c.desired, c.presliding, held_for(&c.clock), torque)


cdef inline bint follow_law(Controller* c, double now, double dt) noexcept nogil:
    """The command of the mode in force."""
    cdef Hold reason
    cdef Py_ssize_t i
    if drives_end_effector(&c.arm):
        lead_end_effector(c, now, dt)
    else:
        slide(c.n, c.desired + c.n, c.arm.settings.presliding_displacement, dt, c.presliding)
        joint_law(c, c.torque)
    if not issue_command(c, now, dt, c.torque):
        reason = hold_reason(CAUSE_NOT_FINITE, -1, 0.0, 0.0)
        respond(c, now, &reason)
        return damped_command(c, now, dt)
    if drives_end_effector(&c.arm):
        for i in range(c.n):
            c.stuck.given[i] += c.governor.command[i]
    return True


cdef inline bint command(Controller* c, double now, double time, double dt) noexcept nogil:
    """Work out the command for the estimated state; returns whether there is one. There is none if
    this begins an open-loop stop.
    """
    pass_time(&c.arm.models, dt)
    memset(c.contact, 0, c.n * sizeof(double))
    if let_time_pass(c, now, time):
        return False
    if c.machine.phase == FLOATING:
        memcpy(c.desired, c.observer.q, 2 * c.n * sizeof(double))
        memset(c.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    elif is_tracking(&c.machine) and c.arm.settings.mode == ADMITTANCE:
        lead_virtual_arm(c, now, dt)
    elif is_tracking(&c.machine) and not leads_end_effector(&c.arm):
        sample(&c.motion, time, c.desired)
        keep_within_limits(&c.observer, LIMIT_SLACK if c.machine.phase == TRAJECTORY else 0.0,
                           c.desired)
    supervise(c, now, dt)
    if c.machine.phase == TRAJECTORY and time >= c.motion.end:
        arrive(c)
    if is_open_loop(&c.machine):
        return False
    if not is_tracking(&c.machine):
        memset(c.presliding, 0, c.n * sizeof(double))
        memset(c.observer.qdd, 0, c.n * sizeof(double))
        return follow_law(c, now, dt) if c.machine.phase == FLOATING else damped_command(c, now, dt)
    memcpy(c.observer.qdd, c.desired + 2 * c.n, c.n * sizeof(double))
    return follow_law(c, now, dt)
