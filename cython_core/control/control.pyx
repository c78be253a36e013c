"""The torque controller, compiled: one state machine that decodes, validates, follows, commands and
encodes without Python.

``CompiledController`` owns the memory. What it does is in controller.pxd, whose head names the
other files, and in control_cycle.pxd (from bytes to bytes). A loop runs its ``capsule``
(cycle.pxd); Python calls its methods. What it is asked for are the request classes, which a loop
passes on as well.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.math cimport INFINITY, NAN, isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memcpy

from control.cartesian_impedance cimport EFFORT as _EFFORT, cartesian_impedance, update_kinematics
from control.cartesian_mode cimport (ARRIVED_AT as _ARRIVED_AT, ARRIVED_TURNED as _ARRIVED_TURNED,
                                     VIRTUAL_STEP as _VIRTUAL_STEP, CartesianTarget, VirtualArm)
from control.control_cycle cimport (on_due, on_message, on_request, on_safe_to_end, on_tick,
                                    take_part)
from control.controller cimport check_age
from control.controller_state cimport Controller
from control.cycle_state cimport (ControlCycle, Deadline, begin_call, convert_command, record_note,
                                  release_unused)
from control.events cimport NO_TIP, Reason, because
from control.fault_bounds cimport (CLOCK_JUMP as _CLOCK_JUMP, EFFORT_SHARE as _EFFORT_SHARE,
                                   FALLBACK_SPEED as _FALLBACK_SPEED, LIMIT_SLACK as _LIMIT_SLACK,
                                   SET_POINT_SPEED as _SET_POINT_SPEED,
                                   SPEED_MEMORY as _SPEED_MEMORY)
from control.impedance_modes cimport delay_margin
from control.impedance_state cimport (JOINT_ARRAYS, WALLS, Impedance, ImpedanceChange,
                                      JointImpedance, Wall, configure_impedance, impedance_memory,
                                      place_impedance, start_impedance)
from control.measured_wrench cimport forget_wrench, take_measured
from control.motion cimport (BLEND_SPEED as _BLEND_SPEED, MOTION_ROWS, Degree, Motion, Part, Path,
                             connect, extrapolate, follow_path, hold_at, line, part_coefficients,
                             piece_at, place_motion, return_of_joint, sample_inside, sample_path,
                             stopping_position as c_stopping_position, why_not_start)
from control.phases cimport EVENTS, PHASES
from control.position_governor cimport DRIVE_ACCELERATION as _DRIVE_ACCELERATION
from control.request_handlers cimport (REQUEST_ACTIVATE, REQUEST_CHECK, REQUEST_CONFIGURE,
                                       REQUEST_DEACTIVATE, REQUEST_DEADLINE, REQUEST_FALL_BACK,
                                       REQUEST_FOLLOW, REQUEST_HOLD, REQUEST_LOCKED, REQUEST_MODEL,
                                       REQUEST_SET_POINT, REQUEST_SNAPSHOT, REQUEST_TARGET,
                                       REQUEST_ZERO, SNAPSHOT_ROWS, CheckPayload, FollowPayload,
                                       ModelPayload, SetPointPayload, SettingsChange,
                                       SnapshotPayload, ZeroPayload, configure, why_no_joints)
from control.settings cimport JointLimits, JointSettings
from control.state_clock cimport age_by_stamp, start_clock
from control.state_observer cimport Observer
from control.stuck_joints cimport StuckJoints
from control.torque_governor cimport Governor
from cycle cimport Cycle, IncomingMessage, Output, Record, Request
from drive_units cimport DriveUnits
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport place_rows
from locked_positions cimport LockedJoints, hear
from ros.atomic cimport CLOCK_REALTIME, clock_now
from ros.messages cimport MAX_NAMES, JointNames, JointParts, Template
from ros.refusals cimport ABSURD

import itertools
from math import comb

import numpy as np

from featherstone_ros import _enumerations
from featherstone_ros.control.causes import CAUSES as CAUSE_TABLE
from featherstone_ros.control.reasons import Reason as REASON
from featherstone_ros.control.phases import TRANSITIONS
from featherstone_ros.message_templates import float64_multi_array, joint_state, stamped

cnp.import_array()

# Bounds that Python keeps to as well; each is explained where it is defined.
MAX_WALLS, MAX_WRENCH = WALLS, ABSURD
ARRIVED_AT, ARRIVED_TURNED, BLEND_SPEED = _ARRIVED_AT, _ARRIVED_TURNED, _BLEND_SPEED
CLOCK_JUMP, DRIVE_ACCELERATION, EFFORT = _CLOCK_JUMP, _DRIVE_ACCELERATION, _EFFORT
EFFORT_SHARE, FALLBACK_SPEED, LIMIT_SLACK = _EFFORT_SHARE, _FALLBACK_SPEED, _LIMIT_SLACK
SET_POINT_SPEED, SPEED_MEMORY, VIRTUAL_STEP = _SET_POINT_SPEED, _SPEED_MEMORY, _VIRTUAL_STEP

# What is compiled stands before what uses it.
include "message_memory.pxi" # MessageMemory: all that the controller points to
include "joint_arrays.pxi"
include "cycle_owner.pxi"    # CycleOwner: a cycle called from Python; uses both
include "drive_units.pxi"
include "motion.pxi"         # paths and motions
include "impedance.pxi"      # Cartesian impedance control of its own
include "requests.pxi"       # the request classes; uses all above
include "controller.pxi"     # CompiledController; uses all above
