/* The texts of a column, as Arrow has them: where each ends, and all of them one behind the other in UTF-8. */
#include "column.h"

#include <stdint.h>

/* Bytes of all texts; -1 if there is something else among them, or too much; -2 with an exception. */
static Py_ssize_t size_of(PyObject *const *texts, Py_ssize_t count) {
    Py_ssize_t total = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t bytes;
        if (!PyUnicode_Check(texts[at]))
            return -1;
        if (!PyUnicode_AsUTF8AndSize(texts[at], &bytes))
            return -2;
        if (bytes > INT32_MAX - total)
            return -1;
        total += bytes;
    }
    return total;
}

PyObject *text_column(PyObject *module, PyObject *values) {
    (void)module;
    if (!PyList_Check(values) && !PyTuple_Check(values))
        Py_RETURN_NONE;
    PyObject *const *texts = PySequence_Fast_ITEMS(values);
    Py_ssize_t count = PySequence_Fast_GET_SIZE(values), total = size_of(texts, count);
    if (total == -2)
        return NULL;
    if (total < 0 || count >= INT32_MAX)
        Py_RETURN_NONE;
    PyObject *ends = PyBytes_FromStringAndSize(NULL, (count + 1) * (Py_ssize_t)sizeof(int32_t));
    PyObject *data = PyBytes_FromStringAndSize(NULL, total);
    if (!ends || !data) {
        Py_XDECREF(ends);
        Py_XDECREF(data);
        return NULL;
    }
    char *end = PyBytes_AS_STRING(ends), *to = PyBytes_AS_STRING(data);
    int32_t offset = 0;
    memcpy(end, &offset, sizeof offset);
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t bytes;
        /* Found above, and kept by each text since. */
        const char *text = PyUnicode_AsUTF8AndSize(texts[at], &bytes);
        memcpy(to + offset, text, (size_t)bytes);
        offset += (int32_t)bytes;
        memcpy(end + (at + 1) * (Py_ssize_t)sizeof offset, &offset, sizeof offset);
    }
    return Py_BuildValue("NN", ends, data);
}
