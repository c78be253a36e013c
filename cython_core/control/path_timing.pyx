"""The interior point method of control/retiming/timing.py, which has the equations.

A row of the limits is of three neighbouring nodes: all that is done to it is done where it stands,
and the system of a step has five diagonals.
"""

import numpy as np
from libc.math cimport INFINITY, fabs, sqrt

cdef double SHARE = 0.95  # of the way to where a limit, or a squared speed of 0, is met
cdef double LEAST_SLACK = 0.1  # at first, in shares of a limit
cdef double MOST_SLACK = 1e3
cdef double GAP_AT_FIRST = 0.1  # share of the duration
cdef double CIRCLING = 50.0  # steps after which they are shorter and shorter
cdef double UNDECIDED = 0.1  # share of how far the timing is from the fastest, for the gap

cdef struct Row:
    double[3] jacobian
    double lacking  # what is beyond the limit, and the slack
    double slack
    double force  # the multiplier
    double moved  # change of the slack in a step
    double forced  # of the force


cdef void tangents(double[::1] grid, double[::1] x, double[:, ::1] mean) noexcept nogil:
    """Write the mean time of the intervals beside each node: per x of three nodes, and constant.

    From and to rest it is the time of the one interval there is.
    """
    cdef Py_ssize_t count = len(grid) - 1
    mean[:] = 0.0
    for k in range(count):
        p, q = sqrt(x[k]), sqrt(x[k + 1])
        took = 2.0 * (grid[k + 1] - grid[k]) / (p + q)
        left = -took / (p + q) / 2.0 / p if p > 0.0 else 0.0
        right = -took / (p + q) / 2.0 / q if q > 0.0 else 0.0
        rest = took - left * x[k] - right * x[k + 1]
        share = 1.0 if k == 0 else 0.5
        mean[k, 1] += share * left
        mean[k, 2] += share * right
        mean[k, 3] += share * rest
        share = 1.0 if k == count - 1 else 0.5
        mean[k + 1, 0] += share * left
        mean[k + 1, 1] += share * right
        mean[k + 1, 3] += share * rest


cdef double of_duration(
    double[::1] grid, double[::1] x, double[::1] gradient, double[:, ::1] hessian
) noexcept nogil:
    """Write gradient and diagonals of the Hessian of the duration's logarithm; return it [s]."""
    cdef Py_ssize_t count = len(grid) - 1
    cdef double total = 0.0
    cdef double[2] root
    gradient[:] = 0.0
    hessian[:] = 0.0
    for k in range(count):
        total += 2.0 * (grid[k + 1] - grid[k]) / (sqrt(x[k]) + sqrt(x[k + 1]))
    for k in range(count):
        root[0], root[1] = sqrt(x[k]), sqrt(x[k + 1])
        q = root[0] + root[1]
        length = (grid[k + 1] - grid[k]) / total
        for i in range(2):
            p = root[i]
            if p > 0.0:
                gradient[k + i] -= length / (p * q * q)
                hessian[k + i, 0] += length / (2.0 * p * p * q * q) * (1.0 / p + 2.0 / q)
        if root[0] > 0.0 and root[1] > 0.0:
            hessian[k, 1] += length / (root[0] * root[1] * q * q * q)
    return total


cdef double around(double[::1] values, Py_ssize_t k) noexcept nogil:
    """Return a value of a node, 0 beside the first and the last."""
    return values[k] if 0 <= k < len(values) else 0.0


cdef void factorise(double[:, ::1] a) noexcept nogil:
    """Replace the diagonals of a positive definite matrix by its factors L D L^T."""
    cdef Py_ssize_t count = len(a)
    for k in range(count):
        if k >= 1:
            a[k, 0] -= a[k - 1, 1] * a[k - 1, 1] * a[k - 1, 0]
            a[k, 1] -= a[k - 1, 1] * a[k - 1, 2] * a[k - 1, 0]
        if k >= 2:
            a[k, 0] -= a[k - 2, 2] * a[k - 2, 2] * a[k - 2, 0]
        a[k, 1] /= a[k, 0]
        a[k, 2] /= a[k, 0]


