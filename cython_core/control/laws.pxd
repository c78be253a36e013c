# The control laws: what effort the model and the gains ask for.
#
# Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control, sections 8.5 and
# 8.6; here the model's torque comes from the recursive Newton-Euler algorithm. Gains are chosen for
# a fast loop. In a slow one each command acts for a long time, ``held`` [s], and the arm would
# overshoot more and more. There the feedback uses the errors predicted for the end of that time,
# which is stable however long it is (Tan, Liu, Turk, Stable Proportional-Derivative Controllers,
# IEEE Computer Graphics and Applications 31 (4), 2011). Arrays are (n,); a motion state is (4, n),
# see motion.pxd.

from libc.string cimport memset

from dynamics_interface cimport DynamicsInterface
from smooth_friction cimport dry_torque, presliding, viscous_torque
from control.model_blend cimport ModelBlend, combine, gravity
from control.settings cimport (CARTESIAN_IMPEDANCE, COMPUTED_TORQUE, FEEDFORWARD, TERMS_FULL,
                               TERMS_GRAVITY, Settings)


cdef inline void slide(const Settings* settings, Py_ssize_t n, const double* velocity, double dt,
                       double* state) noexcept nogil:
    """Advance the presliding states (n,) by a time dt [s] of the desired motion.

    Whatever the arm does, they follow what is asked of it: friction cannot be over-compensated into
    a limit cycle.
    """
    cdef Py_ssize_t i
    for i in range(n):
        state[i] = presliding(state[i], velocity[i], dt, settings.presliding_displacement)


cdef inline void add_drives(const Settings* settings, Py_ssize_t n, const double* velocity,
                            const double* acceleration, const double* state,
                            double* torque) noexcept nogil:
    """Add what the drives need for themselves: rotor inertia, friction, a constant.

    velocity: the desired one; state: presliding; torque: that of the links so far.
    """
    cdef Py_ssize_t i
    for i in range(n):
        torque[i] += (dry_torque(settings.coulomb[i], settings.load[i], torque[i], state[i])
                      + viscous_torque(settings.viscous[i], settings.thinning[i], velocity[i])
                      + settings.armature[i] * acceleration[i] + settings.offset[i])


cdef inline void motion_torque(const Settings* settings, ModelBlend* models, Py_ssize_t n,
                               const double* desired, const double* state,
                               double* torque) noexcept nogil:
    """RNEA(q_d, qd_d, qdd_d) + drives(qd_d, qdd_d): the torque that a motion needs."""
    combine(models, desired, desired + n, desired + 2 * n, torque)
    add_drives(settings, n, desired + n, desired + 2 * n, state, torque)


cdef inline void model_torque(const Settings* settings, ModelBlend* models, Py_ssize_t n,
                              const double* desired, const double* state,
                              double* torque) noexcept nogil:
    """The mode's torque from the model along the desired motion, without feedback."""
    if settings.mode == CARTESIAN_IMPEDANCE:
        gravity(models, desired, torque)
    elif settings.terms == TERMS_FULL or settings.mode == COMPUTED_TORQUE:
        motion_torque(settings, models, n, desired, state, torque)
    elif settings.terms == TERMS_GRAVITY:
        gravity(models, desired, torque)
    else:
        memset(torque, 0, n * sizeof(double))


cdef inline void damped_gravity(const Settings* settings, ModelBlend* models, Py_ssize_t n,
                                const double* q, const double* qd, double share,
                                double* torque) noexcept nogil:
    """g(q) - share * D qd: holds the arm up wherever it is; gravity compensation.
    """
    cdef Py_ssize_t i
    gravity(models, q, torque)
    for i in range(n):
        torque[i] += settings.offset[i] - share * settings.damping[i] * qd[i]


cdef inline void feedforward(const Settings* settings, ModelBlend* models, Py_ssize_t n,
                             const double* q, const double* qd, const double* desired,
                             const double* state, double* torque) noexcept nogil:
    """RNEA(q_d, qd_d, qdd_d) + drives(qd_d, qdd_d) + Kp e + Kd ed."""
    cdef Py_ssize_t i
    model_torque(settings, models, n, desired, state, torque)
    for i in range(n):
        torque[i] += settings.p[i] * (desired[i] - q[i]) + settings.d[i] * (desired[n + i] - qd[i])


cdef inline void add_predicted_feedback(const Settings* settings, const DynamicsInterface* model,
                                        Py_ssize_t n, const double* q, const double* qd,
                                        const double* desired, double held, double* scratch,
                                        double* torque) noexcept nogil:
    """Add the change of Kp e + Kd ed within the time ``held``.

    The errors are predicted by M edd = -(Kp e + Kd ed), taken at the end of that time.

    scratch: (4, n).
    """
    cdef double* still = scratch
    cdef double* applied = scratch + n
    cdef double* diagonal = scratch + 2 * n
    cdef double* gained = scratch + 3 * n
    cdef double error
    cdef Py_ssize_t i
    memset(still, 0, n * sizeof(double))
    model.gravity(model.self, q, applied)
    for i in range(n):
        error = desired[n + i] - qd[i]
        applied[i] -= settings.p[i] * (desired[i] - q[i] + held * error) + settings.d[i] * error
        diagonal[i] = settings.armature[i] + held * (settings.d[i] + held * settings.p[i])
    if model.aba(model.self, q, still, applied, diagonal, gained):
        return                                                  # neither links nor armature: no
                                                                # prediction
    for i in range(n):
        torque[i] += (held
                      * (settings.p[i] * (desired[n + i] - qd[i])
                         + (settings.d[i] + held * settings.p[i]) * gained[i]))


cdef inline void computed_torque(const Settings* settings, ModelBlend* models, Py_ssize_t n,
                                 const double* q, const double* qd, const double* desired,
                                 const double* state, double held, double* acceleration,
                                 double* torque) noexcept nogil:
    """RNEA(q, qd, a) + drives(qd_d, a) with a = qdd_d + Kp e + Kd ed, of the errors after ``held``.

    acceleration: (n,) scratch.
    """
    cdef double error, wanted
    cdef Py_ssize_t i
    for i in range(n):
        error = desired[n + i] - qd[i]
        wanted = settings.p[i] * (desired[i] - q[i] + held * error) + settings.d[i] * error
        acceleration[i] = (desired[2 * n + i]
                           + wanted / (1.0 + held * (settings.d[i] + held * settings.p[i])))
    combine(models, q, qd, acceleration, torque)
    add_drives(settings, n, desired + n, acceleration, state, torque)


cdef inline void law(const Settings* settings, ModelBlend* models, Py_ssize_t n, const double* q,
                     const double* qd, const double* desired, const double* state, double held,
                     double* scratch, double* torque) noexcept nogil:
    """The effort of the mode in use, plus the motion's own.

    state: presliding; held: how long the command will act [s] in a slow loop, else 0; scratch:
    (4, n).
    """
    cdef Py_ssize_t i
    if settings.mode == FEEDFORWARD:
        feedforward(settings, models, n, q, qd, desired, state, torque)
        if held > 0.0:
            add_predicted_feedback(settings, models.newest.model, n, q, qd, desired, held, scratch,
                                   torque)
    elif settings.mode == COMPUTED_TORQUE:
        computed_torque(settings, models, n, q, qd, desired, state, held, scratch, torque)
    else:
        damped_gravity(settings, models, n, q, qd, 1.0, torque)
        return
    for i in range(n):
        torque[i] += desired[3 * n + i]
