# The numbers behind the promises of docs/faults.md, by its classes of faults: how far a joint state
# may be off before it is not used, and an arm before it is stopped. test/chaos measures what is
# promised with them. Those of stuck joints are in stuck_joints.pxd, whose method they belong to.

cdef extern from *:
    """
    #define CLOCK_JUMP (0.5)
    #define CLOCK_DRIFT (1e-3)
    #define STAMP_JITTER (0.01)
    #define RESOLUTION (1e-6)
    #define REMEMBERED (0.1)
    #define FEW (3.0)
    #define UNSURE (0.02)
    #define SAME_PACE (0.002)
    #define STALL (3.0)
    #define NOTE_INTERVAL (0.1)
    #define SHORTEST_OPEN_LOOP (0.25)
    #define LONGER (1.25)
    #define LESS (0.98)
    #define EFFORT_SHARE (0.8)
    #define STOP_LOOKS (6)
    #define LONGEST_STEP (0.005)
    #define SPEED_NOISE (0.05)
    #define ACCELERATION (5.0)
    #define MAX_SPEED (2.0)
    #define EXCESS_TIME (0.1)
    #define REPEAT_TIME (0.025)
    #define COMPARED_OVER (0.25)
    #define FILTER_SHARE (0.3)
    #define ENCODER_STEP (0.0062)
    #define STEPS_UNSEEN (1.5)
    #define FALLBACK_SPEED (20.0)
    #define KEPT (0.8)
    #define INTERVAL_SHARE (0.2)
    #define SAME (1.5)
    #define SETTLED_AFTER (0.25)
    #define SCATTER_OF_FORCE (1.0)
    #define SCATTER_OF_MOMENT (0.1)
    #define BEYOND_GRAVITY (0.5)
    #define LIMIT_SLACK (1e-3)
    #define SPEEDING (1.2)
    #define SPEEDING_TIME (0.1)
    #define SWING (0.25)
    #define MAX_SWINGS (3)
    #define SWING_TIME (1.0)
    #define MAX_IMPACTS (3)
    #define IMPACT_TIME (3.0)
    #define APART (0.1)
    #define MAX_ABANDONED (3)
    #define ABANDONED_TIME (10.0)
    #define FASTER (1.1)
    #define COASTING (0.5)
    #define SETTLING_TIME (0.3)
    #define STANDING (0.02)
    #define STANDING_SPEED (0.05)
    #define CATCH_UP_SPEED (0.08)
    #define AWAITED (1.5)
    #define SET_POINT_SPEED (1.05)
    #define PERIOD_SHARE (0.2)
    #define SPEED_MEMORY (0.01)
    """
    # Of class 1: late states, and clocks that are set (state_clock.pxd):
    const double CLOCK_JUMP        # [s] a stamp that differs by more from the last one belongs to
                                   # another clock
    const double CLOCK_DRIFT       # of the clocks of two computers, at most (quartz: 1e-4)
    const double STAMP_JITTER      # [s] of the time on the way: later than this is late, which the
                                   # margin of the gains does not cover
    const double RESOLUTION        # [s] of differences between times, which count from 1970
    const double REMEMBERED        # [s] for which a long time between states counts
    # Of class 1: silence (state_clock.pxd, controller.pxd, open_loop_stop.pxd):
    const double FEW               # periods of the joint states without one, and STAMP_JITTER at
                                   # least: commands go on by the model
    const double UNSURE            # [s] that another clock may have run ahead or behind at first,
    const double SAME_PACE         # and below which it runs as fast as this one: by it the arm
                                   # moves
    const double STALL             # periods without a call of ``check_age``: the process stood
                                   # still, not the arm
    const double NOTE_INTERVAL     # [s] between reports of what is wrong with states
    const double SHORTEST_OPEN_LOOP  # [s] of a stop; a sharper one is not followed as well
    const double LONGER            # is a stop tried that takes too much effort
    const double LESS              # effort it must then take, or gravity alone is too much
    const double EFFORT_SHARE      # of the limits: the rest is for what the model does not know
    const int STOP_LOOKS           # at the effort that a stop takes
    # Of class 5: the torque governor's rate, whatever the states say (torque_governor.pxd):
    const double LONGEST_STEP      # [s] one command may use up the torque rate of this time, even
                                   # after a gap; in a slow loop that of its period
    # Of classes 2 and 3: which positions and velocities are used (state_observer.pxd):
    const double SPEED_NOISE       # of a velocity, in speed limits: noise, and a bump at once
    const double ACCELERATION      # in speed limits per second: more is a contact, and believed a
                                   # state or two later
    const double MAX_SPEED         # in speed limits, of a joint that nobody has seen for a while
    const double EXCESS_TIME       # [s] for which an unseen velocity may have acted on a position
    const double REPEAT_TIME       # [s] between two measurements of the slowest hardware (40 Hz)
    const double COMPARED_OVER     # [s] over which displacements and velocities are compared
    const double FILTER_SHARE      # of the displacement, by which they may differ: velocities are
                                   # filtered
    const double ENCODER_STEP      # [rad, m] of the coarsest encoder, 10 bits a turn: assumed
                                   # before a joint has shown a smaller one
    const double STEPS_UNSEEN      # of its encoder: a motion that states may not show, and half of
                                   # that for the model's error
    const double FALLBACK_SPEED    # [rad/s, m/s] where the robot description has no speed limit
    # Of class 3: which wrenches are used (measured_wrench.pxd):
    const double KEPT              # share of a change's size that still counts at the next sample
    const double INTERVAL_SHARE    # of the last interval in the estimate of the sensor's
    const double SAME              # intervals within which equal numbers are the same sample
    # Likewise, which readings tell the zero of their sensor (measured_wrench.pxd):
    const double SETTLED_AFTER     # [s] of readings that are enough
    # Standard deviation with which a mean is taken, or the dead zone where that is more: such noise
    # moves nothing, and of the 25 readings of a sensor of 100 Hz the mean is within a fifth of it.
    # A person who touches the arm shows more.
    const double SCATTER_OF_FORCE  # [N]
    const double SCATTER_OF_MOMENT # [N m]
    # Of class 4: may the arm be taken over (startup.pxd):
    const double BEYOND_GRAVITY    # share of the effort limit by which a measured effort may differ
                                   # from gravity
    const double LIMIT_SLACK       # [rad, m] by which an encoder may read beyond a limit, and a
                                   # trajectory lead there
    # Of classes 2 and 4: does the arm follow (supervision.pxd):
    const double SPEEDING          # times the velocity limit, or the desired velocity: too fast
    const double SPEEDING_TIME     # [s] of that speed; of a higher one less, by its energy
    const double SWING             # share of the velocity limit: an oscillation is too fast beyond
    const int MAX_SWINGS           # changes of its direction within
    const double SWING_TIME        # [s]
    const int MAX_IMPACTS          # beyond max_force on something hard; as many are forgotten in
    const double IMPACT_TIME       # [s]
    const double APART             # share of max_force below which a contact is lost
    const int MAX_ABANDONED        # motions within
    const double ABANDONED_TIME    # [s]
    # Of class 4: damping in a fault, and where the arm stands (command.pxd, phase_changes.pxd):
    const double FASTER            # times the speed from which a fault began to brake, or the limit
    const double COASTING          # [s] without damping then
    const double SETTLING_TIME     # [s] after which feedback, and its mean, are those of an arm at
                                   # rest
    const double STANDING          # share of the velocity limit below which an arm stands, if less
                                   # than STANDING_SPEED
    const double STANDING_SPEED    # [rad/s, m/s] a slower joint counts as standing
    # Of class 1: a stream that has stalled, and goes on (motion.pxd):
    const double CATCH_UP_SPEED    # share of the velocity limit by which the arm may be faster than
                                   # the stream
    # Of class 2: streams of positions, whose velocities are estimated (request_handlers.pxd):
    const double AWAITED           # periods of a stream until its next set-point is missing
    const double SET_POINT_SPEED   # velocity limits beyond which set-points are another stream's
    const double PERIOD_SHARE      # of the last interval in the mean one
    const double SPEED_MEMORY      # [s] of the velocity between set-points

# Where the arm's own weight is not to lead it (rule 15 in cartesian_impedance.pxd).

cdef extern from *:
    """
    #define HEAVY (0.78)
    #define TOO_HEAVY (0.86)
    #define FLAT (0.1)
    #define WEIGHT_STEP (1e-4)
    #define WEIGHT_BRAKING (0.05)
    """
    const double HEAVY           # share of an effort limit that gravity takes where the load that
                                 # would raise it begins to be taken away,
    const double TOO_HEAVY       # and where nothing of it is left
    const double FLAT            # change of gravity's share [1/rad, 1/m] that counts as little
    const double WEIGHT_STEP     # of a joint, to see how gravity's torque changes [rad, m]
    const double WEIGHT_BRAKING  # time constant of braking [s]
