/* Where a page leads, each link as one of 512 bits: without some variables, and without what looks drawn by lot. The twin
 * of masked() in variants.py and is_drawn() in template.py. */
#include "site.h"

#include <string.h>

enum { BITS = 512, MAX_NAMES = 8, UUID_CHARS = 36 };

typedef struct {
    const char *at;
    size_t length;
} Slice;

static inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
static inline bool is_letter(char byte) { return (byte | 32) >= 'a' && (byte | 32) <= 'z'; }
static inline bool is_small(char byte) { return byte >= 'a' && byte <= 'z'; }
static inline bool is_hex(char byte) { return is_digit(byte) || ((byte | 32) >= 'a' && (byte | 32) <= 'f'); }

/* Up to a byte, or to the end. What is behind that byte is left over: nowhere if there was none. */
static Slice cut(Slice *from, char byte) {
    Slice head = *from;
    const char *found = head.length ? memchr(head.at, byte, head.length) : NULL;
    if (!found) {
        *from = (Slice){NULL, 0};
        return head;
    }
    head.length = (size_t)(found - head.at);
    *from = (Slice){found + 1, from->length - head.length - 1};
    return head;
}

static size_t letters_at(Slice text) {
    size_t count = 0;
    while (count < text.length && is_letter(text.at[count]))
        count++;
    return count;
}

static size_t digits_at(Slice text) {
    size_t count = 0;
    while (count < text.length && is_digit(text.at[count]))
        count++;
    return count;
}

/* `.html`: one letter, and up to four letters or digits. */
static bool has_extension(Slice text) {
    size_t at = text.length;
    while (at && text.length - at < 5 && (is_letter(text.at[at - 1]) || is_digit(text.at[at - 1])))
        at--;
    return at && at < text.length && text.at[at - 1] == '.' && is_letter(text.at[at]);
}

/* `Talk:name`, as wikis name what is no article. */
static bool has_namespace(Slice text) {
    size_t at = 0;
    while (at < text.length && (at ? is_small(text.at[at]) || text.at[at] == '_' : is_letter(text.at[at])))
        at++;
    if (at < 3 || at + 1 >= text.length || text.at[at] != ':')
        return false;
    return !memchr(text.at + at + 1, ':', text.length - at - 1) && !memchr(text.at + at + 1, '/', text.length - at - 1);
}

/* `sid-` and the like: up to four letters, and twelve or more letters and digits, one digit among them. */
static bool is_named_token(Slice text, size_t name) {
    if (name > 4 || text.length < name + 1 + 12)
        return false;
    bool has_digit = false;
    for (size_t at = name + 1; at < text.length; at++) {
        if (!is_digit(text.at[at]) && !is_letter(text.at[at]))
            return false;
        has_digit |= is_digit(text.at[at]);
    }
    return has_digit;
}

static bool is_uuid(Slice text) {
    if (text.length != UUID_CHARS)
        return false;
    for (size_t at = 0; at < UUID_CHARS; at++) {
        bool is_hyphen = at == 8 || at == 13 || at == 18 || at == 23;
        if (is_hyphen ? text.at[at] != '-' : !is_hex(text.at[at]))
            return false;
    }
    return true;
}

static bool is_hex_number(Slice text) {
    bool has_digit = false;
    for (size_t at = 0; at < text.length; at++) {
        if (!is_hex(text.at[at]))
            return false;
        has_digit |= is_digit(text.at[at]);
    }
    return has_digit && text.length >= 8;
}

/* Sixteen and more letters and digits, which meet before anything else does. */
static bool is_token(Slice text) {
    size_t letters = letters_at(text), digits = digits_at(text);
    if (text.length < 16)
        return false;
    size_t first = letters ? letters : digits;
    if (!first || first == text.length || !(letters ? is_digit(text.at[first]) : is_letter(text.at[first])))
        return false;
    for (size_t at = 0; at < text.length; at++)
        if (!is_digit(text.at[at]) && !is_letter(text.at[at]) && text.at[at] != '_' && text.at[at] != '-')
            return false;
    return true;
}