cdef void substitute(double[:, ::1] a, double[::1] x) noexcept nogil:
    """Replace the right side by the solution."""
    cdef Py_ssize_t count = len(a)
    for k in range(count):
        if k >= 1:
            x[k] -= a[k - 1, 1] * x[k - 1]
        if k >= 2:
            x[k] -= a[k - 2, 2] * x[k - 2]
    for k in range(count):
        x[k] /= a[k, 0]
    for k in range(count - 1, -1, -1):
        if k + 1 < count:
            x[k] -= a[k, 1] * x[k + 1]
        if k + 2 < count:
            x[k] -= a[k, 2] * x[k + 2]


cdef double way(double value, double step) noexcept nogil:
    """Return the share of a step after which a positive value is 0."""
    return -value / step if step < 0.0 else INFINITY


cdef bint solve(
    double[:, :, ::1] linear, double[:, :, ::1] roots, double[:, ::1] high, double[:, ::1] rate,
    double[::1] grid, double[::1] x, Row *rows, double[:, ::1] mean,
    double[:, ::1] hessian, double[::1] gradient, double[::1] step,
    int max_steps, double gap, double within,
) noexcept nogil:
    cdef Py_ssize_t count = len(grid), width = high.shape[1]
    cdef double number = <double> (count * width)
    cdef double value, root, weight, wanted
    cdef double change
    cdef int number_of_step, corrects
    cdef bint begins = True
    cdef Row *row
    cdef const double *per_square
    cdef const double *per_speed
    cdef double[3] node, root_there, half
    for number_of_step in range(max_steps):
        tangents(grid, x, mean)
        of_duration(grid, x, gradient, hessian)
        total = off = 0.0
        for k in range(count):
            for d in range(3):
                node[d] = around(x, k + d - 1)
                root_there[d] = sqrt(node[d])
                half[d] = 0.5 / root_there[d] if node[d] > 0.0 else 0.0
            for m in range(width):
                row = rows + k * width + m
                value = -high[k, m]
                per_square, per_speed = &linear[k, m, 0], &roots[k, m, 0]
                for d in range(3):
                    root = per_speed[d]
                    row.jacobian[d] = per_square[d] + root * half[d] - rate[k, m] * mean[k, d]
                    value += row.jacobian[d] * node[d] + root * root_there[d] / 2.0
                value -= rate[k, m] * mean[k, 3]
                if begins:
                    row.slack = min(max(-value, LEAST_SLACK), MOST_SLACK)
                    row.force = GAP_AT_FIRST / number / row.slack
                row.lacking = value + row.slack
                total += row.slack * row.force
                off = max(off, fabs(row.lacking))
                for d in range(3):
                    if 0 <= k + d - 1 < count:
                        gradient[k + d - 1] += row.force * row.jacobian[d]
        begins = False
        undecided = 0.0
        for k in range(1, count - 1):
            undecided += fabs(x[k] * gradient[k])
        if total < gap and off < within and undecided < gap:
            return True
        if not total < INFINITY:
            return False
        for k in range(count):
            for m in range(width):
                row = rows + k * width + m
                weight = row.force / row.slack
                node[0] = weight * row.jacobian[0]
                node[1] = weight * row.jacobian[1]
                if k > 0:
                    hessian[k - 1, 0] += node[0] * row.jacobian[0]
                    hessian[k - 1, 1] += node[0] * row.jacobian[1]
                    hessian[k - 1, 2] += node[0] * row.jacobian[2]
                hessian[k, 0] += node[1] * row.jacobian[1]
                hessian[k, 1] += node[1] * row.jacobian[2]
                if k + 1 < count:
                    hessian[k + 1, 0] += weight * row.jacobian[2] * row.jacobian[2]
        hessian[0, 0] = hessian[count - 1, 0] = 1.0  # at rest
        hessian[0, 1] = hessian[0, 2] = hessian[count - 2, 1] = hessian[count - 3, 2] = 0.0
        factorise(hessian)
        aim = 0.0
        for corrects in range(2):
            for k in range(count):
                step[k] = -gradient[k]
            for k in range(count):
                for m in range(width):
                    row = rows + k * width + m
                    change = row.moved * row.forced if corrects else 0.0
                    wanted = (aim - change + row.force * row.lacking) / row.slack - row.force
                    for d in range(3):
                        if 0 <= k + d - 1 < count:
                            step[k + d - 1] -= wanted * row.jacobian[d]
            step[0] = step[count - 1] = 0.0
            substitute(hessian, step)
            near, far = INFINITY, INFINITY
            both = of_slack = of_force = 0.0
            for k in range(count):
                if 0 < k < count - 1:
                    near = min(near, way(x[k], step[k]))
                for d in range(3):
                    node[d] = around(step, k + d - 1)
                for m in range(width):
                    row = rows + k * width + m
                    change = row.moved * row.forced if corrects else 0.0
                    row.moved = -row.lacking
                    for d in range(3):
                        row.moved -= row.jacobian[d] * node[d]
                    row.forced = (aim - change - row.force * row.moved) / row.slack - row.force
                    near = min(near, way(row.slack, row.moved))
                    far = min(far, way(row.force, row.forced))
                    both += row.moved * row.forced
                    of_slack += row.moved * row.force
                    of_force += row.slack * row.forced
            if not corrects:
                near, far = min(near, 1.0), min(far, 1.0)
                left = total + near * of_slack + far * of_force + near * far * both
                aim = total / number * min((left / total) ** 3, 1.0)
                # Not nearer to the limits than to the optimum: there it would get stuck.
                aim = max(aim, UNDECIDED * undecided / number)
        # Where whole steps go round in a circle, since limits are curved, shorter ones do not.
        most = min(1.0, CIRCLING / (1.0 + number_of_step))
        near, far = min(SHARE * near, most), min(SHARE * far, most)
        for k in range(count):
            x[k] += near * step[k]
            for m in range(width):
                row = rows + k * width + m
                row.slack += near * row.moved
                row.force += far * row.forced
    return False


