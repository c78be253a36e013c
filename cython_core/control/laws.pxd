# The control laws: what effort the model and the gains ask for; and the other way round, where an
# effort leads the arm.
#
# Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control, sections 8.5 and
# 8.6; here the model's torque comes from the recursive Newton-Euler algorithm. Gains are chosen for
# a fast loop. In a slow one each command acts for a long time, ``held`` [s], and the arm would
# overshoot more and more. There the feedback uses the errors predicted for the end of that time,
# which is stable however long it is (Tan, Liu, Turk, Stable Proportional-Derivative Controllers,
# IEEE Computer Graphics and Applications 31 (4), 2011).
#
# Arrays are (n,), except the arm's state: (2, n) position and velocity, and a desired motion state:
# (4, n), see motion.pxd. ``sliding`` are presliding states (smooth_friction.pxd).

from libc.math cimport NAN, fabs
from libc.string cimport memset

from control.arm cimport Arm, combine, drives_end_effector, feeds_forward, gravity
from control.settings cimport (FEEDBACK_ACCELERATIONS, FEEDBACK_DAMPING, FEEDBACK_SPRING,
                               FEEDBACK_TORQUES, TERMS_GRAVITY, Feedback, JointSettings)
from control.torque_governor cimport all_finite
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport JointDrives, add_drives, drag, standing_torque, take_standing
from smooth_friction cimport presliding

cdef extern from *:
    const double LEAST_SHARE "0.1"  # of the feedback, whatever limits leave: an arm whose motion,
                                    # or load, is beyond them is still held


cdef inline void slide(Py_ssize_t n, const double* velocity, double displacement, double dt,
                       double* sliding) noexcept nogil:
    """Advance presliding states by dt [s] of the desired motion: if they followed the arm's,
    friction could be over-compensated into a limit cycle.
    """
    for i in range(n):
        sliding[i] = presliding(sliding[i], velocity[i], dt, displacement)


cdef inline void motion_torque(const Arm* arm, const double* desired, const double* sliding,
                               double* torque) noexcept nogil:
    """RNEA(q_d, qd_d, qdd_d) + drives(q_d, qd_d, qdd_d): the torque that a motion needs."""
    cdef Py_ssize_t n = arm.models.n
    combine(&arm.models, desired, desired + n, desired + 2 * n, torque)
    add_drives(&arm.joints.drives, n, desired, desired + n, desired + 2 * n, sliding, torque)


cdef inline void model_torque(const Arm* arm, const double* desired, const double* sliding,
                              double* torque) noexcept nogil:
    """The mode's torque from the model along the desired motion, without feedback."""
    if drives_end_effector(arm):
        gravity(&arm.models, desired, torque)
    elif feeds_forward(arm):
        motion_torque(arm, desired, sliding, torque)
    elif arm.settings.terms == TERMS_GRAVITY:
        gravity(&arm.models, desired, torque)
    else:
        memset(torque, 0, arm.models.n * sizeof(double))


cdef inline void damped_gravity(const Arm* arm, const double* state, double share,
                                double* torque) noexcept nogil:
    """g(q) - share * D qd: holds the arm up wherever it is; gravity compensation."""
    cdef Py_ssize_t n = arm.models.n
    gravity(&arm.models, state, torque)
    for i in range(n):
        torque[i] += (standing_torque(&arm.joints.drives, i, state[i])
                      - share * arm.joints.damping[i] * state[n + i])


cdef inline double feedback(const JointSettings* joints, Py_ssize_t i, Py_ssize_t n,
                            const double* state, const double* desired) noexcept nogil:
    """Kp e + Kd ed, of a joint."""
    return (joints.p[i] * (desired[i] - state[i])
            + joints.d[i] * (desired[n + i] - state[n + i]))


cdef inline void add_predicted_feedback(const Arm* arm, const double* state, const double* desired,
                                        double held, double* torque) noexcept nogil:
    """Add the change of Kp e + Kd ed within ``held``, by M edd = -(Kp e + Kd ed) at its end."""
    cdef const DynamicsInterface* model = arm.models.newest.model
    cdef const JointSettings* joints = &arm.joints
    cdef Py_ssize_t n = model.n
    cdef double* still = arm.models.scratch
    cdef double* applied = still + n
    cdef double* diagonal = still + 2 * n
    cdef double* gained = still + 3 * n
    memset(still, 0, n * sizeof(double))
    model.gravity(model.self, state, applied)
    for i in range(n):
        error = desired[n + i] - state[n + i]
        applied[i] -= joints.p[i] * (desired[i] - state[i] + held * error) + joints.d[i] * error
        diagonal[i] = joints.drives.armature[i] + held * (joints.d[i] + held * joints.p[i])
    if model.aba(model.self, state, still, applied, diagonal, gained):
        return                                                  # neither links nor armature: no
                                                                # prediction
    for i in range(n):
        torque[i] += (held
                      * (joints.p[i] * (desired[n + i] - state[n + i])
                         + (joints.d[i] + held * joints.p[i]) * gained[i]))


