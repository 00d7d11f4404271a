/* Ensembles of oblivious trees: all blocks go through a tree side by side, one comparison per level. */
#include "content.h"
#include <math.h>

/* The file: "lycosac1", the two tables of weights, then twice: trees, depth (32 bits), bias, features, borders, leaves.
 */
static const char MAGIC[8] = "lycosac1";

/* No sum of sound leaves is infinite, and so none is not a number: a score is always one from 0 to 1. */
static int is_sound(float leaf) { return fabsf(leaf) <= 1e6f; }

/* Leaves are whole numbers of 12 bits: sixteen of them fit into 16 bits, sums are the same in any order, and where bytes
 * can be shuffled 32 blocks find theirs at once, by low and high bytes that stand apart. */
enum { MOST = 2047, PER_SUM = 16 };

static int make_whole(Forest *forest, const float *leaves, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(leaves[i]));
    forest->scale = most > 0 ? most / MOST : 1;
    forest->leaves = malloc(count * 4 + 1);
    if (!forest->leaves)
        return -1;
    forest->low = (uint8_t *)(forest->leaves + count);
    forest->high = forest->low + count;
    for (size_t i = 0; i < count; i++) {
        forest->leaves[i] = (int16_t)lrintf(leaves[i] / forest->scale);
        forest->low[i] = (uint8_t)forest->leaves[i];
        forest->high[i] = (uint8_t)((uint16_t)forest->leaves[i] >> 8);
    }
    return 0;
}

static ModelRead read_forest(Forest *forest, const char **at, const char *end, int features) {
    uint32_t sizes[2];
    if (end - *at < 12)
        return NO_MODEL;
    memcpy(sizes, *at, 8);
    memcpy(&forest->bias, *at + 8, 4);
    *at += 12;
    if (sizes[0] > 4096 || sizes[1] < 1 || sizes[1] > 8 || !is_sound(forest->bias))
        return NO_MODEL;
    forest->trees = sizes[0];
    forest->depth = sizes[1];
    size_t splits = (size_t)sizes[0] * sizes[1], count = (size_t)sizes[0] << sizes[1];
    /* Splits are padded so that leaves are aligned. */
    size_t padded = (splits * 2 + 3) & ~(size_t)3;
    if ((size_t)(end - *at) < padded + count * sizeof(float))
        return NO_MODEL;
    forest->features = (const uint8_t *)*at;
    forest->borders = forest->features + splits;
    for (size_t i = 0; i < splits; i++)
        if (forest->features[i] >= features)
            return NO_MODEL;
    const float *leaves = (const float *)(const void *)(*at + padded);
    for (size_t i = 0; i < count; i++)
        if (!is_sound(leaves[i]))
            return NO_MODEL;
    *at += padded + count * sizeof(float);
    return make_whole(forest, leaves, count) ? NO_MEMORY : MODEL_READ;
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
    ModelRead read = read_forest(&model->first, &at, end, features);
    if (read == MODEL_READ)
        read = read_forest(&model->second, &at, end, features + SECOND_FEATURES);
    if (read != MODEL_READ)
        model_free(model);
    return read;
}

