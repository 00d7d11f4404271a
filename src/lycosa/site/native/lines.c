/* The lines of the pages of a site, and what a further page says that they did not: the twin of novelty.py's memory. */
#include "site.h"

#include <string.h>

enum { FIRST_PLACES = 64, MAX_LINES_OF_PAGE = 512, NOTHING = 0, NUMBERS = 1, WORDS = 2 };

/* Numbers other than zero, in a table that is at most three quarters full: of 32 bits, since there are thousands of sites
 * with eight thousand lines each, and one line in a million that is taken for a known one decides nothing. */
typedef struct {
    uint32_t *places;
    size_t size, count;
} Marks;

typedef struct {
    PyObject_HEAD
    Marks young, old;
    size_t most;
} Lines;

/* The hashes of the words or the numbers of a URL. */
typedef struct {
    uint64_t *hashes;
    Py_ssize_t count;
} Own;

static bool has(const Marks *marks, uint32_t mark) {
    if (!marks->size)
        return false;
    for (size_t at = mark & (marks->size - 1); marks->places[at]; at = (at + 1) & (marks->size - 1))
        if (marks->places[at] == mark)
            return true;
    return false;
}

static void put(Marks *marks, uint32_t mark) {
    size_t at = mark & (marks->size - 1);
    while (marks->places[at])
        at = (at + 1) & (marks->size - 1);
    marks->places[at] = mark;
    marks->count++;
}

static bool grow(Marks *marks) {
    Marks larger = {NULL, marks->size ? marks->size * 2 : FIRST_PLACES, 0};
    larger.places = PyMem_RawCalloc(larger.size, sizeof *larger.places);
    if (!larger.places)
        return false;
    for (size_t at = 0; at < marks->size; at++)
        if (marks->places[at])
            put(&larger, marks->places[at]);
    PyMem_RawFree(marks->places);
    *marks = larger;
    return true;
}

/* 1 if this was not there yet, and now is; -1 without memory. */
static int add(Lines *lines, uint32_t mark) {
    mark += !mark;
    if (has(&lines->young, mark))
        return 0;
    if (lines->young.count * 4 >= lines->young.size * 3 && !grow(&lines->young))
        return -1;
    put(&lines->young, mark);
    int is_new = !has(&lines->old, mark);
    if (lines->young.count > lines->most) {
        PyMem_RawFree(lines->old.places);
        lines->old = lines->young;
        lines->young = (Marks){NULL, 0, 0};
    }
    return is_new;
}

static inline bool is_decimal(Py_UCS4 point) {
    return point < 128 ? point - '0' < 10 : Py_UNICODE_ISDECIMAL(point);
}

/* A letter in its small form; 0 for what is none. */
static inline Py_UCS4 letter_of(Py_UCS4 point) {
    if (point < 128)
        return (point | 32) - 'a' < 26 ? point | 32 : 0;
    return Py_UNICODE_ISALNUM(point) && !Py_UNICODE_ISDECIMAL(point) ? Py_UNICODE_TOLOWER(point) : 0;
}

static uint64_t hash_of(PyObject *word) {
    uint64_t hash = 0;
    for (Py_ssize_t at = 0; at < PyUnicode_GET_LENGTH(word); at++)
        hash = hash * BASE + PyUnicode_READ_CHAR(word, at) + 1;
    return hash;
}

static bool is_own(const Own *own, uint64_t hash) {
    for (Py_ssize_t at = 0; at < own->count; at++)
        if (own->hashes[at] == hash)
            return true;
    return false;
}

/* Of one line: all of it, and what is left without the words of the URL. Digits count for nothing. */
typedef struct {
    uint64_t all, rest, word;
    bool has_words, has_own, has_rest;
} Line;

static inline void end_word(Line *line, const Own *own) {
    if (!line->word)
        return;
    line->all = (line->all + mixed(line->word)) * BASE;
    line->has_words = true;
    if (is_own(own, line->word)) {
        line->has_own = true;
    } else {
        line->has_rest = true;
        line->rest = (line->rest + mixed(line->word)) * BASE;
    }
    line->word = 0;
}

/* What is left of a line once it is read. */
typedef struct {
    uint32_t all, rest;
    bool has_words, has_own, has_rest;
} ReadLine;

static inline void expect(const Marks *marks, uint32_t mark) {
    if (marks->size)
        __builtin_prefetch(&marks->places[mark & (marks->size - 1)]);
}

/* The line as it is kept; where it stands is fetched from memory while the next ones are read. */
static inline ReadLine end_line(const Lines *lines, Line *line, const Own *own) {
    end_word(line, own);
    uint32_t all = (uint32_t)mixed(line->all), rest = (uint32_t)mixed(line->rest ^ BASE);
    expect(&lines->young, all);
    expect(&lines->old, all);
    return (ReadLine){all, rest, line->has_words, line->has_own, line->has_rest};
}

/* Whether a line says something that was not said before; -1 without memory. */
static int is_news(Lines *lines, const ReadLine *line) {
    int is_new = add(lines, line->all);
    if (is_new <= 0 || !line->has_own)
        return is_new > 0 ? line->has_words : is_new;
    return line->has_rest ? add(lines, line->rest) : 0;
}

