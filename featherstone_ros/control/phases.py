"""What follows what: the controller's phases and the events that lead from one to another.

Both are numbered in cython_core/control/phases.pxd. docs/phases.md shows the table and a picture of
it, which docs/phases.py makes.
"""

from __future__ import annotations

from featherstone_ros._enumerations import Event as Event
from featherstone_ros._enumerations import Phase as Phase

P, E = Phase, Event

TEXTS = {  # in the diagnostics
    P.INACTIVE: "inactive",
    P.WAITING: "waiting for a joint state",
    P.FLOATING: "gravity compensation",
    P.HOLDING: "hold",
    P.TRAJECTORY: "trajectory",
    P.REFERENCE: "reference",
    P.DAMPED: "gravity hold",
    P.FAULT: "fault",
    P.OPEN_LOOP: "open-loop stop",
    P.SILENT: "silent",
    P.STOPPING: "stopping",
    P.SETTLING: "settling",
    P.LEAVING_OPEN_LOOP: "leaving, open loop",
}

# Transitions of every phase with commands and usable states.
_COMMANDING = {E.STATES_STOPPED: P.OPEN_LOOP}
_TRACKING = {
    **_COMMANDING,
    E.DEACTIVATE: P.STOPPING,
    E.FOLLOW: P.TRAJECTORY,
    E.SET_POINT: P.REFERENCE,
    E.HOLD: P.HOLDING,
    E.ABANDON: P.HOLDING,
    E.FALL_BACK: P.DAMPED,
    E.FAIL: P.FAULT,
    E.FLOAT: P.FLOATING,
}

TRANSITIONS: dict[Phase, dict[Event, Phase]] = {
    P.INACTIVE: {E.ACTIVATE: P.WAITING},
    P.WAITING: {E.STATE: P.HOLDING, E.DEACTIVATE: P.INACTIVE},
    P.FLOATING: {
        **_COMMANDING,
        E.DEACTIVATE: P.SETTLING,
        E.FALL_BACK: P.DAMPED,
        E.FAIL: P.FAULT,
        E.TRACK: P.HOLDING,
    },
    P.HOLDING: _TRACKING,
    P.TRAJECTORY: {**_TRACKING, E.ARRIVED: P.HOLDING},
    P.REFERENCE: {**_TRACKING, E.SET_POINTS_STOPPED: P.HOLDING},
    P.DAMPED: {
        **_COMMANDING,
        E.DEACTIVATE: P.SETTLING,
        E.RECOVER: P.HOLDING,
        E.FAIL: P.FAULT,
    },
    P.FAULT: {**_COMMANDING, E.DEACTIVATE: P.SETTLING, E.HOLD: P.HOLDING, E.FLOAT: P.FLOATING},
    P.OPEN_LOOP: {E.STATE: P.HOLDING, E.GIVE_UP: P.SILENT, E.DEACTIVATE: P.LEAVING_OPEN_LOOP},
    P.SILENT: {E.STATE: P.HOLDING, E.DEACTIVATE: P.INACTIVE},
    P.STOPPING: {
        E.ACTIVATE: P.HOLDING,
        E.STATES_STOPPED: P.LEAVING_OPEN_LOOP,
        E.STOPPED: P.SETTLING,
        E.ABANDON: P.SETTLING,
        E.FALL_BACK: P.SETTLING,
        E.FAIL: P.SETTLING,
        E.FLOAT: P.SETTLING,
    },
    P.SETTLING: {
        E.ACTIVATE: P.HOLDING,
        E.STATES_STOPPED: P.LEAVING_OPEN_LOOP,
        E.SETTLED: P.INACTIVE,
    },
    P.LEAVING_OPEN_LOOP: {E.ACTIVATE: P.OPEN_LOOP, E.STATE: P.SETTLING, E.GIVE_UP: P.INACTIVE},
}

TRACKING = frozenset({P.HOLDING, P.TRAJECTORY, P.REFERENCE})  # there is a desired position
RUNNING = TRACKING | {P.FLOATING}  # the selected law commands
HOLDS = frozenset({P.DAMPED, P.FAULT, P.OPEN_LOOP})  # active, but the selected law does not command
SILENT = frozenset({P.INACTIVE, P.WAITING, P.SILENT})  # no commands
