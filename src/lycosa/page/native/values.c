/* Values and texts as Python strings: references resolved, white space collapsed, bounded. */
#include "html.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static int is_ascii(const char *bytes, size_t length) {
    size_t i = 0;
    uint64_t seen = 0, word;
    for (; i + 8 <= length; i += 8) {
        memcpy(&word, bytes + i, 8);
        seen |= word;
    }
    for (; i < length; i++)
        seen |= (unsigned char)bytes[i];
    return !(seen & 0x8080808080808080u);
}

PyObject *text_object(const char *bytes, size_t length) {
    if (!is_ascii(bytes, length))
        return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)length, "replace");
    PyObject *text = PyUnicode_New((Py_ssize_t)length, 127);
    if (text && length)
        memcpy(PyUnicode_1BYTE_DATA(text), bytes, length);
    return text;
}

int append_plain(Buffer *out, Span value) {
    /* No reference is shorter than half of what it stands for; a NUL becomes three bytes. */
    if (buffer_reserve(out, span_length(value) * 3 + 8))
        return -1;
    for (const char *at = value.at; at < value.end;) {
        Reference found;
        const char *after = at;
        if (*at == '&' && (after = resolve_reference(at, value.end, 1, &found)) != at) {
            for (int i = 0; i < found.count; i++)
                out->length += (size_t)utf8_write(out->bytes + out->length, found.points[i]);
            at = after;
        } else if (*at == '\r') {
            out->bytes[out->length++] = '\n';
            at += 1 + (at + 1 < value.end && at[1] == '\n');
        } else if (!*at) {
            out->length += (size_t)utf8_write(out->bytes + out->length, 0xfffd);
            at++;
        } else
            out->bytes[out->length++] = *at++;
    }
    return 0;
}

static int is_plain(Span value) {
    const char *at = value.at;
#ifdef __SSE2__
    const __m128i reference = _mm_set1_epi8('&'), line = _mm_set1_epi8('\r'), zero = _mm_setzero_si128();
    for (; value.end - at >= 16; at += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(text, reference), _mm_cmpeq_epi8(text, line));
        if (_mm_movemask_epi8(_mm_or_si128(found, _mm_cmpeq_epi8(text, zero))))
            return 0;
    }
#endif
    for (; at < value.end; at++)
        if (*at == '&' || *at == '\r' || !*at)
            return 0;
    return 1;
}

/* An empty value has no address. */
PyObject *plain_value(Span value) {
    if (!value.at || is_plain(value))
        return text_object(value.at, span_length(value));
    Buffer out = {0};
    PyObject *text = append_plain(&out, value) ? PyErr_NoMemory() : text_object(out.bytes, out.length);
    free(out.bytes);
    return text;
}

Span stripped(Span text) {
    uint32_t point;
    while (text.at < text.end) {
        const char *after = utf8_read(text.at, text.end, &point);
        if (!is_wide_space(point))
            break;
        text.at = after;
    }
    while (text.at < text.end) {
        const char *last = text.end - 1;
        while (last > text.at && ((unsigned char)*last & 0xc0) == 0x80)
            last--;
        utf8_read(last, text.end, &point);
        if (!is_wide_space(point))
            break;
        text.end = last;
    }
    return text;
}

PyObject *stripped_value(Span value) {
    Buffer out = {0};
    PyObject *text = NULL;
    if (append_plain(&out, value))
        PyErr_NoMemory();
    else {
        Span inner = stripped((Span){out.bytes, out.bytes + out.length});
        text = text_object(inner.at, span_length(inner));
    }
    free(out.bytes);
    return text;
}

/* Lines */

static void line_point(Line *line, uint32_t point) {
    line->read++;
    if (is_wide_space(point)) {
        line->is_pending = line->chars > 0;
        return;
    }
    if (line->is_pending && line->chars < line->max_chars) {
        line->bytes.bytes[line->bytes.length++] = ' ';
        line->chars++;
    }
    line->is_pending = 0;
    if (line->chars >= line->max_chars)
        return;
    line->bytes.length += (size_t)utf8_write(line->bytes.bytes + line->bytes.length, point);
    line->chars++;
}

static inline int is_word_char(const char *at) { return (unsigned char)(*at - '!') < 127 - '!' && *at != '&'; }

/* Where a run of words of ASCII ends that are parted by single spaces. */
static const char *words_end(const char *at, const char *end) {
    while (at < end && (is_word_char(at) || (*at == ' ' && end - at > 1 && is_word_char(at + 1))))
        at++;
    return at;
}

int line_append(Line *line, Span text, int is_literal, int in_attribute, int replaces_nul) {
    if (buffer_reserve(&line->bytes, span_length(text) * 3 + 16))
        return -1;
    for (const char *at = text.at; at < text.end;) {
        unsigned char c = (unsigned char)*at;
        /* Words, which are most of all texts, need no thought. */
        if (is_word_char(at) && !line->is_pending && line->chars < line->max_chars) {
            size_t length = (size_t)(words_end(at + 1, text.end) - at), room = line->max_chars - line->chars;
            length = length < room ? length : room;
            memcpy(line->bytes.bytes + line->bytes.length, at, length);
            line->bytes.length += length;
            line->chars += length;
            line->read += length;
            at += length;
            continue;
        }
        Reference found;
        uint32_t point;
        const char *after = at;
        if (c == '&' && !is_literal && (after = resolve_reference(at, text.end, in_attribute, &found)) != at) {
            for (int i = 0; i < found.count; i++)
                line_point(line, found.points[i]);
            at = after;
            continue;
        }
        at = utf8_read(at, text.end, &point);
        if (point)
            line_point(line, point);
        else if (replaces_nul)
            line_point(line, 0xfffd);
    }
    return 0;
}

void line_forget(Line *line) {
    line->bytes.length = line->chars = line->read = 0;
    line->is_pending = 0;
}

PyObject *line_finish(Line *line) {
    PyObject *text = text_object(line->bytes.bytes, line->bytes.length);
    line_forget(line);
    return text;
}

PyObject *collapsed_value(Span value, size_t max_chars) {
    Line line = {.max_chars = max_chars};
    PyObject *text = line_append(&line, value, 0, 1, 1) ? PyErr_NoMemory() : line_finish(&line);
    free(line.bytes.bytes);
    return text;
}

/* Words */

void lower_bytes(Buffer *text) {
    for (size_t i = 0; i < text->length; i++)
        text->bytes[i] = (char)lower((unsigned char)text->bytes[i]);
}

int has_word(Span text, const char *word) {
    size_t length = strlen(word);
    while (text.at < text.end) {
        uint32_t point;
        const char *start = text.at, *after = text.at;
        while (after < text.end) {
            const char *next = utf8_read(after, text.end, &point);
            if (is_wide_space(point)) {
                text.at = next;
                break;
            }
            after = text.at = next;
        }
        if ((size_t)(after - start) == length && !memcmp(start, word, length))
            return 1;
    }
    return 0;
}

int contains(Span text, const char *word) {
    size_t length = strlen(word);
    for (; span_length(text) >= length; text.at++)
        if (!memcmp(text.at, word, length))
            return 1;
    return 0;
}
