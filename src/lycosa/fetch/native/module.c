/* The head of an answer in one pass, where it is as plain as nearly all are: the fast half of head.py. Whatever is odd
 * in any way (interim answers, folded lines, other protocols, any other character, too much of anything) is left to it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct {
    const char *at;
    Py_ssize_t bytes;
} Text;

static Text text_of(PyObject *line) { return (Text){PyBytes_AS_STRING(line), PyBytes_GET_SIZE(line)}; }

static int is_blank(Text line) {
    return (line.bytes == 2 && line.at[0] == '\r' && line.at[1] == '\n') || (line.bytes == 1 && line.at[0] == '\n');
}

static int is_digit(char character) { return character >= '0' && character <= '9'; }

/* Of `HTTP/1.1 200 ...`; 0 for any other line, and for interim answers. */
static long status_of(Text line) {
    const char *at = line.at;
    if (line.bytes < 13 || memcmp(at, "HTTP/1.1 ", 9) || !is_digit(at[9]) || !is_digit(at[10]) || !is_digit(at[11]) ||
        (at[12] != ' ' && at[12] != '\r' && at[12] != '\n'))
        return 0;
    long status = (at[9] - '0') * 100 + (at[10] - '0') * 10 + (at[11] - '0');
    return status >= 200 ? status : 0;
}

static Text stripped(Text text) {
    while (text.bytes && text.at[0] == ' ')
        text.at++, text.bytes--;
    while (text.bytes && text.at[text.bytes - 1] == ' ')
        text.bytes--;
    return text;
}

static PyObject *string_of(Text text, int is_lowered) {
    PyObject *string = PyUnicode_New(text.bytes, 127);
    if (!string)
        return NULL;
    char *to = (char *)PyUnicode_1BYTE_DATA(string);
    for (Py_ssize_t at = 0; at < text.bytes; at++)
        to[at] = is_lowered && text.at[at] >= 'A' && text.at[at] <= 'Z' ? text.at[at] + ('a' - 'A') : text.at[at];
    return string;
}

/* Whether a header line is plain; its name and value. */
static int is_plain(Text line, Text *name, Text *value) {
    if (line.bytes && line.at[line.bytes - 1] == '\n')
        line.bytes--;
    if (line.bytes && line.at[line.bytes - 1] == '\r')
        line.bytes--;
    if (!line.bytes || line.at[0] == ' ')
        return 0;
    for (Py_ssize_t at = 0; at < line.bytes; at++)
        if (line.at[at] < 0x20 || line.at[at] > 0x7e)
            return 0;
    const char *colon = memchr(line.at, ':', (size_t)line.bytes);
    Py_ssize_t name_bytes = colon ? colon - line.at : line.bytes;
    *name = stripped((Text){line.at, name_bytes});
    *value = colon ? stripped((Text){colon + 1, line.bytes - name_bytes - 1}) : (Text){line.at, 0};
    return 1;
}

/* A pair of name and value; NULL without an exception for a line that is not plain. */
static PyObject *header_of(Text line) {
    Text name, value;
    if (!is_plain(line, &name, &value))
        return NULL;
    PyObject *pair = PyTuple_New(2), *key = string_of(name, 1), *told = string_of(value, 0);
    if (!pair || !key || !told) {
        Py_XDECREF(pair);
        Py_XDECREF(key);
        Py_XDECREF(told);
        return NULL;
    }
    PyTuple_SET_ITEM(pair, 0, key);
    PyTuple_SET_ITEM(pair, 1, told);
    return pair;
}

/* How many lines the head has, with the blank one; 0 if it has no end, or is longer than allowed. */
static Py_ssize_t count_lines(PyObject *lines, const Py_ssize_t limits[3], Py_ssize_t *total) {
    *total = 0;
    for (Py_ssize_t at = 0, count = PyList_GET_SIZE(lines); at < count && at <= limits[0] + 1; at++) {
        PyObject *item = PyList_GET_ITEM(lines, at);
        if (!PyBytes_Check(item) || PyBytes_GET_SIZE(item) > limits[2])
            return 0;
        *total += PyBytes_GET_SIZE(item);
        if (*total > limits[1])
            return 0;
        if (is_blank(text_of(item)))
            return at + 1;
    }
    return 0;
}

static PyObject *headers_of(PyObject *lines, Py_ssize_t count) {
    PyObject *headers = PyList_New(count - 2);
    if (!headers)
        return NULL;
    for (Py_ssize_t at = 1; at < count - 1; at++) {
        PyObject *header = header_of(text_of(PyList_GET_ITEM(lines, at)));
        if (!header) {
            Py_DECREF(headers);
            return NULL;
        }
        PyList_SET_ITEM(headers, at - 1, header);
    }
    return headers;
}

static PyObject *joined(PyObject *lines, Py_ssize_t count, Py_ssize_t total) {
    PyObject *whole = PyBytes_FromStringAndSize(NULL, total);
    if (!whole)
        return NULL;
    char *to = PyBytes_AS_STRING(whole);
    for (Py_ssize_t at = 0; at < count; at++) {
        Text line = text_of(PyList_GET_ITEM(lines, at));
        memcpy(to, line.at, (size_t)line.bytes);
        to += line.bytes;
    }
    return whole;
}

static PyObject *plain_head(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *lines;
    Py_ssize_t limits[3], total;
    if (!PyArg_ParseTuple(arguments, "O!nnn", &PyList_Type, &lines, &limits[0], &limits[1], &limits[2]))
        return NULL;
    Py_ssize_t count = limits[0] < PY_SSIZE_T_MAX - 1 ? count_lines(lines, limits, &total) : 0;
    long status = count > 1 ? status_of(text_of(PyList_GET_ITEM(lines, 0))) : 0;
    if (!status)
        Py_RETURN_NONE;
    PyObject *headers = headers_of(lines, count);
    if (!headers && PyErr_Occurred())
        return NULL;
    if (!headers)
        Py_RETURN_NONE;
    PyObject *raw = joined(lines, count, total);
    if (!raw) {
        Py_DECREF(headers);
        return NULL;
    }
    return Py_BuildValue("lNN", status, headers, raw);
}

static PyMethodDef METHODS[] = {
    {"plain_head", plain_head, METH_VARARGS,
     "plain_head(lines, max_lines, max_bytes, max_line_bytes) -> status, headers and bytes; None if it is not plain"},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
