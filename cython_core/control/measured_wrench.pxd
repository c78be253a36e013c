# The wrench on the end effector that a force-torque sensor measures, or the shadow estimates.
#
# Each sample passes a gate once, as it comes, at the sensor's rate: whatever else uses the wrench,
# uses what has passed. A number that is wrong now and then comes twice in a row at most (class 3 of
# docs/faults.md), so what three samples in a row have in common is certain. A sample is used as far
# as it is within reach of that: by the dead zone, which moves nothing, and by as far as the certain
# value changes, which is two samples late. So a sudden change acts with the third sample that shows
# it, and a steady one, or a vibration that is slow for the sensor, at once.

from libc.math cimport INFINITY, copysign, fabs, fmax, fmin
from libc.string cimport memcmp, memcpy, memset

from control.cartesian_impedance cimport WALL, limit
from control.fault_bounds cimport INTERVAL_SHARE, KEPT, REPEAT_TIME, SAME, SETTLED_AFTER
from control.impedance_modes cimport from_axes, to_axes
from control.impedance_state cimport Impedance, ImpedanceSettings
from control.state_clock cimport StateClock, late_by, lateness, start_clock, watch_clocks
from task_space.pose cimport add_cross_product, norm

cdef extern from *:
    const double CONTACT_TIME "0.2"  # [s] in which a contact comes to max_force, or ends

cdef enum:
    WINDOW = 3               # samples: one more than numbers that are wrong in a row

cdef struct Readings:        # since the last silence, without the offset
    double[6] mean
    double[6] variance
    long long count
    double begin             # steady time of the first [s]
    double last

cdef struct MeasuredWrench:  # at the end effector's origin, in its axes
    double[6] wrench         # that is used
    double[6] certain        # what the last samples have in common
    double[6] change         # size of its recent changes from sample to sample
    double[WINDOW][6] samples    # the last ones
    long long count          # of samples since the last silence
    double interval          # between the sensor's samples, at most REPEAT_TIME [s]
    double gated_at          # steady time of the last sample that was not the same again
    double changed_at        # of the last one that differed from the one before
    double at                # steady time at which the last one was measured [s]; -inf: none yet
    StateClock clock         # of its stamps
    bint is_there            # it was not too old when it was last used
    double[6] contact        # on the end effector, base axes: what is measured, without impacts
    double[6] offset         # of the sensor, which is subtracted from every sample
    Readings readings        # of what is used


cdef inline void rotate(const double* R, const double* x, double* out) noexcept nogil:
    """out = R x of a vector (3); R: that of a pose (16)."""
    for i in range(3):
        out[i] = R[4 * i] * x[0] + R[4 * i + 1] * x[1] + R[4 * i + 2] * x[2]


cdef inline void forget_wrench(MeasuredWrench* measured) noexcept nogil:
    memset(measured, 0, sizeof(MeasuredWrench))
    measured.at = measured.gated_at = measured.changed_at = -INFINITY
    start_clock(&measured.clock, -INFINITY)


cdef inline bint is_last_sample(MeasuredWrench* measured, const double* sample) noexcept nogil:
    """Whether a sample (6) is the last one again, as from drivers faster than their sensors."""
    if measured.count and memcmp(sample, measured.samples[measured.count % WINDOW],
                                 6 * sizeof(double)) == 0:
        return measured.at - measured.gated_at < SAME * measured.interval
    since = fmin(measured.at - measured.changed_at, REPEAT_TIME)
    measured.interval += INTERVAL_SHARE * (since - measured.interval)
    measured.changed_at = measured.at
    return False


cdef inline void gate_number(MeasuredWrench* measured, Py_ssize_t k, double sample,
                             double reach) noexcept nogil:
    """Find what is used of one of the six numbers; reach: at least."""
    cdef double low = sample, high = sample, before = measured.certain[k]
    for i in range(WINDOW):
        low, high = fmin(low, measured.samples[i][k]), fmax(high, measured.samples[i][k])
    measured.certain[k] = fmin(fmax(before, low), high)
    measured.change[k] = fmax(fabs(measured.certain[k] - before), KEPT * measured.change[k])
    if measured.count <= WINDOW:
        measured.change[k] = 0.0                    # there was nothing before
    reach += (WINDOW - 1) * measured.change[k]
    measured.wrench[k] = fmin(fmax(sample, measured.certain[k] - reach),
                              measured.certain[k] + reach)


