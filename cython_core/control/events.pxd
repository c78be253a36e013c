# What the controller reports, as numbers. featherstone_ros/control/causes.py has a row for each
# cause: its class, the action, and its text; event_texts.py the other texts.

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
    NOT_STILL, NO_READINGS, FORCE_SCATTERS, MOMENT_SCATTERS

cpdef enum NoteKind:         # reports of the controller without a request
    NOTE_REFUSED             # REFUSED of ros/refusals.pxd: a wrench
    NOTE_PHASE               # index: event; values: phase before, phase now
    NOTE_CAUSE               # index: joint; values: cause, found, bound
    NOTE_REJECTED            # index: joint; values: rejection, found, bound
    NOTE_OUTSIDE             # index: joint, beyond its limits when commands begin; values:
                             # position, lower, upper
    NOTE_MESSAGE             # index: joint; values: fault, field, claimed, expected
    NOTE_LOCKED              # index: locked joint; values: its absurd position, least and greatest
    NOTE_RELEASED            # object: a path or model that is no longer in use
