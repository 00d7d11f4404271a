/* A block and its surroundings as small numbers, 0 to 255. Training and the crawl call this same code. */
#include "features.h"
#include <math.h>

enum { CONTAINER_FEATURES = 6, KIN_FEATURES = 4, NEIGHBOURS = 2, NEIGHBOUR_FEATURES = 4 };

static const char *const OWN_NAMES[] = {
    "tokens",
    "token_length",
    "link_ratio",
    "links",
    "bold_ratio",
    "cjk_ratio",
    "capital_ratio",
    "commas",
    "stops",
    "stop_ratio",
    "lines",
    "images",
    "title_ratio",
    "mark_ratio",
    "button_ratio",
    "heading_level",
    "depth",
    "text_weight",
    "text_least",
    "text_most",
    "class_weight",
    "class_chain",
    "class_least",
    "class_most",
    "parent_class",
    "in_body",
    "in_description",
    "index_ratio",
    "index",
    "token_ratio",
    "since_heading",
    "last_heading_level",
    "last_heading_tokens",
    "last_heading_weight",
    "from_title",
    "from_description",
    "window_text",
    "is_in_trunk",
    "steps_to_trunk",
    "trunk_share",
    "trunk_link_ratio",
    "copies",
};
static const char *const PAGE_NAMES[] = {
    "page_tokens",   "page_blocks",     "page_link_ratio", "page_cjk_ratio", "page_ld_article",
    "page_ld_forum", "page_og_article", "page_h1",         "page_articles",  "page_images",
    "page_longest",  "page_long_share", "page_list",
};
static const char *const CONTAINER_NAMES[CONTAINER_FEATURES] = {"tokens", "link_ratio", "blocks",
                                                                "share",  "mean",       "stop_ratio"};
static const char *const KIN_NAMES[KIN_FEATURES] = {"count", "mean", "link_ratio", "share"};
static const char *const NEIGHBOUR_NAMES[NEIGHBOUR_FEATURES] = {"tokens", "link_ratio", "stops", "text_weight"};
static const char *const KINS[KIN - 1] = {"family", "class", "path"};
static const int OFFSETS[NEIGHBOURS] = {-1, 1};

enum {
    OWN = sizeof OWN_NAMES / sizeof *OWN_NAMES,
    PAGE = sizeof PAGE_NAMES / sizeof *PAGE_NAMES,
    AT_TOKENS = 0,
    AT_LINK_RATIO = 2,
    AT_STOPS = 8,
    AT_TEXT_WEIGHT = 17,
    AT_BODY = 25,
    AT_DESCRIPTION,
    AT_LEVELS = OWN,
    AT_PAGE = AT_LEVELS + LEVELS,
    AT_CONTAINERS = AT_PAGE + PAGE,
    AT_KIN = AT_CONTAINERS + CONTAINERS * CONTAINER_FEATURES,
    AT_NEIGHBOURS = AT_KIN + (KIN - 1) * KIN_FEATURES,
    FEATURES = AT_NEIGHBOURS + NEIGHBOURS * NEIGHBOUR_FEATURES,
    /* A block's values are written side by side, in whole tiles, and turned into columns at the end. */
    ROW = (FEATURES + TILE - 1) / TILE * TILE
};
_Static_assert(ROW <= FEATURES + SECOND_FEATURES, "what fills up the last tile lies within the columns");
_Static_assert(FEATURES + SECOND_FEATURES < 256, "a forest names a feature by one byte");

int feature_count(void) { return FEATURES; }

const char *feature_name(int feature) {
    static char name[64];
    if (feature < AT_LEVELS)
        return OWN_NAMES[feature];
    if (feature < AT_LEVELS + WORD_GROUPS)
        snprintf(name, sizeof name, "word_%s", WORD_GROUP_NAMES[feature - AT_LEVELS]);
    else if (feature < AT_PAGE)
        snprintf(name, sizeof name, "tag_%s", TAG_GROUP_NAMES[feature - AT_LEVELS - WORD_GROUPS]);
    else if (feature < AT_CONTAINERS)
        return PAGE_NAMES[feature - AT_PAGE];
    else if (feature < AT_KIN)
        snprintf(name, sizeof name, "container%d_%s", (feature - AT_CONTAINERS) / CONTAINER_FEATURES,
                 CONTAINER_NAMES[(feature - AT_CONTAINERS) % CONTAINER_FEATURES]);
    else if (feature < AT_NEIGHBOURS)
        snprintf(name, sizeof name, "%s_%s", KINS[(feature - AT_KIN) / KIN_FEATURES],
                 KIN_NAMES[(feature - AT_KIN) % KIN_FEATURES]);
    else
        snprintf(name, sizeof name, "at%+d_%s", OFFSETS[(feature - AT_NEIGHBOURS) / NEIGHBOUR_FEATURES],
                 NEIGHBOUR_NAMES[(feature - AT_NEIGHBOURS) % NEIGHBOUR_FEATURES]);
    return name;
}

