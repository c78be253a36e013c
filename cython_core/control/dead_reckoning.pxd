# Where the model says that an unobserved arm moves; and whether a joint whose position stays the
# same should have moved.
#
# A position that does not change by a single bit is that of a joint at rest, or a repeated one: a
# frozen encoder, or a driver that keeps sending its last positions. In the second case feedback
# pushes the arm further and further away. The push distinguishes the two: if the feedback has
# changed, since the position last did, by more than all friction that the joint may have, a free
# joint moves. How far is computed twice: against more friction than is known (so far it must have
# moved), and against the known friction, with the desired motion (so far it has likely moved).
#
# This says nothing about a joint that was seen to stop against the push, because brakes or an
# obstacle may hold it, or about one that is pushed against its stop. A load that the feedback
# already bore when the joint came to rest does not count as a push. Arrays are (n,).

from libc.math cimport NAN, copysign, fabs, isnan
from libc.string cimport memcpy, memset

from dynamics_interface cimport DynamicsInterface
from smooth_friction cimport drag
from control.model_blend cimport ModelBlend, combine, gravity
from control.settings cimport CARTESIAN_IMPEDANCE, COMPUTED_TORQUE, TERMS_FULL, Settings
from control.state_consistency cimport encoder_step
from control.torque_governor cimport all_finite
from control.validator_state cimport StateValidator, common

cdef extern from *:
    """
    #define RECKONING_STEP (0.001)
    #define LONGEST_RECKONING (0.005)
    #define STICKING_SPEED (1e-3)
    #define BORNE (0.15)
    #define STOPPED_SPEED (0.05)
    #define MOST_STICTION (3.0)
    #define STICTION_SHARE (0.01)
    #define UNKNOWN_STICTION (0.1)
    #define AT_STOP (1e-3)
    #define SPEED_SETTLES (0.05)
    #define LOCKED (1e9)
    #define ANY_EFFORT (1e9)
    """
    const double RECKONING_STEP     # [s] for the whole arm: with 7 joints, 0.1 s take some 50 us
    const double LONGEST_RECKONING  # [s] for single joints
    const double STICKING_SPEED     # [rad/s, m/s] below which Coulomb friction is viscous, and a
                                    # joint sticks
    const double BORNE              # share of a push, which errors of the model may balance, that
                                    # friction bears for sure
    const double STOPPED_SPEED      # [rad/s, m/s] of a joint that has been stopped against a push
    const double MOST_STICTION      # times the Coulomb friction, plus
    const double STICTION_SHARE     # of the effort limit, may hold a joint; if friction is unknown,
    const double UNKNOWN_STICTION   # of the effort limit
    const double AT_STOP            # [rad, m] from a position limit: its stop may hold the joint
    const double SPEED_SETTLES      # [s] for which a step of the position shows in an estimated
                                    # velocity, and so in the hand's damping
    const double LOCKED             # [kg m^2, kg] inertia that keeps a joint's speed
    const double ANY_EFFORT         # [N m, N] where there is no limit

cdef struct Reckoning:
    Py_ssize_t n
    bint begins              # no earlier push is known
    long long accepted       # number of the good state that was last used
    double until             # time since then that has been computed [s]
    double* push             # (2, n) feedback when each position last changed, with and without the
                             # velocities' share; NaN: the joint stopped against it
    double* change           # of the push since then, as far as both show it
    double* unchanged        # time for which each position had been the same [s]
    double* start            # desired position then
    double* sure             # (2, n) distance and speed since then, against the most friction
    double* likely           # (2, n) the same against the known friction, relative to the desired
                             # motion
    double* inertia          # of the drives; LOCKED for a joint that is seen to move, so that it
                             # affects no other
    double* friction         # known friction that the feedforward does not compensate
    double* most_friction    # the same of the most friction
    double* given            # feedback in the last command that led the hand
    double* scratch          # (5, n)


cdef inline bint accelerate(const DynamicsInterface* model, const double* q, const double* qd,
                            const double* effort, const double* armature, const double* viscous,
                            const double* coulomb, double h, double* speed, double* acceleration,
                            double* scratch) noexcept nogil:
    """Advance a speed under an effort and friction by a step h [s], implicit in the friction and so
    always stable.

    Returns False, with the speed unchanged, where neither links nor armature move. scratch: (2, n).
    """
    cdef Py_ssize_t n = model.n, i
    cdef double* applied = scratch
    cdef double* diagonal = scratch + n
    cdef double d
    for i in range(n):
        d = drag(viscous[i], coulomb[i], speed[i], STICKING_SPEED)
        diagonal[i] = armature[i] + h * d
        applied[i] = effort[i] - d * speed[i]
    if (model.aba(model.self, q, qd, applied, diagonal, acceleration)
            or not all_finite(acceleration, n)):
        return False
    for i in range(n):
        speed[i] += h * acceleration[i]
    return True


