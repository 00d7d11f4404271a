/* URLs that were met lately, each with its fingerprint: a place holds the last that fell on it.
 *
 * Most links of a site stand on all its pages, and to compare a URL costs a fifth of hashing it. */
#include "links.h"

enum { PLACES = 1 << 14 };

static MetUrl *place_of(const Met *met, uint64_t hash) { return &met->places[hash & (PLACES - 1)]; }

static int is_same(PyObject *url, Span origin, Span tail) {
    const char *text = (const char *)PyUnicode_1BYTE_DATA(url);
    return (size_t)PyUnicode_GET_LENGTH(url) == length_of(origin) + length_of(tail) &&
           !memcmp(text + length_of(origin), tail.at, length_of(tail)) && !memcmp(text, origin.at, length_of(origin));
}

PyObject *met_find(const Met *met, uint64_t hash, Span origin, Span tail, uint64_t *fingerprint) {
    if (!met->places)
        return NULL;
    const MetUrl *place = place_of(met, hash);
    if (!place->url || place->hash != hash || !is_same(place->url, origin, tail))
        return NULL;
    *fingerprint = place->fingerprint;
    return Py_NewRef(place->url);
}

int met_keep(Met *met, uint64_t hash, PyObject *url, uint64_t fingerprint) {
    if (!met->places)
        met->places = PyMem_Calloc(PLACES, sizeof *met->places);
    if (!met->places) {
        PyErr_NoMemory();
        return -1;
    }
    MetUrl *place = place_of(met, hash);
    place->hash = hash;
    place->fingerprint = fingerprint;
    Py_XSETREF(place->url, Py_NewRef(url));
    return 0;
}

void met_forget(Met *met) {
    for (size_t i = 0; met->places && i < PLACES; i++)
        Py_XDECREF(met->places[i].url);
    PyMem_Free(met->places);
    met->places = NULL;
}