/* Spaces count only between other things: those are added when more follows. */
static inline __attribute__((always_inline)) int
news_in_lines(Lines *lines, int kind, const void *data, Py_ssize_t length, const Own *own) {
    ReadLine read[MAX_LINES_OF_PAGE];
    int ends = 0, news = 0;
    uint64_t spaces = 0;
    bool has_begun = false;
    Line line = {0};
    for (Py_ssize_t at = 0; at <= length && ends < MAX_LINES_OF_PAGE; at++) {
        Py_UCS4 point = at < length ? PyUnicode_READ(kind, data, at) : '\n', letter = letter_of(point);
        if (letter) {
            line.all += spaces;
            spaces = 0;
            has_begun = true;
            line.word = line.word * BASE + letter + 1;
        } else if (point == '\n') {
            read[ends++] = end_line(lines, &line, own);
            line = (Line){0};
            spaces = 0;
            has_begun = false;
        } else if (point < 128 && is_decimal(point)) {
            line.all += spaces;
            spaces = 0;
            has_begun = true;
        } else {
            end_word(&line, own);
            if (Py_UNICODE_ISSPACE(point)) {
                spaces = has_begun ? (spaces + point + 1) * BASE : 0;
            } else {
                line.all = (line.all + spaces + point + 1) * BASE;
                spaces = 0;
                has_begun = true;
            }
        }
    }
    for (int at = 0; at < ends; at++) {
        int is_new = is_news(lines, &read[at]);
        if (is_new < 0)
            return -1;
        news |= is_new;
    }
    return news;
}

/* Whether a text tells numbers, in this order, that no other did; apart from those of its URL. -1 without memory. */
static inline __attribute__((always_inline)) int
has_new_numbers(Lines *lines, int kind, const void *data, Py_ssize_t length, const Own *own) {
    uint64_t told = 0, number = 0;
    bool is_told = false;
    for (Py_ssize_t at = 0; at <= length; at++) {
        Py_UCS4 point = at < length ? PyUnicode_READ(kind, data, at) : 0;
        if (is_decimal(point)) {
            number = number * BASE + point + 1;
        } else if (number) {
            if (!is_own(own, number)) {
                told = (told + mixed(number)) * BASE;
                is_told = true;
            }
            number = 0;
        }
    }
    int is_new = add(lines, (uint32_t)mixed(told + 1));
    return is_new < 0 ? is_new : is_new && is_told;
}

/* A loop over a text, made once for each width of characters. */
#define OVER(text, read, lines, own)                                                                                   \
    (PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND                                                                      \
         ? read(lines, PyUnicode_1BYTE_KIND, PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), own)                    \
     : PyUnicode_KIND(text) == PyUnicode_2BYTE_KIND                                                                    \
         ? read(lines, PyUnicode_2BYTE_KIND, PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), own)                    \
         : read(lines, PyUnicode_4BYTE_KIND, PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), own))

static bool read_own(PyObject *words, Own *own) {
    own->count = PyTuple_GET_SIZE(words);
    own->hashes = PyMem_RawMalloc((size_t)(own->count + 1) * sizeof *own->hashes);
    if (!own->hashes) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t at = 0; at < own->count; at++) {
        PyObject *word = PyTuple_GET_ITEM(words, at);
        if (!PyUnicode_Check(word)) {
            PyErr_SetString(PyExc_TypeError, "words and numbers are texts");
            return false;
        }
        own->hashes[at] = hash_of(word);
    }
    return true;
}

static PyObject *news_in(Lines *lines, PyObject *arguments) {
    PyObject *text, *shown, *words, *numbers, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "UUO!O!", &text, &shown, &PyTuple_Type, &words, &PyTuple_Type, &numbers))
        return NULL;
    Own own_words = {0}, own_numbers = {0};
    if (read_own(words, &own_words) && read_own(numbers, &own_numbers)) {
        int has_words = OVER(shown, news_in_lines, lines, &own_words);
        int has_numbers = has_words < 0 ? -1 : OVER(text, has_new_numbers, lines, &own_numbers);
        if (has_numbers >= 0)
            result = PyLong_FromLong(has_words ? WORDS : has_numbers ? NUMBERS : NOTHING);
        else if (!PyErr_Occurred())
            PyErr_NoMemory();
    }
    PyMem_RawFree(own_words.hashes);
    PyMem_RawFree(own_numbers.hashes);
    return result;
}

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords)) {
    Py_ssize_t most;
    if (!PyArg_ParseTuple(arguments, "n", &most))
        return NULL;
    if (most < 1 || most > 1 << 24) {
        PyErr_SetString(PyExc_ValueError, "from one line to sixteen million");
        return NULL;
    }
    Lines *lines = (Lines *)type->tp_alloc(type, 0);
    if (lines)
        lines->most = (size_t)most;
    return (PyObject *)lines;
}

static void release(Lines *lines) {
    PyTypeObject *type = Py_TYPE(lines);
    PyMem_RawFree(lines->young.places);
    PyMem_RawFree(lines->old.places);
    type->tp_free(lines);
    Py_DECREF(type);
}

static Py_ssize_t length_of(Lines *lines) { return (Py_ssize_t)(lines->young.count + lines->old.count); }

static PyMethodDef METHODS[] = {
    {"news_in", (PyCFunction)news_in, METH_VARARGS,
     "news_in(text, without_echo, words, numbers) -> 2 if a line is new, 1 if numbers are, or 0"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot SLOTS[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, release},
    {Py_tp_methods, METHODS},
    {Py_mp_length, length_of},
    {0, NULL},
};
PyType_Spec LINES = {"lycosa.site._native.Lines", sizeof(Lines), 0, Py_TPFLAGS_DEFAULT, SLOTS};
