/* Between the reader of pages and the search for main content: the tokens of one tokenizer, for both. */
#ifndef LYCOSA_FEED_H
#define LYCOSA_FEED_H

#include "text.h"

typedef enum {
    NO_ATTRIBUTE,
    AT_ALT,
    AT_ARIA_LABEL,
    AT_CLASS,
    AT_COLOR,
    AT_CONTENT,
    AT_DATETIME,
    AT_ENCODING,
    AT_FACE,
    AT_HIDDEN,
    AT_HREF,
    AT_HTTP_EQUIV,
    AT_ID,
    AT_ITEMPROP,
    AT_LANG,
    AT_NAME,
    AT_PROPERTY,
    AT_REL,
    AT_ROLE,
    AT_SIZE,
    AT_SRC,
    AT_START,
    AT_STYLE,
    AT_TITLE,
    AT_TYPE,
    AT_VALUE,
    AT_XML_LANG,
    ATTRIBUTES,
} AttributeName;

/* Where a value stands in the page's text. */
typedef struct {
    uint32_t at, end;
    AttributeName name;
} Attribute;

/* Those of a tag that have a known name, each once. */
typedef struct {
    const char *html; /* the page's text */
    const Attribute *items;
    uint64_t noted; /* which there are */
    uint32_t count;
    int is_self_closing;
} Attributes;

static inline int has_attribute(const Attributes *attributes, AttributeName name) {
    return attributes->noted >> name & 1;
}

/* Its `at` is NULL where there is none. */
static inline Span value_of(const Attributes *attributes, AttributeName name) {
    const Attribute *item = attributes->items;
    if (!has_attribute(attributes, name))
        return (Span){NULL, NULL};
    while (item->name != name)
        item++;
    return (Span){attributes->html + item->at, attributes->html + item->end};
}

/* content/native: a result other than 0 says that memory ran out */

typedef struct Model Model;
typedef struct Search Search;

/* What the search takes an element for: one of those with a name of their own, or any other. */
uint8_t searched_tag(const char *name);
uint8_t searched_other(Span name);
/* Whether nothing within such an element is read. */
int is_passed_over(uint8_t tag);

/* NULL if the object is no Model. */
const Model *model_of(PyObject *object);
/* NULL where memory ran out. */
Search *search_begin(const Model *model);
int search_text(Search *search, Span text);
int search_start_tag(Search *search, uint8_t tag, const Attributes *attributes);
/* What stood in the element that was last started, where no markup is read. */
int search_raw(Search *search, Span content);
int search_end_tag(Search *search, uint8_t tag);
/* How many were taken in looking through what was open, and for blocks that are alike. */
size_t search_steps(const Search *search);
/* What was found, as in extract.py; NULL with an exception. */
PyObject *search_found(Search *search);
void search_free(Search *search);

/* Adds the model's type and what training needs to the module. */
int add_search(PyObject *module);

/* feed.c */

/* Gives the search what stands between `at` and `end` of the page's text, read without a tree; not 0 where memory
 * ran out. */
int feed_markup(Search *search, const char *html, const char *at, const char *end);

#endif