void model_free(Model *model) {
    free(model->memory);
    free(model->first.leaves);
    free(model->second.leaves);
    memset(model, 0, sizeof *model);
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

/* The sum of the leaves that each block of a batch ends in. */
static void sum_plainly(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, int32_t *sums) {
    size_t lanes = (count + LANE - 1) / LANE;
    uint8_t leaf[BATCH];
    memset(sums, 0, count * sizeof *sums);
    for (uint32_t tree = 0; tree < forest->trees; tree++) {
        const int16_t *leaves = forest->leaves + ((size_t)tree << forest->depth);
        find_leaves(forest, tree, columns, stride, lanes, leaf);
        for (size_t b = 0; b < count; b++)
            sums[b] += leaves[leaf[b]];
    }
}

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
enum { SHUFFLED_DEPTH = 6, LEAVES = 1 << SHUFFLED_DEPTH };

/* The leaves of a tree of depth 6 that 32 blocks end in. */
AVX2 static inline __m256i find_32(const Forest *forest, uint32_t tree, const uint8_t *columns, size_t stride) {
    const uint8_t *feature = forest->features + (size_t)tree * SHUFFLED_DEPTH;
    const uint8_t *border = forest->borders + (size_t)tree * SHUFFLED_DEPTH;
    __m256i leaf = _mm256_setzero_si256();
#pragma GCC unroll 6
    for (int level = 0; level < SHUFFLED_DEPTH; level++) {
        __m256i column = _mm256_loadu_si256((const __m256i *)(const void *)(columns + feature[level] * stride));
        __m256i limit = _mm256_set1_epi8((char)border[level]);
        __m256i is_at_most = _mm256_cmpeq_epi8(_mm256_max_epu8(column, limit), limit);
        leaf = _mm256_or_si256(leaf, _mm256_andnot_si256(is_at_most, _mm256_set1_epi8((char)(1 << level))));
    }
    return leaf;
}

AVX2 static inline __m256i shuffle_16(const uint8_t *bytes, __m256i leaf) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)bytes)), leaf);
}

/* One byte of each of these leaves: sixteen can be told apart at once, so their fifth and sixth bits choose. */
AVX2 static inline __m256i look_up(const uint8_t *bytes, __m256i leaf) {
    __m256i low_bits = _mm256_and_si256(leaf, _mm256_set1_epi8(15));
    __m256i fifth = _mm256_slli_epi16(leaf, 3), sixth = _mm256_slli_epi16(leaf, 2);
    __m256i lower = _mm256_blendv_epi8(shuffle_16(bytes, low_bits), shuffle_16(bytes + 16, low_bits), fifth);
    __m256i upper = _mm256_blendv_epi8(shuffle_16(bytes + 32, low_bits), shuffle_16(bytes + 48, low_bits), fifth);
    return _mm256_blendv_epi8(lower, upper, sixth);
}

AVX2 static inline void add_up(__m256i *sums, __m256i *few) {
    sums[0] = _mm256_add_epi32(sums[0], _mm256_cvtepi16_epi32(_mm256_castsi256_si128(*few)));
    sums[1] = _mm256_add_epi32(sums[1], _mm256_cvtepi16_epi32(_mm256_extracti128_si256(*few, 1)));
    *few = _mm256_setzero_si256();
}

AVX2 static void sum_by_avx2(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, int32_t *sums) {
    if (forest->depth != SHUFFLED_DEPTH) {
        sum_plainly(forest, columns, stride, count, sums);
        return;
    }
    for (size_t from = 0; from < count; from += LANE) {
        /* Bytes are joined within the halves of a register: blocks 0-7 and 16-23, and the others. */
        __m256i even[2] = {0}, odd[2] = {0}, few_even = {0}, few_odd = {0};
        for (uint32_t tree = 0; tree < forest->trees; tree++) {
            __m256i leaf = find_32(forest, tree, columns + from, stride);
            __m256i low = look_up(forest->low + (size_t)tree * LEAVES, leaf);
            __m256i high = look_up(forest->high + (size_t)tree * LEAVES, leaf);
            few_even = _mm256_add_epi16(few_even, _mm256_unpacklo_epi8(low, high));
            few_odd = _mm256_add_epi16(few_odd, _mm256_unpackhi_epi8(low, high));
            if (tree % PER_SUM == PER_SUM - 1 || tree + 1 == forest->trees) {
                add_up(even, &few_even);
                add_up(odd, &few_odd);
            }
        }
        int32_t of_lane[LANE];
        const __m256i in_order[4] = {even[0], odd[0], even[1], odd[1]};
        memcpy(of_lane, in_order, sizeof of_lane);
        memcpy(sums + from, of_lane, (count - from < LANE ? count - from : LANE) * sizeof *sums);
    }
}

