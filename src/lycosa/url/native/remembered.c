/* Fingerprints in two generations, eight bytes each: the twin of remembered.py. */
#include "links.h"

/* A link is sent again at its third meeting and then at each that is four times as late: as it was measured on graphs,
 * more often moves more URLs and fetches no better pages first. */
enum { FIRST_SIZE = 1024, FIRST_AGAIN = 3 };

/* Numbers by open addressing; 0, which marks a free place, is kept apart. */
typedef struct {
    uint64_t *slots;
    uint16_t *meetings; /* of each slot: on how many pages it was met since it was sent for the first time, and then */
    size_t count, mask;
    int has_zero;
} Generation;

typedef struct {
    PyObject_HEAD
    Generation young, old;
    size_t limit;
} Remembered;

static size_t place_of(const Generation *generation, uint64_t number) {
    size_t at = (size_t)(number * 0x9E3779B97F4A7C15u >> 32) & generation->mask;
    while (generation->slots[at] && generation->slots[at] != number)
        at = (at + 1) & generation->mask;
    return at;
}

static int generation_has(const Generation *generation, uint64_t number) {
    if (!number)
        return generation->has_zero;
    return generation->slots && generation->slots[place_of(generation, number)] == number;
}

static int grow(Generation *generation) {
    size_t size = generation->slots ? generation->mask + 1 : 0, wanted = size ? 2 * size : FIRST_SIZE;
    uint64_t *old = generation->slots, *slots = PyMem_Calloc(wanted, sizeof *slots);
    uint16_t *old_meetings = generation->meetings, *meetings = PyMem_Calloc(wanted, sizeof *meetings);
    if (!slots || !meetings) {
        PyMem_Free(slots);
        PyMem_Free(meetings);
        PyErr_NoMemory();
        return -1;
    }
    generation->slots = slots;
    generation->meetings = meetings;
    generation->mask = wanted - 1;
    for (size_t i = 0; i < size; i++)
        if (old[i]) {
            size_t at = place_of(generation, old[i]);
            slots[at] = old[i];
            meetings[at] = old_meetings[i];
        }
    PyMem_Free(old);
    PyMem_Free(old_meetings);
    return 0;
}

static void generation_forget(Generation *generation) {
    PyMem_Free(generation->slots);
    PyMem_Free(generation->meetings);
    *generation = (Generation){0};
}

/* How often it was met; NULL if it is not here. Zero is not counted. */
static uint16_t *meetings_of(const Generation *generation, uint64_t number) {
    if (!number || !generation_has(generation, number))
        return NULL;
    return &generation->meetings[place_of(generation, number)];
}

static int generation_add(Generation *generation, uint64_t number, uint16_t meetings) {
    if (!number) {
        generation->count += !generation->has_zero;
        generation->has_zero = 1;
        return 0;
    }
    if ((!generation->slots || generation->count * 2 > generation->mask) && grow(generation))
        return -1;
    size_t at = place_of(generation, number);
    if (!generation->slots[at]) {
        generation->count++;
        generation->slots[at] = number;
        generation->meetings[at] = meetings;
    }
    return 0;
}

int remembered_has(PyObject *object, uint64_t fingerprint) {
    const Remembered *remembered = (const Remembered *)object;
    return generation_has(&remembered->young, fingerprint) || generation_has(&remembered->old, fingerprint);
}

int remembered_meet(PyObject *object, uint64_t fingerprint) {
    const Remembered *remembered = (const Remembered *)object;
    uint16_t *meetings = meetings_of(&remembered->young, fingerprint);
    if (!meetings)
        meetings = meetings_of(&remembered->old, fingerprint);
    if (!meetings || *meetings == UINT16_MAX)
        return 0;
    ++*meetings;
    for (uint32_t due = FIRST_AGAIN; due <= *meetings; due *= 4)
        if (due == *meetings)
            return 1;
    return 0;
}

/* What has another length is no fingerprint of a link, and is not remembered. */
static int is_fingerprint(PyObject *object) {
    return PyBytes_Check(object) && PyBytes_GET_SIZE(object) == FINGERPRINT_BYTES;
}

static uint64_t number_of(PyObject *fingerprint) {
    uint64_t number;
    memcpy(&number, PyBytes_AS_STRING(fingerprint), sizeof number);
    return number;
}

static int remembered_contains(PyObject *self, PyObject *fingerprint) {
    return is_fingerprint(fingerprint) && remembered_has(self, number_of(fingerprint));
}

static PyObject *remembered_meets(PyObject *self, PyObject *fingerprint) {
    return PyBool_FromLong(is_fingerprint(fingerprint) && remembered_meet(self, number_of(fingerprint)));
}

static int remember_one(Remembered *remembered, uint64_t number) {
    const uint16_t *before = meetings_of(&remembered->old, number);
    return generation_add(&remembered->young, number, before ? *before : 1);
}

static PyObject *remembered_add(PyObject *self, PyObject *fingerprints) {
    Remembered *remembered = (Remembered *)self;
    PyObject *each = PyObject_GetIter(fingerprints), *fingerprint;
    if (!each)
        return NULL;
    while ((fingerprint = PyIter_Next(each))) {
        int failed = is_fingerprint(fingerprint) && remember_one(remembered, number_of(fingerprint));
        Py_DECREF(fingerprint);
        if (failed)
            break;
    }
    Py_DECREF(each);
    if (PyErr_Occurred())
        return NULL;
    if (remembered->young.count > remembered->limit) {
        generation_forget(&remembered->old);
        remembered->old = remembered->young;
        remembered->young = (Generation){0};
    }
    Py_RETURN_NONE;
}

static PyObject *remembered_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    Py_ssize_t limit;
    if ((names && PyDict_GET_SIZE(names)) || !PyArg_ParseTuple(arguments, "n", &limit))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "a limit, without its name");
    Remembered *remembered = (Remembered *)type->tp_alloc(type, 0);
    if (remembered)
        remembered->limit = limit > 0 ? (size_t)limit / 2 : 0;
    return (PyObject *)remembered;
}

static void remembered_free(PyObject *self) {
    Remembered *remembered = (Remembered *)self;
    PyTypeObject *type = Py_TYPE(self);
    generation_forget(&remembered->young);
    generation_forget(&remembered->old);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"add", remembered_add, METH_O, "add(fingerprints): from now on these are remembered"},
    {"meet", remembered_meets, METH_O,
     "meet(fingerprint): it is met on one more page; whether it is to be sent again"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, remembered_new},
    {Py_tp_dealloc, remembered_free},
    {Py_tp_methods, methods},
    {Py_sq_contains, remembered_contains},
    {0, NULL},
};

PyType_Spec remembered_spec = {"lycosa.url._native.Remembered", sizeof(Remembered), 0, Py_TPFLAGS_DEFAULT, slots};
