/* The compiled parts of the frontier, for every link that is found. */
#include "frontier.h"

static PyMethodDef METHODS[] = {
    {"named_in", named_in, METH_O, "named_in(messages) -> fingerprints of plain targets, and the other targets as they came"},
    {"arriving", (PyCFunction)(void (*)(void))arriving, METH_FASTCALL,
     "arriving(messages, fresh) -> groups of entries of what is fresh, and is so no longer; their fingerprints"},
    {"bloom_patterns", bloom_patterns, METH_VARARGS, "bloom_patterns(bits_set, index_bits) -> a pattern for each index"},
    {"bloom_has", bloom_has, METH_VARARGS, "bloom_has(store, patterns, words, fingerprints) -> whether it has each"},
    {"bloom_add", bloom_add, METH_VARARGS, "bloom_add(store, patterns, words, fingerprints) -> how many it had not"},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot SLOTS[] = {{0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, METHODS, SLOTS, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
