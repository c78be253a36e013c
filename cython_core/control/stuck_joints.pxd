# Is a joint pushed beyond all friction, and does not move? Class 4 of docs/faults.md.
#
# Its encoder may be frozen, and it moves unseen, pushed further and further by its feedback; or its
# brakes are on. These need not be told apart: in both cases the motion is abandoned, and nothing
# may push on until the position changes (open_loop_stop.pxd). Feedback from a frozen position
# cannot hold an arm. A joint that was seen to stop against its push is held by its brakes or an
# obstacle: it is where it says, and the arm is held there.
#
# A position that stays the same to the bit is asked how far the joint must have moved since it last
# changed if it were free; a push counts from when it was commanded. Twice: at least (lower_bound,
# from what the positions showed for sure, against more friction than the joint may have, and under
# the push that moves it least: what feedback bore before may have been a load, which is no push, or
# may have braked the joint, as the desired motion may that comes to rest); and as expected (under
# the change of the push, against the known friction, besides the desired motion, which the
# feedforward drives). It is stuck where both have left by more than the step of the encoder: one
# that turns round, or is braked, need not have.
# A measured wrench may explain why a joint stays where it is; alone it does not tell that the joint
# should have moved, since its sensor may be wrong. Arrays are (n,).

from libc.math cimport copysign, fabs
from libc.string cimport memcpy, memset

from control.arm cimport Arm, accelerates, combine, drives_end_effector, feeds_forward, gravity
from control.fault_bounds cimport REPEAT_TIME, STANDING_SPEED
from control.laws cimport STICKING_SPEED, accelerate
from control.settings cimport JointLimits, JointSettings
from control.state_observer cimport Observer, common, unseen
from joint_drives cimport JointDrives

cdef extern from *:
    const double MAX_STEP "0.005"        # [s] of the integration
    const double PUSHED_MOTION "0.005"   # [rad, m] that a free joint must have moved
    const double MAX_STICTION "3.0"      # times the Coulomb friction, plus
    const double STICTION_SHARE "0.01"   # of the effort limit, may hold a joint; if friction is
                                         # unknown,
    const double UNKNOWN_STICTION "0.1"  # of the effort limit
    const double STOP_REACH "1e-3"       # [rad, m] from a position limit: its stop may hold the
                                         # joint
    const double DAMPING_SETTLES "0.05"  # [s] in which the end effector's damping does, at rest
    const double VAST "1e9"              # in place of infinity, which would give NaN: inertia that
                                         # keeps a joint's speed, effort where there is no limit

cdef struct StuckJoints:
    Py_ssize_t n
    Py_ssize_t joint         # that did not move, until its position changes; -1: none
    bint begins              # no earlier push is known
    double* push             # (2, n) feedback when each position last changed, with and without the
                             # velocities' share; or what the end effector touches, if it is led
    bint* stopped            # whether the joint was seen to stop against it
    double* change           # of the push since then, as far as both show it
    bint* moved              # whether it was seen to move in the last state
    double* speed            # in the last state
    double* gained           # from the one before
    double* lower_bound      # (3, n) displacement, speed, acceleration since then, against
                             # max_friction
    double* expected         # (3, n) likewise against the known friction; the last two relative to
                             # the desired motion
    double* inertia          # of the drives; VAST for a joint that is seen to move, so that it
                             # affects no other
    double* friction         # known friction that the feedforward does not compensate
    double* max_friction     # the same of the largest that it may have
    double* feedback         # feedback in the last command that led the end effector
    double share             # of the joints' feedback that was in the last command
    double* H                # (n, n) scratch
    double* scratch          # (10, n)


cdef inline bint is_seen_to_move(const Observer* o, Py_ssize_t i) noexcept nogil:
    """Whether a joint's position has changed, or its measured velocity shows that it moves between
    two steps of its encoder.
    """
    return o.unchanged[i] == 0.0 or (o.age[o.n + i] == 0.0 and fabs(o.qd[i]) > STICKING_SPEED)


cdef inline void feedback_efforts(const StuckJoints* s, const Arm* arm, const Observer* o,
                                  const double* desired, double* push) noexcept nogil:
    """push, (2, n): feedback for a desired state (4, n), with and without its damping.

    Of accelerations, what makes up for other joints that are seen to move is no push.
    """
    cdef const JointSettings* joints = &arm.joints
    cdef double* H = s.H
    cdef double* asked = s.scratch + 2 * s.n
    cdef Py_ssize_t n = s.n
    for i in range(n):
        push[i] = joints.p[i] * (desired[i] - o.q[i]) + joints.d[i] * (desired[n + i] - s.speed[i])
        push[n + i] = joints.p[i] * (desired[i] - o.q[i]) + joints.d[i] * desired[n + i]
    if accelerates(arm):
        arm.models.newest.model.crba(arm.models.newest.model.self, o.q, H)
        memcpy(asked, push, 2 * n * sizeof(double))
        for i in range(n):
            H[i * (n + 1)] += joints.drives.armature[i]
            for k in range(2):
                own = total = 0.0
                for j in range(n):
                    part = s.share * H[i * n + j] * asked[k * n + j]
                    total += part
                    own += part if j == i or not is_seen_to_move(o, j) else 0.0
                push[k * n + i] = common(own, total)
    for k in range(2):
        for i in range(n):
            limit = joints.effort_limit[i]
            push[k * n + i] = min(max(push[k * n + i], -limit), limit)