cdef inline void computed_torque(const Arm* arm, const double* state, const double* desired,
                                 const double* sliding, double held,
                                 double* torque) noexcept nogil:
    """RNEA(q, qd, a) + drives(q, qd_d, a), a = qdd_d + Kp e + Kd ed, e, ed after ``held``."""
    cdef const JointSettings* joints = &arm.joints
    cdef double* acceleration = arm.models.scratch
    cdef Py_ssize_t n = arm.models.n
    for i in range(n):
        error = desired[n + i] - state[n + i]
        wanted = joints.p[i] * (desired[i] - state[i] + held * error) + joints.d[i] * error
        acceleration[i] = (desired[2 * n + i]
                           + wanted / (1.0 + held * (joints.d[i] + held * joints.p[i])))
    combine(&arm.models, state, state + n, acceleration, torque)
    add_drives(&joints.drives, n, state, desired + n, acceleration, sliding, torque)


cdef inline void law(const Arm* arm, const double* state, const double* desired,
                     const double* sliding, double held, double* torque) noexcept nogil:
    """The mode's effort, plus the motion's own. held: how long it acts in a slow loop [s], or 0."""
    cdef Py_ssize_t n = arm.models.n
    cdef Feedback kind = arm.settings.mode.feedback
    if kind == FEEDBACK_DAMPING or kind == FEEDBACK_SPRING:     # the spring's: cartesian_impedance
        damped_gravity(arm, state, 1.0, torque)
        return
    if kind == FEEDBACK_ACCELERATIONS:
        computed_torque(arm, state, desired, sliding, held, torque)
    elif kind == FEEDBACK_TORQUES:
        model_torque(arm, desired, sliding, torque)
        for i in range(n):
            torque[i] += feedback(&arm.joints, i, n, state, desired)
        if held > 0.0:
            add_predicted_feedback(arm, state, desired, held, torque)
    else:
        torque[0] = NAN
    for i in range(n):
        torque[i] += desired[3 * n + i]


cdef inline double cut_together(const Arm* arm, const double* state, const double* desired,
                                const double* sliding, double* torque) noexcept nogil:
    """Cut the feedback of computed torque by one factor, as far as effort limits require: what is
    cut from one joint alone would move the others. Returns the share that is left.
    """
    cdef const double* limit = arm.joints.effort_limit
    cdef double* planned = arm.models.scratch
    cdef Py_ssize_t n = arm.models.n
    cdef double share = 1.0
    cdef bint fits = True
    for i in range(n):
        fits &= fabs(torque[i]) <= limit[i]
    if fits:
        return share
    combine(&arm.models, state, state + n, desired + 2 * n, planned)
    add_drives(&arm.joints.drives, n, state, desired + n, desired + 2 * n, sliding, planned)
    for i in range(n):
        planned[i] += desired[3 * n + i]
        more = torque[i] - planned[i]
        room = limit[i] - planned[i] if more > 0.0 else limit[i] + planned[i]
        if room < share * fabs(more):
            share = max(room / fabs(more), LEAST_SHARE)
    for i in range(n):
        torque[i] = planned[i] + share * (torque[i] - planned[i])
    return share


# Where the model says that an arm moves under an effort, without a joint state.

cdef extern from *:
    const double RECKONING_STEP "0.001"  # [s] of the integration: with 7 joints, 0.1 s take some 50
                                         # us
    const double STICKING_SPEED "1e-3"   # [rad/s, m/s] below which Coulomb friction is viscous, and
                                         # a joint sticks


cdef inline void accelerate(const DynamicsInterface* model, const JointDrives* drives,
                            const double* q, const double* qd, const double* effort, double h,
                            double* speed, double* scratch) noexcept nogil:
    """Advance a speed by a step h [s], implicit in the friction and so always stable: over
    RECKONING_STEP at least, since in less time it would hold nothing. speed: (2, n) with the
    acceleration, 0 where neither links nor armature move; scratch: (2, n).
    """
    cdef Py_ssize_t n = model.n
    cdef double* applied = scratch
    cdef double* diagonal = scratch + n
    cdef double implicit = max(h, RECKONING_STEP)
    for i in range(n):
        d = drag(drives, i, effort[i], speed[i], STICKING_SPEED)
        diagonal[i] = drives.armature[i] + implicit * d
        applied[i] = effort[i] - d * speed[i]
    if (model.aba(model.self, q, qd, applied, diagonal, speed + n)
            or not all_finite(speed + n, n)):
        memset(speed + n, 0, n * sizeof(double))
    for i in range(n):
        speed[i] += h * speed[n + i]


cdef inline void dead_reckoning(const Arm* arm, const double* command, const double* contact,
                                double duration, double* state) noexcept nogil:
    """Advance a motion state (4, n) by a time under a command and a contact's effort (n,). Its
    acceleration is then this command's: so a motion that begins there begins with it.
    """
    cdef const DynamicsInterface* model = arm.models.newest.model
    cdef double* scratch = arm.models.scratch
    cdef double* applied = scratch
    cdef double* added_gravity = scratch + 3 * model.n
    cdef Py_ssize_t n = model.n
    cdef Py_ssize_t steps = max(<Py_ssize_t> (duration / RECKONING_STEP + 0.5), 1)
    cdef double h = duration / steps
    for k in range(steps):
        if arm.settings.hardware_adds_gravity:
            gravity(&arm.models, state, added_gravity)
        take_standing(&arm.joints.drives, n, state, command, applied)
        for i in range(n):
            applied[i] += contact[i]
            if arm.settings.hardware_adds_gravity:
                applied[i] += added_gravity[i]
        accelerate(model, &arm.joints.drives, state, state + n, applied, h, state + n, scratch + n)
        for i in range(n):
            state[i] += h * state[n + i]
