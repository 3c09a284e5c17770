// Memory-bound kernels written by hand, for bench/by_hand.py: what a careful programmer gets out of
// this machine with AVX-512. Rows are multiples of 16, in bf16 of 64.

#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>

typedef int64_t L;
typedef __m512 V;

#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define ALL(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)

// Runs what follows n for i in this thread's share of 0 … n - 1.
#define SHARED(n, ...)                                                                             \
    _Pragma("omp parallel") {                                                                      \
        L threads = omp_get_num_threads(), thread = omp_get_thread_num();                          \
        L begin = (n) * thread / threads, end = (n) * (thread + 1) / threads;                      \
        for (L i = begin; i < end; i++) __VA_ARGS__                                                \
    }

static inline float across(const V *sums) {
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

// The sum and that of the squares.
static inline void totals(const float *p, L n, float *sum, float *square) {
    V s[4], t[4];
    for (int k = 0; k < 4; k++) s[k] = t[k] = ALL(0);
    L j = 0;
    for (; j + 64 <= n; j += 64)
        for (int k = 0; k < 4; k++) {
            V x = LOAD(p + j + 16 * k);
            s[k] = _mm512_add_ps(s[k], x);
            t[k] = FMA(x, x, t[k]);
        }
    for (; j < n; j += 16) {
        V x = LOAD(p + j);
        s[0] = _mm512_add_ps(s[0], x);
        t[0] = FMA(x, x, t[0]);
    }
    *sum += across(s);
    *square += across(t);
}

static inline float squares(const float *p, L n, float mean) {
    V s[8], m = ALL(mean);
    for (int k = 0; k < 8; k++) s[k] = ALL(0);
    L j = 0;
    for (; j + 128 <= n; j += 128)
        for (int k = 0; k < 8; k++) {
            V d = _mm512_sub_ps(LOAD(p + j + 16 * k), m);
            s[k] = FMA(d, d, s[k]);
        }
    for (; j < n; j += 16) {
        V d = _mm512_sub_ps(LOAD(p + j), m);
        s[0] = FMA(d, d, s[0]);
    }
    for (int k = 1; k < 8; k++) s[0] = _mm512_add_ps(s[0], s[k]);
    return _mm512_reduce_add_ps(s[0]);
}

// Does the mean not outweigh the spread, so that the squares around it follow from the totals?
static inline int clear(float square, float around) { return 2 * around >= square; }

static inline float around(const float *p, L n, float *mean) {
    float sum = 0, square = 0;
    totals(p, n, &sum, &square);
    *mean = sum / n;
    float found = square - sum * *mean;
    return clear(square, found) ? found : squares(p, n, *mean);
}

static inline void scaled(const float *p, float *q, L n, float factor, float more) {
    V a = ALL(factor), b = ALL(more);
    for (L j = 0; j < n; j += 16) STORE(q + j, FMA(LOAD(p + j), a, b));
}

void mul_add(const float *x, const float *y, const float *z, float *o, L n) {
    SHARED(n / 64, {
        for (L j = 64 * i; j < 64 * i + 64; j += 16)
            STORE(o + j, FMA(LOAD(x + j), LOAD(y + j), LOAD(z + j)));
    })
}

void var_mean(const float *x, float *var, float *mean, L rows, L n) {
    SHARED(rows, {
        var[i] = around(x + i * n, n, mean + i) / (n - 1);
    })
}

void layer_norm(const float *x, const float *w, const float *b, float *o, L rows, L n) {
    SHARED(rows, {
        const float *p = x + i * n;
        float mean, square = around(p, n, &mean);
        V m = ALL(mean), s = ALL(1.0f / sqrtf(square / n + 1e-5f));
        for (L j = 0; j < n; j += 16) {
            V normal = _mm512_mul_ps(_mm512_sub_ps(LOAD(p + j), m), s);
            STORE(o + i * n + j, FMA(normal, LOAD(w + j), LOAD(b + j)));
        }
    })
}

void group_norm(const float *x, const float *w, const float *b, float *o, L images, L groups,
                L channels, L pixels) {
    L n = channels * pixels;
    SHARED(images * groups, {
        const float *p = x + i * n;
        float mean, square = around(p, n, &mean);
        float s = 1.0f / sqrtf(square / n + 1e-5f);
        for (L k = 0; k < channels; k++) {
            L c = i % groups * channels + k;
            scaled(p + k * pixels, o + i * n + k * pixels, pixels, s * w[c], b[c] - mean * s * w[c]);
        }
    })
}

void batch_norm(const float *x, const float *w, const float *b, float *o, L images, L channels,
                L pixels) {
    SHARED(channels, {
        float sum = 0, square = 0, n = images * pixels;
        for (L k = 0; k < images; k++)
            totals(x + (k * channels + i) * pixels, pixels, &sum, &square);
        float mean = sum / n, found = square - sum * mean;
        if (!clear(square, found)) {
            found = 0;
            for (L k = 0; k < images; k++)
                found += squares(x + (k * channels + i) * pixels, pixels, mean);
        }
        square = found;
        float s = 1.0f / sqrtf(square / n + 1e-5f);
        for (L k = 0; k < images; k++) {
            L at = (k * channels + i) * pixels;
            scaled(x + at, o + at, pixels, s * w[i], b[i] - mean * s * w[i]);
        }
    })
}

// NaN is not looked for.
void argmax(const float *x, L *o, L rows, L n) {
    SHARED(rows, {
        const float *p = x + i * n;
        V m[8];
        for (int k = 0; k < 8; k++) m[k] = ALL(-INFINITY);
        for (L j = 0; j < n; j += 128)
            for (int k = 0; k < 8; k++) m[k] = _mm512_max_ps(m[k], LOAD(p + j + 16 * k));
        for (int k = 1; k < 8; k++) m[0] = _mm512_max_ps(m[0], m[k]);
        V best = ALL(_mm512_reduce_max_ps(m[0]));
        for (L j = 0; j < n; j += 16) {
            int hit = _mm512_cmp_ps_mask(LOAD(p + j), best, _CMP_EQ_OQ);
            if (hit) {
                o[i] = j + __builtin_ctz(hit);
                break;
            }
        }
    })
}

// Sums in double precision, as eager's.
void cumsum(const float *x, float *o, L rows, L n) {
    const __m512d none = _mm512_setzero_pd();
    const __m512i last = _mm512_set1_epi64(7);
#define AFTER(v, k)                                                                                \
    _mm512_castsi512_pd(                                                                           \
        _mm512_alignr_epi64(_mm512_castpd_si512(v), _mm512_castpd_si512(none), 8 - k))
    SHARED(rows, {
        __m512d carry = none;
        for (L j = 0; j < n; j += 8) {
            __m512d v = _mm512_cvtps_pd(_mm256_loadu_ps(x + i * n + j));
            v = _mm512_add_pd(v, AFTER(v, 1));
            v = _mm512_add_pd(v, AFTER(v, 2));
            v = _mm512_add_pd(v, AFTER(v, 4));
            _mm256_storeu_ps(o + i * n + j, _mm512_cvtpd_ps(_mm512_add_pd(v, carry)));
            carry = _mm512_add_pd(carry, _mm512_permutexvar_pd(last, v));
        }
    })
}

static inline void square_of_16(const float *x, float *o, L from, L to) {
    V r[16], t[16];
    for (int i = 0; i < 16; i++) r[i] = LOAD(x + i * from);
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d a = _mm512_castps_pd(t[i + k]), b = _mm512_castps_pd(t[i + k + 2]);
            r[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            r[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16; k += 8) {
            t[i + k] = _mm512_shuffle_f32x4(r[i + k], r[i + k + 4], 0x88);
            t[i + k + 4] = _mm512_shuffle_f32x4(r[i + k], r[i + k + 4], 0xdd);
        }
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    }
    for (int i = 0; i < 16; i++) STORE(o + i * to, r[i]);
}

void transpose(const float *x, float *o, L n) {
    SHARED(n / 16, {
        for (L j = 0; j < n / 16; j++)
            square_of_16(x + i * 16 * n + j * 16, o + j * 16 * n + i * 16, n, n);
    })
}

void heads(const float *x, float *o, L batch, L length, L count, L width) {
    SHARED(batch * count, {
        for (L t = 0; t < length; t++)
            for (L d = 0; d < width; d += 16) {
                V v = LOAD(x + ((i / count * length + t) * count + i % count) * width + d);
                STORE(o + (i * length + t) * width + d, _mm512_mul_ps(v, ALL(1.5f)));
            }
    })
}

// Indices are checked 16 at a time; a wrong one ends the thread's share.
void gather(const float *x, const L *at, float *o, L rows, L n) {
    __m512i most = _mm512_set1_epi64(n);
    SHARED(rows, {
        const float *p = x + i * n;
        const L *q = at + i * n;
        for (L k = 0; k < n; k += 16) {
            _mm_prefetch((const char *)(p + n + k), _MM_HINT_T0);
            if (_mm512_cmpge_epu64_mask(_mm512_loadu_si512(q + k), most) |
                _mm512_cmpge_epu64_mask(_mm512_loadu_si512(q + k + 8), most)) {
                i = end;
                break;
            }
            for (int h = k; h < k + 16; h += 4) {
                __m128 v = _mm_load_ss(p + q[h]);
                v = _mm_insert_ps(v, _mm_load_ss(p + q[h + 1]), 0x10);
                v = _mm_insert_ps(v, _mm_load_ss(p + q[h + 2]), 0x20);
                v = _mm_insert_ps(v, _mm_load_ss(p + q[h + 3]), 0x30);
                _mm_storeu_ps(o + i * n + h, v);
            }
        }
    })
}

void index_select(const float *x, const L *at, float *o, L picks, L rows, L n) {
    SHARED(picks, {
        const char *soon = (const char *)(x + at[i + 6 < picks ? i + 6 : picks - 1] * n);
        for (L k = 0; k < 4 * n; k += 64) _mm_prefetch(soon + k, _MM_HINT_T0);
        if ((uint64_t)at[i] >= (uint64_t)rows) break;
        for (L k = 0; k < n; k += 16) STORE(o + i * n + k, LOAD(x + at[i] * n + k));
    })
}

// bf16: two in 32 bits; `even` and `odd` are f32. Rounded to the nearest after each operation, as
// PyTorch does; the processor's own instruction would lose denormals.

typedef uint16_t H;
typedef __m512i B;
#define HIGH _mm512_set1_epi32(0xffff0000)
#define PAIR(p) _mm512_loadu_si512(p)

static inline V even(B pair) { return (V)_mm512_slli_epi32(pair, 16); }

static inline V odd(B pair) { return (V)_mm512_and_si512(pair, HIGH); }

static inline B nearest(V x) {
    B bits = (B)x, last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
}

static inline V halved(V x) { return (V)_mm512_and_si512(nearest(x), HIGH); }

static inline void put(H *p, B even, B odd) {
    _mm512_storeu_si512(p, _mm512_or_si512(_mm512_srli_epi32(even, 16), _mm512_and_si512(odd, HIGH)));
}

static inline V chained(V x, V y) {
    V z = halved(_mm512_add_ps(halved(_mm512_mul_ps(x, ALL(2))), y));
    z = halved(_mm512_sub_ps(_mm512_max_ps(ALL(0), z), ALL(0.5f)));
    z = _mm512_max_ps(z, halved(_mm512_mul_ps(y, ALL(0.25f))));
    z = _mm512_min_ps(ALL(3), _mm512_max_ps(ALL(-3), z));
    __mmask16 large = _mm512_cmp_ps_mask(z, ALL(0.10009765625f), _CMP_GT_OQ);
    return _mm512_mask_mul_ps(_mm512_sub_ps(z, y), large, z, x);
}

void pointwise_chain_bf16(const H *x, const H *y, H *o, L n) {
    SHARED(n / 32, {
        B a = PAIR(x + 32 * i), b = PAIR(y + 32 * i);
        put(o + 32 * i, nearest(chained(even(a), even(b))), nearest(chained(odd(a), odd(b))));
    })
}

// The sum of the differences from m and that of their squares.
static inline void totals_bf16(const H *p, L n, float m, float *sum, float *square) {
    V s[4], t[4];
    for (int k = 0; k < 4; k++) s[k] = t[k] = ALL(0);
    for (L j = 0; j < n; j += 64)
        for (int k = 0; k < 4; k++) {
            B pair = PAIR(p + j + 32 * (k / 2));
            V x = k % 2 ? odd(pair) : even(pair);
            if (m != 0) x = _mm512_sub_ps(x, ALL(m));
            s[k] = _mm512_add_ps(s[k], x);
            t[k] = FMA(x, x, t[k]);
        }
    *sum = across(s);
    *square = across(t);
}

void layer_norm_bf16(const H *x, const H *w, const H *b, H *o, L rows, L n) {
    SHARED(rows, {
        const H *p = x + i * n;
        float sum, square, rest;
        totals_bf16(p, n, 0, &sum, &square);
        float mean = sum / n, found = square - sum * mean;
        if (!clear(square, found)) totals_bf16(p, n, mean, &rest, &found);
        V m = ALL(mean), s = ALL(1.0f / sqrtf(found / n + 1e-5f));
        for (L j = 0; j < n; j += 32) {
            B pair = PAIR(p + j), scale = PAIR(w + j), more = PAIR(b + j);
            V first = _mm512_mul_ps(_mm512_sub_ps(even(pair), m), s);
            V second = _mm512_mul_ps(_mm512_sub_ps(odd(pair), m), s);
            put(o + i * n + j, nearest(FMA(first, even(scale), even(more))),
                nearest(FMA(second, odd(scale), odd(more))));
        }
    })
}

static inline V turned(V x, V cos, V other, V sin, V sign) {
    V right = halved(_mm512_mul_ps(_mm512_mul_ps(other, sign), sin));
    return _mm512_add_ps(halved(_mm512_mul_ps(x, cos)), right);
}

// Rows of 64: the halves of each are turned by the angles of row i % angles.
void rotary_bf16(const H *x, const H *cos, const H *sin, H *o, L rows, L angles) {
    SHARED(rows, {
        const H *p = x + 64 * i, *c = cos + i % angles * 64, *s = sin + i % angles * 64;
        B half[2] = {PAIR(p), PAIR(p + 32)};
        for (int k = 0; k < 2; k++) {
            B here = half[k], other = half[1 - k], a = PAIR(c + 32 * k), b = PAIR(s + 32 * k);
            V sign = ALL(k ? 1.0f : -1.0f);
            put(o + 64 * i + 32 * k, nearest(turned(even(here), even(a), even(other), even(b), sign)),
                nearest(turned(odd(here), odd(a), odd(other), odd(b), sign)));
        }
    })
}