/* Where a register holds the bytes of all 64 leaves, one instruction finds those of 64 blocks: a quarter of the time. All
 * lanes of a batch go through a tree together, so that its splits and leaves are loaded once. */
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#define AVX512_INLINE AVX512 __attribute__((always_inline)) static inline
enum { WIDE = 64, MAX_WIDE = BATCH / WIDE };

typedef struct {
    int32_t even[2][WIDE / 4], odd[2][WIDE / 4];
} WideSums;

AVX512_INLINE __m512i find_64(const uint8_t *columns, size_t stride, const uint8_t *feature, const __m512i *limits) {
    __m512i leaf = _mm512_setzero_si512();
#pragma GCC unroll 6
    for (int level = 0; level < SHUFFLED_DEPTH; level++) {
        __m512i column = _mm512_loadu_si512(columns + feature[level] * stride);
        __mmask64 is_more = _mm512_cmpgt_epu8_mask(column, limits[level]);
        leaf = _mm512_mask_add_epi8(leaf, is_more, leaf, _mm512_set1_epi8((char)(1 << level)));
    }
    return leaf;
}

AVX512_INLINE void add_up_wide(int32_t (*sums)[WIDE / 4], __m512i few) {
    __m512i first = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(few));
    __m512i second = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(few, 1));
    _mm512_storeu_si512(sums[0], _mm512_add_epi32(_mm512_loadu_si512(sums[0]), first));
    _mm512_storeu_si512(sums[1], _mm512_add_epi32(_mm512_loadu_si512(sums[1]), second));
}

AVX512_INLINE void sum_lanes(const Forest *forest, const uint8_t *columns, size_t stride, const int lanes,
                             WideSums *sums) {
    for (uint32_t tree = 0; tree < forest->trees;) {
        __m512i few_even[MAX_WIDE], few_odd[MAX_WIDE];
        for (int lane = 0; lane < lanes; lane++)
            few_even[lane] = few_odd[lane] = _mm512_setzero_si512();
        uint32_t end = forest->trees - tree < PER_SUM ? forest->trees : tree + PER_SUM;
        for (; tree < end; tree++) {
            const uint8_t *feature = forest->features + (size_t)tree * SHUFFLED_DEPTH;
            const uint8_t *border = forest->borders + (size_t)tree * SHUFFLED_DEPTH;
            __m512i low = _mm512_loadu_si512(forest->low + (size_t)tree * LEAVES);
            __m512i high = _mm512_loadu_si512(forest->high + (size_t)tree * LEAVES), limits[SHUFFLED_DEPTH];
#pragma GCC unroll 6
            for (int level = 0; level < SHUFFLED_DEPTH; level++)
                limits[level] = _mm512_set1_epi8((char)border[level]);
#pragma GCC unroll 4
            for (int lane = 0; lane < lanes; lane++) {
                __m512i leaf = find_64(columns + lane * WIDE, stride, feature, limits);
                __m512i lows = _mm512_permutexvar_epi8(leaf, low), highs = _mm512_permutexvar_epi8(leaf, high);
                few_even[lane] = _mm512_add_epi16(few_even[lane], _mm512_unpacklo_epi8(lows, highs));
                few_odd[lane] = _mm512_add_epi16(few_odd[lane], _mm512_unpackhi_epi8(lows, highs));
            }
        }
        for (int lane = 0; lane < lanes; lane++) {
            add_up_wide(sums[lane].even, few_even[lane]);
            add_up_wide(sums[lane].odd, few_odd[lane]);
        }
    }
}

