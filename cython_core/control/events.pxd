# What the controller reports, as numbers. featherstone_ros/control/causes.py has a row for each
# cause: its class, the action, and its text; reasons.py the other texts.

cpdef enum Cause:            # of a hold or an abandoned motion
    NO_CAUSE, CAUSE_DEACTIVATED, CAUSE_NO_STATES, CAUSE_GAP, CAUSE_OFF_PATH, CAUSE_NOT_FINITE
    CAUSE_LATE_COMMANDS, CAUSE_TOO_FAST, CAUSE_OSCILLATION, CAUSE_OFTEN, CAUSE_EXECUTOR
    CAUSE_CANNOT_HOLD, CAUSE_FAILURE, CAUSE_OFF_SPEED, CAUSE_IN_A_ROW, CAUSE_OUTSIDE
    CAUSE_HELD, CAUSE_STUCK, CAUSE_FROZEN, CAUSE_NO_POSITION, CAUSE_DISPUTED
    CAUSE_POSITION_JUMP, CAUSE_INCONSISTENT_VELOCITY, CAUSE_NO_WRENCH, CAUSE_CONTACT_INSTABILITY

cpdef enum Action:           # what follows a cause (``respond`` in phase_changes.pxd); of several
                             # the last
    NO_ACTION                # but to report it: the arm is not taken over
    LEAVE                    # come to rest, then end the commands
    ABANDON_MOTION
    STOP_OPEN_LOOP
    HOLD_BY_GRAVITY
    DECLARE_FAULT

cdef enum:
    CAUSES = CAUSE_CONTACT_INSTABILITY + 1               # how many, as in phases.pxd

cpdef enum Refusal:          # the answer to a request; 0: granted
    GRANTED, NOT_RUNNING, FOLLOWS_NOTHING, ENDED, STARTS_TOO_FAR, SET_POINT_TOO_FAR, IN_FAULT
    GRAVITY_IN_USE, FOLLOWS_POSES, FOLLOWS_NO_POSES, NO_TIP, TOO_LITTLE_EFFORT, NO_WRENCH
    NOT_STILL, NO_READINGS, FORCE_SCATTERS, MOMENT_SCATTERS, TIMEOUT_TOO_SHORT

cpdef enum Rejection:        # why a value or a state is not used
    ACCEPTED
    REJECTED_NOT_FINITE
    NOT_NEWER                # stamp not newer than the last
    JUMPED                   # position out of reach
    TOO_FAST                 # velocity out of reach
    REPEATED                 # a position that does not change while its joint moves
    INCONSISTENT             # a velocity that the positions do not show
    LATE                     # on its way for longer than state_timeout

cdef enum: REJECTIONS = LATE + 1         # how many, as in phases.pxd

cdef struct Reason:          # why the arm is held, a request refused, or a state not used
    int code                 # a Cause, a Refusal or a Rejection
    Py_ssize_t joint         # -1: all, or none
    double found, bound


cdef inline Reason because(int code, Py_ssize_t joint, double found,
                           double bound) noexcept nogil:
    cdef Reason it
    it.code, it.joint, it.found, it.bound = code, joint, found, bound
    return it


cpdef enum NoteKind:         # reports of the controller without a request
    NOTE_REFUSED             # REFUSED of ros/refusals.pxd: a joint state or a wrench
    NOTE_PHASE               # index: event; values: phase before, phase now
    NOTE_CAUSE               # index: joint; values: cause, found, bound
    NOTE_REJECTED            # index: joint; values: rejection, found, bound
    NOTE_OUTSIDE             # index: joint, beyond its limits when commands begin; values:
                             # position, lower, upper
    NOTE_RELEASED            # object: a path or model that is no longer in use
