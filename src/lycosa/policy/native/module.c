/* The Python side: cash, which takes the links of visited pages and answers with classes. */
#include "cash.h"
#include <math.h>

enum { HIGHEST = 10, LOWEST = 1, BINS = 256, PER_OCTAVE = 4, LEAST_OCTAVE = -40 };
/* As if so many more waited above all others: while few wait, the highest classes are kept for what will come. */
enum { EXPECTED = 4 };
#define MOST_CASH 1048576.0f

/* In the order of `GivingRules`. */
typedef struct {
    double base, passed_on, foreign, repeated;
    int again;
    double again_from, slack, least_budget;
} Rules;

typedef struct {
    PyObject_HEAD
    Rules rules;
    double reach[HIGHEST - 1]; /* the share of all that wait, from the top, down to which each class reaches */
    Table table;
    Remembered remembered;
    int64_t waiting[BINS]; /* how many wait with how much */
    uint8_t class_of[BINS];
    double *visits, *income; /* of hosts; income comes from others */
    double all_visits, all_income, hosts, foreign_links;
} Cash;

static uint64_t mark_at(const char *bytes) {
    uint64_t mark = 0;
    for (int i = 0; i < 8; i++)
        mark = mark << 8 | (uint8_t)bytes[i];
    return mark;
}

static size_t host_of(uint64_t mark) { return mark >> ID_BITS; }

/* What waits. */

/* Quarters of a power of two, told by the bits of the number. */
static int bin_of(float cash) {
    uint32_t bits;
    memcpy(&bits, &cash, sizeof bits);
    int bin = (int)(bits >> 21) - (127 + LEAST_OCTAVE) * PER_OCTAVE;
    return bin < 0 ? 0 : bin < BINS ? bin : BINS - 1;
}

static int waits(uint8_t state) { return !(state & VISITED) && state & CLASS; }

static void leave(Cash *cash, uint8_t state, float amount) { cash->waiting[bin_of(amount)] -= waits(state); }

static void join(Cash *cash, uint8_t state, float amount) { cash->waiting[bin_of(amount)] += waits(state); }

static Place place_of(Cash *cash, uint64_t mark) {
    Place place = table_find(&cash->table, mark);
    if (!place.bucket) {
        uint8_t left;
        float left_cash;
        place = table_make(&cash->table, mark, &left, &left_cash);
        leave(cash, left, left_cash);
    }
    return place;
}

/* Which cash makes which class, by what waits now. A bin belongs where its middle does. */
static void divide(Cash *cash) {
    int64_t total = EXPECTED, above = EXPECTED;
    for (int bin = 0; bin < BINS; bin++)
        total += cash->waiting[bin];
    for (int bin = BINS - 1; bin >= 0; bin--) {
        double middle = ((double)above + (double)cash->waiting[bin] / 2) / (double)total;
        int below = 0;
        while (below < HIGHEST - 1 && middle >= cash->reach[below])
            below++;
        cash->class_of[bin] = (uint8_t)(HIGHEST - below);
        above += cash->waiting[bin];
    }
}

/* The class in which a URL is to wait from now on; 0 if it is visited, or waits in that or a higher one. */
static int rise(Cash *cash, Place place) {
    uint8_t *state = &place.bucket->state[place.way];
    float amount = place.bucket->cash[place.way];
    uint8_t proper = cash->class_of[bin_of(amount)];
    if (*state & VISITED || proper <= (*state & CLASS))
        return 0;
    leave(cash, *state, amount);
    *state = (uint8_t)(USED | proper);
    join(cash, *state, amount);
    return proper;
}

/* Giving. */

/* From 1 down, as a host takes more visits than others' links to it bear out. */
static double budget_of(const Cash *cash, size_t host) {
    double visits = cash->visits[host] / fmax(1.0, cash->all_visits);
    double income = (cash->income[host] + 1) / (cash->all_income + fmax(1.0, cash->hosts));
    return fmin(1.0, fmax(cash->rules.least_budget, cash->rules.slack * income / fmax(visits, 1e-9)));
}

