# The drives of a Simulator, for compiled code outside the core.

cdef int copy_drives(JointDrives* drives, Memory memory, simulator, offset, stiffness,
                     Py_ssize_t n) except -1:
    """Copies of the simulator's armature and friction, and of constant friction and stiffness (n,),
    which it does not have.
    """
    drives.stiffness = memory.copy(stiffness, n)
    drives.armature, drives.offset = memory.copy(simulator.armature, n), memory.copy(offset, n)
    drives.viscous, drives.coulomb = (
        memory.copy(simulator.damping, n), memory.copy(simulator.friction, n))
    drives.thinning, drives.load = (
        memory.copy(simulator.thinning, n), memory.copy(simulator.load, n))
    return 0
