# ImpedanceSettings from what featherstone_ros.control.cartesian_impedance has checked.

cdef int fill(double* to, const double[::1] values, Py_ssize_t count) except -1:
    cdef Py_ssize_t k
    if values.shape[0] != count:
        raise ValueError(f"expected {count} numbers, got {values.shape[0]}")
    for k in range(count):
        to[k] = values[k]
    return 0


cdef fill_settings(ImpedanceSettings* its, Py_ssize_t n, s):
    """Take a mapping from the names of ``ImpedanceSettings`` to arrays for n joints."""
    cdef Py_ssize_t k
    cdef double[:, ::1] walls = s["walls"]
    its.tip_axes = s["tip_axes"]
    its.transition_time, its.tank, its.delay = s["transition_time"], s["tank"], s["delay"]
    fill(its.stiffness, s["stiffness"], 6)
    fill(its.damping_ratio, s["damping_ratio"], 6)
    fill(its.damping, s["damping"], 6)
    fill(its.largest, s["largest"], 2)
    fill(its.largest_inertia, s["largest_inertia"], 6)
    its.inertia_shaping = s["inertia_shaping"]
    fill(its.shaped_inertia, s["shaped_inertia"], 6)
    fill(its.approach.rate, s["rate"], 2)
    fill(its.approach.speed, s["speed"], 2)
    fill(its.approach.acceleration, s["acceleration"], 2)
    fill(its.posture, s["posture"], n)
    fill(its.posture_stiffness, s["posture_stiffness"], n)
    fill(its.posture_damping_ratio, s["posture_damping_ratio"], n)
    fill(its.lower, s["lower"], n)
    fill(its.upper, s["upper"], n)
    fill(its.margin, s["margin"], n)
    fill(its.repulsion, s["repulsion"], n)
    fill(its.speed, s["speed_limit"], n)
    its.walls = walls.shape[0]
    for k in range(its.walls):
        memcpy(&its.wall[k], &walls[k, 0], sizeof(Wall))
