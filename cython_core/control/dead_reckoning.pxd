# Where the model says that an arm moves under an effort, without a joint state.

from libc.string cimport memset

from dynamics_interface cimport DynamicsInterface
from joint_drives cimport JointDrives, drag
from control.arm cimport Arm
from control.laws cimport drives_of
from control.model_blend cimport gravity
from control.torque_governor cimport all_finite

cdef extern from *:
    """
    #define RECKONING_STEP (0.001)
    #define STICKING_SPEED (1e-3)
    """
    const double RECKONING_STEP     # [s] of the integration: with 7 joints, 0.1 s take some 50 us
    const double STICKING_SPEED     # [rad/s, m/s] below which Coulomb friction is viscous, and a
                                    # joint sticks


cdef inline void accelerate(const DynamicsInterface* model, const JointDrives* drives,
                            const double* q, const double* qd, const double* effort, double h,
                            double* speed, double* scratch) noexcept nogil:
    """Advance a speed under an effort and friction by a step h [s], implicit in the friction and so
    always stable.

    Where neither links nor armature move, only the speed is known. speed: (2, n) with the
    acceleration found; scratch: (2, n).
    """
    cdef Py_ssize_t n = model.n, i
    cdef double* applied = scratch
    cdef double* diagonal = scratch + n
    cdef double d
    for i in range(n):
        d = drag(drives, i, effort[i], speed[i], STICKING_SPEED)
        diagonal[i] = drives.armature[i] + h * d
        applied[i] = effort[i] - d * speed[i]
    if (model.aba(model.self, q, qd, applied, diagonal, speed + n)
            or not all_finite(speed + n, n)):
        memset(speed + n, 0, n * sizeof(double))
    for i in range(n):
        speed[i] += h * speed[n + i]


cdef inline void dead_reckoning(const Arm* arm, const double* command, const double* contact,
                                double duration, double* state) noexcept nogil:
    """Advance a motion state by a time under a command and the effort (n,) of a contact.

    Its acceleration is then the one that this command causes at the end: so the effort for a motion
    that begins with this state begins with this command. state: (4, n).
    """
    cdef const DynamicsInterface* model = arm.models.newest.model
    cdef double* scratch = arm.models.scratch
    cdef double* applied = scratch
    cdef double* added_gravity = scratch + 3 * model.n
    cdef JointDrives drives = drives_of(&arm.joints)
    cdef Py_ssize_t n = model.n, i, k
    cdef Py_ssize_t steps = max(<Py_ssize_t> (duration / RECKONING_STEP + 0.5), 1)
    cdef double h = duration / steps
    for k in range(steps):
        if arm.settings.hardware_adds_gravity:
            gravity(&arm.models, state, added_gravity)
        for i in range(n):
            applied[i] = command[i] + contact[i] - arm.joints.offset[i]
            if arm.settings.hardware_adds_gravity:
                applied[i] += added_gravity[i]
        accelerate(model, &drives, state, state + n, applied, h, state + n, scratch + n)
        for i in range(n):
            state[i] += h * state[n + i]
