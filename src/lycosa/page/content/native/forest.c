/* Ensembles of oblivious trees: all blocks go through a tree side by side, one comparison per level. */
#include "content.h"
#include <math.h>

/* The file: "lycosac1", the two tables of weights, then twice: trees, depth (32 bits), bias, features, borders, leaves.
 */
static const char MAGIC[8] = "lycosac1";

/* No sum of sound leaves is infinite, and so none is not a number: a score is always one from 0 to 1. */
static int is_sound(float leaf) { return fabsf(leaf) <= 1e6f; }

static int read_forest(Forest *forest, const char **at, const char *end, int features) {
    uint32_t sizes[2];
    if (end - *at < 12)
        return -1;
    memcpy(sizes, *at, 8);
    memcpy(&forest->bias, *at + 8, 4);
    *at += 12;
    if (sizes[0] > 4096 || sizes[1] < 1 || sizes[1] > 8 || !is_sound(forest->bias))
        return -1;
    forest->trees = sizes[0];
    forest->depth = sizes[1];
    size_t splits = (size_t)sizes[0] * sizes[1], leaves = (size_t)sizes[0] << sizes[1];
    /* Splits are padded so that leaves are aligned. */
    size_t padded = (splits * 2 + 3) & ~(size_t)3;
    if ((size_t)(end - *at) < padded + leaves * sizeof(float))
        return -1;
    forest->features = (const uint8_t *)*at;
    forest->borders = forest->features + splits;
    for (size_t i = 0; i < splits; i++)
        if (forest->features[i] >= features)
            return -1;
    forest->leaves = (const float *)(const void *)(*at + padded);
    for (size_t i = 0; i < leaves; i++)
        if (!is_sound(forest->leaves[i]))
            return -1;
    *at += padded + leaves * sizeof(float);
    return 0;
}

ModelRead model_read(Model *model, const char *bytes, size_t length) {
    memset(model, 0, sizeof *model);
    if (length < sizeof MAGIC + 2 * WEIGHTS || memcmp(bytes, MAGIC, sizeof MAGIC))
        return NO_MODEL;
    model->memory = malloc(length);
    if (!model->memory)
        return NO_MEMORY;
    memcpy(model->memory, bytes, length);
    const char *at = (const char *)model->memory + sizeof MAGIC, *end = (const char *)model->memory + length;
    memcpy(model->text_weights, at, WEIGHTS);
    memcpy(model->class_weights, at + WEIGHTS, WEIGHTS);
    at += 2 * WEIGHTS;
    int features = feature_count();
    if (read_forest(&model->first, &at, end, features) ||
        read_forest(&model->second, &at, end, features + SECOND_FEATURES)) {
        model_free(model);
        return NO_MODEL;
    }
    return MODEL_READ;
}

void model_free(Model *model) {
    free(model->memory);
    model->memory = NULL;
}

enum { BATCH = 256, LANE = 32 };

/* There is something to read up to the end of the last lane, so that the comparisons need no loose ends. */
static inline void compare(uint8_t *restrict leaf, const uint8_t *restrict column, size_t lanes, uint8_t limit,
                           uint8_t bit) {
    for (size_t lane = 0; lane < lanes; lane++, leaf += LANE, column += LANE)
        for (int i = 0; i < LANE; i++)
            leaf[i] |= column[i] > limit ? bit : 0;
}

/* The leaf of one tree that each block of a batch ends in. */
static inline void find_leaves(const Forest *forest, uint32_t tree, const uint8_t *columns, size_t stride, size_t lanes,
                               uint8_t *leaf) {
    const uint8_t *feature = forest->features + (size_t)tree * forest->depth;
    const uint8_t *border = forest->borders + (size_t)tree * forest->depth;
    memset(leaf, 0, lanes * LANE);
    for (uint32_t level = 0; level < forest->depth; level++)
        compare(leaf, columns + feature[level] * stride, lanes, border[level], (uint8_t)(1u << level));
}

/* The sum of the leaves that each block ends in. All ways to get it add in the same order, so all give the same bits. */
static inline __attribute__((always_inline)) void sum_plainly(const Forest *forest, const uint8_t *columns,
                                                              size_t stride, size_t count, float *sums) {
    for (size_t from = 0; from < count; from += BATCH) {
        size_t size = count - from < BATCH ? count - from : BATCH, lanes = (size + LANE - 1) / LANE;
        uint8_t leaf[BATCH], other_leaf[BATCH];
        float *sum = sums + from;
        uint32_t tree = 0;
        /* Two trees a turn: half the traffic with the sums. */
        for (; tree + 1 < forest->trees; tree += 2) {
            const float *leaves = forest->leaves + ((size_t)tree << forest->depth);
            const float *others = leaves + ((size_t)1 << forest->depth);
            find_leaves(forest, tree, columns + from, stride, lanes, leaf);
            find_leaves(forest, tree + 1, columns + from, stride, lanes, other_leaf);
            for (size_t b = 0; b < size; b++)
                sum[b] += leaves[leaf[b]] + others[other_leaf[b]];
        }
        for (; tree < forest->trees; tree++) {
            const float *leaves = forest->leaves + ((size_t)tree << forest->depth);
            find_leaves(forest, tree, columns + from, stride, lanes, leaf);
            for (size_t b = 0; b < size; b++)
                sum[b] += leaves[leaf[b]];
        }
    }
}

static void sum_anywhere(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, float *sums) {
    sum_plainly(forest, columns, stride, count, sums);
}

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

__attribute__((target("avx2"))) static void sum_by_avx2(const Forest *forest, const uint8_t *columns, size_t stride,
                                                        size_t count, float *sums) {
    sum_plainly(forest, columns, stride, count, sums);
}

