/* A text of Python as UTF-8. */
#include "utf8.h"

/* UTF-8 of a text that has lone surrogates, which no encoding has: they become U+FFFD. */
static char *repaired_utf8(PyObject *text, Py_ssize_t *length) {
    Py_ssize_t count = PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    char *bytes = malloc((size_t)count * 4 + 1), *to = bytes;
    for (Py_ssize_t i = 0; bytes && i < count; i++) {
        uint32_t point = PyUnicode_READ(kind, data, i);
        to += utf8_write(to, point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
    }
    *length = bytes ? to - bytes : 0;
    return bytes;
}

const char *utf8_of(PyObject *text, Py_ssize_t *length, char **owned) {
    *owned = NULL;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, length);
    if (bytes || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return bytes;
    PyErr_Clear();
    *owned = repaired_utf8(text, length);
    return *owned ? *owned : (const char *)PyErr_NoMemory();
}
