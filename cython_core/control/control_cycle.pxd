# The controller's cycle (cycle.pxd): from a joint state's bytes to a command's.
#
# Each part has its file:
#
#     controller.pxd        a state or the time in, at most one command out
#     cycle_state.pxd       what the cycle knows, are commands in time, and what is published
#     request_handlers.pxd  what it may be asked for, and what is done then

from libc.math cimport isnan
from libc.stdint cimport int64_t

from control.controller cimport check_age, goes_on_at, take_state, watch_executor
from control.controller_state cimport Controller, answers_states, is_commanding, is_open_loop
from control.cycle_state cimport (FALLS, INPUT_STATES, INPUT_WRENCH, ControlCycle, begin_call,
                                  check_deadline, compare_efforts, publish_command, release_unused,
                                  send_command, show, stand_locked, take_torques)
from control.measured_wrench cimport take_measured
from control.request_handlers cimport answer
from control.state_clock cimport age_by_stamp
from control.state_observer cimport is_repetition
from cycle cimport IncomingMessage, Output, Request
from locked_positions cimport hear_message
from ros.atomic cimport CLOCK_REALTIME, clock_now
from ros.message_faults cimport FOREIGN, MESSAGE_WHOLE
from ros.messages cimport Reader, collect_joints, open_message, read_joint_state
from ros.refusals cimport begin_message, read_wrench, refuse_reader, set_message

cdef enum:
    OPEN_LOOP_PERIOD = 1000000   # [ns]; in coarser steps a motion without states would drift away


# Joint states come in parts, from several publishers, some time after they were measured: a state
# is complete when every joint has come since the last complete one.

cdef inline void note_sequence(ControlCycle* cycle, int64_t sequence) noexcept nogil:
    """Note when sequence numbers fall back, as those of several publishers often do."""
    cdef bint falls = False
    if sequence < 0:
        return
    for i in range(cycle.controller.n):
        if cycle.message.index[i] >= 0:
            falls |= sequence <= cycle.sequence[i]
            cycle.sequence[i] = sequence
    if falls:
        cycle.falls[cycle.fall] = cycle.now
        cycle.fall = (cycle.fall + 1) % FALLS


cdef inline double transit_time(const IncomingMessage* incoming, double stamp,
                                bint* live) noexcept nogil:
    """How long ago a state was measured, or else was sent [s]; NaN: unknown. By its stamp, unless
    its clock is not this node's; live: the arm moves by the node's, not a simulation's.
    """
    cdef double age = age_by_stamp(incoming.ros_time * 1e-9, stamp)
    live[0] = stamp == 0.0 or not isnan(age)
    if isnan(age) and incoming.sent:
        age = (incoming.ros_time - incoming.sent) * 1e-9
    return age


cdef inline int64_t period_of(const Controller* c, int64_t now) noexcept nogil:
    """Time until the next tick [ns]: short without states, when ticks alone give commands."""
    cdef int64_t period = <int64_t> (c.arm.settings.period * 1e9)
    if is_open_loop(&c.machine):
        return OPEN_LOOP_PERIOD
    if c.arm.settings.on_timer:
        return period
    until = (goes_on_at(c) - now * 1e-9) * 1e9
    return min(max(<int64_t> min(until, 1e9) + 1, OPEN_LOOP_PERIOD), period)


cdef inline void put_tick_off(ControlCycle* cycle) noexcept nogil:
    """An accepted state replaces the next tick, since waking the loop is costly. Where ticks
    command, the first comes with the state that begins them: simulated time may wait for it.
    """
    cdef const Controller* c = &cycle.controller
    if not c.arm.settings.on_timer:
        cycle.tick_due = cycle.now + period_of(c, cycle.now)
        watch_executor(&cycle.controller, cycle.now * 1e-9)
    elif not c.sent.has_begun and answers_states(&c.machine):
        cycle.tick_due = cycle.now


cdef inline void take_wrench(ControlCycle* cycle, const IncomingMessage* incoming,
                             Output* output) noexcept nogil:
    """Take a serialised WrenchStamped; the next joint state's command answers it."""
    cdef Controller* c = &cycle.controller
    cdef Reader* r = &cycle.reader
    cdef double[6] wrench
    cdef double stamp
    cdef bint live
    begin_message(&cycle.refusals, INPUT_WRENCH, incoming, cycle.now, output, r)
    link = read_wrench(&cycle.refusals, r, &cycle.links, cycle.wrench_link, wrench, &stamp)
    if link >= 0:
        take_measured(&c.task.cartesian.measured, &c.task.cartesian.law.settings,
                      cycle.link_pose + 16 * link, wrench,
                      cycle.now * 1e-9, transit_time(incoming, stamp, &live),
                      c.arm.settings.wrench_timeout)