cdef inline double max_stiction(const JointSettings* joints, Py_ssize_t i) noexcept nogil:
    cdef double limit = min(joints.effort_limit[i], VAST)
    if joints.drives.coulomb[i] > 0.0:
        return MAX_STICTION * joints.drives.coulomb[i] + STICTION_SHARE * limit
    return UNKNOWN_STICTION * limit


cdef inline double off_stops(const JointLimits* limits, Py_ssize_t i, double q,
                             double push) noexcept nogil:
    """A push or speed of a joint; 0 if it points beyond a limit at which the joint stands."""
    if push > 0.0:
        return push if q < limits.upper[i] - STOP_REACH else 0.0
    return push if q > limits.lower[i] + STOP_REACH else 0.0


cdef inline bint was_stopped(const JointSettings* joints, Py_ssize_t i, double push,
                             double desired_speed, double speed, double gained) noexcept nogil:
    """Whether a joint was seen to come to rest against its push or desired motion; gained: what its
    speed has changed by. One that turns round as it is asked to gains speed that way.
    """
    return (fabs(speed) < STANDING_SPEED
            and ((fabs(push) > max_stiction(joints, i) and gained * push <= 0.0)
                 or (fabs(desired_speed) > 2.0 * fabs(speed) + STICKING_SPEED
                     and gained * desired_speed <= 0.0)))


cdef inline void begin_watch(StuckJoints* s, const Arm* arm, const Observer* o,
                             const double* desired, const double* push,
                             Py_ssize_t i) noexcept nogil:
    """Begin with a joint whose position has changed with the state before; push: (2, n)."""
    cdef double speed = off_stops(o.limits, i, o.q[i], s.speed[i])
    s.push[i], s.push[s.n + i] = push[i], push[s.n + i]
    s.lower_bound[i] = s.expected[i] = 0.0
    s.lower_bound[s.n + i] = common(speed, o.proven_speed[i])
    s.expected[s.n + i] = speed - (desired[s.n + i] if feeds_forward(arm) else 0.0)
    s.stopped[i] = was_stopped(&arm.joints, i, push[i], desired[s.n + i], speed, s.gained[i])


cdef inline void take_push(StuckJoints* s, const Arm* arm, const Observer* o,
                           const double* desired, const double* push, double dt,
                           double* braked) noexcept nogil:
    """Find the change of each joint's push; push: (2, n) that has acted since the state before, dt
    [s] ago. braked: (n,) becomes for how long it had acted then on a joint's mean speed [s].
    """
    cdef bint leads = drives_end_effector(arm), moves
    cdef Py_ssize_t n = s.n
    for i in range(n):
        moves = s.begins or o.reset or is_seen_to_move(o, i)
        s.inertia[i] = VAST if moves else arm.joints.drives.armature[i]
        braked[i] = 0.5 * dt if s.moved[i] else 0.0
        if moves or s.moved[i]:
            begin_watch(s, arm, o, desired, push, i)
        elif leads and o.unchanged[i] < DAMPING_SETTLES:
            s.push[i], s.push[n + i] = push[i], push[n + i]
        s.change[i] = off_stops(o.limits, i, o.q[i],
                                common(push[i] - s.push[i], push[n + i] - s.push[n + i]))
        if s.stopped[i] and not leads:
            s.change[i] = 0.0                                   # the path's tolerance is in charge
        s.moved[i], s.gained[i], s.speed[i] = moves, o.qd[i] - s.speed[i], o.qd[i]
    s.begins = False


cdef inline bint is_pushed(const StuckJoints* s, const JointSettings* joints) noexcept nogil:
    """Whether any joint that is not seen to move is pushed beyond its friction, or moves unseen."""
    for i in range(s.n):
        if not s.moved[i] and (fabs(s.change[i]) > joints.drives.coulomb[i]
                               or fabs(s.lower_bound[s.n + i]) > STICKING_SPEED
                               or fabs(s.expected[s.n + i]) > STICKING_SPEED):
            return True
    return False


cdef inline double least_push(const StuckJoints* s, const double* push, double driving,
                              Py_ssize_t i, double speed) noexcept nogil:
    """The push that moves a joint least: what it bore when its position last changed may have been
    a load, or may have braked it. push: (2, n); driving: effort of the feedforward.
    """
    cdef double least = min(s.change[i], min(push[i], push[s.n + i])) + min(driving, 0.0)
    cdef double most = max(s.change[i], max(push[i], push[s.n + i])) + max(driving, 0.0)
    if speed != 0.0:
        return least if speed > 0.0 else most
    return max(least, 0.0) + min(most, 0.0)


