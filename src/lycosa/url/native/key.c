/* The dedup key of a URL after its origin: the twin of rules.py for escapes and for the rules about queries. */
#include "links.h"

enum { MAX_VARIABLES = 64 };

/* Words that are looked up, and are in lower case themselves where the case does not count. */

static inline char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }

static uint64_t word_hash(Span text, int ignores_case) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = text.at; at < text.end; at++)
        hash = (hash ^ (uint8_t)(ignores_case ? lower(*at) : *at)) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static int is_same_word(Span word, Span text, int ignores_case) {
    if (length_of(word) != length_of(text))
        return 0;
    for (size_t i = 0; i < length_of(word); i++)
        if (word.at[i] != (ignores_case ? lower(text.at[i]) : text.at[i]))
            return 0;
    return 1;
}

static int words_have(const Words *words, Span text, int ignores_case) {
    if (!words->count)
        return 0;
    uint64_t hash = word_hash(text, ignores_case);
    for (size_t i = hash & words->mask; words->slots[i].text.at; i = (i + 1) & words->mask)
        if (words->slots[i].hash == hash && is_same_word(words->slots[i].text, text, ignores_case))
            return 1;
    return 0;
}

static int begin_with(const Words *prefixes, Span text) {
    if (!prefixes->count)
        return 0;
    for (size_t i = 0; i <= prefixes->mask; i++) {
        Span prefix = prefixes->slots[i].text;
        if (prefix.at && length_of(prefix) <= length_of(text) &&
            is_same_word(prefix, (Span){text.at, text.at + length_of(prefix)}, 1))
            return 1;
    }
    return 0;
}

/* From a tuple of texts, each once. */
int words_fill(Words *words, PyObject *texts) {
    if (!PyTuple_Check(texts)) {
        PyErr_SetString(PyExc_TypeError, "words come in a tuple");
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(texts);
    size_t size = 4, bytes = 1, at = 0;
    while (size < 2 * (size_t)count)
        size *= 2;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t length;
        if (!PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(texts, i), &length))
            return -1;
        bytes += (size_t)length;
    }
    words->slots = PyMem_Calloc(size, sizeof *words->slots);
    words->bytes = PyMem_Malloc(bytes);
    if (!words->slots || !words->bytes) {
        PyErr_NoMemory();
        return -1;
    }
    words->mask = size - 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(texts, i), &length);
        if (!text)
            return -1;
        memcpy(words->bytes + at, text, (size_t)length);
        Span kept = {words->bytes + at, words->bytes + at + length};
        at += (size_t)length;
        uint64_t hash = word_hash(kept, 0);
        size_t slot = hash & words->mask;
        while (words->slots[slot].text.at)
            slot = (slot + 1) & words->mask;
        words->slots[slot] = (Word){hash, kept};
        words->count++;
    }
    return 0;
}

void words_free(Words *words) {
    PyMem_Free(words->slots);
    PyMem_Free(words->bytes);
    *words = (Words){0};
}

/* One spelling for each octet (`settle_escapes`). */

static inline int upper_hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static inline int is_unreserved(int c) {
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

static char *settle(Span text, char *to) {
    static const char DIGITS[] = "0123456789ABCDEF", UNWISE[] = "%[]|^`{}\\";
    while (text.at < text.end) {
        char c = *text.at++;
        if (c == '%' && length_of(text) > 1 && upper_hex(text.at[0]) >= 0 && upper_hex(text.at[1]) >= 0) {
            int octet = upper_hex(text.at[0]) << 4 | upper_hex(text.at[1]);
            if (is_unreserved(octet)) {
                *to++ = (char)octet;
            } else {
                memcpy(to, text.at - 1, 3);
                to += 3;
            }
            text.at += 2;
        } else if (c && strchr(UNWISE, c)) {
            *to++ = '%';
            *to++ = DIGITS[(uint8_t)c >> 4];
            *to++ = DIGITS[c & 15];
        } else {
            *to++ = c;
        }
    }
    return to;
}

/* Queries. */

static Span name_of(Span variable) {
    const char *equals = memchr(variable.at, '=', length_of(variable));
    return (Span){variable.at, equals ? equals : variable.end};
}

static int is_needless(const Rules *rules, Span variable) {
    Span name = name_of(variable);
    return variable.at == variable.end || words_have(&rules->names, name, 1) || begin_with(&rules->prefixes, name) ||
           words_have(&rules->defaults, variable, 0);
}

static int comes_before(Span one, Span other) {
    size_t length = length_of(one) < length_of(other) ? length_of(one) : length_of(other);
    int order = memcmp(one.at, other.at, length);
    return order ? order < 0 : length_of(one) < length_of(other);
}

/* Those of one name keep their order. */
static void sort_by_name(Span *variables, size_t count) {
    for (size_t i = 1; i < count; i++) {
        Span moved = variables[i], name = name_of(moved);
        size_t to = i;
        for (; to && comes_before(name, name_of(variables[to - 1])); to--)
            variables[to] = variables[to - 1];
        variables[to] = moved;
    }
}

/* The variables that count, in order; or MAX_VARIABLES + 1. `is_same`: nothing was dropped or moved. */
static size_t variables_of(const Rules *rules, Span query, Span *variables, int *is_same) {
    size_t count = 0;
    *is_same = 1;
    for (const char *at = query.at;;) {
        const char *ampersand = memchr(at, '&', (size_t)(query.end - at));
        Span variable = {at, ampersand ? ampersand : query.end};
        if (is_needless(rules, variable)) {
            *is_same = 0;
        } else {
            if (count == MAX_VARIABLES)
                return count + 1;
            if (count && rules->sorts && comes_before(name_of(variable), name_of(variables[count - 1])))
                *is_same = 0;
            variables[count++] = variable;
        }
        if (!ampersand)
            break;
        at = ampersand + 1;
    }
    if (rules->sorts && !*is_same)
        sort_by_name(variables, count);
    return count;
}

size_t write_key(const Rules *rules, const Tail *tail, char *key) {
    Span whole = {tail->text, tail->text + tail->length};
    char settled[3 * MAX_TAIL];
    if (tail->is_unsettled)
        whole = (Span){settled, settle(whole, settled)};
    const char *question = rules->drops_or_sorts ? memchr(whole.at, '?', length_of(whole)) : NULL;
    Span variables[MAX_VARIABLES];
    int is_same = 1;
    size_t count = 0;
    if (question)
        count = variables_of(rules, (Span){question + 1, whole.end}, variables, &is_same);
    if (count > MAX_VARIABLES)
        return 0;
    if (is_same) {
        memcpy(key, whole.at, length_of(whole));
        return length_of(whole);
    }
    char *to = key + (question - whole.at);
    memcpy(key, whole.at, (size_t)(question - whole.at));
    for (size_t i = 0; i < count; i++) {
        *to++ = i ? '&' : '?';
        memcpy(to, variables[i].at, length_of(variables[i]));
        to += length_of(variables[i]);
    }
    return (size_t)(to - key);
}
