/* The lane type: one SIMD register of states, as wide as the compiler's instruction set.
 *
 * GCC's vector extensions provide + - * / and comparison; the other operations are defined here.
 * All kernels are written once, in Cython, for a register and for a single double (spatial.pxd).
 */
#ifndef FEATHERSTONE_LANES_H
#define FEATHERSTONE_LANES_H

#include <math.h>
#include <stddef.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(LANES)
#elif defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef double unaligned_lanes __attribute__((vector_size(8 * LANES), aligned(8)));
typedef long long lane_mask __attribute__((vector_size(8 * LANES)));

/* The same number in every lane. */
static inline lanes broadcast(double x) { return x - (lanes){0}; }

/* LANES numbers of an array, by index, and one after the other. */
static inline lanes gather(const double *x, const ptrdiff_t *at)
{
#if LANES == 8
    return (lanes){x[at[0]], x[at[1]], x[at[2]], x[at[3]], x[at[4]], x[at[5]], x[at[6]], x[at[7]]};
#elif LANES == 4
    return (lanes){x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
#else
    return (lanes){x[at[0]], x[at[1]]};
#endif
}
static inline lanes load(const double *x) { return *(const unaligned_lanes *)x; }
static inline void store(double *x, lanes v) { *(unaligned_lanes *)x = v; }

/* Rows (count <= LANES, width) as one register per column, the last row repeated; and back. */
static inline void load_rows(const double *rows, ptrdiff_t width, ptrdiff_t count, lanes *x)
{
    const double *row[LANES];
    for (int l = 0; l < LANES; l++)
        row[l] = rows + (l < count ? l : count - 1) * width;
    for (ptrdiff_t k = 0; k < width; k++)
#if LANES == 8
        x[k] = (lanes){row[0][k], row[1][k], row[2][k], row[3][k],
                       row[4][k], row[5][k], row[6][k], row[7][k]};
#elif LANES == 4
        x[k] = (lanes){row[0][k], row[1][k], row[2][k], row[3][k]};
#else
        x[k] = (lanes){row[0][k], row[1][k]};
#endif
}
/* The numbers of two registers in turn, x[0] y[0] x[1] y[1] and so on: their lower halves, their
 * upper halves.
 */
#if LANES == 8
#define LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER 4, 12, 5, 13, 6, 14, 7, 15
#elif LANES == 4
#define LOWER 0, 4, 1, 5
#define UPPER 2, 6, 3, 7
#else
#define LOWER 0, 2
#define UPPER 1, 3
#endif
#ifdef __clang__
#define SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SHUFFLE(x, y, ...) __builtin_shuffle(x, y, (lane_mask){__VA_ARGS__})
#endif
/* Registers as a square matrix, transposed: of interleaving the upper half of its rows with the
 * lower, log2(LANES) times.
 */
static inline void transpose(const lanes *x, lanes *transposed)
{
    lanes now[LANES], next[LANES];
    for (int k = 0; k < LANES; k++)
        now[k] = x[k];
    for (int step = 1; step < LANES; step *= 2) {
        for (int k = 0; k < LANES / 2; k++) {
            next[2 * k] = SHUFFLE(now[k], now[k + LANES / 2], LOWER);
            next[2 * k + 1] = SHUFFLE(now[k], now[k + LANES / 2], UPPER);
        }
        for (int k = 0; k < LANES; k++)
            now[k] = next[k];
    }
    for (int k = 0; k < LANES; k++)
        transposed[k] = now[k];
}
static inline void store_rows(const lanes *x, ptrdiff_t width, ptrdiff_t count, double *rows)
{
    ptrdiff_t k = 0;
    if (count == LANES)
        for (; k + LANES <= width; k += LANES) {
            lanes row[LANES];
            transpose(x + k, row);
            for (int l = 0; l < LANES; l++)
                store(rows + l * width + k, row[l]);
        }
    for (; k < width; k++)
        for (int l = 0; l < count; l++)
            rows[l * width + k] = x[k][l];
}

/* 1 in lane k, 0 in the others; all 0 if there is no lane k. */
static inline lanes unit_lanes(ptrdiff_t k)
{
#if LANES == 8
    const lane_mask lane = {0, 1, 2, 3, 4, 5, 6, 7};
#elif LANES == 4
    const lane_mask lane = {0, 1, 2, 3};
#else
    const lane_mask lane = {0, 1};
#endif
    return (lanes)((lane == (long long)k) & (lane_mask)broadcast(1.0));
}

/* a where the mask is set, else b. */
static inline lanes select_lanes(lane_mask mask, lanes a, lanes b)
{
    return (lanes)((mask & (lane_mask)a) | (~mask & (lane_mask)b));
}
static inline int any_lane(lane_mask mask)
{
#if LANES == 8 && defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif LANES == 4
    return _mm256_movemask_pd((__m256d)mask) != 0;
#elif LANES == 2 && defined(__SSE2__)
    return _mm_movemask_pd((__m128d)mask) != 0;
#else
    long long any = 0;
    for (int k = 0; k < LANES; k++)
        any |= mask[k];
    return any != 0;
#endif
}
/* Return types of functions that are always inlined, and of functions that never are: rare cases,
 * which would make the code around their calls slower if they were inlined. */
#define inlined __attribute__((always_inline)) void
#if defined(__GNUC__) && !defined(__clang__)
#define outlined __attribute__((noipa)) void
#else
#define outlined void
#endif
static inline int any_nonzero(lanes x) { return any_lane(x != 0.0); }
static inline int any_at_most(lanes a, lanes b)
{
    return any_lane((a <= b) & (b < broadcast(INFINITY)));
}
static inline lanes reciprocal_lanes(lanes x) { return 1.0 / x; }
static inline lanes root_lanes(lanes x)
{
    for (int k = 0; k < LANES; k++)
        x[k] = sqrt(x[k]);
    return x;
}
static inline lanes less_lanes(lanes a, lanes b)
{
    return select_lanes(a < b, broadcast(1.0), broadcast(0.0));
}
static inline lanes choose_lanes(lanes choice, lanes a, lanes b)
{
    return select_lanes(choice != 0.0, a, b);
}
static inline lanes larger_lanes(lanes a, lanes b) { return select_lanes(a > b, a, b); }
static inline lanes smaller_lanes(lanes a, lanes b) { return select_lanes(a < b, a, b); }
static inline lanes abs_lanes(lanes x) { return (lanes)((lane_mask)x & 0x7fffffffffffffffLL); }

/* Sine and cosine of x + rest + k pi/2 in every lane, for |rest| <= pi/4 and turn = NO_TURN + k
 * with a whole k.
 *
 * For rest = k = 0 to 1.5 units in the last place near zero, 2.5 at |x| = 1e5, libm's beyond. A
 * rest is added to what is left of x after the reduction, where it does not cost x its last digits.
 * 1. n = (x + rest) 2/pi rounded, by adding and subtracting turn; the low bits of the sum are those
 *    of n + k.
 * 2. y = x - n pi/2 + rest with pi/2 in three parts (Cody and Waite): n times the first two, 33
 *    bits each, is exact.
 * 3. On |y| <= pi/4 the polynomials of fdlibm (k_sin.c, k_cos.c).
 * 4. The quadrant (n + k) mod 4 exchanges the two (bit 0) and changes signs (bit 1; for the cosine
 *    bit 1 of n + k + 1).
 */
#define NO_TURN 0x1.8p52
static inline void sine_cosine(lanes x, lanes rest, lanes turn, lanes *sine, lanes *cosine)
{
    lanes shifted = (x + rest) * 0x1.45f306dc9c883p-1 + turn;
    const lanes n = shifted - turn;
    const lanes y = (((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34)
        - n * 0x1.3198a2e037073p-69) + rest;
    const lanes z = y * y, z2 = z * z, z4 = z2 * z2, h = 0.5 * z, w = 1.0 - h;
    lanes s = y + y * z * ((-1.66666666666666324348e-01 + z * 8.33333333332248946124e-03)
        + z2 * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06)
        + z4 * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10));
    lanes c = w + (((1.0 - w) - h)
        + z2 * ((4.16666666666666019037e-02 + z * -1.38888888888741095749e-03)
        + z2 * (2.48015872894767294178e-05 + z * -2.75573143513906633035e-07)
        + z4 * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)));
    const lane_mask far = ~(abs_lanes(x) <= 1e5);               /* NaN as well */
    if (__builtin_expect(any_lane(far), 0))
        for (int k = 0; k < LANES; k++)
            if (far[k]) {
                s[k] = sin(x[k]) * cos(rest[k]) + cos(x[k]) * sin(rest[k]);
                c[k] = cos(x[k]) * cos(rest[k]) - sin(x[k]) * sin(rest[k]);
                shifted[k] = turn[k];
            }
    const lane_mask quadrant = (lane_mask)shifted;
    const lane_mask odd = -(quadrant & 1);
    *sine = (lanes)((lane_mask)select_lanes(odd, c, s) ^ ((quadrant & 2) << 62));
    *cosine = (lanes)((lane_mask)select_lanes(odd, s, c) ^ (((quadrant + 1) & 2) << 62));
}

#endif
