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
    "score_comments",
    "share_comments",
    "score_beside_comments",
    "score_inner_row",
    "count_inner_row",
    "score_outer_row",
    "count_outer_row",
    "share_outer_row",
};

/* Those before the comments. */
enum { SCORED = 22 };

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

/* Rows: elements beside each other that look alike, as the items of a list do */

typedef struct {
    uint32_t parent, signature, count;
    float score, tokens;
} Row;

/* `of` says in which row each element stands. */
typedef struct {
    Row *rows;
    uint32_t *of;
    uint32_t mask;
} Rows;

/* Fewer make no row; after so many steps in the table an element stands alone. */
enum { MIN_ROW = 3, MAX_PROBES = 64 };

static Row *row_of(const Rows *rows, const Element *element) {
    uint32_t slot = hash_mix(hash_step(element->signature, element->parent)) & rows->mask;
    for (int i = 0; i < MAX_PROBES; i++, slot = (slot + 1) & rows->mask) {
        Row *row = &rows->rows[slot];
        if (!row->count)
            *row = (Row){.parent = element->parent, .signature = element->signature};
        if (row->parent == element->parent && row->signature == element->signature)
            return row;
    }
    return NULL;
}

static int is_comments(const Element *element) { return element->levels[GROUP_OF_COMMENTS] == LEVEL_OWN; }

static void free_rows(Rows *rows) {
    free(rows->rows);
    free(rows->of);
    rows->rows = NULL;
    rows->of = NULL;
}

static int gather_rows(Rows *rows, Document *document) {
    Element *elements = document->elements;
    uint32_t size = 64;
    while (size < document->element_count * 2)
        size *= 2;
    rows->mask = size - 1;
    rows->rows = calloc(size, sizeof *rows->rows);
    rows->of = malloc((document->element_count + 1) * sizeof *rows->of);
    if (!rows->rows || !rows->of) {
        free_rows(rows);
        return -1;
    }
    for (uint32_t i = 0; i < document->element_count; i++) {
        Row *row = i && elements[i].blocks ? row_of(rows, &elements[i]) : NULL;
        rows->of[i] = row ? (uint32_t)(row - rows->rows) : UINT32_MAX;
        if (!row)
            continue;
        row->count++;
        row->score += elements[i].score;
        row->tokens += elements[i].score_tokens;
    }
    /* What stands above is known first. */
    elements[0].comments = elements[0].inner = elements[0].outer = 0;
    for (uint32_t i = 1; i < document->element_count; i++) {
        Element *element = &elements[i];
        const Element *parent = &elements[element->parent];
        int is_in_row = rows->of[i] != UINT32_MAX && rows->rows[rows->of[i]].count >= MIN_ROW;
        element->comments = parent->comments ? parent->comments : is_comments(element) ? i : 0;
        element->inner = is_in_row ? i : parent->inner;
        element->outer = parent->outer ? parent->outer : is_in_row ? i : 0;
    }
    return 0;
}

/* What calls itself comments is judged as a whole, and by how much of the page's content stands beside it. */
static void describe_comments(const Document *document, const Element *element, uint8_t *row) {
    const Element *root = &document->elements[0], *comments = &document->elements[element->comments];
    row[0] = row[1] = row[2] = 255;
    if (!element->comments)
        return;
    row[0] = as_ratio(comments->score_mean, 1);
    row[1] = as_ratio(comments->score_tokens, root->score_tokens);
    row[2] = as_ratio(root->score - comments->score, root->score);
}

static void describe_rows(const Document *document, const Rows *rows, const Element *element, uint8_t *row) {
    const Row *inner = element->inner ? &rows->rows[rows->of[element->inner]] : NULL;
    const Row *outer = element->outer ? &rows->rows[rows->of[element->outer]] : NULL;
    row[0] = inner ? as_ratio(mean_of((Sum){inner->score, inner->tokens}), 1) : 255;
    row[1] = inner ? as_log(inner->count) : 0;
    row[2] = outer ? as_ratio(mean_of((Sum){outer->score, outer->tokens}), 1) : 255;
    row[3] = outer ? as_log(outer->count) : 0;
    row[4] = outer ? as_ratio(outer->score, document->elements[0].score) : 0;
}

int describe_scores(Document *document, const float *scores, uint8_t *columns, size_t stride) {
    size_t count = document->block_count, best = 0;
    Rows same = {0};
    Sum *before = malloc((count + 1) * sizeof *before), *family = malloc((count + 1) * sizeof *family),
        *class_ = malloc((count + 1) * sizeof *class_);
    uint8_t *rows = make_rows(count, SECOND_FEATURES, SECOND_COLUMNS);
    if (before && family && class_ && rows)
        sum_scores(document, scores);
    if (!before || !family || !class_ || !rows || gather_rows(&same, document)) {
        free(rows);
        free(before);
        free(family);
        free(class_);
        return -1;
    }
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
        float values[SCORED] = {scores[b]};
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
        for (int f = 0; f < SCORED; f++)
            row[f] = as_ratio(values[f], 1);
        row[19] = as_log((uint32_t)root->score);
        row[20] = as_distance(b, best);
        describe_comments(document, &document->elements[block->element], row + SCORED);
        describe_rows(document, &same, &document->elements[block->element], row + SCORED + 3);
    }
    free_rows(&same);
    transpose(rows, SECOND_COLUMNS, count, columns, stride);
    free(rows);
    free(before);
    free(family);
    free(class_);
    return 0;
}

/* Where so many tokens of content stand beside what calls itself comments, the page is about those. */
enum { MIN_BESIDE = 50 };

/* `all`: of everything that calls itself comments. An article has its own in one place; forums have some below each
 * post, or call their posts so. */
static int are_none(const Document *document, const Element *comments, float all) {
    return !comments->levels[GROUP_OF_THREADS] && comments->score_tokens * 2 > all &&
           document->elements[0].score - comments->score >= MIN_BESIDE;
}

void settle_comments(Document *document, float *scores) {
    unsigned kinds = document->meta.kinds;
    float all = 0;
    if (!(kinds & (LD_ARTICLE | OG_ARTICLE)) || kinds & LD_FORUM)
        return;
    for (size_t b = 0; b < document->block_count; b++)
        all += document->elements[document->blocks[b].element].comments ? weight_of(&document->blocks[b]) : 0;
    if (!all)
        return;
    sum_scores(document, scores);
    for (size_t b = 0; b < document->block_count; b++) {
        uint32_t comments = document->elements[document->blocks[b].element].comments;
        if (comments && are_none(document, &document->elements[comments], all))
            scores[b] = 0;
    }
}
