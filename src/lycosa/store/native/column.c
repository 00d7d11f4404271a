/* The texts of a column as Arrow has them: where each ends, and all of them one behind the other in UTF-8. They are
 * written down as they come, while they are at hand: thousands of texts that are looked for later are in no cache any
 * more. The twin of `PlainTextColumn` in columns.py. */
#include "column.h"

#include <stdint.h>

typedef struct {
    PyObject_HEAD
    /* Bytes objects with room for more; NULL after there was no memory for that. */
    PyObject *ends, *data;
    Py_ssize_t count, bytes;
} TextColumn;

enum { END_BYTES = sizeof(int32_t), FIRST_ENDS = 64 * END_BYTES, FIRST_DATA = 1024 };

static void forget(TextColumn *self) {
    Py_CLEAR(self->ends);
    Py_CLEAR(self->data);
    self->count = self->bytes = 0;
}

/* Empty, with the end of what stands before the first. */
static int start(TextColumn *self) {
    self->count = self->bytes = 0;
    self->ends = PyBytes_FromStringAndSize(NULL, FIRST_ENDS);
    self->data = PyBytes_FromStringAndSize(NULL, FIRST_DATA);
    if (!self->ends || !self->data) {
        forget(self);
        return -1;
    }
    memset(PyBytes_AS_STRING(self->ends), 0, END_BYTES);
    return 0;
}

static int make_room(PyObject **bytes, Py_ssize_t wanted) {
    Py_ssize_t room = PyBytes_GET_SIZE(*bytes);
    return wanted <= room ? 0 : _PyBytes_Resize(bytes, wanted + wanted / 2);
}

static int add(TextColumn *self, const char *text, Py_ssize_t bytes) {
    if (bytes > INT32_MAX - self->bytes) {
        PyErr_SetString(PyExc_OverflowError, "too much text for one column");
        return -1;
    }
    if (make_room(&self->ends, (self->count + 2) * END_BYTES) || make_room(&self->data, self->bytes + bytes)) {
        forget(self);
        return -1;
    }
    memcpy(PyBytes_AS_STRING(self->data) + self->bytes, text, (size_t)bytes);
    self->bytes += bytes;
    int32_t end = (int32_t)self->bytes;
    self->count++;
    memcpy(PyBytes_AS_STRING(self->ends) + self->count * END_BYTES, &end, END_BYTES);
    return 0;
}

static int add_text(TextColumn *self, PyObject *text) {
    if (!self->data) {
        PyErr_NoMemory();
        return -1;
    }
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a column of texts takes texts");
        return -1;
    }
    if (PyUnicode_IS_ASCII(text))
        return add(self, (const char *)PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text));
    /* Half of a surrogate pair has no UTF-8 form; one such page must not hold up the others. */
    PyObject *encoded = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    if (!encoded)
        return -1;
    int failed = add(self, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded));
    Py_DECREF(encoded);
    return failed;
}

static PyObject *append(TextColumn *self, PyObject *text) {
    if (add_text(self, text))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *extend(TextColumn *self, PyObject *texts) {
    if (!PyList_Check(texts) && !PyTuple_Check(texts)) {
        PyErr_SetString(PyExc_TypeError, "a list or a tuple is wanted");
        return NULL;
    }
    for (Py_ssize_t at = 0; at < PySequence_Fast_GET_SIZE(texts); at++)
        if (add_text(self, PySequence_Fast_GET_ITEM(texts, at)))
            return NULL;
    Py_RETURN_NONE;
}

static PyObject *take(TextColumn *self, PyObject *nothing) {
    (void)nothing;
    if (!self->data)
        return PyErr_NoMemory();
    if (_PyBytes_Resize(&self->ends, (self->count + 1) * END_BYTES) || _PyBytes_Resize(&self->data, self->bytes)) {
        forget(self);
        return NULL;
    }
    PyObject *taken = Py_BuildValue("NN", self->ends, self->data);
    self->ends = self->data = NULL;
    if (taken && start(self))
        Py_CLEAR(taken);
    return taken;
}

static Py_ssize_t length(TextColumn *self) { return self->count; }

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    (void)named;
    if (!PyArg_ParseTuple(arguments, ""))
        return NULL;
    TextColumn *self = (TextColumn *)type->tp_alloc(type, 0);
    if (self && start(self))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void end_all(TextColumn *self) {
    PyTypeObject *type = Py_TYPE(self);
    forget(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef METHODS[] = {
    {"append", (PyCFunction)append, METH_O, "append(text)"},
    {"extend", (PyCFunction)extend, METH_O, "extend(texts)"},
    {"take", (PyCFunction)take, METH_NOARGS, "take() -> ends and bytes of the texts; empty from now on"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot SLOTS[] = {{Py_tp_new, make},
                              {Py_tp_dealloc, end_all},
                              {Py_tp_methods, METHODS},
                              {Py_sq_length, length},
                              {0, NULL}};
PyType_Spec TEXT_COLUMN = {"lycosa.store._native.TextColumn", sizeof(TextColumn), 0, Py_TPFLAGS_DEFAULT, SLOTS};
