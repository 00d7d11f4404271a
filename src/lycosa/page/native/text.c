/* Growing buffers, and UTF-8: of Python's texts, and whether bytes are. */
#include "text.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

int buffer_reserve(Buffer *buffer, size_t more) {
    size_t needed = buffer->length + more;
    if (needed <= buffer->capacity)
        return 0;
    size_t capacity = needed + needed / 2 + 64;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return -1;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

int buffer_append(Buffer *buffer, const char *bytes, size_t length) {
    if (buffer_reserve(buffer, length))
        return -1;
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return 0;
}

void buffer_free(Buffer *buffer) {
    free(buffer->bytes);
    memset(buffer, 0, sizeof *buffer);
}

/* UTF-8 of a text that has lone surrogates, which no encoding has: they become U+FFFD. */
static char *repaired_utf8(PyObject *text, Py_ssize_t *length) {
    Py_ssize_t count = PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    char *bytes = malloc((size_t)count * 4 + 1), *to = bytes;
    for (Py_ssize_t i = 0; bytes && i < count; i++) {
        uint32_t point = PyUnicode_READ(kind, data, i);
        to += utf8_write(to, point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
    }
    *length = bytes ? to - bytes : 0;
    return bytes;
}

const char *utf8_of(PyObject *text, Py_ssize_t *length, char **owned) {
    *owned = NULL;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, length);
    if (bytes || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return bytes;
    PyErr_Clear();
    *owned = repaired_utf8(text, length);
    return *owned ? *owned : (const char *)PyErr_NoMemory();
}

static int is_rest(unsigned char c) { return (c & 0xc0) == 0x80; }

/* The bytes of the character at `c`, 0 if it is none. */
static size_t utf8_length(const unsigned char *c, size_t left) {
    if (c[0] < 0x80)
        return 1;
    if (c[0] < 0xe0)
        return c[0] >= 0xc2 && left > 1 && is_rest(c[1]) ? 2 : 0;
    if (c[0] < 0xf0) {
        int is_short = c[0] == 0xe0 && left > 1 && c[1] < 0xa0, is_surrogate = c[0] == 0xed && left > 1 && c[1] >= 0xa0;
        return left > 2 && is_rest(c[1]) && is_rest(c[2]) && !is_short && !is_surrogate ? 3 : 0;
    }
    if (left < 4 || !is_rest(c[1]) || !is_rest(c[2]) || !is_rest(c[3]))
        return 0;
    int is_short = c[0] == 0xf0 && c[1] < 0x90, is_long = c[0] > 0xf4 || (c[0] == 0xf4 && c[1] >= 0x90);
    return is_short || is_long ? 0 : 4;
}

/* Where there is a character that is not ASCII, or fewer than are looked at together. */
static inline const char *skip_ascii(const char *at, const char *end) {
#ifdef __SSE2__
    while (end - at >= 64) {
        __m128i seen = _mm_setzero_si128();
        for (int i = 0; i < 4; i++)
            seen = _mm_or_si128(seen, _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i)));
        if (_mm_movemask_epi8(seen))
            break;
        at += 64;
    }
    while (end - at >= 16) {
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)at));
        if (mask)
            return at + __builtin_ctz(mask);
        at += 16;
    }
#else
    for (uint64_t word; end - at >= (ptrdiff_t)sizeof word; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
#endif
    return at;
}

int is_utf8(const char *at, size_t length) {
    const char *end = at + length;
    while (at < end) {
        /* Most of a page is ASCII. */
        at = skip_ascii(at, end);
        for (int i = 0; i < 16 && at < end; i++) {
            size_t step = utf8_length((const unsigned char *)at, (size_t)(end - at));
            if (!step)
                return 0;
            at += step;
        }
    }
    return 1;
}

int is_wide_space(uint32_t point) {
    if (point < 0x80)
        return point == ' ' || (point >= 9 && point <= 13) || (point >= 0x1c && point <= 0x1f);
    return point == 0x85 || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) ||
           point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}
