# What the controller knows and has.
#
# Times called ``now`` are of a steady clock [s]; motions, transfers and rate limits go by the
# controller's time (state_clock.pxd). Arrays are (n,) in joint order.

from libc.string cimport memset

from control.arm cimport Arm
from control.cartesian_mode cimport CartesianMode
from control.motion cimport Motion
from control.position_governor cimport PositionGovernor
from control.speed_limited_torque cimport SpeedLimit
from control.state_clock cimport StateClock
from control.state_machine cimport StateMachine
from control.state_observer cimport Observer
from control.stuck_joints cimport StuckJoints
from control.torque_governor cimport Governor

cdef struct Supervision:     # what no single state shows
    double* speeding         # (n,) time spent too fast [s]; decays
    double* swings           # (n,) changes of direction at speed; decays
    double* direction        # (n,) of the last swing: -1, 0, 1
    double* swung_at         # (n,) distance from the desired position then
    bint is_apart            # the end effector has felt little since the last blow
    double blows             # beyond max_force on what it touches; decays
    double abandoned         # motions that left their path; decays
    double incident          # [s] in which another abandoned motion is not counted again
    double braked_from       # fastest joint over its limit as the fault began
    double coasts_until      # damping has made the arm faster: none until then
    Py_ssize_t contradicted  # joint whose velocity the positions of the last state contradicted
    int in_a_row             # trajectories that left their path since the last that arrived

cdef struct Controller:
    Py_ssize_t n
    StateMachine machine
    Arm arm
    StateClock clock
    Observer observer
    StuckJoints stuck
    Governor governor
    PositionGovernor positions
    SpeedLimit speed
    Motion motion
    CartesianMode hand
    Supervision watch
    double* desired          # (4, n) of the last command
    double* presliding       # (n,) of the desired motion, see smooth_friction.pxd; 0 without one
    double* torque
    double* gravity_torque   # at the arm's position, which some drives add by themselves
    double* bias             # (n,) torque at which no joint accelerates
    double* offset           # (4, n) scratch
    double* zero             # (4, n)
    double* acting           # (n,) mean of the commands since the last state was measured
    double* contact          # (n,) effort of what the end effector touches, as far as measured
    double* state            # (4, n) from which a motion begins
    double* turned           # (n,) whole turns that were added to the last position [rad]
    bint has_planned_stop    # the motion is that of an open-loop stop, in steady time
    bint has_commanded       # since it was activated
    bint floats              # mode gravity_compensation
    bint let_go              # the transfer from the torque that led the hand still goes on
    bint stalled             # this process stood still before the last ``check_age``: states may
                             # be waiting to be read
    double commanded         # steady time of the last command
    double set_point_at
    double updated           # time of the last state or call of ``check_age``
    double heartbeat         # time of the last sign of life from Python; inf: none is needed
    long long commands


cdef inline void begin_supervision(Supervision* s, Py_ssize_t n) noexcept nogil:
    """Forget what was seen of another motion."""
    memset(s.speeding, 0, n * sizeof(double))
    memset(s.swings, 0, n * sizeof(double))
    memset(s.direction, 0, n * sizeof(double))
    s.coasts_until = s.blows = 0.0
