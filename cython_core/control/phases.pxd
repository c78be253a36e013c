# The controller's phases and the events that lead from one to another;
# featherstone_ros/control/phases.py has the table of what follows what.

cpdef enum Phase:
    INACTIVE, WAITING, FLOATING, HOLDING, TRAJECTORY, REFERENCE, DAMPED, FAULT, OPEN_LOOP, SILENT
    STOPPING, SETTLING, LEAVING_OPEN_LOOP

cpdef enum Event:
    ACTIVATE, DEACTIVATE, STATE, STATES_STOPPED, GIVE_UP, FOLLOW, ARRIVED, SET_POINT
    SET_POINTS_STOPPED, HOLD, ABANDON, FALL_BACK, RECOVER, FAIL, FLOAT, TRACK
    STOPPED, SETTLED

cdef enum:                   # how many; Cython before 3.3 takes no member of an enum with a name as
                             # the size of an array
    PHASES = LEAVING_OPEN_LOOP + 1
    EVENTS = SETTLED + 1
