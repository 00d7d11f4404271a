/* One HTML text to blocks of text, each with what tells content from the rest, and the forests that judge them.
 *
 * scan.c       HTML to elements and blocks, in one pass; with attributes.c, elements.c and blocks.c (scan.h)
 * tags.c       what each tag means; the words of class, id and role that mean something
 * text.c       character references, UTF-8, growing buffers
 * meta.c       what the page says of itself: <title>, <meta>, JSON-LD
 * features.c   a block and its surroundings as small numbers; with hints.c, scores.c and columns.c (features.h)
 * forest.c     ensembles of oblivious trees, and the cut between content and the rest
 * module.c     the Python side
 *
 * Everything is linear in the length of the text: depth, elements and blocks are bounded, nothing recurses. */
#ifndef LYCOSA_CONTENT_H
#define LYCOSA_CONTENT_H

#include "../../native/utf8.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 256, MAX_ELEMENTS = 60000, MAX_BLOCKS = 20000, MAX_TOKENS = 1 << 28 };
enum { WORD_GROUPS = 32, TAG_GROUPS = 21, LEVELS = WORD_GROUPS + TAG_GROUPS, LEVEL_ROOM = 64 };
enum { KIN = 4, FIRST_WORDS = 16, MAX_WEIGHED = 40, BLOCK_CLASSES = 6, ELEMENT_CLASSES = 12, WEIGHTS = 8192 };
/* How near an ancestor is: the block's own inline elements, its element, its parent; anything farther ends at 1. */
enum { LEVEL_INLINE = 9, LEVEL_OWN = 8, LEVEL_WRAP = 7 };

/* text.c */

typedef struct {
    char *bytes;
    size_t length, capacity;
} Buffer;

int buffer_reserve(Buffer *buffer, size_t more);
int buffer_append(Buffer *buffer, const char *bytes, size_t length);
void buffer_free(Buffer *buffer);

typedef struct {
    uint32_t points[2];
    int count;
} Reference;

/* The characters that `&…` at `at` stands for, and where it ends; `at` itself if it is no reference. */
const char *read_reference(const char *at, const char *end, Reference *found);
/* Appends text with its references resolved and white space collapsed, at most `max` bytes. */
int append_collapsed(Buffer *out, const char *at, const char *end, size_t max);

static inline int is_space(unsigned char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
static inline unsigned char lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }
static inline int is_letter(unsigned char c) { return (unsigned char)((c | 32) - 'a') < 26; }
static inline int is_digit(unsigned char c) { return (unsigned char)(c - '0') < 10; }
static inline uint32_t hash_step(uint32_t hash, uint32_t c) { return (hash ^ c) * 16777619u; }
static inline uint32_t hash_mix(uint32_t hash) {
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    return hash ^ (hash >> 12);
}
#define HASH_START 2166136261u

/* One code point; never reads past `end`. */
static inline const char *utf8_read(const char *at, const char *end, uint32_t *point) {
    const unsigned char *c = (const unsigned char *)at;
    ptrdiff_t left = end - at;
    if (c[0] >= 0xf0 && left >= 4) {
        *point = (c[0] & 7u) << 18 | (c[1] & 63u) << 12 | (c[2] & 63u) << 6 | (c[3] & 63u);
        return at + 4;
    }
    if (c[0] >= 0xe0 && left >= 3) {
        *point = (c[0] & 15u) << 12 | (c[1] & 63u) << 6 | (c[2] & 63u);
        return at + 3;
    }
    if (c[0] >= 0xc0 && left >= 2) {
        *point = (c[0] & 31u) << 6 | (c[1] & 63u);
        return at + 2;
    }
    *point = c[0];
    return at + 1;
}

/* tags.c */

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
} Tag;

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
enum { GROUP_OF_COMMENTS = 4, GROUP_OF_AUTHORS = 12, GROUP_OF_DATES = 13 };

void tags_prepare(void);
/* Tables by character, filled once when the module is loaded. */
void kinds_prepare(void);
void markup_prepare(void);
void hints_prepare(void);
Tag tag_of(const char *name, size_t length);
/* The group of a word of a class or id by its hash, or -1. */
int word_group(uint32_t hash);

/* meta.c */

enum { LD_ARTICLE = 1, LD_FORUM = 2, OG_ARTICLE = 4, LD_LIST = 8 };

typedef struct {
    Buffer title, og_title, ld_title, author, ld_author, published, ld_published, time, description, body;
    Buffer language, heading;
    unsigned kinds;
} Meta;

typedef struct {
    const char *at, *end;
} Span;

/* Whether it is a word, written here in lower case. */
static inline int span_is(Span span, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(span.end - span.at) != length)
        return 0;
    for (size_t i = 0; i < length; i++)
        if (lower((unsigned char)span.at[i]) != (unsigned char)word[i])
            return 0;
    return 1;
}

int meta_tag(Meta *meta, Span key, Span content);
int meta_ld(Meta *meta, const char *at, const char *end);
void meta_free(Meta *meta);

/* scan.c */

typedef struct {
    uint32_t parent, next_up; /* next_up: the nearest ancestor that holds more blocks */
    uint32_t classes, signature, path;
    uint16_t depth, class_count;
    uint8_t tag;
    uint32_t blocks, tokens, link_tokens, stops, long_tokens;
    float merit, class_weight, class_chain, class_least, class_most;
    float score, score_tokens, score_most, score_mean; /* what the first forest thinks of the blocks within */
    uint8_t as_container[6], is_described; /* its features as a container, once they are known */
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
} Document;

int scan(Document *document, const char *html, size_t length, const int8_t *text_weights);
void document_free(Document *document);
/* As if new, but with the room that it had. */
void document_reset(Document *document);

/* features.c */

size_t find_title(const Document *document);
int feature_count(void);
const char *feature_name(int feature);
/* Columns of the second forest come in whole tiles. */
enum { SECOND_FEATURES = 22, SECOND_COLUMNS = 32, MAX_LANE = 64 };
extern const char *const SECOND_NAMES[SECOND_FEATURES];

/* Column by column: the value of feature f for block b stands at f * stride + b. */
int describe(Document *document, uint8_t *columns, size_t stride, const int8_t *class_weights);
int describe_scores(const Document *document, const float *scores, uint8_t *columns, size_t stride);

/* forest.c */

typedef struct {
    const uint8_t *features, *borders;
    const float *leaves;
    float bias;
    uint32_t trees, depth;
} Forest;

typedef struct {
    int8_t text_weights[WEIGHTS], class_weights[WEIGHTS];
    Forest first, second;
    void *memory;
} Model;

int model_read(Model *model, const char *bytes, size_t length);
void model_free(Model *model);
/* The forest's judgement of each block as a probability. */
void forest_judge(const Forest *forest, const uint8_t *columns, size_t stride, size_t count, float *scores);
/* The least probability that counts as content: the cut with the highest expected F1. */
float best_cut(const Document *document, const float *scores);

#endif
