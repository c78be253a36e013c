# Locked joints that move all the same: a lift, a torso, a gripper that another controller opens.
#
# A joint that carries free joints, or is moved by them, is a body of the tree whose S is zero, like
# a mimic joint with the multiplier 0 (system.pxd). Its position is in theta0, d and p, which change
# here; whoever calls this is the only user of the system.

from libc.math cimport rint

from system cimport Body, FollowedJoint, System, Workspace

cdef extern from *:
    """
    #define HALF_PI_HIGH 0x1.921fb54442d18p+0
    #define HALF_PI_LOW 0x1.1a62633145c07p-54
    """
    const double HALF_PI_HIGH
    const double HALF_PI_LOW


cdef inline void place_body(System* system, const FollowedJoint* joint, double x) noexcept nogil:
    """Move a followed joint to its position x."""
    cdef Body* b = &system.body[joint.slot]
    cdef double angle = joint.theta0 + joint.angular * x
    cdef double quarters = rint(angle / HALF_PI_HIGH)
    cdef Py_ssize_t k
    system.theta0[joint.slot] = (angle - quarters * HALF_PI_HIGH) - quarters * HALF_PI_LOW
    system.turn[joint.slot] = joint.turn + quarters
    for k in range(3):
        b.p[k] = joint.p[k] + joint.linear * x * joint.z[k]
    if not b.grounded:
        b.d = joint.d + joint.linear * x


cdef inline void place_locked(System* system, Workspace* work,
                              const double* positions) noexcept nogil:
    """Move the followed joints with ``Model.locked_joints``; work: for one state."""
    cdef const FollowedJoint* joint
    cdef Py_ssize_t j, k
    for j in range(system.followed_joints):
        joint = &system.followed[j]
        place_body(system, joint, joint.multiplier * positions[joint.source] + joint.offset)
        work.d[joint.slot] = system.body[joint.slot].d
        for k in range(3):
            work.p[3 * joint.slot + k] = system.body[joint.slot].p[k]