/* A link from another host counts less where the same host's did before, so that farms gain little. */
static double freshness(const Cash *cash, Place place, size_t from) {
    uint8_t bit = (uint8_t)(1 << (from * 40503 >> 7 & 7)), *linking = &place.bucket->linking[place.way];
    /* With all bits set they tell nothing any more: so many hosts link to it that nobody's farm did it. */
    double counts = *linking & bit && *linking != 0xFF ? cash->rules.repeated : 1.0;
    *linking |= bit;
    return counts;
}

static int credit(Cash *cash, Place place, uint64_t mark, double amount) {
    float *own = &place.bucket->cash[place.way], before = *own;
    uint8_t state = place.bucket->state[place.way];
    *own = fminf(before + (float)amount, MOST_CASH);
    if (state & VISITED)
        return *own < cash->rules.again_from ? 0 : remembered_note(&cash->remembered, mark, *own);
    leave(cash, state, before);
    join(cash, state, *own);
    return 0;
}

/* A page's cash to its links, more to those on other hosts; `is_kept`: those that have no place get one. */
static int give(Cash *cash, uint64_t page, const uint64_t *links, const float *weights, size_t count, double amount,
                int is_kept) {
    size_t from = host_of(page);
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += links[i] == page ? 0.0 : host_of(links[i]) != from ? cash->rules.foreign : 1.0;
    for (size_t i = 0; i < count; i++) {
        int is_foreign = host_of(links[i]) != from;
        Place place = {NULL, 0};
        if (links[i] != page)
            place = is_kept ? place_of(cash, links[i]) : table_find(&cash->table, links[i]);
        if (!place.bucket)
            continue;
        double given = cash->rules.passed_on * amount / total * (is_foreign ? cash->rules.foreign : 1.0);
        if (weights)
            given *= fmin(1.5, fmax(0.5, weights[i]));
        if (is_foreign) {
            given *= freshness(cash, place, from);
            cash->income[host_of(links[i])] += given;
            cash->all_income += given;
            cash->foreign_links++;
        }
        if (credit(cash, place, links[i], given))
            return -1;
    }
    return 0;
}

/* What it had, with what it has of its own. */
static double visit(Cash *cash, uint64_t mark) {
    size_t host = host_of(mark);
    Place place = place_of(cash, mark);
    uint8_t *state = &place.bucket->state[place.way];
    float *own = &place.bucket->cash[place.way], had = *own;
    leave(cash, *state, had);
    if (!(*state & VISITED)) {
        cash->hosts += cash->visits[host] == 0;
        cash->visits[host]++;
        cash->all_visits++;
    }
    *own = 0;
    *state = USED | VISITED;
    return had + cash->rules.base * budget_of(cash, host);
}

/* Visited pages that got most since their visit pass it on. */
static int give_again(Cash *cash) {
    const Page *page;
    for (int i = 0; i < cash->rules.again; i++) {
        if (!(page = remembered_richest(&cash->remembered, (float)cash->rules.again_from)))
            return 0;
        Place place = table_find(&cash->table, page->mark);
        if (!place.bucket)
            continue;
        float amount = place.bucket->cash[place.way];
        place.bucket->cash[place.way] = 0;
        if (give(cash, page->mark, page->links, NULL, page->count, amount, 0))
            return -1;
    }
    return 0;
}

/* The methods. */

static uint64_t *marks_of(const char *bytes, size_t count) {
    uint64_t *marks = PyMem_RawMalloc(count ? count * sizeof *marks : 1);
    for (size_t i = 0; marks && i < count; i++)
        marks[i] = mark_at(bytes + 8 * i);
    if (!marks)
        PyErr_NoMemory();
    return marks;
}

/* One that waits from now on does so in the lowest class, from which it rises. */
static void begin_to_wait(Cash *cash, Place place) {
    uint8_t *state = &place.bucket->state[place.way];
    if (!(*state & (VISITED | CLASS))) {
        *state = USED | LOWEST;
        join(cash, *state, place.bucket->cash[place.way]);
    }
}

