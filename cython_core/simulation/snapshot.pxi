# Immutable settings, handed over to a twin as a whole.

cdef class Snapshot:
    """Settings of a twin as compiled code reads them. Keep this object while they are in use.

    Args:
        simulator: A ``Simulator`` used for nothing else, with friction, armature, stops, integrator
            and time step.
        period: Simulation time between two states [s].
        steps_per_period: Integration steps per period.
        real_time_factor: Simulation time per real time; 0 is as fast as possible.
        command_timeout, wrench_timeout: [ns]; 0 is never.
        lockstep, hold_until_command: As in ``TwinSettings``.
        owns_time: Stamps are this twin's simulation time.
        follows_ros_time: The node's clock is simulation time from another source.
        seed: Of the sensor noise.
        deviation: (3,) standard deviations of measured position, velocity and effort.
        home: (nq,) initial position.
        limit, offset, drive_p, drive_d: (n,) effort limits, constant friction, and the gains of the
            drives' own loop.

    Raises:
        ValueError: An array has a wrong length, or the simulator has prescribed motion.
    """

    cdef Settings settings
    cdef Memory memory
    cdef tuple owned

    def __cinit__(self, *, simulator, double period, int64_t steps_per_period,
                  double real_time_factor, int64_t command_timeout, int64_t wrench_timeout,
                  bint lockstep, bint hold_until_command, bint owns_time, bint follows_ros_time,
                  uint64_t seed, deviation, home, limit, offset, drive_p, drive_d):
        cdef Settings* s = &self.settings
        model = simulator.model
        n = model.n
        cdef Memory memory = Memory()
        self.memory, self.owned = memory, (simulator, simulator._interface)
        s.simulator = <const SimulatorInterface*> PyCapsule_GetPointer(self.owned[1],
                                                                       SIMULATOR_INTERFACE)
        s.period, s.time_step, s.steps_per_period = period, simulator.time_step, steps_per_period
        s.real_time_factor = real_time_factor
        s.command_timeout, s.wrench_timeout = command_timeout, wrench_timeout
        s.lockstep, s.hold_until_command = lockstep, hold_until_command
        s.owns_time, s.follows_ros_time = owns_time, follows_ros_time
        s.noise_seed, s.noisy = seed, any(deviation)
        s.deviation = deviation
        s.stops = bool(simulator.stop_stiffness.any())
        s.lower, s.upper, s.home = (
            memory.copy(model.lower, n), memory.copy(model.upper, n), memory.copy(home, model.nq))
        s.limit, s.offset, s.armature = (
            memory.copy(limit, n), memory.copy(offset, n), memory.copy(simulator.armature, n))
        s.drive_p, s.drive_d = memory.copy(drive_p, n), memory.copy(drive_d, n)

    @property
    def address(self) -> int:
        """For the request ``use_settings``."""
        return <size_t> &self.settings
