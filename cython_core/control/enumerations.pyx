"""Enumerations for Python: each is written once, in the .pxd that compiled code uses."""

from enum import IntEnum

include "events.pxd"
include "phases.pxd"
include "settings.pxd"
include "observer/restart_reason.pxd"
include "ros/message_faults.pxd"
include "simulation/fault.pxd"

# Without the prefixes that keep names apart in C; Cython before 3.1 makes flags of them.
for _kind, _prefix in ((Phase, ""), (Event, ""), (Leads, "LEADS_"), (Feedback, "FEEDBACK_"),
                       (Terms, "TERMS_"), (Cause, "CAUSE_"), (Action, ""), (Refusal, ""),
                       (Rejection, "REJECTED_"), (NoteKind, "NOTE_"), (RestartReason, "RESTART_"),
                       (MessageFault, ""), (ContentFault, ""), (Field, "FIELD_"),
                       (FaultKind, "")):
    _members = {name.removeprefix(_prefix): int(member)
                for name, member in _kind.__members__.items()}
    globals()[_kind.__name__] = IntEnum(_kind.__name__, _members, module=__name__)
