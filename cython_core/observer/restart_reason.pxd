# Why the observer restarts at a state; featherstone_ros/observer/shadow.py has the texts.

cpdef enum RestartReason:    # beside it joint and figure
    NO_RESTART
    RESTART_JUMPED_BACK      # figure: by how much [s]
    RESTART_GAP              # figure: how long [s]
    RESTART_SINGULAR         # joint: moves no inertia
    RESTART_DIVERGED         # joint; figure: after how much predicted time [s]
    RESTART_BEYOND_BOUNDS