#define AVX512 __attribute__((target("avx512f,avx512bw")))
enum { WIDE = 64, WIDE_DEPTH = 6 };

/* The leaves of a tree of depth 6 that 64 blocks end in. */
AVX512 static inline __m512i find_wide(const Forest *forest, uint32_t tree, const uint8_t *columns, size_t stride) {
    const uint8_t *feature = forest->features + (size_t)tree * WIDE_DEPTH;
    const uint8_t *border = forest->borders + (size_t)tree * WIDE_DEPTH;
    __m512i leaf = _mm512_setzero_si512();
#pragma GCC unroll 6
    for (int level = 0; level < WIDE_DEPTH; level++) {
        __m512i column = _mm512_loadu_si512(columns + feature[level] * stride);
        __mmask64 is_more = _mm512_cmpgt_epu8_mask(column, _mm512_set1_epi8((char)border[level]));
        leaf = _mm512_mask_add_epi8(leaf, is_more, leaf, _mm512_set1_epi8((char)(1 << level)));
    }
    return leaf;
}

/* What sixteen of them are worth: a tree's leaves fill four registers. */
AVX512 static inline __m512 look_up(const float *leaves, __m128i leaf) {
    __m512i index = _mm512_cvtepu8_epi32(leaf);
    __m512 low = _mm512_permutex2var_ps(_mm512_loadu_ps(leaves), index, _mm512_loadu_ps(leaves + 16));
    __m512 high = _mm512_permutex2var_ps(_mm512_loadu_ps(leaves + 32), index, _mm512_loadu_ps(leaves + 48));
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), low, high);
}

#define QUARTER(leaf, q) _mm512_extracti32x4_epi32(leaf, q)
#define ADD_PAIR(q) sum[q] = _mm512_add_ps(sum[q], _mm512_add_ps(look_up(leaves, QUARTER(leaf, q)), \
                                                                 look_up(leaves + WIDE, QUARTER(other, q))))

AVX512 static void sum_by_avx512(const Forest *forest, const uint8_t *columns, size_t stride, size_t count,
                                 float *sums) {
    if (forest->depth != WIDE_DEPTH || forest->trees % 2) {
        sum_plainly(forest, columns, stride, count, sums);
        return;
    }
    for (size_t from = 0; from < count; from += WIDE) {
        size_t left = count - from;
        float of_chunk[WIDE];
        __m512 sum[4];
        for (int q = 0; q < 4; q++)
            sum[q] = _mm512_set1_ps(forest->bias);
        for (uint32_t tree = 0; tree < forest->trees; tree += 2) {
            const float *leaves = forest->leaves + (size_t)tree * WIDE;
            __m512i leaf = find_wide(forest, tree, columns + from, stride);
            __m512i other = find_wide(forest, tree + 1, columns + from, stride);
            ADD_PAIR(0);
            if (left <= WIDE / 4)
                continue;
            ADD_PAIR(1);
            ADD_PAIR(2);
            ADD_PAIR(3);
        }
        for (int q = 0; q < 4; q++)
            _mm512_storeu_ps(of_chunk + 16 * q, sum[q]);
        memcpy(sums + from, of_chunk, (left < WIDE ? left : WIDE) * sizeof *sums);
    }
}
#endif

typedef void (*Sum)(const Forest *, const uint8_t *, size_t, size_t, float *);

#ifdef __x86_64__
/* The registers that the system saves when it changes threads, as bits of XCR0. */
static unsigned saved_registers(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

static Sum best_sum(void) {
    enum { AVX_SAVED = 0x06, AVX512_SAVED = 0xe6 };
    /* Not by __builtin_cpu_supports, which needs a library that `zig cc` does not bring. */
    unsigned a, has, c, d, saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &has, &c, &d))
        return sum_anywhere;
    if ((has & bit_AVX512F) && (has & bit_AVX512BW) && (saved & AVX512_SAVED) == AVX512_SAVED)
        return sum_by_avx512;
    return (has & bit_AVX2) && (saved & AVX_SAVED) == AVX_SAVED ? sum_by_avx2 : sum_anywhere;
}
#else
static Sum best_sum(void) {
    return sum_anywhere;
}
#endif

void forest_judge(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, float *scores) {
    static Sum sum;
    if (!sum)
        sum = best_sum();
    for (size_t b = 0; b < count; b++)
        scores[b] = forest->bias;
    sum(forest, columns, stride, count, scores);
    for (size_t b = 0; b < count; b++)
        scores[b] = 1 / (1 + expf(-scores[b]));
}

/* Scores are spread over buckets, so that ordering them is linear. */
enum { BUCKETS = 512 };

float best_cut(const Document *document, const float *scores) {
    float tokens[BUCKETS] = {0}, expected[BUCKETS] = {0}, total = 0;
    for (size_t b = 0; b < document->block_count; b++) {
        int bucket = (int)(scores[b] * (BUCKETS - 1));
        float size = (float)document->blocks[b].tokens;
        float hits = scores[b] * size;
        tokens[bucket] += size;
        expected[bucket] += hits;
        total += hits;
    }
    float kept = 0, hits = 0, most = 0;
    int cut = BUCKETS;
    for (int bucket = BUCKETS - 1; bucket >= 0; bucket--) {
        kept += tokens[bucket];
        hits += expected[bucket];
        float f1 = 2 * hits / (kept + total + 1e-6f);
        if (f1 > most) {
            most = f1;
            cut = bucket;
        }
    }
    return (float)cut / (BUCKETS - 1);
}
