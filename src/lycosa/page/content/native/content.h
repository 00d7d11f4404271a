/* One HTML text to blocks of text, each with what tells content from the rest, and the forests that judge them.
 *
 * search.c     tokens to elements and blocks, in one pass; with attributes.c, elements.c and blocks.c (search.h)
 * tags.c       what each tag means; the words of class, id and role that mean something
 * meta.c       what the page says of itself: <title>, <meta>, JSON-LD
 * features.c   a block and its surroundings as small numbers; with hints.c, scores.c and columns.c (features.h)
 * forest.c     ensembles of oblivious trees, and the cut between content and the rest
 * module.c     the Python side
 *
 * The tokens are those of the reader of pages (native/feed.h). Everything is linear in the length of the text: depth,
 * elements, blocks and steps are bounded, nothing recurses. */
#ifndef LYCOSA_CONTENT_H
#define LYCOSA_CONTENT_H

#include "../../native/feed.h"

enum { MAX_DEPTH = 256, MAX_ELEMENTS = 60000, MAX_BLOCKS = 20000, MAX_TOKENS = 1 << 28 };
enum { WORD_GROUPS = 32, TAG_GROUPS = 21, LEVELS = WORD_GROUPS + TAG_GROUPS, LEVEL_ROOM = 64 };
enum { KIN = 4, FIRST_WORDS = 16, MAX_WEIGHED = 40, BLOCK_CLASSES = 6, ELEMENT_CLASSES = 12, WEIGHTS = 8192 };
/* Looking through open elements takes a step for each; a page that wants more is hostile, and the rest is not read. */
enum { MAX_STEPS = 1 << 26 };
/* How near an ancestor is: the block's own inline elements, its element, its parent; anything farther ends at 1. */
enum { LEVEL_INLINE = 9, LEVEL_OWN = 8, LEVEL_WRAP = 7 };

static inline uint32_t hash_mix(uint32_t hash) {
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    return hash ^ (hash >> 12);
}

/* tags.c */

/* What a tag means to a reader, whatever its name: see ALIASES. */
typedef enum {
    TAG_OTHER,
    TAG_A,
    TAG_P,
    TAG_DIV,
    TAG_SPAN,
    TAG_BR,
    TAG_LI,
    TAG_UL,
    TAG_OL,
    TAG_DL,
    TAG_DT,
    TAG_DD,
    TAG_TABLE,
    TAG_TR,
    TAG_TD,
    TAG_TH,
    TAG_TBODY,
    TAG_H1,
    TAG_H2,
    TAG_H3,
    TAG_H4,
    TAG_H5,
    TAG_H6,
    TAG_ARTICLE,
    TAG_MAIN,
    TAG_SECTION,
    TAG_ASIDE,
    TAG_NAV,
    TAG_HEADER,
    TAG_FOOTER,
    TAG_FORM,
    TAG_PRE,
    TAG_CODE,
    TAG_BLOCKQUOTE,
    TAG_FIGURE,
    TAG_FIGCAPTION,
    TAG_NOSCRIPT,
    TAG_BUTTON,
    TAG_LABEL,
    TAG_B,
    TAG_I,
    TAG_TIME,
    TAG_ADDRESS,
    TAG_IMG,
    TAG_INPUT,
    TAG_HR,
    TAG_META,
    TAG_LINK,
    TAG_BASE,
    TAG_TITLE,
    TAG_SCRIPT,
    TAG_STYLE,
    TAG_TEXTAREA,
    TAG_IFRAME,
    TAG_XMP,
    TAG_TEMPLATE,
    TAG_SELECT,
    TAG_SVG,
    TAG_MEDIA,
    TAG_HTML,
    TAG_HEAD,
    TAG_BODY,
    TAG_DETAILS,
    TAG_SUMMARY,
    TAG_CENTER,
    TAG_CUSTOM,
    TAGS
} SearchedTag;

enum {
    IS_BLOCK = 1,
    IS_VOID = 2,
    IS_RAW = 4,
    IS_SKIPPED = 8,
    IS_HEADING = 16,
    IS_BOLD = 32,
    KEEPS_SPACE = 64,
    IS_BUTTON = 128
};

typedef struct {
    uint8_t flags;
    int8_t group;
} TagKind;

enum {
    GROUP_ARTICLE,
    GROUP_MAIN,
    GROUP_SECTION,
    GROUP_ASIDE,
    GROUP_NAV,
    GROUP_HEADER,
    GROUP_FOOTER,
    GROUP_FORM,
    GROUP_TABLE,
    GROUP_LIST,
    GROUP_ITEM,
    GROUP_CODE,
    GROUP_QUOTE,
    GROUP_FIGURE,
    GROUP_NOSCRIPT,
    GROUP_HIDDEN,
    GROUP_A,
    GROUP_HEADING,
    GROUP_P,
    GROUP_CELL,
    GROUP_DIV
};

