/* What the files that read HTML share: the open elements and the block being written. */
#ifndef LYCOSA_SCAN_H
#define LYCOSA_SCAN_H

#include "content.h"

typedef struct {
    uint8_t tag, is_block;
    uint32_t element; /* of the nearest block-level element, this one included */
    uint32_t words;   /* of inline elements since then */
    uint32_t groups;
    uint32_t classes;
    uint16_t class_count;
} Open;

typedef struct {
    Span name, class_, id, style, role, itemprop, href, rel, property, content, datetime, type, lang, hidden,
        aria_hidden;
    int is_hidden, is_closed; /* is_closed: ends with "/>" */
} Attributes;

/* A class that has been read, and what its words are: lists repeat them. */
enum { WORDED = 64 };
typedef struct {
    Span value;
    uint32_t groups, signature, classes;
    int count;
} Worded;

typedef struct {
    Document *document;
    const char *at, *end;
    const int8_t *text_weights;
    Open stack[MAX_DEPTH];
    int depth;
    size_t overflow;
    uint32_t open_count[TAGS];
    int link_depth, bold, skipped, button, keeps_space; /* depths at which they began, or 0 */
    Block block;
    int has_block, is_pending, in_word, is_full, breaks;
    uint32_t word_hash, previous_cjk;
    int word_is_link;
    uint32_t noted_depth; /* inline elements up to here are noted in the block */
    uint64_t title_words[64];
    uint32_t last_heading;
    size_t images;
    uint8_t is_never_closed[TAGS];
    Worded worded[WORDED];
} Scanner;

static inline uint16_t weight_slot(uint32_t hash) { return (uint16_t)(hash_mix(hash) & (WEIGHTS - 1)); }

/* scan.c */

int scanner_begin(Scanner *s, Document *document, const int8_t *text_weights);
int read_start_tag(Scanner *s, Tag tag, const Attributes *attributes);
/* The content of a raw element. */
int note_raw(Scanner *s, Tag tag, int is_json, const char *start, const char *close);
/* The same, from where the scanner stands; it goes on after the element, or within one that is never closed. */
int read_raw(Scanner *s, Tag tag, int is_json);

/* blocks.c */

void begin_block(Scanner *s);
int end_block(Scanner *s);
int read_text(Scanner *s, const char *at, const char *end);
void note_word(Scanner *s, uint32_t hash);
void note_title_words(Scanner *s, const Buffer *title);

static inline void end_word(Scanner *s) {
    if (s->in_word) {
        s->in_word = 0;
        note_word(s, s->word_hash);
    }
}

/* attributes.c */

enum { IS_SPACE = 1, ENDS_NAME = 2, ENDS_VALUE = 4 };
extern uint8_t markup_kinds[256];
static inline int is_kind(const char *at, int kind) { return markup_kinds[(unsigned char)*at] & kind; }

/* From after the tag's name to after its ">"; NULL where the text ends first: such a tag is none. */
const char *read_attributes(const char *at, const char *end, Attributes *found);
int hides(const Attributes *attributes);
/* Words of a class or id: letters between other characters, "camelCase" split, digits dropped. */
int read_words(Scanner *s, Span value, uint32_t *groups, uint32_t *signature, int *count);
/* The same for an element's first words, those of its class. */
int read_class(Scanner *s, Span value, uint32_t *groups, uint32_t *signature, int *count);

/* elements.c */

Element *add_element(Document *document);
int push(Scanner *s, Tag tag, const Attributes *attributes);
/* What a start tag ends without saying so. */
void close_before(Scanner *s, Tag tag);
int read_end_tag(Scanner *s, Tag tag);

#endif
