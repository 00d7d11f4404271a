/* The signature of a text in one pass: the twin of signature.py and tokens.py, three to eight times as fast.
 *
 * All that must agree with them (codes of characters, factors, donors) is handed in; what is here is the loop. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { BANDS = 7, ROWS_PER_BAND = 6, ROWS = BANDS * ROWS_PER_BAND, SLOTS = 2048, SLOT_SHIFT = 21, UNITS = 65536 };
#define BASE 0x9E3779B97F4A7C15u
#define NONE UINT64_MAX

typedef struct {
    uint64_t *tokens;
    size_t count;
    uint64_t sum, power, place; /* place: of the next unit within its token, 0 after what separates */
} Tokens;

/* Of the base, by the place of a unit: nothing is multiplied that waits for another product. */
enum { POWERS = 64 };
static uint64_t powers[POWERS];

static void powers_prepare(void) {
    powers[0] = 1;
    for (int place = 1; place < POWERS; place++)
        powers[place] = powers[place - 1] * BASE;
}

/* Past the table: apart, so that nobody waits for it who has no token of so many units. */
__attribute__((noinline)) static uint64_t next_power(uint64_t power) { return power * BASE; }

/* One more UTF-16 unit: a code of 0 separates, an odd one begins a token. Without branches, since where scripts without
 * spaces begin a token no processor can guess: that halves what Chinese costs. */
static inline void step(Tokens *tokens, uint64_t code) {
    uint64_t is_part = 0 - (uint64_t)(code != 0), place = tokens->place & ((code & 1) - 1);
    uint64_t begins = (place == 0) & is_part, goes_on = begins - 1;
    tokens->power = __builtin_expect(place < POWERS, 1) ? powers[place] : next_power(tokens->power);
    tokens->count += begins;
    tokens->sum = (tokens->sum & goes_on) + code * tokens->power;
    tokens->place = (place + 1) & is_part;
    /* What stands before the first token is written before the first place. */
    tokens->tokens[tokens->count] = tokens->sum;
}

static void tokenise(PyObject *text, const uint64_t *codes, Tokens *to) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);
    Tokens tokens = *to;
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        for (Py_ssize_t at = 0; at < length; at++)
            step(&tokens, codes[((const Py_UCS1 *)data)[at]]);
        break;
    case PyUnicode_2BYTE_KIND:
        for (Py_ssize_t at = 0; at < length; at++)
            step(&tokens, codes[((const Py_UCS2 *)data)[at]]);
        break;
    default:
        for (Py_ssize_t at = 0; at < length; at++) {
            Py_UCS4 point = ((const Py_UCS4 *)data)[at];
            if (point < UNITS) {
                step(&tokens, codes[point]);
            } else {
                step(&tokens, codes[Py_UNICODE_HIGH_SURROGATE(point)]);
                step(&tokens, codes[Py_UNICODE_LOW_SURROGATE(point)]);
            }
        }
    }
    *to = tokens;
}