extern const TagKind TAG_KINDS[TAGS];
extern const char *const TAG_NAMES[TAGS];
extern const char *const WORD_GROUP_NAMES[WORD_GROUPS];
extern const char *const TAG_GROUP_NAMES[TAG_GROUPS];
enum { GROUP_OF_COMMENTS = 4, GROUP_OF_THREADS = 6, GROUP_OF_AUTHORS = 12, GROUP_OF_DATES = 13 };

/* Tables of words and characters, filled when the module is loaded. */
void words_prepare(void);
void kinds_prepare(void);
void hints_prepare(void);
/* The group of a word of a class or id by its hash, or -1. */
int word_group(uint32_t hash);

/* meta.c */

enum { LD_ARTICLE = 1, LD_FORUM = 2, OG_ARTICLE = 4, LD_LIST = 8 };

typedef struct {
    Buffer title, og_title, ld_title, author, ld_author, published, ld_published, time, description, body;
    Buffer language, heading;
    unsigned kinds;
} Meta;

int meta_tag(Meta *meta, Span key, Span content);
int meta_ld(Meta *meta, Span json);
void meta_free(Meta *meta);
/* Appends text with its references resolved and white space collapsed, at most `max` bytes. */
int append_collapsed(Buffer *out, Span text, int in_attribute, size_t max);

/* search.c */

typedef struct {
    uint32_t parent, next_up; /* next_up: the nearest ancestor that holds more blocks */
    uint32_t classes, signature, path;
    uint16_t depth, class_count;
    uint8_t tag;
    uint32_t blocks, tokens, link_tokens, stops, long_tokens;
    float merit, class_weight, class_chain, class_least, class_most;
    float score, score_tokens, score_most, score_mean; /* what the first forest thinks of the blocks within */
    uint8_t as_container[6], is_described; /* its features as a container, once they are known */
    uint32_t comments; /* the outermost element around it, or itself, that calls itself comments; 0 is none */
    uint32_t inner, outer; /* the nearest and the farthest such element that stands in a row of like siblings */
    uint8_t levels[LEVEL_ROOM]; /* a whole number of registers */
} Element;

typedef struct {
    uint32_t element, start, end;
    uint32_t tokens, link_tokens, links, bold_tokens, cjk, digits, capitals, letters, commas, stops, lines, images;
    uint32_t title_tokens, marks, chars, button_tokens;
    uint32_t words, groups;
    uint32_t heading; /* the last heading block before this one, +1 */
    int32_t text_weight, text_least, text_most;
    uint16_t first_words[FIRST_WORDS];
    uint16_t classes[BLOCK_CLASSES];
    uint32_t kin[KIN]; /* the first block of those with the same signature, path, text … */
    uint8_t class_count, tag, weighed;
} Block;

typedef struct {
    Meta meta;
    Buffer text;
    Element *elements;
    Block *blocks;
    uint16_t *classes;
    size_t element_count, element_capacity, block_count, block_capacity, class_count, class_capacity;
    size_t h1s, articles, images;
    size_t steps; /* taken in looking for kin */
} Document;

void document_free(Document *document);
/* As if new, but with the room that it had. */
void document_reset(Document *document);

/* features.c */

size_t find_title(const Document *document);
int feature_count(void);
const char *feature_name(int feature);
/* Columns of the second forest come in whole tiles. */
enum { SECOND_FEATURES = 30, SECOND_COLUMNS = 32, MAX_LANE = 64 };
extern const char *const SECOND_NAMES[SECOND_FEATURES];

/* Column by column: the value of feature f for block b stands at f * stride + b. */
int describe(Document *document, uint8_t *columns, size_t stride, const int8_t *class_weights);
int describe_scores(Document *document, const float *scores, uint8_t *columns, size_t stride);
/* Below an article comments are no content, whatever each of them looks like: their scores become 0. Comes after
 * `describe_scores`, with what both forests thought. */
void settle_comments(Document *document, float *scores);

/* forest.c */

typedef struct {
    const uint8_t *features, *borders;
    int16_t *leaves; /* and each byte of them by itself */
    uint8_t *low, *high;
    float scale, bias;
    uint32_t trees, depth;
} Forest;

struct Model {
    int8_t text_weights[WEIGHTS], class_weights[WEIGHTS];
    Forest first, second;
    void *memory;
};

typedef enum { MODEL_READ, NO_MODEL, NO_MEMORY } ModelRead;
ModelRead model_read(Model *model, const char *bytes, size_t length);
void model_free(Model *model);
/* The forest's judgement of each block, as the logarithm of its odds to be content. */
void forest_judge(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, float *odds);
void as_probabilities(const float *odds, size_t count, float *scores);
/* What both forests say together, in place of what the second says. */
void mix_odds(const float *first, size_t count, float *second);
/* The sums that judgements are made from, by one of the ways that this machine knows, the best first; 0 where it knows
 * fewer. All give the same. */
int forest_sum(const Forest *forest, size_t way, const uint8_t *columns, size_t stride, size_t count, int32_t *sums);
/* The least probability that counts as content: the cut with the highest expected precision and recall. */
float best_cut(const Document *document, const float *scores);

#endif