cdef inline void dead_reckoning(const Settings* its, ModelBlend* models, const double* command,
                                double duration, double* state, double* scratch) noexcept nogil:
    """Advance a motion state by a time under a command.

    Its acceleration is then the one that this command causes at the end: so the effort for a motion
    that begins with this state begins with this command. state, scratch: (4, n).
    """
    cdef const DynamicsInterface* model = models.newest.model
    cdef double* applied = scratch
    cdef double* added_gravity = scratch + 3 * model.n
    cdef double h = RECKONING_STEP
    cdef Py_ssize_t n = model.n, i, k, steps = max(<Py_ssize_t> (duration / h + 0.5), 1)
    for k in range(steps):
        if its.hardware_adds_gravity:
            gravity(models, state, added_gravity)
        for i in range(n):
            applied[i] = command[i] - its.offset[i]
            if its.hardware_adds_gravity:
                applied[i] += added_gravity[i]
        if not accelerate(model, state, state + n, applied, its.armature, its.viscous, its.coulomb,
                          h, state + n, state + 2 * n, scratch + n):
            # neither links nor armature: only the velocity is known
            memset(state + 2 * n, 0, n * sizeof(double))
        for i in range(n):
            state[i] += h * state[n + i]


cdef inline void feedback_effort(const Settings* its, ModelBlend* models, Py_ssize_t n,
                                 const double* q, const double* qd, const double* desired,
                                 double* push, double* scratch) noexcept nogil:
    """The feedback's share of the effort, for the desired state (4, n).

    scratch: (2, n).
    """
    cdef Py_ssize_t i
    for i in range(n):
        push[i] = its.p[i] * (desired[i] - q[i]) + its.d[i] * (desired[n + i] - qd[i])
    if its.mode == COMPUTED_TORQUE:                             # that is an acceleration
        combine(models, q, NULL, push, scratch)
        gravity(models, q, scratch + n)
        for i in range(n):
            push[i] = its.armature[i] * push[i] + scratch[i] - scratch[n + i]
    for i in range(n):
        push[i] = min(max(push[i], -its.effort_limit[i]), its.effort_limit[i])


cdef inline double most_stiction(const Settings* its, Py_ssize_t i) noexcept nogil:
    if its.coulomb[i] > 0.0:
        return (MOST_STICTION * its.coulomb[i]
                + STICTION_SHARE * min(its.effort_limit[i], ANY_EFFORT))
    return UNKNOWN_STICTION * min(its.effort_limit[i], ANY_EFFORT)


cdef inline bint feeds_forward(const Settings* its) noexcept nogil:
    """Whether an arm that is free follows the desired motion without feedback."""
    return (its.mode != CARTESIAN_IMPEDANCE
            and (its.terms == TERMS_FULL or its.mode == COMPUTED_TORQUE))


cdef inline double compensated(const Settings* its, Py_ssize_t i, double state, double push,
                               double change) noexcept nogil:
    """The part of Coulomb friction that does not hold a joint against the change of a push; below
    0, friction bore the push until then.

    state: presliding, of the feedforward.
    """
    cdef double known = its.coulomb[i]
    cdef double left = known * state
    cdef double borne = min(max(left + BORNE * push, -known), known)
    if not feeds_forward(its):
        return 0.0
    return min(copysign(1.0, change) * left, copysign(1.0, change) * borne)


cdef inline bint was_stopped(const Settings* its, Py_ssize_t i, double push, double desired_speed,
                             double speed) noexcept nogil:
    """Whether a joint was seen to come to rest against its push or desired motion."""
    if fabs(speed) >= STOPPED_SPEED:
        return False
    return (fabs(push) > most_stiction(its, i)
            or fabs(desired_speed) > 2.0 * fabs(speed) + STICKING_SPEED)


cdef inline double unhindered(const StateValidator* v, Py_ssize_t i, double push) noexcept nogil:
    """A push or speed of a joint; 0 if it points beyond a limit at which the joint stands."""
    cdef double off = v.q[i] - v.middle[i]
    return 0.0 if push * off > 0.0 and fabs(off) > v.half_range[i] - AT_STOP else push


cdef inline double sure_speed(const Reckoning* r, const StateValidator* v, Py_ssize_t i,
                              double speed) noexcept nogil:
    """The part of a speed that the last positions show whatever their rounding: a speed estimated
    from them is too high at each step.
    """
    cdef double step = v.q[i] - v.last_q[i]
    if r.unchanged[i] <= 0.0:
        return 0.0
    return common(speed, copysign(max(fabs(step) - encoder_step(v, i), 0.0), step) / r.unchanged[i])


