/* What the messages of a batch name, and what of it joins the queues: the twin of arrivals.py. */
#include "frontier.h"



static PyObject *no_targets(void) { return PyErr_Format(PyExc_ValueError, "these bytes are no targets"); }

static int open_message(PyObject *message, Span *bytes, size_t *count) {
    if (!PyBytes_Check(message)) {
        PyErr_SetString(PyExc_TypeError, "messages are bytes");
        return -1;
    }
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(message);
    *bytes = (Span){at, at + PyBytes_GET_SIZE(message)};
    if (!begin_targets(bytes, count))
        return 0;
    no_targets();
    return -1;
}

static PyObject *bytes_of(Span span) {
    return PyBytes_FromStringAndSize((const char *)span.at, (Py_ssize_t)length_of(span));
}

static int append(PyObject *list, PyObject *item) {
    int failed = !item || PyList_Append(list, item);
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

/* Calls `each` for the targets of a message. */
static int read_message(PyObject *message, int (*each)(void *to, const Target *target), void *to) {
    Span bytes;
    size_t count;
    Target target;
    if (open_message(message, &bytes, &count))
        return -1;
    while (count--) {
        if (read_target(&bytes, &target)) {
            no_targets();
            return -1;
        }
        if (each(to, &target))
            return -1;
    }
    if (bytes.at == bytes.end)
        return 0;
    no_targets();
    return -1;
}

static int read_messages(PyObject *messages, int (*each)(void *to, const Target *target), void *to) {
    PyObject *several = PySequence_Fast(messages, "messages in a list");
    int failed = !several;
    for (Py_ssize_t i = 0; !failed && i < PySequence_Fast_GET_SIZE(several); i++)
        failed = read_message(PySequence_Fast_GET_ITEM(several, i), each, to);
    Py_XDECREF(several);
    return failed;
}

typedef struct {
    PyObject *marks, *others;
} Named;

static int name_one(void *to, const Target *target) {
    Named *named = to;
    return target->is_plain ? append(named->marks, bytes_of(target->fingerprint))
                            : append(named->others, bytes_of(target->whole));
}

PyObject *named_in(PyObject *module, PyObject *messages) {
    Named named = {PyList_New(0), PyList_New(0)};
    (void)module;
    int failed = !named.marks || !named.others || read_messages(messages, name_one, &named);
    PyObject *both = failed ? NULL : PyTuple_Pack(2, named.marks, named.others);
    Py_XDECREF(named.marks);
    Py_XDECREF(named.others);
    return both;
}

/* Those of one host, origin and rank. */

static PyObject *key_of(const Target *target) {
    uint8_t key[2 + 256 + MAX_HOST], *to = key;
    size_t mark = target->origin_length - target->tail_at, host = length_of(target->host);
    *to++ = (uint8_t)(target->rank << 1 | (unsigned)target->is_https);
    *to++ = (uint8_t)mark;
    memcpy(to, target->url.at + target->tail_at, mark);
    memcpy(to + mark, target->host.at, host);
    return PyBytes_FromStringAndSize((const char *)key, (Py_ssize_t)(2 + mark + host));
}

static PyObject *mark_of(const Target *target) {
    size_t port = target->origin_length - target->tail_at;
    PyObject *mark = PyUnicode_New((Py_ssize_t)((size_t)target->is_https + port), 127);
    if (!mark)
        return NULL;
    char *to = (char *)PyUnicode_1BYTE_DATA(mark);
    if (target->is_https)
        *to++ = 's';
    memcpy(to, target->url.at + target->tail_at, port);
    return mark;
}

static PyObject *new_group(const Target *target, PyObject *entries) {
    PyObject *host = PyUnicode_DecodeASCII((const char *)target->host.at, (Py_ssize_t)length_of(target->host), NULL);
    PyObject *mark = mark_of(target), *rank = PyLong_FromLong((long)target->rank);
    PyObject *group = host && mark && rank ? PyTuple_Pack(4, host, mark, rank, entries) : NULL;
    Py_XDECREF(host);
    Py_XDECREF(mark);
    Py_XDECREF(rank);
    return group;
}

/* The entries of the group that a target belongs to; borrowed, or NULL. */
static PyObject *entries_for(PyObject *groups, const Target *target) {
    PyObject *key = key_of(target);
    PyObject *group = key ? PyDict_GetItemWithError(groups, key) : NULL;
    if (key && !group && !PyErr_Occurred()) {
        PyObject *entries = PyList_New(0), *made = entries ? new_group(target, entries) : NULL;
        if (made && !PyDict_SetItem(groups, key, made))
            group = made;
        Py_XDECREF(made);
        Py_XDECREF(entries);
    }
    Py_XDECREF(key);
    return group ? PyTuple_GET_ITEM(group, 3) : NULL;
}

typedef struct {
    PyObject *fresh, *groups, *marks;
} Arrived;

static int arrive(void *to, const Target *target) {
    Arrived *arrived = to;
    if (!target->is_plain)
        return 0;
    PyObject *mark = bytes_of(target->fingerprint);
    int is_new = mark ? PySet_Discard(arrived->fresh, mark) : -1, failed = is_new < 0;
    if (is_new == 1) {
        PyObject *entries = entries_for(arrived->groups, target);
        failed = !entries || PyList_Append(arrived->marks, mark) || append(entries, write_entry(target));
    }
    Py_XDECREF(mark);
    return failed ? -1 : 0;
}

PyObject *arriving(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !PySet_Check(arguments[1]))
        return PyErr_Format(PyExc_TypeError, "messages, and a set of fingerprints");
    Arrived arrived = {arguments[1], PyDict_New(), PyList_New(0)};
    int failed = !arrived.groups || !arrived.marks || read_messages(arguments[0], arrive, &arrived);
    PyObject *groups = failed ? NULL : PyDict_Values(arrived.groups);
    PyObject *both = groups ? PyTuple_Pack(2, groups, arrived.marks) : NULL;
    Py_XDECREF(groups);
    Py_XDECREF(arrived.groups);
    Py_XDECREF(arrived.marks);
    return both;
}