/* Elements */

static inline uint32_t long_tokens(const Block *block) {
    uint32_t plain = block->tokens - block->link_tokens;
    return plain >= 12 && block->stops + block->commas > 0 ? plain : 0;
}

static void weigh_classes(Document *document, const int8_t *weights) {
    for (size_t i = 0; i < document->element_count; i++) {
        Element *element = &document->elements[i];
        const Element *parent = &document->elements[element->parent];
        float sum = 0;
        for (int j = 0; weights && j < element->class_count; j++)
            sum += weights[document->classes[element->classes + (uint32_t)j]];
        element->class_weight = sum;
        element->class_chain = i ? parent->class_chain + sum : sum;
        element->class_least = i && parent->class_least < sum ? parent->class_least : sum;
        element->class_most = i && parent->class_most > sum ? parent->class_most : sum;
    }
}

static void sum_up(Document *document) {
    for (size_t b = 0; b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        Element *element = &document->elements[block->element];
        uint32_t plain = long_tokens(block);
        element->blocks++;
        element->tokens += block->tokens;
        element->link_tokens += block->link_tokens;
        element->stops += block->stops;
        element->long_tokens += plain;
        /* As in Readability: a paragraph speaks for its element, half for the parent, a third for the one above. */
        if (plain) {
            uint32_t at = block->element;
            float merit = (float)plain;
            for (int level = 1; level <= 4; level++) {
                document->elements[at].merit += merit / (float)level;
                if (!at)
                    break;
                at = document->elements[at].parent;
            }
        }
    }
    for (size_t i = document->element_count; i-- > 1;) {
        const Element *element = &document->elements[i];
        Element *parent = &document->elements[element->parent];
        parent->blocks += element->blocks;
        parent->tokens += element->tokens;
        parent->link_tokens += element->link_tokens;
        parent->stops += element->stops;
        parent->long_tokens += element->long_tokens;
    }
    for (size_t i = 1; i < document->element_count; i++) {
        Element *element = &document->elements[i];
        const Element *parent = &document->elements[element->parent];
        element->next_up = parent->blocks > element->blocks ? element->parent : parent->next_up;
    }
}

/* The trunk: the element with the most merit, and all above it. */
static uint32_t find_trunk(Document *document, uint8_t *on_trunk) {
    uint32_t best = 0;
    float most = 0;
    for (size_t i = 0; i < document->element_count; i++) {
        const Element *element = &document->elements[i];
        float merit = element->merit * (1 - (float)element->link_tokens / (float)(element->tokens + 1));
        if (merit > most) {
            most = merit;
            best = (uint32_t)i;
        }
    }
    for (uint32_t at = best;; at = document->elements[at].parent) {
        on_trunk[at] = 1;
        if (!at)
            break;
    }
    return best;
}

/* Kin: blocks that look alike */

typedef struct {
    uint32_t key, first, count, tokens, link_tokens;
    uint32_t turn; /* of the table, in which the slot was taken */
} Kin;

typedef struct {
    Kin *slots;
    uint32_t mask, turn;
    size_t steps;
} KinTable;

/* Whoever knows the hash can send everything to one slot: after so many steps strangers are taken for kin. */
enum { MAX_PROBES = 64 };

static Kin *kin_of(KinTable *table, uint32_t key, uint32_t block) {
    uint32_t slot = hash_mix(key) & table->mask;
    for (int i = 0; i < MAX_PROBES && table->slots[slot].turn == table->turn && table->slots[slot].key != key; i++) {
        slot = (slot + 1) & table->mask;
        table->steps++;
    }
    Kin *kin = &table->slots[slot];
    if (kin->turn != table->turn)
        *kin = (Kin){.key = key, .first = block, .turn = table->turn};
    return kin;
}