cdef inline void move_joints(const Arm* arm, const JointDrives* drives, const double* q,
                             const double* effort, double h, const double* braked,
                             double* displacement, double* scratch) noexcept nogil:
    """Move the joints for h [s] under an effort. braked: (n,) for how long what brakes a joint has
    done so [s], without turning it round; NULL: it may turn. displacement: (3, n), scratch: (4, n).
    """
    cdef Py_ssize_t n = arm.models.n
    cdef double* speed = displacement + n
    cdef double* before = scratch + 3 * n
    memset(scratch, 0, n * sizeof(double))                      # velocity, for the model
    memcpy(before, speed, n * sizeof(double))
    accelerate(arm.models.newest.model, drives, q, scratch, effort, h, speed, scratch + n)
    for i in range(n):
        if braked != NULL and speed[n + i] * before[i] < 0.0:
            speed[i] = common(speed[i] + braked[i] * speed[n + i], before[i])
        if fabs(speed[i]) > STICKING_SPEED:                     # otherwise it sticks
            displacement[i] += h * speed[i]


cdef inline void push_joints(StuckJoints* s, const Arm* arm, const Observer* o,
                             const double* desired, const double* presliding,
                             const double* contact, double dt) noexcept nogil:
    """Take a joint state, dt [s] after the last; desired: (4, n); contact: its effort (n,)."""
    cdef double* push = s.scratch                               # (2, n)
    cdef double* weight = s.scratch + 2 * s.n
    cdef double* effort = s.scratch + 3 * s.n
    cdef double* scratch = s.scratch + 4 * s.n
    cdef double* braked = s.scratch + 8 * s.n
    cdef double* driving = s.scratch + 9 * s.n
    cdef JointDrives known = arm.joints.drives, worst = known
    cdef Py_ssize_t n = s.n, steps = <Py_ssize_t> (dt / MAX_STEP) + 1
    cdef double h = dt / steps
    if drives_end_effector(arm):
        memcpy(push, s.feedback, n * sizeof(double))
        for i in range(n):
            push[n + i] = s.feedback[i] - contact[i]
    else:
        feedback_efforts(s, arm, o, desired, push)
    take_push(s, arm, o, desired, push, dt, braked)
    if h <= 0.0 or not is_pushed(s, &arm.joints):
        return
    for i in range(n):
        borne = 0.0                                             # by the feedforward
        if feeds_forward(arm):
            borne = known.coulomb[i] * copysign(1.0, s.change[i]) * presliding[i]
        s.friction[i] = known.coulomb[i] - borne
        s.max_friction[i] = max_stiction(&arm.joints, i) - max(borne, 0.0)
    known.armature, known.coulomb = s.inertia, s.friction
    worst.armature, worst.coulomb = s.inertia, s.max_friction
    gravity(&arm.models, o.accepted_q, weight)
    memset(driving, 0, n * sizeof(double))                      # what accelerates by feedforward
    if feeds_forward(arm):
        combine(&arm.models, o.accepted_q, NULL, desired + 2 * n, driving)
        for i in range(n):
            driving[i] += arm.joints.drives.armature[i] * desired[2 * n + i] - weight[i]
    for k in range(steps):
        for i in range(n):
            effort[i] = weight[i] + least_push(s, push, driving[i], i, s.lower_bound[n + i])
        move_joints(arm, &worst, o.accepted_q, effort, h, braked, s.lower_bound, scratch)
        memset(braked, 0, n * sizeof(double))
        for i in range(n):
            effort[i] = weight[i] + s.change[i]
        move_joints(arm, &known, o.accepted_q, effort, h, NULL, s.expected, scratch)
    if feeds_forward(arm):
        for i in range(n):
            s.expected[i] += dt * desired[n + i]


cdef inline Py_ssize_t first_stuck(const StuckJoints* s, const Observer* o, double* moved,
                                   double* bound) noexcept nogil:
    """The first joint that must have moved by more than a bound, and has not, or -1."""
    for i in range(s.n):
        moved[0] = fabs(common(s.lower_bound[i], s.expected[i]))
        bound[0] = max(PUSHED_MOTION, unseen(o, i))
        if (not (s.begins or s.moved[i]) and o.unchanged[i] > REPEAT_TIME
                and moved[0] > bound[0]):
            return i
    return -1


cdef inline void add_expected(const StuckJoints* s, const Arm* arm, const double* desired,
                              double* q, double* qd) noexcept nogil:
    """Add how far joints that seem to stand are expected to have moved; desired: (4, n)."""
    cdef Py_ssize_t n = s.n
    for i in range(n):
        q[i] += s.expected[i]
        qd[i] = s.expected[n + i] + (desired[n + i] if feeds_forward(arm) else 0.0)
