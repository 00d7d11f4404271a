/* The compiled parts of keeping a page: digests, a record as bytes (the twin of digest.py; what stands in the header of
 * a record is decided in warc.py), and the texts of a column (see column.c). */
#include "column.h"
#include "sha1.h"

enum { BASE32_LETTERS = 32 };

static int knows_sha1;

static void write_base32(const uint8_t digest[SHA1_BYTES], char *to) {
    for (int group = 0; group < SHA1_BYTES / 5; group++) {
        uint64_t bits = 0;
        for (int at = 0; at < 5; at++)
            bits = bits << 8 | digest[5 * group + at];
        for (int letter = 7; letter >= 0; letter--, bits >>= 5)
            to[8 * group + letter] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[bits & 31];
    }
}

static int is_digest(PyObject *digest) {
    if (PyBytes_Check(digest) && PyBytes_GET_SIZE(digest) == SHA1_BYTES)
        return 1;
    PyErr_SetString(PyExc_ValueError, "not a SHA-1");
    return 0;
}

static const uint8_t *bytes_of(PyObject *object) { return (const uint8_t *)PyBytes_AS_STRING(object); }

static PyObject *base32(PyObject *module, PyObject *digest) {
    (void)module;
    if (!is_digest(digest))
        return NULL;
    PyObject *text = PyUnicode_New(BASE32_LETTERS, 127);
    if (text)
        write_base32(bytes_of(digest), (char *)PyUnicode_1BYTE_DATA(text));
    return text;
}

static PyObject *digests(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *body, *head, *raw;
    if (!PyArg_ParseTuple(arguments, "SSS", &body, &head, &raw))
        return NULL;
    if (!knows_sha1) {
        PyErr_SetString(PyExc_RuntimeError, "this processor has no instructions for SHA-1");
        return NULL;
    }
    const Message messages[2] = {
        {NULL, 0, bytes_of(body), (size_t)PyBytes_GET_SIZE(body)},
        {bytes_of(head), (size_t)PyBytes_GET_SIZE(head), bytes_of(raw), (size_t)PyBytes_GET_SIZE(raw)},
    };
    uint8_t found[2][SHA1_BYTES];
    sha1_both(messages, found);
    return Py_BuildValue("y#y#", found[0], (Py_ssize_t)SHA1_BYTES, found[1], (Py_ssize_t)SHA1_BYTES);
}

static char *put(char *to, const void *from, Py_ssize_t bytes) {
    if (bytes)
        memcpy(to, from, (size_t)bytes);
    return to + bytes;
}

static PyObject *record(PyObject *module, PyObject *arguments) {
    (void)module;
    static const char first[] = "WARC/1.1\r\n", named[] = "WARC-Block-Digest: sha1:";
    PyObject *fields, *digest, *head, *body;
    if (!PyArg_ParseTuple(arguments, "USSS", &fields, &digest, &head, &body) || !is_digest(digest))
        return NULL;
    Py_ssize_t fields_bytes, head_bytes = PyBytes_GET_SIZE(head), body_bytes = PyBytes_GET_SIZE(body);
    const char *text = PyUnicode_AsUTF8AndSize(fields, &fields_bytes);
    if (!text)
        return NULL;
    char length[64];
    int length_bytes = snprintf(length, sizeof length, "\r\nContent-Length: %zd\r\n\r\n", head_bytes + body_bytes);
    Py_ssize_t fixed = (Py_ssize_t)(sizeof first - 1 + sizeof named - 1) + BASE32_LETTERS + length_bytes + 4;
    if (body_bytes > PY_SSIZE_T_MAX - fixed - fields_bytes - head_bytes)
        return PyErr_NoMemory();
    PyObject *whole = PyBytes_FromStringAndSize(NULL, fixed + fields_bytes + head_bytes + body_bytes);
    if (!whole)
        return NULL;
    char *to = put(PyBytes_AS_STRING(whole), first, sizeof first - 1);
    to = put(put(to, text, fields_bytes), named, sizeof named - 1);
    write_base32(bytes_of(digest), to);
    to = put(to + BASE32_LETTERS, length, length_bytes);
    to = put(put(to, bytes_of(head), head_bytes), bytes_of(body), body_bytes);
    put(to, "\r\n\r\n", 4);
    return whole;
}

static int fill(PyObject *module) {
    knows_sha1 = has_sha1();
    PyObject *type = PyType_FromSpec(&TEXT_COLUMN);
    int failed = !type || PyModule_AddObjectRef(module, "TextColumn", type);
    Py_XDECREF(type);
    return failed ? -1 : PyModule_AddIntConstant(module, "HAS_SHA1", knows_sha1);
}

static PyMethodDef METHODS[] = {
    {"base32", base32, METH_O, "base32(digest) -> 32 letters"},
    {"digests", digests, METH_VARARGS, "digests(body, head, raw) -> those of the body, and of head and raw"},
    {"record", record, METH_VARARGS, "record(fields, digest, head, body) -> a WARC record"},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, fill}, {0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, METHODS, SLOTS, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