cdef inline bint is_asked_again(const ControlCycle* cycle,
                                const IncomingMessage* incoming) noexcept nogil:
    """Whether simulated time stands, and its owner has published the state again since the last
    command: that did not reach it, or later; or there is none for this state, also not by a tick
    that is due, and it still holds.
    """
    cdef const Controller* c = &cycle.controller
    cdef bint has_none = (c.clock.received == cycle.now * 1e-9
                          and not (c.arm.settings.on_timer and cycle.tick_due <= cycle.now))
    return (c.sent.has_begun and is_repetition(&c.observer.last)
            and (cycle.answered == cycle.now or has_none)
            and incoming.written > cycle.written
            and is_commanding(&c.machine))


cdef inline bint take_part(ControlCycle* cycle, double now, double stamp, double on_its_way,
                           bint live) noexcept nogil:
    """Answer the state that ``parts`` has, efforts in the drives' units; as ``take_state``."""
    cdef Controller* c = &cycle.controller
    cdef double* q = cycle.parts.values
    cdef double* effort = q + 2 * c.n
    stand_locked(cycle)
    take_torques(&cycle.drives.units, &c.arm.models, q, cycle.parts.scratch, effort)
    compare_efforts(&cycle.drives, c, effort)
    return take_state(c, now, stamp, on_its_way, live, q, q + c.n, effort)


cdef inline void answer_state(ControlCycle* cycle, const IncomingMessage* incoming) noexcept nogil:
    """Answer a serialised JointState."""
    cdef Controller* c = &cycle.controller
    cdef Reader* r = &cycle.reader
    cdef long long accepted = c.observer.accepted
    cdef bint live
    open_message(r, incoming.data, incoming.size)
    read_joint_state(r, &cycle.names, &cycle.message)
    if r.fault == MESSAGE_WHOLE or r.fault == FOREIGN:
        hear_message(&cycle.locked, &cycle.message, cycle.names.n, cycle.now, cycle.output)
    if r.fault == FOREIGN:
        cycle.foreign += 1
        return
    if r.fault != MESSAGE_WHOLE:
        cycle.malformed += 1
        set_message(&cycle.refusals, INPUT_STATES, incoming, cycle.now, cycle.output)
        refuse_reader(&cycle.refusals, r)
        return
    note_sequence(cycle, incoming.sequence)
    if not collect_joints(&cycle.parts, &cycle.message):
        return
    cycle.states += 1
    cycle.heard, cycle.untimed = cycle.now, incoming.received == 0
    stamp = cycle.message.sec + 1e-9 * cycle.message.nanosec
    on_its_way = transit_time(incoming, stamp, &live)
    commands = take_part(cycle, cycle.now * 1e-9, stamp, on_its_way, live)
    if c.observer.accepted > accepted:
        cycle.sec, cycle.nanosec = cycle.message.sec, cycle.message.nanosec
        put_tick_off(cycle)
    if commands:
        send_command(cycle)
        check_deadline(cycle, (clock_now(CLOCK_REALTIME) - incoming.received) * 1e-9
                       if incoming.received else 0.0)
        show(cycle)
    elif is_asked_again(cycle, incoming):
        publish_command(cycle)
    release_unused(cycle)


cdef inline void on_message(void* self, int input, const IncomingMessage* incoming, int64_t now,
                            Output* output) noexcept nogil:
    cdef ControlCycle* cycle = <ControlCycle*> self
    begin_call(cycle, now, output)
    if input == INPUT_WRENCH:
        take_wrench(cycle, incoming, output)
    else:
        answer_state(cycle, incoming)


cdef inline int64_t on_due(void* self) noexcept nogil:
    return (<ControlCycle*> self).tick_due


cdef inline void on_tick(void* self, int64_t now, Output* output) noexcept nogil:
    """Check the age of the state, or command by the timer."""
    cdef ControlCycle* cycle = <ControlCycle*> self
    begin_call(cycle, now, output)
    if check_age(&cycle.controller, now * 1e-9):
        send_command(cycle)
        if cycle.controller.arm.settings.on_timer:
            check_deadline(cycle, (now - cycle.tick_due) * 1e-9)
    show(cycle)
    release_unused(cycle)
    period = period_of(&cycle.controller, now)
    cycle.tick_due += period
    if cycle.tick_due <= now:
        cycle.tick_due = now + period


cdef inline void on_request(void* self, Request* request, int64_t now,
                            Output* output) noexcept nogil:
    """Do what is asked for; the answer is a Refusal."""
    cdef ControlCycle* cycle = <ControlCycle*> self
    begin_call(cycle, now, output)
    request.answer = answer(cycle, request, now * 1e-9)
    release_unused(cycle)


cdef inline bint on_safe_to_end(void* self, int64_t now) noexcept nogil:
    return not is_commanding(&(<ControlCycle*> self).controller.machine)
