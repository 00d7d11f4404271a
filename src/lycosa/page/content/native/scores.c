/* What the first forest thought of the blocks around, as features of the second. */
#include "features.h"

const char *const SECOND_NAMES[SECOND_FEATURES] = {
    "score",
    "score-1",
    "score-2",
    "score-3",
    "score+1",
    "score+2",
    "score+3",
    "score_window5",
    "score_window15",
    "score_container0",
    "score_container1",
    "score_container2",
    "score_container3",
    "score_family",
    "score_class",
    "score_page",
    "score_best",
    "score_before",
    "score_heading",
    "score_tokens",
    "score_from_best",
    "score_container1_most",
};

static inline float weight_of(const Block *block) { return (float)(block->tokens > 400 ? 400 : block->tokens) + 0.5f; }

typedef struct {
    float score, tokens;
} Sum;

static inline float mean_of(Sum sum) { return sum.tokens > 0 ? sum.score / sum.tokens : 0; }

static void sum_scores(const Document *document, const float *scores) {
    Element *elements = document->elements;
    for (size_t i = 0; i < document->element_count; i++)
        elements[i].score = elements[i].score_tokens = elements[i].score_most = 0;
    for (size_t b = 0; b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        Element *element = &elements[block->element];
        element->score += scores[b] * weight_of(block);
        element->score_tokens += weight_of(block);
        element->score_most = scores[b] > element->score_most ? scores[b] : element->score_most;
    }
    for (size_t i = document->element_count; i-- > 1;) {
        Element *parent = &elements[elements[i].parent];
        parent->score += elements[i].score;
        parent->score_tokens += elements[i].score_tokens;
        parent->score_most = parent->score_most > elements[i].score_most ? parent->score_most : elements[i].score_most;
        elements[i].score_mean = mean_of((Sum){elements[i].score, elements[i].score_tokens});
    }
    elements[0].score_mean = mean_of((Sum){elements[0].score, elements[0].score_tokens});
}

/* Sums before each block, so that any window is a difference. */
static void sum_before(const Document *document, const float *scores, Sum *before) {
    before[0] = (Sum){0, 0};
    for (size_t b = 0; b < document->block_count; b++) {
        float weight = weight_of(&document->blocks[b]);
        before[b + 1] = (Sum){before[b].score + weight * scores[b], before[b].tokens + weight};
    }
}

static float window(const Sum *before, size_t count, size_t b, size_t reach) {
    size_t from = b >= reach ? b - reach : 0, to = b + reach + 1 < count ? b + reach + 1 : count;
    return mean_of((Sum){before[to].score - before[from].score, before[to].tokens - before[from].tokens});
}

static void sum_kin(const Document *document, const float *scores, int which, Sum *sums) {
    memset(sums, 0, document->block_count * sizeof *sums);
    for (size_t b = 0; b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        sums[block->kin[which]].score += scores[b] * weight_of(block);
        sums[block->kin[which]].tokens += weight_of(block);
    }
}

int describe_scores(const Document *document, const float *scores, uint8_t *columns, size_t stride) {
    size_t count = document->block_count, best = 0;
    Sum *before = malloc((count + 1) * sizeof *before), *family = malloc((count + 1) * sizeof *family),
        *class_ = malloc((count + 1) * sizeof *class_);
    uint8_t *rows = make_rows(count, SECOND_FEATURES, SECOND_COLUMNS);
    if (!before || !family || !class_ || !rows) {
        free(rows);
        free(before);
        free(family);
        free(class_);
        return -1;
    }
    sum_scores(document, scores);
    sum_before(document, scores, before);
    sum_kin(document, scores, 0, family);
    sum_kin(document, scores, 1, class_);
    for (size_t b = 1; b < count; b++)
        if (scores[b] * weight_of(&document->blocks[b]) > scores[best] * weight_of(&document->blocks[best]))
            best = b;
    const Element *root = &document->elements[0];
    float page = mean_of((Sum){root->score, root->score_tokens});
    for (size_t b = 0; b < count; b++) {
        const Block *block = &document->blocks[b];
        uint8_t *row = rows + b * SECOND_COLUMNS;
        float values[SECOND_FEATURES] = {scores[b]};
        for (size_t i = 1; i <= 3; i++) {
            values[i] = b >= i ? scores[b - i] : 0;
            values[3 + i] = b + i < count ? scores[b + i] : 0;
        }
        values[7] = window(before, count, b, 5);
        values[8] = window(before, count, b, 15);
        uint32_t at = block->element;
        for (int level = 0; level < CONTAINERS; level++) {
            const Element *element = &document->elements[at];
            values[9 + level] = element->score_mean;
            if (level == 1)
                values[21] = element->score_most;
            at = element->next_up;
        }
        values[13] = mean_of(family[block->kin[0]]);
        values[14] = mean_of(class_[block->kin[1]]);
        values[15] = page;
        values[16] = root->score_most;
        values[17] = root->score > 0 ? before[b].score / root->score : 0;
        values[18] = block->heading ? scores[block->heading - 1] : 0;
        for (int f = 0; f < SECOND_FEATURES; f++)
            row[f] = as_ratio(values[f], 1);
        row[19] = as_log((uint32_t)root->score);
        row[20] = as_distance(b, best);
    }
    transpose(rows, SECOND_COLUMNS, count, columns, stride);
    free(rows);
    free(before);
    free(family);
    free(class_);
    return 0;
}
