# What the controller's cycle may be asked for, and what it does then. Python's classes for it are
# in requests.pxi.

from libc.stdint cimport uint64_t

from control.cartesian_mode cimport CartesianTarget
from control.controller_state cimport Controller, Hold, hold_reason
from control.cycle_records cimport release
from control.cycle_state cimport ControlCycle
from control.deadline cimport DeadlinePayload, take_deadline
from control.events cimport CAUSE_FAILURE, GRANTED, Refusal
from control.motion cimport Path
from control.request_handlers cimport (activate, configure, deactivate, follow, hold, take_model,
                                       take_set_point, take_target)
from control.settings_check cimport CheckPayload, SettingsChange, why_not_configure
from control.snapshot cimport SnapshotPayload, take_snapshot
from control.supervision cimport fall_back
from cycle cimport STOP_REQUESTED, Request
from dynamics_interface cimport DynamicsInterface

cdef enum RequestKind:
    REQUEST_ACTIVATE, REQUEST_DEACTIVATE, REQUEST_HOLD, REQUEST_FOLLOW, REQUEST_SET_POINT
    REQUEST_CONFIGURE, REQUEST_MODEL, REQUEST_DEADLINE, REQUEST_SNAPSHOT, REQUEST_FALL_BACK
    REQUEST_TARGET, REQUEST_CHECK

cdef struct FollowPayload:
    const Path* path
    uint64_t number          # identifies the path to Python
    double start             # by the controller's time [s]; -inf: now
    Hold detail              # of a refusal

cdef struct SetPointPayload:
    const double* state      # (4, n)
    Hold detail

cdef struct ModelPayload:
    const DynamicsInterface* model
    uint64_t number
    double transition        # [s]


cdef inline Refusal take_path(ControlCycle* cycle, FollowPayload* payload) noexcept nogil:
    """Follow a path, which replaces the one in use."""
    cdef Refusal refusal = follow(&cycle.controller, payload.path, payload.start, &payload.detail)
    if refusal == GRANTED:
        release(cycle, cycle.path_number)
        cycle.path_number = payload.number
    return refusal


cdef inline Refusal answer(ControlCycle* cycle, const Request* request, double time) noexcept nogil:
    """Do what is asked for at a steady time [s]; returns why not, if it is refused."""
    cdef Controller* c = &cycle.controller
    cdef SetPointPayload* set_point
    cdef const ModelPayload* model
    cdef Hold failure = hold_reason(CAUSE_FAILURE, -1, 0.0, 0.0)
    if request.kind == REQUEST_HOLD:
        return hold(c, time)
    if request.kind == REQUEST_FOLLOW:
        return take_path(cycle, <FollowPayload*> request.payload)
    if request.kind == REQUEST_SET_POINT:
        set_point = <SetPointPayload*> request.payload
        return take_set_point(c, time, set_point.state, &set_point.detail)
    if request.kind == REQUEST_TARGET:
        return take_target(c, time, <const CartesianTarget*> request.payload)
    if request.kind == REQUEST_CHECK:
        return why_not_configure(c, <CheckPayload*> request.payload)
    if request.kind == REQUEST_CONFIGURE:
        return configure(c, <const SettingsChange*> request.payload)
    if request.kind == STOP_REQUESTED or request.kind == REQUEST_DEACTIVATE:
        deactivate(c, time)
    elif request.kind == REQUEST_ACTIVATE:
        activate(c, time)
    elif request.kind == REQUEST_MODEL:
        model = <const ModelPayload*> request.payload
        take_model(c, model.model, model.number, model.transition)
    elif request.kind == REQUEST_DEADLINE:
        take_deadline(cycle, <const DeadlinePayload*> request.payload)
    elif request.kind == REQUEST_SNAPSHOT:
        take_snapshot(cycle, <SnapshotPayload*> request.payload)
    elif request.kind == REQUEST_FALL_BACK:
        fall_back(c, time, &failure)
    return GRANTED
