/* What Python said of origins, as they were written: `http://Host:80` is asked about apart from `http://host`. */
#include "links.h"

enum { FIRST_SIZE = 64 };

uint64_t hash_of(Span text, uint64_t seed) {
    uint64_t hash = seed ^ length_of(text) * 0x9E3779B97F4A7C15u;
    while (text.at < text.end) {
        uint64_t eight = 0;
        size_t length = length_of(text) < 8 ? length_of(text) : 8;
        memcpy(&eight, text.at, length);
        hash = (hash ^ eight) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 29;
        text.at += length;
    }
    return hash;
}

static OriginSlot *slot_of(const Origins *origins, Span raw, uint64_t hash) {
    size_t at = hash & origins->mask;
    for (;; at = (at + 1) & origins->mask) {
        OriginSlot *slot = &origins->slots[at];
        if (!slot->facts || (slot->hash == hash && PyBytes_GET_SIZE(slot->raw) == raw.end - raw.at &&
                             !memcmp(PyBytes_AS_STRING(slot->raw), raw.at, length_of(raw))))
            return slot;
    }
}

void origins_forget(Origins *origins) {
    OriginSlot *slots = origins->slots;
    size_t size = slots ? origins->mask + 1 : 0;
    origins->slots = NULL;
    origins->count = origins->mask = 0;
    for (size_t i = 0; i < size; i++) {
        Py_XDECREF(slots[i].raw);
        Py_XDECREF(slots[i].facts);
    }
    PyMem_Free(slots);
}

static int make_room(Origins *origins) {
    if (origins->count >= origins->max_count)
        origins_forget(origins);
    size_t size = origins->slots ? origins->mask + 1 : 0;
    if (origins->count * 2 < size)
        return 0;
    size_t wanted = size ? 2 * size : FIRST_SIZE;
    OriginSlot *slots = PyMem_Calloc(wanted, sizeof *slots), *old = origins->slots;
    if (!slots) {
        PyErr_NoMemory();
        return -1;
    }
    origins->slots = slots;
    origins->mask = wanted - 1;
    for (size_t i = 0; i < size; i++)
        if (old[i].facts) {
            size_t at = old[i].hash & origins->mask;
            while (slots[at].facts)
                at = (at + 1) & origins->mask;
            slots[at] = old[i];
        }
    PyMem_Free(old);
    return 0;
}

static int is_ascii_text(PyObject *text, Py_ssize_t max_length) {
    return PyUnicode_Check(text) && PyUnicode_IS_COMPACT_ASCII(text) && PyUnicode_GET_LENGTH(text) <= max_length;
}

/* What is not as it must be would be read past its end. */
static int are_facts(PyObject *facts) {
    if (Py_IsNone(facts))
        return 1;
    if (!PyTuple_Check(facts))
        return 0;
    if (!PyTuple_GET_SIZE(facts))
        return 1;
    if (PyTuple_GET_SIZE(facts) != FACTS)
        return 0;
    PyObject *mark = PyTuple_GET_ITEM(facts, HOST_MARK);
    return is_ascii_text(PyTuple_GET_ITEM(facts, ORIGIN), MAX_ORIGIN) &&
           is_ascii_text(PyTuple_GET_ITEM(facts, KEY_ORIGIN), MAX_ORIGIN) && PyBytes_Check(mark) &&
           PyBytes_GET_SIZE(mark) == HOST_BYTES;
}

PyObject *origins_find(Origins *origins, Span raw, PyObject *ask) {
    uint64_t hash = hash_of(raw, origins->seed);
    if (origins->slots) {
        OriginSlot *slot = slot_of(origins, raw, hash);
        if (slot->facts)
            return Py_NewRef(slot->facts);
    }
    PyObject *text = PyUnicode_FromStringAndSize(raw.at, raw.end - raw.at);
    if (!text)
        return NULL;
    PyObject *facts = PyObject_CallOneArg(ask, text);
    Py_DECREF(text);
    if (!facts)
        return NULL;
    PyObject *kept = are_facts(facts) ? PyBytes_FromStringAndSize(raw.at, raw.end - raw.at) : NULL;
    if (!kept && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "what was said of an origin are no facts");
    /* While it was asked, others may have been. */
    if (!kept || make_room(origins)) {
        Py_XDECREF(kept);
        Py_DECREF(facts);
        return NULL;
    }
    OriginSlot *slot = slot_of(origins, raw, hash);
    origins->count += slot->facts == NULL;
    Py_XSETREF(slot->raw, kept);
    Py_XSETREF(slot->facts, Py_NewRef(facts));
    slot->hash = hash;
    return facts;
}
