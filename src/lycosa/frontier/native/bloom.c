/* A Bloom filter, asked and told of many fingerprints at once: the twin of bloom.py, which keeps the bits. */
#include "frontier.h"

typedef struct {
    uint64_t *store;
    const uint64_t *patterns;
    size_t places;
    unsigned index_bits, words;
} Filter;

typedef struct {
    Py_buffer store, patterns;
} Buffers;

static const uint64_t SPREAD = 0x9E3779B97F4A7C15u;

static void let_go(Buffers *buffers) {
    PyBuffer_Release(&buffers->store);
    PyBuffer_Release(&buffers->patterns);
}

static int open_filter(PyObject *arguments, const char *format, Filter *filter, Buffers *buffers, PyObject **marks) {
    if (!PyArg_ParseTuple(arguments, format, &buffers->store, &buffers->patterns, &filter->words, &PyList_Type, marks))
        return -1;
    filter->store = buffers->store.buf;
    filter->patterns = buffers->patterns.buf;
    filter->places = (size_t)buffers->store.len / sizeof *filter->store;
    filter->index_bits = 0;
    size_t patterns = (size_t)buffers->patterns.len / sizeof *filter->patterns;
    while (patterns >> filter->index_bits > 1)
        filter->index_bits++;
    if (filter->places && patterns == (size_t)1 << filter->index_bits)
        return 0;
    PyErr_SetString(PyExc_ValueError, "a filter has places, and patterns by so many bits");
    let_go(buffers);
    return -1;
}

static int mixed_of(PyObject *mark, uint64_t *mixed) {
    if (!PyBytes_Check(mark) || PyBytes_GET_SIZE(mark) != FINGERPRINT_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a fingerprint has eight bytes");
        return -1;
    }
    const uint8_t *bytes = (const uint8_t *)PyBytes_AS_STRING(mark);
    uint64_t number = 0;
    for (int i = FINGERPRINT_BYTES - 1; i >= 0; i--)
        number = number << 8 | bytes[i];
    number *= SPREAD;
    *mixed = number ^ number >> 32;
    return 0;
}

/* Whether all its bits are set; from now on they are, if that is wanted. */
static int visit(const Filter *filter, uint64_t mixed, int sets) {
    uint64_t step = mixed >> 17 | 1, low = ((uint64_t)1 << filter->index_bits) - 1;
    int is_in = 1;
    for (unsigned i = 0; i < filter->words; i++, mixed += step) {
        uint64_t pattern = filter->patterns[mixed & low];
        uint64_t *word = &filter->store[(mixed >> filter->index_bits) % filter->places];
        if ((*word & pattern) == pattern)
            continue;
        is_in = 0;
        if (!sets)
            break;
        *word |= pattern;
    }
    return is_in;
}

/* As `_Patterns` draws them. */
static uint64_t pattern_of(uint64_t index, int bits_set) {
    if (bits_set == 1)
        return (uint64_t)1 << (index & 63);
    uint64_t pattern = 0, state = index;
    for (int count = 0; count < bits_set;) {
        state = (state + 1) * SPREAD;
        uint64_t bit = (uint64_t)1 << (state >> 58);
        count += !(pattern & bit);
        pattern |= bit;
        state ^= state >> 29;
    }
    return pattern;
}

PyObject *bloom_patterns(PyObject *module, PyObject *arguments) {
    int bits_set, index_bits;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "ii", &bits_set, &index_bits))
        return NULL;
    if (bits_set < 1 || bits_set > 32 || index_bits < 1 || index_bits > 20)
        return PyErr_Format(PyExc_ValueError, "1 to 32 bits of 64, by 1 to 20 bits");
    PyObject *patterns = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizeof(uint64_t) << index_bits);
    uint64_t *to = patterns ? (uint64_t *)PyBytes_AS_STRING(patterns) : NULL;
    for (uint64_t index = 0; to && index < (uint64_t)1 << index_bits; index++)
        to[index] = pattern_of(index, bits_set);
    return patterns;
}

PyObject *bloom_has(PyObject *module, PyObject *arguments) {
    Filter filter;
    Buffers buffers;
    PyObject *marks;
    uint64_t mixed;
    (void)module;
    if (open_filter(arguments, "y*y*IO!", &filter, &buffers, &marks))
        return NULL;
    PyObject *answers = PyList_New(PyList_GET_SIZE(marks));
    for (Py_ssize_t i = 0; answers && i < PyList_GET_SIZE(marks); i++) {
        if (mixed_of(PyList_GET_ITEM(marks, i), &mixed))
            Py_CLEAR(answers);
        else
            PyList_SET_ITEM(answers, i, PyBool_FromLong(visit(&filter, mixed, 0)));
    }
    let_go(&buffers);
    return answers;
}

PyObject *bloom_add(PyObject *module, PyObject *arguments) {
    Filter filter;
    Buffers buffers;
    PyObject *marks;
    uint64_t mixed;
    Py_ssize_t added = 0;
    int failed = 0;
    (void)module;
    if (open_filter(arguments, "w*y*IO!", &filter, &buffers, &marks))
        return NULL;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(marks); i++) {
        failed = mixed_of(PyList_GET_ITEM(marks, i), &mixed);
        added += !failed && !visit(&filter, mixed, 1);
    }
    let_go(&buffers);
    return failed ? NULL : PyLong_FromSsize_t(added);
}