/* Whether a value looks drawn by lot. */
static bool is_drawn(Slice text) {
    /* The shortest has eight characters. */
    if (text.length < 8 || memchr(text.at, ';', text.length) || has_namespace(text) || has_extension(text))
        return false;
    const char *hyphen = memchr(text.at, '-', text.length);
    size_t letters = letters_at(text);
    bool is_title = hyphen && letters && text.at + letters == hyphen && !memchr(text.at, '.', text.length);
    if (is_title && text.length != UUID_CHARS)
        return is_named_token(text, letters);
    if (digits_at(text) == text.length)
        return false;
    return is_uuid(text) || is_hex_number(text) || is_token(text);
}

static uint64_t after(uint64_t hash, Slice text) {
    for (size_t at = 0; at < text.length; at++)
        hash = hash * BASE + (unsigned char)text.at[at] + 1;
    return hash;
}

/* The names of variables that are not looked at. */
typedef struct {
    Slice all[MAX_NAMES];
    int count;
} Names;

static bool is_left_out(Slice name, Slice value, const Names *names) {
    for (int each = 0; each < names->count; each++)
        if (names->all[each].length == name.length && !memcmp(names->all[each].at, name.at, name.length))
            return true;
    return is_drawn(value);
}

/* One segment of a path, and the settings (`;name=value`) that stand in it. */
static uint64_t after_segment(uint64_t hash, Slice segment, const Names *names) {
    Slice stem = cut(&segment, ';');
    uint64_t settings = 0;
    while (segment.at) {
        Slice setting = cut(&segment, ';'), value = setting, name = cut(&value, '=');
        bool has_value = name.length && value.at;
        if (!has_value || !is_left_out(name, value, names))
            settings = after(settings * BASE + ';', setting);
    }
    if (settings)
        return after(hash, stem) + mixed(settings);
    return is_drawn(stem) ? hash * BASE + '*' + 1 : after(hash, stem);
}

/* A path and query; the order of its variables does not count. */
static uint64_t hash_of(Slice tail, const Names *names) {
    uint64_t hash = 0;
    Slice path = cut(&tail, '?');
    while (path.at)
        hash = after_segment(hash * BASE + '/', cut(&path, '/'), names);
    if (!tail.length)
        return mixed(hash);
    hash = hash * BASE + '?';
    while (tail.at) {
        Slice variable = cut(&tail, '&'), value = variable, name = cut(&value, '=');
        if (!is_left_out(name, value, names))
            hash += mixed(after(after(0, name) * BASE + '=', value));
    }
    return mixed(hash);
}

static bool slice_of(PyObject *text, Slice *slice) {
    Py_ssize_t length;
    slice->at = PyUnicode_AsUTF8AndSize(text, &length);
    slice->length = (size_t)length;
    return slice->at != NULL;
}

PyObject *link_bits(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *targets, *names_given;
    const char *origin;
    Py_ssize_t origin_length, most;
    if (!PyArg_ParseTuple(
            arguments, "O!s#O!n", &PyList_Type, &targets, &origin, &origin_length, &PyTuple_Type, &names_given, &most))
        return NULL;
    Names names = {.count = (int)PyTuple_GET_SIZE(names_given)};
    if (PyTuple_GET_SIZE(names_given) > MAX_NAMES)
        return PyErr_Format(PyExc_ValueError, "more than %d names", MAX_NAMES);
    for (int each = 0; each < names.count; each++)
        if (!slice_of(PyTuple_GET_ITEM(names_given, each), &names.all[each]))
            return NULL;
    unsigned char bits[BITS / 8] = {0};
    for (Py_ssize_t each = 0; each < most && each < PyList_GET_SIZE(targets); each++) {
        Slice tail;
        if (!slice_of(PyList_GET_ITEM(targets, each), &tail))
            return NULL;
        if (tail.length < (size_t)origin_length || memcmp(tail.at, origin, (size_t)origin_length))
            continue;
        tail.at += origin_length;
        tail.length -= (size_t)origin_length;
        uint64_t bit = hash_of(tail, &names) % BITS;
        bits[bit / 8] |= (unsigned char)(1 << bit % 8);
    }
    return PyBytes_FromStringAndSize((char *)bits, sizeof bits);
}
