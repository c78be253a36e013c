# The drives of an arm: what they add to its links. One structure for the controller, the shadow and
# the twin; featherstone_ros/model/drives.py has the law of friction, smooth_friction.pxd what
# follows from it where motion is given.

from libc.math cimport copysign, fabs

from smooth_friction cimport damping, dry_share, dry_torque, viscous_torque

cdef struct JointDrives:     # (n,) each, on the joint's side
    const double* armature   # inertia [kg m^2 or kg]
    const double* viscous    # friction [N m s/rad or N s/m]
    const double* thinning   # of that with the speed [s/rad or s/m]
    const double* coulomb    # friction [N m or N]
    const double* load       # the same per torque that the gear carries
    const double* offset     # constant friction [N m or N]
    const double* stiffness  # of what the joint bends, as cables, with its zero in the offset
                             # [N m/rad or N/m]


cdef inline void place_rows(double** rows, size_t size, double* memory,
                            Py_ssize_t n) noexcept nogil:
    """Let all pointers of a structure of that size [bytes] point to rows (n,) of an array."""
    for k in range(size // sizeof(double*)):
        rows[k] = memory + k * n


cdef inline double standing_torque(const JointDrives* drives, Py_ssize_t i,
                                   double position) noexcept nogil:
    """What a joint takes however it moves."""
    return drives.offset[i] + drives.stiffness[i] * position


cdef inline void add_drives(const JointDrives* drives, Py_ssize_t n, const double* position,
                            const double* velocity, const double* acceleration,
                            const double* sliding, double* torque) noexcept nogil:
    """Add what a motion takes of the drives: that of rotors, friction, spring and offset.

    sliding: (n,) presliding states; torque: (n,) that of the links so far, which the gears carry.
    """
    cdef Py_ssize_t i
    for i in range(n):
        torque[i] += (dry_torque(drives.coulomb[i], drives.load[i], torque[i], sliding[i])
                      + viscous_torque(drives.viscous[i], drives.thinning[i], velocity[i])
                      + drives.armature[i] * acceleration[i]
                      + standing_torque(drives, i, position[i]))


cdef inline double moving_torque(const JointDrives* drives, Py_ssize_t i, double position,
                                 double velocity) noexcept nogil:
    """What a joint takes but for its rotor and Coulomb friction."""
    return (viscous_torque(drives.viscous[i], drives.thinning[i], velocity)
            + standing_torque(drives, i, position))


cdef inline void take_standing(const JointDrives* drives, Py_ssize_t n, const double* position,
                               const double* torque, double* applied) noexcept nogil:
    """What is left of torques (n,) after spring and offset, for all else that moves."""
    cdef Py_ssize_t i
    for i in range(n):
        applied[i] = torque[i] - standing_torque(drives, i, position[i])


cdef inline bint has_spring(const JointDrives* drives, Py_ssize_t n) noexcept nogil:
    """Whether what ``take_standing`` takes changes as the arm moves."""
    cdef Py_ssize_t i
    for i in range(n):
        if drives.stiffness[i] != 0.0:
            return True
    return False


cdef inline double drag(const JointDrives* drives, Py_ssize_t i, double torque, double speed,
                        double sticking_speed) noexcept nogil:
    """Friction of a joint per unit of its speed under a torque, for implicit time steps; below the
    sticking speed Coulomb friction is viscous.
    """
    cdef double d = damping(drives.viscous[i], drives.thinning[i], speed)
    cdef double dry = dry_share(drives.coulomb[i], drives.load[i], torque - d * speed,
                                copysign(1.0, speed))
    return d + fabs(dry) / max(fabs(speed), sticking_speed)
