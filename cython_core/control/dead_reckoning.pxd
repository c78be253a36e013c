# Where an arm comes that is not seen, by its model; and whether a joint whose position stays the
# same ought to have moved.
#
# A position that does not change by a single bit is that of a joint at rest, or the last one over
# and over: a frozen encoder, or a driver that goes on sending what it had. Feedback then pushes the
# arm further and further from where it is to be. What tells the two apart is the push: by how much
# the feedback has changed since the position last did, beyond all friction that the joint may have,
# moves a joint that is free. How far is worked out twice: against more friction than is known of
# (so far it has moved for sure), and against what is known, with the desired motion (so far it will
# have).
#
# Nothing is said of a load or friction that the feedback already carried when the joint came to
# rest, nor of a joint that was seen to stop against the push: brakes or an obstacle hold it; nor of
# one that is pushed against its stop. Arrays are (n,).

from libc.math cimport NAN, copysign, fabs, isnan
from libc.string cimport memcpy, memset

from dynamics_interface cimport DynamicsInterface
from smooth_friction cimport drag, smooth_sign
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
    #define STOPPED_SPEED (0.05)
    #define MOST_STICTION (3.0)
    #define STICTION_SHARE (0.01)
    #define UNKNOWN_STICTION (0.1)
    #define AT_STOP (1e-3)
    #define SPEED_SETTLES (0.05)
    #define LOCKED (1e9)
    #define ANY_EFFORT (1e9)
    """
    const double RECKONING_STEP     # [s] of a whole arm: some 50 us of computing for 0.1 s of one
                                    # with 7 joints
    const double LONGEST_RECKONING  # [s] time step of single joints
    const double STICKING_SPEED     # [rad/s, m/s] below which Coulomb friction is viscous, and a
                                    # joint sticks
    const double STOPPED_SPEED      # [rad/s, m/s] of a joint that has been stopped against a push
    const double MOST_STICTION      # times the Coulomb friction, and in addition
    const double STICTION_SHARE     # of the effort limit, that may hold a joint; where friction is
                                    # not known
    const double UNKNOWN_STICTION   # of the effort limit
    const double AT_STOP            # [rad, m] from a position limit: its stop may hold the joint
    const double SPEED_SETTLES      # [s] after a step of the position: one estimated from it, with
                                    # the hand's damping
    const double LOCKED             # [kg m^2, kg] inertia that keeps a joint's speed
    const double ANY_EFFORT         # [N m, N] where there is no limit

cdef struct Reckoning:
    Py_ssize_t n
    bint begins              # nothing is known of the push before
    long long accepted       # number of the good state that was last looked at
    double until             # since then [s]
    double* push             # (2, n) of the feedback when each position last changed, and of its
                             # share without velocities; NaN: it stopped against it
    double* change           # of the push since then, as far as both show it
    double* unchanged        # time for which each position had been the same [s]
    double* start            # desired position then
    double* sure             # (2, n) way and speed since then, of a joint that friction hinders
                             # most
    double* likely           # (2, n) the same beside the desired motion, with the friction that is
                             # known
    double* inertia          # of the drives; of a joint that is seen to move so much that it pulls
                             # on no other
    double* friction         # that the feedforward leaves, of what is known
    double* most_friction    # and of the most that there may be
    double* given            # feedback in the last command that led the hand
    double* scratch          # (5, n)


cdef inline bint accelerate(const DynamicsInterface* model, const double* q, const double* qd,
                            const double* effort, const double* armature, const double* viscous,
                            const double* coulomb, double h, double* speed, double* acceleration,
                            double* scratch) noexcept nogil:
    """Change a speed by an effort against friction, in a step h [s] that is implicit in friction:
    stable whatever it is.

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
    """Bring a motion state to where an arm comes under a command.

    The acceleration is the one that it has under this command in the end: an effort worked out for
    a motion that begins with this state begins with this command, too. state, scratch: (4, n).
    """
    cdef const DynamicsInterface* model = models.newest.model
    cdef double* applied = scratch
    cdef double* carried = scratch + 3 * model.n
    cdef double h = RECKONING_STEP
    cdef Py_ssize_t n = model.n, i, k, steps = max(<Py_ssize_t> (duration / h + 0.5), 1)
    for k in range(steps):
        if its.hardware_adds_gravity:
            gravity(models, state, carried)
        for i in range(n):
            applied[i] = command[i] - its.offset[i]
            if its.hardware_adds_gravity:
                applied[i] += carried[i]
        if not accelerate(model, state, state + n, applied, its.armature, its.viscous, its.coulomb,
                          h, state + n, state + 2 * n, scratch + n):
            # neither links nor armature: only the velocity is known
            memset(state + 2 * n, 0, n * sizeof(double))
        for i in range(n):
            state[i] += h * state[n + i]


