/* What the reader of pages gives to the search for main content: tokens, once, for both. */
#ifndef LYCOSA_FEED_H
#define LYCOSA_FEED_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    NO_ATTRIBUTE,
    AT_ALT,
    AT_ARIA_HIDDEN,
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

typedef struct Search Search;

/* The tag that the search takes a name for, and whether it reads its content as raw text. */
uint8_t searched_tag(const char *name, size_t length);
int is_searched_raw(uint8_t tag);

int is_model(PyObject *object);
/* NULL where memory ran out, as is a result other than 0 of those below. `model` is a Model. */
Search *search_begin(PyObject *model);
int search_text(Search *search, const char *at, const char *end);
int search_start_tag(Search *search, uint8_t tag, const char *html, const Attribute *attributes, uint32_t count,
                     int is_self_closing);
int search_raw(Search *search, uint8_t tag, int is_json, const char *at, const char *end);
/* As the search itself would find the content that begins at `at`; where it would go on, NULL where memory ran out. */
const char *search_raw_from(Search *search, uint8_t tag, int is_json, const char *at, const char *end);
int search_end_tag(Search *search, uint8_t tag);
/* What was found, as in extract.py; NULL with an exception. */
PyObject *search_found(Search *search);
/* The same of a text that has to be read anew. */
PyObject *search_anew(Search *search, const char *html, size_t length);
void search_free(Search *search);

/* Adds the model's type and what training needs to the module. */
int add_search(PyObject *module);

#endif