/* Some characters from all over a text; all of a short one, eight at a time. */
static uint32_t text_key(const Document *document, const Block *block) {
    enum { WORD = 8, CHARS = 24 };
    uint32_t length = block->end - block->start;
    const char *at = document->text.bytes + block->start;
    if (length < WORD || length >= 2 * CHARS) {
        uint32_t hash = HASH_START, step = length > CHARS ? length / CHARS : 1;
        for (uint32_t i = 0; i < length; i += step)
            hash = hash_step(hash, (unsigned char)at[i]);
        return hash_step(hash, length);
    }
    uint64_t hash = length, word;
    for (uint32_t i = 0; i < length; i += WORD) {
        memcpy(&word, at + (i + WORD <= length ? i : length - WORD), WORD);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static uint32_t kin_key(const Document *document, const Block *block, int which) {
    const Element *element = &document->elements[block->element];
    const Element *parent = &document->elements[element->parent];
    switch (which) {
    case 0:
        return hash_step(element->signature, parent->signature);
    case 1:
        return element->signature;
    case 2:
        return element->path;
    default:
        return text_key(document, block);
    }
}

static int gather_kin(Document *document, uint8_t *rows) {
    uint32_t size = 64;
    while (size < document->block_count * 2)
        size *= 2;
    KinTable table = {.slots = calloc(size, sizeof(Kin)), .mask = size - 1};
    Kin **kin = malloc((document->block_count + 1) * sizeof *kin);
    if (!table.slots || !kin) {
        free(table.slots);
        free(kin);
        return -1;
    }
    float total = (float)document->elements[0].tokens;
    for (int which = 0; which < KIN; which++) {
        table.turn++;
        for (uint32_t b = 0; b < document->block_count; b++) {
            Block *block = &document->blocks[b];
            kin[b] = kin_of(&table, kin_key(document, block, which), b);
            kin[b]->count++;
            kin[b]->tokens += block->tokens;
            kin[b]->link_tokens += block->link_tokens;
            block->kin[which] = kin[b]->first;
        }
        size_t at = which == KIN - 1 ? OWN - 1 : (size_t)(AT_KIN + which * KIN_FEATURES);
        for (size_t b = 0; b < document->block_count; b++) {
            uint8_t *row = rows + b * ROW + at;
            if (which == KIN - 1)
                row[0] = as_log(kin[b]->count);
            else if (kin[b]->first != b)
                memcpy(row, rows + kin[b]->first * ROW + at, KIN_FEATURES);
            else {
                row[0] = as_log(kin[b]->count);
                row[1] = as_log(kin[b]->tokens * 4 / kin[b]->count);
                row[2] = as_ratio((float)kin[b]->link_tokens, (float)kin[b]->tokens);
                row[3] = as_ratio((float)kin[b]->tokens, total);
            }
        }
    }
    document->steps = table.steps;
    free(table.slots);
    free(kin);
    return 0;
}

/* Blocks */

static int heading_level(const Block *block) {
    return block->tag >= TAG_H1 && block->tag <= TAG_H6 ? 7 - (block->tag - TAG_H1) : 0;
}

/* The block the page's title stands in: the first <h1> that has its words, the first heading that has, the first <h1>.
 */
size_t find_title(const Document *document) {
    size_t best = 0;
    int most = 0;
    for (size_t b = 0; b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        int level = heading_level(block);
        if (!level)
            continue;
        int rank = level + (block->title_tokens * 3 >= block->tokens * 2u ? 8 : 0);
        if (rank > most && (level == 7 || rank > 8)) {
            most = rank;
            best = b;
        }
    }
    return best;
}

typedef struct {
    const Document *document;
    uint8_t *rows;
    size_t title, description;
    int has_description;
    const uint8_t *on_trunk;
    const int8_t *class_weights;
    uint32_t trunk;
    float tokens;
} Describer;

/* The first block of text that the page's own description repeats: content begins near it. */
static void find_description(Describer *d) {
    for (size_t b = 0; b < d->document->block_count; b++) {
        const Block *block = &d->document->blocks[b];
        if (d->rows[b * ROW + AT_DESCRIPTION] == HINTED && block->link_tokens * 2 < block->tokens && !heading_level(block)) {
            d->description = b;
            d->has_description = 1;
            return;
        }
    }
}

static float mean_weight(const Block *block) {
    return block->weighed ? (float)block->text_weight / sqrtf((float)block->weighed) : 0;
}

static inline uint32_t plain_tokens(const Document *document, size_t b) {
    return b < document->block_count ? document->blocks[b].tokens - document->blocks[b].link_tokens : 0;
}

/* `before`: tokens of the page up to here; `window`: those outside of links from three blocks before to three after. */
static void describe_own(const Describer *d, size_t b, uint32_t before, uint32_t window) {
    const Document *document = d->document;
    const Block *block = &document->blocks[b];
    const Element *element = &document->elements[block->element];
    const Block *heading = block->heading ? &document->blocks[block->heading - 1] : NULL;
    const Element *trunk = &document->elements[d->trunk];
    float tokens = (float)block->tokens, inner = 0;
    int steps = 0;
    for (int i = 0; d->class_weights && i < block->class_count; i++)
        inner += d->class_weights[block->classes[i]];
    for (uint32_t at = block->element; !d->on_trunk[at] && steps < 50; at = document->elements[at].next_up)
        steps++;
    int is_in_trunk = 0;
    for (uint32_t at = block->element, i = 0; at >= d->trunk && i < 64; at = document->elements[at].parent, i++) {
        is_in_trunk = at == d->trunk;
        if (is_in_trunk || !at)
            break;
    }
    const uint8_t values[] = {
        as_log(block->tokens),
        as_ratio((float)block->letters + (float)block->cjk * 4, tokens * 16),
        as_ratio((float)block->link_tokens, tokens),
        as_log(block->links * 4),
        as_ratio((float)block->bold_tokens, tokens),
        as_ratio((float)block->cjk, tokens),
        as_ratio((float)block->capitals, tokens),
        as_log(block->commas * 4),
        as_log(block->stops * 4),
        as_ratio((float)block->stops * 4, tokens),
        as_log(block->lines * 4),
        (uint8_t)block->images,
        as_ratio((float)block->title_tokens, (float)block->weighed),
        as_ratio((float)block->marks * 2, tokens),
        as_ratio((float)block->button_tokens, tokens),
        (uint8_t)heading_level(block),
        (uint8_t)(element->depth > 255 ? 255 : element->depth),
        as_signed(mean_weight(block)),
        as_signed((float)block->text_least),
        as_signed((float)block->text_most),
        as_signed((inner + element->class_weight) / 2),
        as_signed((inner + element->class_chain) / 4),
        as_signed(element->class_least / 2),
        as_signed(element->class_most / 2),
        as_signed(document->elements[element->parent].class_weight / 2),
        0,
        0,
        as_ratio((float)b, (float)document->block_count),
        as_log((uint32_t)b),
        as_ratio((float)before, d->tokens),
        heading ? as_log((uint32_t)(b - block->heading + 1)) : 255,
        heading ? (uint8_t)heading_level(heading) : 0,
        heading ? as_log(heading->tokens) : 0,
        heading ? as_signed(mean_weight(heading)) : 128,
        as_distance(b, d->title),
        d->has_description ? as_distance(b, d->description) : 255,
        as_log(window),
        (uint8_t)is_in_trunk,
        (uint8_t)steps,
        as_ratio((float)trunk->tokens, d->tokens),
        as_ratio((float)trunk->link_tokens, (float)trunk->tokens),
    };
    _Static_assert(sizeof values == OWN - 1, "a value for each name; copies are counted apart");
    uint8_t *row = d->rows + b * ROW;
    memcpy(row, values, AT_BODY);
    memcpy(row + AT_DESCRIPTION + 1, values + AT_DESCRIPTION + 1, sizeof values - AT_DESCRIPTION - 1);
}

static void describe_levels(const Describer *d, size_t b) {
    const Block *block = &d->document->blocks[b];
    uint8_t *row = d->rows + b * ROW + AT_LEVELS;
    memcpy(row, d->document->elements[block->element].levels, LEVELS);
    for (uint32_t words = block->words; words; words &= words - 1)
        row[__builtin_ctz(words)] = LEVEL_INLINE;
    for (uint32_t groups = block->groups; groups; groups &= groups - 1)
        row[WORD_GROUPS + __builtin_ctz(groups)] = LEVEL_INLINE;
}

static void describe_container(const Describer *d, Element *element) {
    float tokens = (float)element->tokens;
    const uint8_t values[CONTAINER_FEATURES] = {
        as_log(element->tokens),
        as_ratio((float)element->link_tokens, tokens),
        as_log(element->blocks),
        as_ratio(tokens, d->tokens),
        as_log(element->blocks ? element->tokens * 4 / element->blocks : 0),
        as_ratio((float)element->stops * 4, tokens),
    };
    memcpy(element->as_container, values, sizeof values);
    element->is_described = 1;
}

/* An element contains many blocks, and is described once. */
static void describe_containers(const Describer *d, size_t b) {
    uint32_t at = d->document->blocks[b].element;
    uint8_t *row = d->rows + b * ROW + AT_CONTAINERS;
    for (int level = 0; level < CONTAINERS; level++, row += CONTAINER_FEATURES) {
        Element *element = &d->document->elements[at];
        if (!element->is_described)
            describe_container(d, element);
        memcpy(row, element->as_container, CONTAINER_FEATURES);
        at = element->next_up;
    }
}

/* From what has been written of the neighbours themselves. */
static void describe_neighbours(const Describer *d, size_t b) {
    uint8_t *row = d->rows + b * ROW + AT_NEIGHBOURS;
    for (int i = 0; i < NEIGHBOURS; i++, row += NEIGHBOUR_FEATURES) {
        ptrdiff_t at = (ptrdiff_t)b + OFFSETS[i];
        const uint8_t *other = at >= 0 && at < (ptrdiff_t)d->document->block_count ? d->rows + at * ROW : NULL;
        row[0] = other ? other[AT_TOKENS] : 0;
        row[1] = other ? other[AT_LINK_RATIO] : 0;
        row[2] = other ? other[AT_STOPS] : 0;
        row[3] = other ? other[AT_TEXT_WEIGHT] : 128;
    }
}

static void describe_page(const Describer *d) {
    const Document *document = d->document;
    uint32_t longest = 0, cjk = 0;
    for (size_t b = 0; b < document->block_count; b++) {
        uint32_t plain = document->blocks[b].tokens - document->blocks[b].link_tokens;
        longest = plain > longest ? plain : longest;
        cjk += document->blocks[b].cjk;
    }
    const Element *root = &document->elements[0];
    unsigned kinds = document->meta.kinds;
    const uint8_t values[PAGE] = {
        as_log(root->tokens),
        as_log((uint32_t)document->block_count),
        as_ratio((float)root->link_tokens, d->tokens),
        as_ratio((float)cjk, d->tokens),
        (kinds & LD_ARTICLE) != 0,
        (kinds & LD_FORUM) != 0,
        (kinds & OG_ARTICLE) != 0,
        as_log((uint32_t)document->h1s),
        as_log((uint32_t)document->articles),
        as_log((uint32_t)document->images),
        as_log(longest),
        as_ratio((float)root->long_tokens, d->tokens),
        (kinds & LD_LIST) != 0,
    };
    for (size_t b = 0; b < document->block_count; b++)
        memcpy(d->rows + b * ROW + AT_PAGE, values, sizeof values);
}

static int describe_blocks(Document *document, uint8_t *rows, uint8_t *on_trunk, const int8_t *class_weights) {
    weigh_classes(document, class_weights);
    sum_up(document);
    Describer d = {.document = document, .rows = rows, .on_trunk = on_trunk, .class_weights = class_weights};
    d.title = find_title(document);
    d.trunk = find_trunk(document, on_trunk);
    d.tokens = (float)document->elements[0].tokens;
    if (gather_kin(document, rows) || match_hints(document, rows + AT_BODY, rows + AT_DESCRIPTION, ROW))
        return -1;
    find_description(&d);
    uint32_t before = 0, window = plain_tokens(document, 0) + plain_tokens(document, 1) + plain_tokens(document, 2);
    for (size_t b = 0; b < document->block_count; b++) {
        window += plain_tokens(document, b + 3) - (b > 3 ? plain_tokens(document, b - 4) : 0);
        describe_own(&d, b, before, window);
        describe_levels(&d, b);
        describe_containers(&d, b);
        before += document->blocks[b].tokens;
    }
    for (size_t b = 0; b < document->block_count; b++)
        describe_neighbours(&d, b);
    describe_page(&d);
    return 0;
}

int describe(Document *document, uint8_t *columns, size_t stride, const int8_t *class_weights) {
    uint8_t *on_trunk = calloc(document->element_count, 1);
    uint8_t *rows = make_rows(document->block_count, FEATURES, ROW);
    int failed = !on_trunk || !rows || describe_blocks(document, rows, on_trunk, class_weights);
    if (!failed)
        transpose(rows, ROW, document->block_count, columns, stride);
    free(on_trunk);
    free(rows);
    return failed ? -1 : 0;
}