/* The classes of the first so many links; a page that others make room for has none. */
static PyObject *classes_of(Cash *cash, const uint64_t *links, Py_ssize_t named) {
    PyObject *classes = PyBytes_FromStringAndSize(NULL, named);
    for (Py_ssize_t i = 0; classes && i < named; i++) {
        Place place = table_find(&cash->table, links[i]);
        if (place.bucket)
            begin_to_wait(cash, place);
    }
    if (named)
        divide(cash);
    for (Py_ssize_t i = 0; classes && i < named; i++) {
        Place place = table_find(&cash->table, links[i]);
        PyBytes_AS_STRING(classes)[i] = (char)(place.bucket ? rise(cash, place) : 0);
    }
    return classes;
}

static int wrong(const char *what) {
    PyErr_SetString(PyExc_ValueError, what);
    return 0;
}

static PyObject *cash_settle(PyObject *self, PyObject *arguments) {
    Cash *cash = (Cash *)self;
    const char *fingerprint, *bytes;
    Py_buffer weights;
    Py_ssize_t length, size, named;
    double worth;
    if (!PyArg_ParseTuple(arguments, "y#y#ndy*", &fingerprint, &length, &bytes, &size, &named, &worth, &weights))
        return NULL;
    size_t count = (size_t)size / 8;
    PyObject *classes = NULL;
    if (length != 8 || size % 8 || named < 0 || named > size / 8)
        wrong("a fingerprint has eight bytes, and links that are named are some of them");
    else if (weights.len && weights.len != (Py_ssize_t)(count * sizeof(float)))
        wrong("each link has a weight, or none has");
    else {
        uint64_t page = mark_at(fingerprint), *links = marks_of(bytes, count);
        if (links) {
            double had = visit(cash, page);
            const float *each = weights.len ? weights.buf : NULL;
            if (!give(cash, page, links, each, count, had * worth, 1) &&
                !remember(&cash->remembered, page, links, count, (float)had) && !give_again(cash))
                classes = classes_of(cash, links, named);
        }
        PyMem_RawFree(links);
    }
    PyBuffer_Release(&weights);
    return classes;
}

static PyObject *cash_arrive(PyObject *self, PyObject *arguments) {
    Cash *cash = (Cash *)self;
    const char *bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "y#", &bytes, &size))
        return NULL;
    if (size % 8)
        return wrong("a fingerprint has eight bytes"), NULL;
    uint64_t *links = marks_of(bytes, (size_t)size / 8);
    PyObject *classes = NULL;
    /* As much as a link to another host gave on the average. */
    double amount = cash->foreign_links ? cash->all_income / cash->foreign_links : 0;
    for (Py_ssize_t i = 0; links && i < size / 8; i++)
        if (credit(cash, place_of(cash, links[i]), links[i], amount))
            goto end;
    if (links)
        classes = classes_of(cash, links, size / 8);
end:
    PyMem_RawFree(links);
    return classes;
}

static Place place_known(PyObject *self, PyObject *fingerprint) {
    if (!PyBytes_Check(fingerprint) || PyBytes_GET_SIZE(fingerprint) != 8)
        return (Place){NULL, 0};
    return table_find(&((Cash *)self)->table, mark_at(PyBytes_AS_STRING(fingerprint)));
}

static PyObject *cash_cash_of(PyObject *self, PyObject *fingerprint) {
    Place place = place_known(self, fingerprint);
    return PyFloat_FromDouble(place.bucket ? place.bucket->cash[place.way] : 0);
}

static PyObject *cash_class_of(PyObject *self, PyObject *fingerprint) {
    Place place = place_known(self, fingerprint);
    uint8_t state = place.bucket ? place.bucket->state[place.way] : 0;
    return PyLong_FromLong(waits(state) ? state & CLASS : 0);
}

