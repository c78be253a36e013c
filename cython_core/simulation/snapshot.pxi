# Immutable settings, handed over to a twin as a whole.

cdef class Snapshot:
    """Settings of a twin as compiled code reads them. Keep this object while they are in use.

    Args:
        simulator: A ``Simulator`` used for nothing else, with friction, armature, stops, integrator
            and time step.
        settings: ``SimulatorSettings``, checked against the model.
        home: (nq,) initial position.
        limit, offset, stiffness, drive_p, drive_d: (n,) effort limits, constant friction, the
            joints' springs, and the gains of the drives' own loop.
        drive_speed, drive_acceleration: (n,) within which that keeps the joints.
        locked: (m,) where locked joints stand as long as no joint state tells.

    Raises:
        ValueError: An array has a wrong length, or the simulator has prescribed motion.
    """

    cdef SimulatorSettings settings
    cdef Memory memory
    cdef tuple owned

    def __cinit__(self, simulator, settings, home, limit, offset, stiffness, drive_p, drive_d,
                  drive_speed, drive_acceleration, locked):
        cdef SimulatorSettings* s = &self.settings
        model = simulator.model
        n = model.n
        cdef Memory memory = Memory()
        self.memory, self.owned = memory, (simulator, simulator._interface)
        s.simulator = <const SimulatorInterface*> PyCapsule_GetPointer(self.owned[1],
                                                                       SIMULATOR_INTERFACE)
        noise = settings.noise
        s.period, s.time_step, s.steps_per_period = (
            settings.period, simulator.time_step, settings.steps_per_period)
        s.real_time_factor = settings.real_time_factor
        s.command_timeout = round(settings.command_timeout * SECOND)
        s.wrench_timeout = round(settings.wrench_timeout * SECOND)
        s.lockstep, s.hold_until_command = settings.lockstep, settings.hold_until_command
        s.owns_time = settings.owns_time
        s.paced, s.wall_time = settings.paced, settings.wall_time and s.lockstep
        s.follows_ros_time = settings.follows_ros_time
        s.noise_seed = noise.seed
        s.deviation = (noise.position, noise.velocity, noise.effort)
        s.noisy = noise.position or noise.velocity or noise.effort
        s.stops = bool(simulator.stop_stiffness.any())
        s.lower, s.upper, s.home = (
            memory.copy(model.lower, n), memory.copy(model.upper, n), memory.copy(home, model.nq))
        s.locked = memory.copy(locked, len(model.locked_joints))
        s.limit = memory.copy(limit, n)
        copy_drives(&s.drives, memory, simulator, offset, stiffness, n)
        copy_drive_units(&s.units, memory, settings.units)
        s.drive_p, s.drive_d = memory.copy(drive_p, n), memory.copy(drive_d, n)
        s.drive_speed, s.drive_acceleration = (
            memory.copy(drive_speed, n), memory.copy(drive_acceleration, n))

    @property
    def address(self) -> int:
        """For the request ``use_settings``."""
        return <size_t> &self.settings