cdef inline void begin_joints(Reckoning* r, const Settings* its, const StateValidator* v,
                              const double* desired, const double* push) noexcept nogil:
    """Begin anew for each joint whose position has changed.

    push: (2, n) as in ``Reckoning``.
    """
    cdef Py_ssize_t n = r.n, i
    cdef bint anew = r.begins or v.dt == 0.0
    cdef double speed
    for i in range(n):
        r.inertia[i] = its.armature[i]
        r.unchanged[i] = v.dt if anew else r.unchanged[i] + v.dt
        if anew or v.q[i] != v.last_q[i]:
            r.inertia[i] = LOCKED
            speed = unhindered(v, i, v.qd[i])
            r.push[i], r.push[n + i], r.start[i] = push[i], push[n + i], desired[i]
            r.sure[i] = r.likely[i] = 0.0
            r.sure[n + i], r.likely[n + i] = sure_speed(r, v, i, speed), speed
            r.unchanged[i] = 0.0
            if feeds_forward(its):
                r.likely[n + i] -= desired[n + i]
            if was_stopped(its, i, push[i], desired[n + i], speed):
                r.push[i] = NAN
        elif (its.mode == CARTESIAN_IMPEDANCE and r.unchanged[i] < SPEED_SETTLES
                and not isnan(r.push[i])):
            r.push[i], r.push[n + i] = push[i], push[n + i]
        r.change[i] = unhindered(v, i, common(push[i] - r.push[i], push[n + i] - r.push[n + i]))
        if isnan(r.push[i]):
            r.change[i] = 0.0
    r.begins, r.accepted, r.until = False, v.accepted, 0.0


cdef inline bint is_pushed(const Reckoning* r, const Settings* its) noexcept nogil:
    """Whether any joint moves, or is pushed beyond its friction."""
    cdef Py_ssize_t i
    for i in range(r.n):
        if (fabs(r.change[i]) > its.coulomb[i] or fabs(r.sure[r.n + i]) > STICKING_SPEED or
                fabs(r.likely[r.n + i]) > STICKING_SPEED):
            return True
    return False


cdef inline void move_joints(Reckoning* r, const Settings* its, const DynamicsInterface* model,
                             const double* q, const double* effort, const double* friction,
                             double h, double* way) noexcept nogil:
    """Move the joints for a time h [s] under an effort. way: (2, n) distance and speed."""
    cdef Py_ssize_t n = r.n, i
    cdef double* speed = way + n
    cdef double* still = r.scratch
    memset(still, 0, n * sizeof(double))
    accelerate(model, q, still, effort, r.inertia, its.viscous, friction, h, speed, r.scratch + n,
               r.scratch + 2 * n)
    for i in range(n):
        if fabs(speed[i]) > STICKING_SPEED:                     # otherwise it sticks
            way[i] += h * speed[i]


cdef inline void reckon(Reckoning* r, const Settings* its, ModelBlend* models,
                        const StateValidator* v, const double* desired, const double* state,
                        double elapsed) noexcept nogil:
    """Compute up to a time since the last good state [s], under the command for that state, whose
    desired state (4, n) and presliding state (n,) are given.

    After a gap everything begins anew.
    """
    cdef Py_ssize_t n = r.n, i, k, steps
    cdef double* push = r.scratch                               # (2, n)
    cdef double* still = r.scratch + 4 * n
    cdef double* effort = still
    cdef double h, left
    if elapsed > its.state_timeout:
        r.begins = True
        memset(r.sure, 0, 2 * n * sizeof(double))
        memset(r.likely, 0, 2 * n * sizeof(double))
        return
    if r.begins or r.accepted != v.accepted:
        if its.mode == CARTESIAN_IMPEDANCE:
            memcpy(push, r.given, n * sizeof(double))
            memcpy(push + n, r.given, n * sizeof(double))
        else:
            feedback_effort(its, models, n, v.q, v.qd, desired, push, r.scratch + 2 * n)
            memset(still, 0, n * sizeof(double))
            feedback_effort(its, models, n, v.q, still, desired, push + n, r.scratch + 2 * n)
        begin_joints(r, its, v, desired, push)
    h, r.until = elapsed - r.until, max(elapsed, r.until)
    if h <= 0.0 or not is_pushed(r, its):
        return
    steps = <Py_ssize_t> (h / LONGEST_RECKONING) + 1
    h /= steps
    gravity(models, v.q, effort)
    for i in range(n):
        effort[i] += r.change[i]
        left = 0.0 if isnan(r.push[i]) else compensated(its, i, state[i], r.push[i], r.change[i])
        r.friction[i] = its.coulomb[i] - left
        r.most_friction[i] = most_stiction(its, i) - (left if r.change[i] * state[i] > 0.0 else 0.0)
    for k in range(steps):
        move_joints(r, its, models.newest.model, v.q, effort, r.most_friction, h, r.sure)
        move_joints(r, its, models.newest.model, v.q, effort, r.friction, h, r.likely)


cdef inline void add_reckoned(const Reckoning* r, const Settings* its, const double* desired,
                              double* q, double* qd) noexcept nogil:
    """Add to repeated positions how far the arm has likely moved; desired: (4, n) of the last
    command.
    """
    cdef Py_ssize_t n = r.n, i
    for i in range(n):
        q[i] += r.likely[i]
        qd[i] = r.likely[n + i]
        if feeds_forward(its):
            q[i] += desired[i] - r.start[i] + r.until * desired[n + i]
            qd[i] += desired[n + i]
