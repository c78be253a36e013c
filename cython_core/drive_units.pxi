# The units of an arm's drives, for compiled code.

cdef int copy_drive_units(DriveUnits* u, Memory memory, units) except -1:
    """Copies of what a ``featherstone_ros.model.drive_units.DriveUnits`` says; None: all is torque.
    """
    cdef Py_ssize_t n, i
    cdef int32_t* law
    if units is None:
        return 0
    n = units.n
    law = <int32_t*> memory.block(n, np.int32)
    for i in range(n):
        law[i] = units.laws[i]
    even, odd = units.losses
    u.law = law
    u.torque_per_current, u.voltage_per_speed = (
        memory.copy(units.torque_per_current, n), memory.copy(units.voltage_per_speed, n))
    u.resistance, u.supply_voltage = (
        memory.copy(units.resistance, n), memory.copy(units.supply_voltage, n))
    u.even, u.odd = memory.copy(even, n), memory.copy(odd, n)
    u.compliance, u.damping = memory.copy(units.compliance, n), memory.copy(units.damping, n)
    u.max_command, u.max_current = (
        memory.copy(units.max_command, n), memory.copy(units.max_current, n))
    u.effort_gain, u.hides_gravity = (
        memory.copy(units.effort_gain, n), memory.copy(units.hides_gravity, n))
    u.converts, u.any_position = bool(units.laws.any()), bool(units.compliance.any())
    u.loses, u.hides = bool((even != 1.0).any() or odd.any()), bool(units.hides_gravity.any())
    u.measures = u.hides or bool((units.effort_gain != 1.0).any())
    return 0
