/* Ensembles of oblivious trees: all blocks go through a tree side by side, one comparison per level. */
#include "content.h"
#include <math.h>

/* The file: "lycosac1", the two tables of weights, then twice: trees, depth (32 bits), bias, features, borders, leaves.
 */
static const char MAGIC[8] = "lycosac1";

static int read_forest(Forest *forest, const char **at, const char *end, int features) {
    uint32_t sizes[2];
    if (end - *at < 12)
        return -1;
    memcpy(sizes, *at, 8);
    memcpy(&forest->bias, *at + 8, 4);
    *at += 12;
    if (sizes[0] > 4096 || sizes[1] < 1 || sizes[1] > 8)
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
    *at += padded + leaves * sizeof(float);
    return 0;
}

int model_read(Model *model, const char *bytes, size_t length) {
    memset(model, 0, sizeof *model);
    if (length < sizeof MAGIC + 2 * WEIGHTS || memcmp(bytes, MAGIC, sizeof MAGIC))
        return -1;
    model->memory = malloc(length);
    if (!model->memory)
        return -1;
    memcpy(model->memory, bytes, length);
    const char *at = (const char *)model->memory + sizeof MAGIC, *end = (const char *)model->memory + length;
    memcpy(model->text_weights, at, WEIGHTS);
    memcpy(model->class_weights, at + WEIGHTS, WEIGHTS);
    at += 2 * WEIGHTS;
    int features = feature_count();
    if (read_forest(&model->first, &at, end, features) ||
        read_forest(&model->second, &at, end, features + SECOND_FEATURES)) {
        model_free(model);
        return -1;
    }
    return 0;
}

void model_free(Model *model) {
    free(model->memory);
    model->memory = NULL;
}

enum { BATCH = 256, LANE = 32 };

/* Columns are padded to whole lanes, so that the comparisons need no loose ends. */
static inline void compare(uint8_t *restrict leaf, const uint8_t *restrict column, size_t lanes, uint8_t limit,
                           uint8_t bit) {
    for (size_t lane = 0; lane < lanes; lane++, leaf += LANE, column += LANE)
        for (int i = 0; i < LANE; i++)
            leaf[i] |= column[i] > limit ? bit : 0;
}

/* The leaf of one tree that each block of a batch ends in. */
static void find_leaves(const Forest *forest, uint32_t tree, const uint8_t *columns, size_t stride, size_t lanes,
                        uint8_t *leaf) {
    const uint8_t *feature = forest->features + (size_t)tree * forest->depth;
    const uint8_t *border = forest->borders + (size_t)tree * forest->depth;
    memset(leaf, 0, lanes * LANE);
    for (uint32_t level = 0; level < forest->depth; level++)
        compare(leaf, columns + feature[level] * stride, lanes, border[level], (uint8_t)(1u << level));
}

void forest_judge(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, float *scores) {
    for (size_t from = 0; from < count; from += BATCH) {
        size_t size = count - from < BATCH ? count - from : BATCH, lanes = (size + LANE - 1) / LANE;
        float sums[BATCH];
        uint8_t leaf[BATCH], other_leaf[BATCH];
        for (size_t b = 0; b < size; b++)
            sums[b] = forest->bias;
        uint32_t tree = 0;
        /* Two trees a turn: half the traffic with the sums. */
        for (; tree + 1 < forest->trees; tree += 2) {
            const float *leaves = forest->leaves + ((size_t)tree << forest->depth);
            const float *others = leaves + ((size_t)1 << forest->depth);
            find_leaves(forest, tree, columns + from, stride, lanes, leaf);
            find_leaves(forest, tree + 1, columns + from, stride, lanes, other_leaf);
            for (size_t b = 0; b < size; b++)
                sums[b] += leaves[leaf[b]] + others[other_leaf[b]];
        }
        for (; tree < forest->trees; tree++) {
            const float *leaves = forest->leaves + ((size_t)tree << forest->depth);
            find_leaves(forest, tree, columns + from, stride, lanes, leaf);
            for (size_t b = 0; b < size; b++)
                sums[b] += leaves[leaf[b]];
        }
        for (size_t b = 0; b < size; b++)
            scores[from + b] = 1 / (1 + expf(-sums[b]));
    }
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
