# Seeded white noise: the same seed gives the same numbers.
#
# Bits by xoshiro256++ (Blackman and Vigna, Scrambled linear pseudorandom number generators, 2021),
# normal numbers from them by the polar method (Marsaglia and Bray, A convenient method for
# generating normal variables, 1964).

from libc.math cimport log, sqrt
from libc.stdint cimport uint64_t

cdef struct Generator:
    uint64_t[4] state
    double spare         # the second number of a pair from the polar method
    bint has_spare


cdef inline void seed(Generator* g, uint64_t number) noexcept nogil:
    """Seed by splitmix64, as the authors of xoshiro recommend."""
    for k in range(4):
        number += 0x9E3779B97F4A7C15ULL
        z = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ULL
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
        g.state[k] = z ^ (z >> 31)
    g.has_spare = False


cdef inline uint64_t rotate_left(uint64_t x, int by) noexcept nogil:
    return (x << by) | (x >> (64 - by))


cdef inline uint64_t next_bits(Generator* g) noexcept nogil:
    """xoshiro256++."""
    cdef uint64_t* s = g.state
    cdef uint64_t result = rotate_left(s[0] + s[3], 23) + s[0], t = s[1] << 17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotate_left(s[3], 45)
    return result


cdef inline double between_minus_one_and_one(Generator* g) noexcept nogil:
    return <double> (next_bits(g) >> 11) * 2.0**-52 - 1.0


cdef inline double standard_normal(Generator* g) noexcept nogil:
    """A normal number of mean 0 and deviation 1."""
    if g.has_spare:
        g.has_spare = False
        return g.spare
    while True:                        # a point within the unit circle
        x, y = between_minus_one_and_one(g), between_minus_one_and_one(g)
        square = x * x + y * y
        if 0.0 < square < 1.0:
            break
    scale = sqrt(-2.0 * log(square) / square)
    g.spare, g.has_spare = scale * y, True
    return scale * x