cdef inline void find_push(const Settings* its, ModelBlend* models, Py_ssize_t n, const double* q,
                           const double* qd, const double* desired, double* push,
                           double* scratch) noexcept nogil:
    """The effort by which the feedback pushes the arm to the desired state (4, n).

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


cdef inline double compensated(const Settings* its, Py_ssize_t i, double velocity) noexcept nogil:
    """Size of the Coulomb friction that the feedforward of a desired velocity makes up for."""
    return (its.coulomb[i] * fabs(smooth_sign(velocity, its.friction_velocity))
            if feeds_forward(its) else 0.0)


cdef inline bint was_stopped(const Settings* its, Py_ssize_t i, double push, double desired_speed,
                             double speed) noexcept nogil:
    """Whether a joint was seen to come to rest against what it was asked to do."""
    if fabs(speed) >= STOPPED_SPEED:
        return False
    return (fabs(push) > most_stiction(its, i)
            or fabs(desired_speed) > 2.0 * fabs(speed) + STICKING_SPEED)


cdef inline double unhindered(const StateValidator* v, Py_ssize_t i, double push) noexcept nogil:
    """A push or speed of a joint, none if it leads beyond the limit where the joint is."""
    cdef double off = v.q[i] - v.middle[i]
    return 0.0 if push * off > 0.0 and fabs(off) > v.half_range[i] - AT_STOP else push


cdef inline double sure_speed(const Reckoning* r, const StateValidator* v, Py_ssize_t i,
                              double speed) noexcept nogil:
    """What the last positions show of a speed whatever they were rounded by: one estimated from
    them is high at each step.
    """
    cdef double step = v.q[i] - v.last_q[i]
    if r.unchanged[i] <= 0.0:
        return 0.0
    return common(speed, copysign(max(fabs(step) - encoder_step(v, i), 0.0), step) / r.unchanged[i])


cdef inline void begin_joints(Reckoning* r, const Settings* its, const StateValidator* v,
                              const double* desired, const double* push) noexcept nogil:
    """Where a position is new, what moves the joint from here on counts.

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


cdef inline void travel(Reckoning* r, const Settings* its, const DynamicsInterface* model,
                        const double* q, const double* effort, const double* friction, double h,
                        double* way) noexcept nogil:
    """Let the joints go on for a time h [s] under an effort. way: (2, n) and speed."""
    cdef Py_ssize_t n = r.n, i
    cdef double* speed = way + n
    cdef double* still = r.scratch
    memset(still, 0, n * sizeof(double))
    accelerate(model, q, still, effort, r.inertia, its.viscous, friction, h, speed, r.scratch + n,
               r.scratch + 2 * n)
    for i in range(n):
        if fabs(speed[i]) > STICKING_SPEED:                     # else it sticks
            way[i] += h * speed[i]


cdef inline void reckon(Reckoning* r, const Settings* its, ModelBlend* models,
                        const StateValidator* v, const double* desired,
                        double elapsed) noexcept nogil:
    """Go on to a time since the last good state [s], under the command for that state; desired: (4,
    n) of that command.

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
            find_push(its, models, n, v.q, v.qd, desired, push, r.scratch + 2 * n)
            memset(still, 0, n * sizeof(double))
            find_push(its, models, n, v.q, still, desired, push + n, r.scratch + 2 * n)
        begin_joints(r, its, v, desired, push)
    h, r.until = elapsed - r.until, max(elapsed, r.until)
    if h <= 0.0 or not is_pushed(r, its):
        return
    steps = <Py_ssize_t> (h / LONGEST_RECKONING) + 1
    h /= steps
    gravity(models, v.q, effort)
    for i in range(n):
        effort[i] += r.change[i]
        left = compensated(its, i, desired[n + i])
        r.friction[i] = its.coulomb[i] - left
        r.most_friction[i] = (most_stiction(its, i)
                              - (left if r.change[i] * desired[n + i] > 0.0 else 0.0))
    for k in range(steps):
        travel(r, its, models.newest.model, v.q, effort, r.most_friction, h, r.sure)
        travel(r, its, models.newest.model, v.q, effort, r.friction, h, r.likely)


cdef inline void add_reckoned(const Reckoning* r, const Settings* its, const double* desired,
                              double* q, double* qd) noexcept nogil:
    """Where an arm likely is by now whose positions do not show it: add that to them; desired: (4,
    n) of the last command.
    """
    cdef Py_ssize_t n = r.n, i
    for i in range(n):
        q[i] += r.likely[i]
        qd[i] = r.likely[n + i]
        if feeds_forward(its):
            q[i] += desired[i] - r.start[i] + r.until * desired[n + i]
            qd[i] += desired[n + i]