static inline uint64_t mixed(uint64_t number) {
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

/* Of every bin the smallest number: narrow bins for the sketch, wide ones for the bands. No shingle is as large as NONE,
 * nor, but for the very largest, as NO_SHINGLE. */
typedef struct {
    uint32_t slots[SLOTS];
    uint64_t rows[ROWS];
    int has_largest; /* the last slot has a shingle that is NO_SHINGLE by chance */
} Smallest;
#define NO_SHINGLE UINT32_MAX

static void smallest(const Tokens *tokens, const uint64_t *factors, Smallest *found) {
    uint64_t starts[ROWS];
    memset(found, 0xFF, sizeof *found);
    found->has_largest = 0;
    for (uint64_t row = 0; row < ROWS; row++)
        starts[row] = ((row + 1) << 32) / ROWS;
    starts[ROWS - 1] = NONE;
    /* A text of one or two tokens has one shingle, filled up with zeros. */
    size_t count = tokens->count < 3 ? 1 : tokens->count - 2;
    for (const uint64_t *token = tokens->tokens + 1, *end = token + count; token < end; token++) {
        uint64_t number = token[0] * factors[0] + token[1] * factors[1] + token[2] * factors[2];
        number ^= number >> 32;
        uint64_t shingle = number * factors[3] >> 32, row = shingle * ROWS >> 32;
        /* Rows start at whole numbers, so the last of one may belong to the next. */
        row += shingle >= starts[row];
        uint32_t *slot = &found->slots[shingle >> SLOT_SHIFT];
        *slot = (uint32_t)shingle < *slot ? (uint32_t)shingle : *slot;
        found->rows[row] = shingle < found->rows[row] ? shingle : found->rows[row];
        found->has_largest |= shingle == NO_SHINGLE;
    }
}

/* By the lowest bits, which being the smallest says nothing about: two bits for each slot. */
static void write_sketch(const Smallest *found, unsigned char *sketch) {
    unsigned char thirds[SLOTS];
    for (int slot = 0; slot < SLOTS; slot++) {
        uint32_t shingle = found->slots[slot];
        thirds[slot] = (unsigned char)((1 + ((shingle & 1023) * 3 >> 10)) & (0 - (uint32_t)(shingle != NO_SHINGLE)));
    }
    if (found->has_largest && found->slots[SLOTS - 1] == NO_SHINGLE)
        thirds[SLOTS - 1] = 3;
    for (int at = 0; at < SLOTS / 4; at++)
        sketch[at] = (unsigned char)(thirds[4 * at] | thirds[4 * at + 1] << 2 | thirds[4 * at + 2] << 4 |
                                     thirds[4 * at + 3] << 6);
}

static void write_bands(const uint64_t *rows, const uint64_t *columns, const uint8_t *donors, unsigned char *bands) {
    for (int band = 0; band < BANDS; band++) {
        uint64_t sum = 0;
        for (int column = 0; column < ROWS_PER_BAND; column++) {
            int row = band * ROWS_PER_BAND + column, donor = row;
            for (int probe = 0; rows[donor] == NONE; probe++)
                donor = donors[row * ROWS + probe];
            sum += rows[donor] * columns[column];
        }
        uint64_t key = mixed(sum) >> 8 | (uint64_t)band << 56;
        for (int byte = 0; byte < 8; byte++)
            bands[band * 8 + byte] = (unsigned char)(key >> (56 - 8 * byte));
    }
}

static PyObject *sign(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *text, *result = NULL;
    Py_buffer codes, factors, columns, donors;
    if (!PyArg_ParseTuple(arguments, "Uy*y*y*y*", &text, &codes, &factors, &columns, &donors))
        return NULL;
    /* At most one token for each unit, one place before the first and two zeros behind the last. */
    size_t places = (size_t)PyUnicode_GET_LENGTH(text) * (PyUnicode_KIND(text) == PyUnicode_4BYTE_KIND ? 2 : 1) + 3;
    Tokens tokens = {.tokens = PyMem_RawMalloc(places * sizeof(uint64_t))};
    if (codes.len != UNITS * 8 || factors.len != 4 * 8 || columns.len != ROWS_PER_BAND * 8 || donors.len != ROWS * ROWS) {
        PyErr_SetString(PyExc_ValueError, "tables of another size");
    } else if (!tokens.tokens) {
        PyErr_NoMemory();
    } else if (tokenise(text, codes.buf, &tokens), !tokens.count) {
        result = Py_BuildValue("(yyy)", "", "", "");
    } else {
        tokens.tokens[tokens.count + 1] = tokens.tokens[tokens.count + 2] = 0;
        Smallest found;
        unsigned char sketch[SLOTS / 4], bands[BANDS * 8];
        smallest(&tokens, factors.buf, &found);
        write_sketch(&found, sketch);
        write_bands(found.rows, columns.buf, donors.buf, bands);
        result = Py_BuildValue(
            "(y#y#y#)", (char *)(tokens.tokens + 1), (Py_ssize_t)(tokens.count * sizeof *tokens.tokens), (char *)bands,
            (Py_ssize_t)sizeof bands, (char *)sketch, (Py_ssize_t)sizeof sketch);
    }
    PyMem_RawFree(tokens.tokens);
    PyBuffer_Release(&codes);
    PyBuffer_Release(&factors);
    PyBuffer_Release(&columns);
    PyBuffer_Release(&donors);
    return result;
}

static PyMethodDef METHODS[] = {
    {"sign", sign, METH_VARARGS, "sign(text, codes, factors, columns, donors) -> (tokens, bands, sketch)"},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    powers_prepare();
    return PyModule_Create(&MODULE);
}
