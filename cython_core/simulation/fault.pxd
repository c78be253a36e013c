# Why the simulation stops; featherstone_ros/simulation/twin.py has the texts.

cpdef enum FaultKind:
    NO_FAULT
    SINGULAR                 # the joint moves no inertia
    DIVERGED                 # the joint's state
    BEYOND_BOUNDS            # the joint's effort is not finite
    UNMEASURABLE             # what it measures, with noise and in its unit, is not finite
