"""The histogram of durations, as a loop counts them (ros/timing.pxd): see __init__.py."""

from libc.stdint cimport int64_t

from ros.timing cimport BUCKETS, Histogram, add

import numpy as np


def count(durations):
    """Return the counts (BUCKETS,) of durations [ns], and the longest [ns]."""
    cdef Histogram histogram
    cdef int64_t duration
    cdef int k
    histogram.longest = 0
    for k in range(BUCKETS):
        histogram.counts[k] = 0
    for duration in durations:
        add(&histogram, duration)
    return np.array(histogram.counts, np.uint64), histogram.longest