/* As if nobody had said where it waits; `is_visited`: it does not wait at all. */
static PyObject *cash_forget(PyObject *self, PyObject *arguments) {
    PyObject *fingerprint;
    int is_visited;
    if (!PyArg_ParseTuple(arguments, "Op", &fingerprint, &is_visited))
        return NULL;
    Place place = place_known(self, fingerprint);
    if (place.bucket && !(place.bucket->state[place.way] & VISITED)) {
        leave((Cash *)self, place.bucket->state[place.way], place.bucket->cash[place.way]);
        place.bucket->state[place.way] = is_visited ? USED | VISITED : USED;
    }
    Py_RETURN_NONE;
}

static PyObject *cash_size_bytes(PyObject *self, PyObject *ignored) {
    (void)ignored;
    const Cash *cash = (const Cash *)self;
    return PyLong_FromSize_t(table_bytes(&cash->table) + 8 * cash->remembered.size);
}

static void cash_free(PyObject *self) {
    Cash *cash = (Cash *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyMem_RawFree(cash->table.buckets);
    remembered_end(&cash->remembered);
    PyMem_RawFree(cash->visits);
    PyMem_RawFree(cash->income);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *cash_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    Rules rules;
    double reach[HIGHEST - 1];
    Py_ssize_t max_bytes, max_links;
    (void)names;
    if (!PyArg_ParseTuple(arguments, "nn(ddddiddd)(ddddddddd)", &max_bytes, &max_links, &rules.base, &rules.passed_on,
                          &rules.foreign, &rules.repeated, &rules.again, &rules.again_from, &rules.slack,
                          &rules.least_budget, &reach[0], &reach[1], &reach[2], &reach[3], &reach[4], &reach[5],
                          &reach[6], &reach[7], &reach[8]))
        return NULL;
    Cash *cash = (Cash *)type->tp_alloc(type, 0);
    if (!cash)
        return NULL;
    cash->rules = rules;
    memcpy(cash->reach, reach, sizeof reach);
    cash->remembered.max_size = max_links > 0 ? (size_t)max_links : 0;
    cash->visits = PyMem_RawCalloc(HOSTS, sizeof *cash->visits);
    cash->income = PyMem_RawCalloc(HOSTS, sizeof *cash->income);
    if (!cash->visits || !cash->income)
        PyErr_NoMemory();
    if (!cash->visits || !cash->income || table_begin(&cash->table, max_bytes > 0 ? (size_t)max_bytes : 0))
        Py_CLEAR(cash);
    return (PyObject *)cash;
}

static PyMethodDef cash_methods[] = {
    {"settle", cash_settle, METH_VARARGS,
     "settle(fingerprint, links, named, worth, weights): a page was visited; the classes of the first `named` links"},
    {"arrive", cash_arrive, METH_VARARGS, "arrive(links): links of pages that are counted elsewhere; their classes"},
    {"cash_of", cash_cash_of, METH_O, "cash_of(fingerprint): what it has"},
    {"class_of", cash_class_of, METH_O, "class_of(fingerprint): the class in which it waits, or 0"},
    {"forget", cash_forget, METH_VARARGS, "forget(fingerprint, is_visited): it does not wait"},
    {"size_bytes", cash_size_bytes, METH_NOARGS, "size_bytes(): of places and remembered links"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot cash_slots[] = {
    {Py_tp_new, cash_new}, {Py_tp_dealloc, cash_free}, {Py_tp_methods, cash_methods}, {0, NULL},
};

static PyType_Spec cash_spec = {"lycosa.policy._native.Cash", sizeof(Cash), 0, Py_TPFLAGS_DEFAULT, cash_slots};

static struct PyModuleDef cash_module = {
    PyModuleDef_HEAD_INIT, "_native", "Cash of URLs.", -1, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module = PyModule_Create(&cash_module);
    PyObject *type = module ? PyType_FromSpec(&cash_spec) : NULL;
    if (!type || PyModule_AddObjectRef(module, "Cash", type))
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
