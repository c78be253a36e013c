# Why a message is refused; featherstone_ros/message_faults.py has the texts.

cpdef enum MessageFault:
    MESSAGE_WHOLE
    NOT_PLAIN_CDR            # encapsulation: ``claimed``
    CUT_OFF                  # ends within the field
    TOO_LONG                 # the field claims more than there is: ``claimed`` items in
                             # ``expected`` bytes
    TOO_MANY                 # the field has more than MAX_NAMES items
    NOT_TERMINATED           # text that does not end with a zero byte
    NAMED_TWICE              # a joint: ``which``
    OTHER_LENGTH             # the field has ``claimed`` items, not ``expected``
    FOREIGN                  # names none of the arm's joints

cpdef enum ContentFault:     # of a cycle to refuse a message that is whole
    NOT_FINITE = 100         # value: the number
    BEYOND_BOUND             # value: the number, the bound
    UNKNOWN_JOINT            # value: the name's first bytes
    NO_JOINT
    UNKNOWN_LINK             # as UNKNOWN_JOINT
    TOO_MANY_LOADS
    MISSING_JOINTS           # value: a bit for each of the first 256 joints
    NOT_MEASURED             # a field is empty; value: how many numbers it should have

cpdef enum Field:
    FIELD_ENCAPSULATION, FIELD_STAMP, FIELD_FRAME, FIELD_NAME, FIELD_POSITION, FIELD_VELOCITY
    FIELD_EFFORT, FIELD_LAYOUT, FIELD_DATA, FIELD_FORCE, FIELD_TORQUE