def find(double[:, :, ::1] linear, double[:, :, ::1] roots, double[:, ::1] high,
         double[:, ::1] rate, double[::1] grid, double[::1] x, int max_steps, double gap,
         double within):
    """Find the fastest timing of N + 1 nodes within M limits of each; return whether it is found.

    Args:
        linear: (N + 1, M, 3) per squared speed of the node before, of this one, and of the next.
        roots: (N + 1, M, 3) per speed of the same.
        high: (N + 1, M) greatest values.
        rate: (N + 1, M) of the mean time of the intervals beside the node, which high grows by.
        grid: (N + 1,) lengths of the path, N at least 3.
        x: (N + 1,) squared speeds to begin from, 0 at both ends; the timing afterwards.
        max_steps: Steps at most.
        gap: Share of the duration that may be left to be found.
        within: By which a row may be beyond.
    """
    cdef Py_ssize_t count = len(x), width = high.shape[1]
    cdef double[:, :, ::1] of_rows = np.empty((count, width, 8))
    cdef double[:, ::1] mean = np.empty((count, 4)), hessian = np.empty((count, 3))
    cdef double[:, ::1] vectors = np.empty((2, count))
    shapes = [*map(np.shape, [linear, roots, high, rate, grid])]
    if count < 4 or shapes != [(count, width, 3)] * 2 + [(count, width)] * 2 + [(count,)]:
        raise ValueError(f"the arrays' shapes do not agree: {shapes}")
    with nogil:
        found = solve(linear, roots, high, rate, grid, x, <Row *> &of_rows[0, 0, 0], mean, hessian,
                      vectors[0], vectors[1], max_steps, gap, within)
    return found
