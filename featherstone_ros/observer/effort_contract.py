"""The meaning of the effort field in an arm's joint states (cython_core/observer/effort.pxd)."""

CONTRACTS = FULL, WITHOUT_GRAVITY, WITHOUT_FRICTION, MOTOR_CURRENT = (
    "full",  # the joint torque
    "without_gravity",  # the drives add gravity and do not report it
    "without_friction",  # the torque after the friction of the gears
    "motor_current",  # joint torque / effort_gain
)
