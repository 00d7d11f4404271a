/* What all files here share: characters, UTF-8, pieces of a text, growing buffers, character references. */
#ifndef LYCOSA_TEXT_H
#define LYCOSA_TEXT_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int is_space(unsigned char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
static inline unsigned char lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }
static inline int is_letter(unsigned char c) { return (unsigned char)((c | 32) - 'a') < 26; }
static inline int is_digit(unsigned char c) { return (unsigned char)(c - '0') < 10; }

/* FNV-1a, a character at a time. */
#define HASH_START 2166136261u
static inline uint32_t hash_step(uint32_t hash, uint32_t c) { return (hash ^ c) * 16777619u; }

/* A piece of a text; `at` is NULL where there is none. */
typedef struct {
    const char *at, *end;
} Span;

static inline size_t span_length(Span span) { return (size_t)(span.end - span.at); }

/* Whether it begins with a word, written here in lower case. */
static inline int span_begins(Span span, const char *word) {
    size_t length = strlen(word);
    if (span_length(span) < length)
        return 0;
    for (size_t i = 0; i < length; i++)
        if (lower((unsigned char)span.at[i]) != (unsigned char)word[i])
            return 0;
    return 1;
}

static inline int span_is(Span span, const char *word) {
    return span_length(span) == strlen(word) && span_begins(span, word);
}

/* text.c */

typedef struct {
    char *bytes;
    size_t length, capacity;
} Buffer;

/* Other than 0 where memory ran out. */
int buffer_reserve(Buffer *buffer, size_t more);
int buffer_append(Buffer *buffer, const char *bytes, size_t length);
void buffer_free(Buffer *buffer);

/* A text as UTF-8; `owned` is to be freed. NULL with an exception. */
const char *utf8_of(PyObject *text, Py_ssize_t *length, char **owned);
/* Well-formed as RFC 3629 says: nothing overlong, no surrogates. */
int is_utf8(const char *at, size_t length);
/* White space to Python, which is what `str.split` parts at. */
int is_wide_space(uint32_t point);

/* One character; never reads past `end`, where a text may have been cut within one. */
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

/* Writes one character, of up to four bytes; how many they are. */
static inline int utf8_write(char *to, uint32_t point) {
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xc0 | point >> 6);
        to[1] = (char)(0x80 | (point & 63));
        return 2;
    }
    if (point < 0x10000) {
        to[0] = (char)(0xe0 | point >> 12);
        to[1] = (char)(0x80 | (point >> 6 & 63));
        to[2] = (char)(0x80 | (point & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | point >> 18);
    to[1] = (char)(0x80 | (point >> 12 & 63));
    to[2] = (char)(0x80 | (point >> 6 & 63));
    to[3] = (char)(0x80 | (point & 63));
    return 4;
}

/* references.c */

typedef struct {
    uint32_t points[2];
    int count;
} Reference;

/* From Python's own table; -1 with an exception where there is none. */
int references_prepare(void);
/* What `&…` at `at` stands for, and where it ends; `at` itself if it is no reference. */
const char *resolve_reference(const char *at, const char *end, int in_attribute, Reference *found);

#endif