AVX512 static void sum_by_avx512(const Forest *forest, const uint8_t *columns, size_t stride, size_t count,
                                 int32_t *sums) {
    if (forest->depth != SHUFFLED_DEPTH) {
        sum_plainly(forest, columns, stride, count, sums);
        return;
    }
    WideSums of_lanes[MAX_WIDE] = {0};
    switch ((count + WIDE - 1) / WIDE) {
    case 1:
        sum_lanes(forest, columns, stride, 1, of_lanes);
        break;
    case 2:
        sum_lanes(forest, columns, stride, 2, of_lanes);
        break;
    case 3:
        sum_lanes(forest, columns, stride, 3, of_lanes);
        break;
    default:
        sum_lanes(forest, columns, stride, 4, of_lanes);
    }
    /* Bytes are joined within the quarters of a register: of each sixteen blocks the first eight are even. */
    for (size_t b = 0; b < count; b++) {
        const WideSums *lane = &of_lanes[b / WIDE];
        size_t quarter = b % WIDE / 16, half = quarter / 2, at = quarter % 2 * 8 + b % 8;
        sums[b] = b % 16 < 8 ? lane->even[half][at] : lane->odd[half][at];
    }
}
#endif

enum { SUMS = 3 };
typedef void (*Sum)(const Forest *, const uint8_t *, size_t, size_t, int32_t *);

#ifdef __x86_64__
/* The registers that the system saves when it changes threads, as bits of XCR0. */
static unsigned saved_registers(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

/* Those that this machine knows, the best first. */
static size_t known_sums(Sum *known) {
    enum { AVX_SAVED = 0x06, AVX512_SAVED = 0xe6 };
    size_t count = 0;
    /* Not by __builtin_cpu_supports, which needs a library that `zig cc` does not bring. */
    unsigned a, has, has_too, d, saved = saved_registers(), wide = bit_AVX512F | bit_AVX512BW;
    if (!__get_cpuid_count(7, 0, &a, &has, &has_too, &d))
        saved = 0;
    if ((saved & AVX512_SAVED) == AVX512_SAVED && (has & wide) == wide && has_too & bit_AVX512VBMI)
        known[count++] = sum_by_avx512;
    if ((saved & AVX_SAVED) == AVX_SAVED && has & bit_AVX2)
        known[count++] = sum_by_avx2;
    known[count++] = sum_plainly;
    return count;
}
#else
static size_t known_sums(Sum *known) {
    known[0] = sum_plainly;
    return 1;
}
#endif

int forest_sum(const Forest *forest, size_t way, const uint8_t *columns, size_t stride, size_t count, int32_t *sums) {
    Sum known[SUMS];
    if (way >= known_sums(known))
        return 0;
    for (size_t from = 0; from < count; from += BATCH)
        known[way](forest, columns + from, stride, count - from < BATCH ? count - from : BATCH, sums + from);
    return 1;
}

void forest_judge(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, float *odds) {
    static Sum known[SUMS];
    if (!known[0])
        known_sums(known);
    int32_t sums[BATCH];
    for (size_t from = 0; from < count; from += BATCH) {
        size_t size = count - from < BATCH ? count - from : BATCH;
        known[0](forest, columns + from, stride, size, sums);
        for (size_t b = 0; b < size; b++)
            odds[from + b] = forest->bias + (float)sums[b] * forest->scale;
    }
}

void as_probabilities(const float *odds, size_t count, float *scores) {
    for (size_t b = 0; b < count; b++)
        scores[b] = 1 / (1 + expf(-odds[b]));
}

/* The second forest knows more of the page, and learns more of what the makers of labelled pages take for content. */
static const float SHARE_OF_FIRST = 0.5f;

void mix_odds(const float *first, size_t count, float *second) {
    for (size_t b = 0; b < count; b++)
        second[b] = SHARE_OF_FIRST * first[b] + (1 - SHARE_OF_FIRST) * second[b];
}

/* Scores are spread over buckets, so that ordering them is linear. */
enum { BUCKETS = 512 };

/* Pages are scored by the mean of their precisions and of their recalls; recalls, which are higher, matter less. */
static const float WORTH_OF_RECALL = 0.75f;

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
        float worth = hits / (kept + 1e-6f) + WORTH_OF_RECALL * hits / (total + 1e-6f);
        if (tokens[bucket] > 0 && worth > most) {
            most = worth;
            cut = bucket;
        }
    }
    return (float)cut / (BUCKETS - 1);
}