cdef inline void gate_sample(MeasuredWrench* measured, const double* sample,
                             const double* dead_zone) noexcept nogil:
    """Take a sample (6); dead_zone: of force and moment."""
    if is_last_sample(measured, sample):
        return
    measured.gated_at = measured.at
    measured.count += 1
    memcpy(measured.samples[measured.count % WINDOW], sample, 6 * sizeof(double))
    for k in range(6):
        gate_number(measured, k, sample[k], dead_zone[k // 3])
    if measured.count >= WINDOW:                    # before, nothing is certain
        note_reading(&measured.readings, measured.wrench, measured.at)


cdef inline void measure_anew(MeasuredWrench* measured, const double* dead_zone) noexcept nogil:
    """Keep the sensor's offset and the last sample alone, as if that were the first: how many came
    before an activation must make no difference, or a run would depend on the machine.
    """
    cdef MeasuredWrench before = measured[0]
    forget_wrench(measured)
    memcpy(measured.offset, before.offset, 6 * sizeof(double))
    if before.count:
        measured.at = before.at
        gate_sample(measured, before.samples[before.count % WINDOW], dead_zone)


cdef inline void take_measured(MeasuredWrench* measured, const ImpedanceSettings* settings,
                               const double* pose, const double* wrench, double now,
                               double on_its_way, double timeout) noexcept nogil:
    """Take a wrench (6) on a frame with a pose (16), unless a newer one came; on_its_way: [s]."""
    cdef double[6] sample
    cdef double[3] origin
    watch_clocks(&measured.clock, now, on_its_way)
    lateness(&measured.clock, now, on_its_way)
    at = now - late_by(&measured.clock, on_its_way, timeout)
    if at < measured.at:
        return
    if at - measured.at > timeout:
        measured.count = measured.readings.count = 0    # it tells nothing of what acts now
    measured.at = at
    for k in range(3):
        origin[k] = pose[4 * k + 3]
    rotate(pose, wrench, sample)
    rotate(pose, wrench + 3, sample + 3)
    add_cross_product(1.0, origin, sample, sample + 3)
    for k in range(6):
        sample[k] -= measured.offset[k]
    gate_sample(measured, sample, settings.dead_zone)


cdef inline void shift_zero(MeasuredWrench* measured, const double* by) noexcept nogil:
    """Add to the sensor's offset (6), as if it had always had it: no sample is sudden for that."""
    for k in range(6):
        measured.offset[k] += by[k]
        measured.wrench[k] -= by[k]
        measured.certain[k] -= by[k]
        measured.readings.mean[k] -= by[k]
        for i in range(WINDOW):
            measured.samples[i][k] -= by[k]


cdef inline void find_weight(const Impedance* law, double* out) noexcept nogil:
    """out, (6): the payload's weight in a measured wrench, in the end effector's axes."""
    for k in range(3):
        out[k] = out[3 + k] = 0.0
        for i in range(3):
            out[k] += law.pose[4 * i + k] * law.settings.weight[i]
    add_cross_product(1.0, law.settings.weight_at, out, out + 3)


cdef inline bint is_fresh(const MeasuredWrench* measured, double now,
                          double timeout) noexcept nogil:
    """Whether there is a wrench that can be relied on."""
    return measured.count >= WINDOW and now - measured.at <= timeout


cdef inline void find_sensed(Impedance* law, const MeasuredWrench* measured) noexcept nogil:
    """The wrench from outside: as measured, without the payload's weight; 0 if it is too old."""
    cdef double* f = law.sensed
    cdef double[3] arm
    if not measured.is_there:
        memset(f, 0, 6 * sizeof(double))
        return
    rotate(law.pose, measured.wrench, f)
    rotate(law.pose, measured.wrench + 3, f + 3)
    rotate(law.pose, law.settings.weight_at, arm)
    for k in range(3):
        f[k] -= law.settings.weight[k]
    add_cross_product(-1.0, arm, law.settings.weight, f + 3)


cdef inline void find_contact(const Impedance* law, MeasuredWrench* measured,
                              double dt) noexcept nogil:
    """Let the contact follow what is sensed, as fast as contacts change, within a wall's force."""
    for k in range(6):
        bound = law.settings.max_wrench[k // 3]
        step = bound * dt / CONTACT_TIME
        sensed = fmin(fmax(law.sensed[k], -WALL * bound), WALL * bound)
        measured.contact[k] += fmin(fmax(sensed - measured.contact[k], -step), step)


cdef inline void find_external(Impedance* law) noexcept nogil:
    """Find what of the wrench moves the virtual arm: beyond the dead zone, within a wall's force.
    """
    for half in range(2):
        f = law.external + 3 * half
        size = norm(law.sensed + 3 * half)
        share = fmax(1.0 - law.settings.dead_zone[half] / size, 0.0) if size > 0.0 else 0.0
        for k in range(3):
            f[k] = law.sensed[3 * half + k] * share
        limit(WALL * law.settings.max_wrench[half], f)


# Force control along axes of the compliance: the target is led by the error of the force, so that
# the spring presses with what is asked for.
#
#     d/dt x_target = (asked force + measured force) / (K T),   at most ``contact_speed``
#
# This is integral action on the measured force through the spring K, with the time constant T in
# stiff contact; K is soft, so that delays which the spring bears matter little. Without contact the
# target moves on at the bounded speed. Once in contact and without it for LOST_TIME, or without
# measured force, the spring alone is left, until the force is no longer asked for.
#
# Dry friction of a joint that stands follows the torque on it, from one sign to the other within
# twice itself. So it is compensated (command.pxd), or the spring would make up for it and would
# press too hard as the end effector begins to slide. The gain of the loop is at most doubled by
# that.

cdef extern from *:
    const double FORCE_TIME "0.2"  # T [s]
    const double TOUCHES "0.5"     # share of the asked force from which there is contact
    const double LOST_SHARE "0.1"  # share below which there is none
    const double LOST_TIME "0.1"   # [s]

cdef struct ForceAxes:       # for each axis
    bint[3] leads            # the target is led by the force
    bint[3] touches          # there has been contact since the force was asked for
    double[3] free_for       # time without it since then [s]
    double[6] more           # what the last step has added to the spring's wrench, base axes


cdef inline bint is_apart(ForceAxes* axes, Py_ssize_t k, double pressed, double dt) noexcept nogil:
    """Whether contact was there and is lost. pressed: share of the asked force that is measured."""
    if pressed > TOUCHES:
        axes.touches[k], axes.free_for[k] = True, 0.0
    elif axes.touches[k] and pressed < LOST_SHARE:
        axes.free_for[k] += dt
    return axes.free_for[k] > LOST_TIME


cdef inline double led_speed(const Impedance* law, Py_ssize_t k, double asked, double sensed,
                             double error) noexcept nogil:
    """The speed of the target along an axis [m/s]. error: from the end effector to the target."""
    cdef double stiffness = law.settings.stiffness[k]
    cdef double speed = (asked + sensed) / (stiffness * FORCE_TIME)
    if stiffness * error * copysign(1.0, asked) > law.settings.max_wrench[0] and (
            speed * asked > 0.0):
        return 0.0                                  # the spring presses with all it may
    return fmax(fmin(speed, law.settings.contact_speed), -law.settings.contact_speed)


cdef inline void displacement_between(const double* pose, const double* target,
                                      double* out) noexcept nogil:
    """out, (6): from the position of a pose (16) to that of another; no rotation."""
    for k in range(3):
        out[k], out[3 + k] = target[4 * k + 3] - pose[4 * k + 3], 0.0


cdef inline void shift(const Impedance* law, const double* by, double* pose) noexcept nogil:
    """Move a pose (16) by a displacement (6) in compliance axes."""
    cdef double[6] displacement
    from_axes(law, by, displacement)
    for k in range(3):
        pose[4 * k + 3] += displacement[k]


cdef inline void lead_by_force(ForceAxes* axes, Impedance* law, const double* wrench, bint measured,
                               double dt) noexcept nogil:
    """Move target and desired pose along the force axes; feed the rest of the wrench forward."""
    cdef double[6] asked, sensed, error, displacement
    to_axes(law, wrench, 1, asked)
    to_axes(law, law.sensed, 1, sensed)
    displacement_between(law.pose, law.target, displacement)
    to_axes(law, displacement, 1, error)
    for k in range(6):
        displacement[k] = 0.0
    for k in range(3):
        axes.leads[k] = measured and asked[k] != 0.0 and law.settings.force_axes[k] != 0.0
        if axes.leads[k]:
            axes.leads[k] = not is_apart(axes, k, -sensed[k] / asked[k], dt)
        else:
            axes.touches[k], axes.free_for[k] = False, 0.0
        if axes.leads[k]:
            displacement[k] = dt * led_speed(law, k, asked[k], sensed[k], error[k])
        if law.settings.force_axes[k] != 0.0:
            asked[k] = 0.0
    from_axes(law, asked, law.feedforward)
    # The desired pose goes along, and is no faster for it: D V_d would be proportional action.
    shift(law, displacement, law.target)
    shift(law, displacement, law.desired)
    for k in range(3):
        displacement[k] *= law.settings.stiffness[k]
    from_axes(law, displacement, axes.more)


cdef inline void keep_force_axes(const ForceAxes* axes, const Impedance* law,
                                 double* pose) noexcept nogil:
    """Give a new target (16) the present position along the axes that the force leads."""
    cdef double[6] displacement, kept
    displacement_between(pose, law.target, displacement)
    to_axes(law, displacement, 1, kept)
    for k in range(3):
        kept[k] = kept[k] if axes.leads[k] else 0.0
    shift(law, kept, pose)


# The zero of a force-torque sensor: what it reads while nothing acts on it, found at request while
# the arm is held still (``zero_wrench`` in request_handlers.pxd).
#
# Mean and scatter are kept with every reading, with exponentially decreasing weights: the mean is
# as old as that of the last SETTLED_AFTER seconds, at any rate of the sensor, without memory of
# single readings. In the beginning all readings count alike.

cdef inline void note_reading(Readings* r, const double* wrench, double at) noexcept nogil:
    """Take a reading (6) of a steady time [s]."""
    if r.count == 0:
        r.begin = r.last = at
        memcpy(r.mean, wrench, 6 * sizeof(double))
        memset(r.variance, 0, 6 * sizeof(double))
    r.count += 1
    share = fmin(fmax(1.0 / r.count, (at - r.last) / (0.5 * SETTLED_AFTER)), 1.0)
    r.last = at
    for k in range(6):
        difference = wrench[k] - r.mean[k]
        r.mean[k] += share * difference
        r.variance[k] = (1.0 - share) * (r.variance[k] + share * difference * difference)
