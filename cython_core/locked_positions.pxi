# The memory of LockedJoints, for compiled code that follows them.

cdef int lay_out_locked(LockedJoints* joints, Memory memory, model) except -1:
    """At first they stand where the model has them."""
    cdef Py_ssize_t n, k
    names, ranges = model.locked_joints, model.locked_ranges
    n = len(names)
    joints.n = <int32_t> n
    joints.at, joints.given, joints.heard = (
        memory.doubles(n), memory.doubles(n), memory.doubles(n))
    joints.refused = <bint*> memory.block(n, np.intc)
    joints.lowest, joints.highest, joints.speed = (
        memory.copy(ranges[0], n), memory.copy(ranges[1], n), memory.copy(ranges[2], n))
    for k in range(n):
        joints.at[k] = joints.given[k] = model.locked[names[k]]
        joints.heard[k] = NAN
    return 0


cdef class LockedPlaces:
    """Where the parameters have the locked joints (m,) [rad or m]: the payload of a request.

    Attributes:
        address: Of the numbers; this object must outlive the request.
    """

    cdef cnp.ndarray positions

    def __cinit__(self, positions):
        self.positions = np.array(positions, dtype=float)

    @property
    def address(self) -> int:
        return <size_t> cnp.PyArray_DATA(self.positions)
