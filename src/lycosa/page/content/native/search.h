/* What the files of the search share: the open elements and the block being written. */
#ifndef LYCOSA_SEARCH_H
#define LYCOSA_SEARCH_H

#include "content.h"

typedef struct {
    uint8_t tag, is_block;
    uint32_t element; /* of the nearest block-level element, this one included */
    uint32_t words;   /* of inline elements since then */
    uint32_t groups;
    uint32_t classes;
    uint16_t class_count;
} Open;

/* A class that has been read, and what its words are: lists repeat them. */
enum { WORDED = 64 };
typedef struct {
    Span value;
    uint32_t groups, signature, classes;
    int count;
} Worded;

struct Search {
    const Model *model; /* or NULL */
    const int8_t *text_weights;
    Open stack[MAX_DEPTH];
    int depth;
    size_t overflow;
    size_t steps; /* taken in looking through the stack */
    uint32_t open_count[TAGS];
    int link_depth, bold, skipped, button, keeps_space; /* depths at which they began, or 0 */
    Block block;
    int has_block, is_pending, in_word, is_full, breaks;
    uint32_t word_hash, previous_cjk;
    uint32_t noted_depth; /* inline elements up to here are noted in the block */
    uint64_t title_words[64];
    uint32_t last_heading;
    size_t images;
    SearchedTag raw; /* the last raw element */
    int raw_is_json;
    Worded worded[WORDED];
    Document document; /* last: all before it begins anew with each page */
};

static inline uint16_t weight_slot(uint32_t hash) { return (uint16_t)(hash_mix(hash) & (WEIGHTS - 1)); }

/* search.c */

/* A search that knows no more than the weights of words, or not even those; NULL where memory ran out. */
Search *search_with(const int8_t *text_weights);

/* blocks.c */

void begin_block(Search *s);
int end_block(Search *s);
int read_text(Search *s, Span text);
void note_word(Search *s, uint32_t hash);
void note_title_words(Search *s, const Buffer *title);

static inline void end_word(Search *s) {
    if (s->in_word) {
        s->in_word = 0;
        note_word(s, s->word_hash);
    }
}

/* attributes.c */

int hides(const Attributes *attributes);
/* Words of a class or id: letters between other characters, "camelCase" split, digits dropped. */
int read_words(Search *s, Span value, uint32_t *groups, uint32_t *signature, int *count);
/* The same for an element's first words, those of its class. */
int read_class(Search *s, Span value, uint32_t *groups, uint32_t *signature, int *count);

/* elements.c */

Element *add_element(Document *document);
int push(Search *s, SearchedTag tag, const Attributes *attributes);
/* What a start tag ends without saying so. */
void close_before(Search *s, SearchedTag tag);
int read_end_tag(Search *s, SearchedTag tag);

#endif
