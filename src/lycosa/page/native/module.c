/* The Python side: one function, from a text to what is read of it. */
#include "html.h"

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

/* A text as UTF-8; `owned` is to be freed. */
static const char *utf8_of(PyObject *text, Py_ssize_t *length, char **owned) {
    *owned = NULL;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, length);
    if (bytes || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return bytes;
    PyErr_Clear();
    *owned = repaired_utf8(text, length);
    return *owned ? *owned : (const char *)PyErr_NoMemory();
}

typedef struct {
    PyTypeObject *link_type;
    Span agent;
    size_t max_links, max_depth, max_elements, max_chars;
} Wanted;

static PyObject *read_tree(Tree *tree, const Wanted *wanted) {
    int is_too_large = tree->is_full || (wanted->max_depth < MAX_OPEN && depth_exceeds(tree, (uint32_t)wanted->max_depth));
    put_in_order(tree);
    if (tree->is_full)
        read_rest(tree);
    if (tree->failed)
        return PyErr_NoMemory();
    PyObject *head = read_head(tree, wanted->agent), *links = NULL, *text = NULL;
    if (head)
        links = read_links(tree, wanted->link_type, wanted->max_links, is_too_large ? 0 : wanted->max_chars);
    if (links)
        text = is_too_large ? PyUnicode_FromStringAndSize("", 0) : read_layout(tree);
    if (text)
        return Py_BuildValue("(NNNO)", head, links, text, is_too_large ? Py_True : Py_False);
    Py_XDECREF(head);
    Py_XDECREF(links);
    return NULL;
}

/* Kept between pages; taken by whoever reads, so that nobody shares it. */
static Tree *spare;

static PyObject *html_read(PyObject *module, PyObject *args) {
    PyObject *html, *agent, *link_type;
    Py_ssize_t limits[4], length, agent_length;
    (void)module;
    if (!PyArg_ParseTuple(args, "UUO!nnnn", &html, &agent, &PyType_Type, &link_type, &limits[0], &limits[1], &limits[2],
                          &limits[3]))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)link_type, &PyTuple_Type))
        return PyErr_Format(PyExc_TypeError, "links are tuples");
    for (int i = 0; i < 4; i++)
        if (limits[i] < 0)
            return PyErr_Format(PyExc_ValueError, "limits are not negative");
    const char *name = PyUnicode_AsUTF8AndSize(agent, &agent_length);
    char *owned;
    const char *bytes = name ? utf8_of(html, &length, &owned) : NULL;
    if (!bytes)
        return NULL;
    PyObject *result = NULL;
    Tree *tree = spare ? spare : calloc(1, sizeof *tree);
    spare = NULL;
    Wanted wanted = {(PyTypeObject *)link_type, {name, name + agent_length}, (size_t)limits[0], (size_t)limits[1],
                     (size_t)limits[2], (size_t)limits[3]};
    if (length > UINT32_MAX / 4)
        PyErr_SetString(PyExc_ValueError, "more than a gigabyte of HTML");
    else if (!tree || tree_build(tree, bytes, (size_t)length, wanted.max_elements))
        PyErr_NoMemory();
    else
        result = read_tree(tree, &wanted);
    if (tree)
        tree_trim(tree);
    if (!spare)
        spare = tree;
    else {
        tree_free(tree);
        free(tree);
    }
    free(owned);
    return result;
}

static PyMethodDef module_methods[] = {
    {"read", html_read, METH_VARARGS,
     "read(html, agent, link_type, max_links, max_depth, max_elements, max_anchor_chars): head, links, text, and "
     "whether the page is past the limits"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef html_module = {
    PyModuleDef_HEAD_INIT, "_native", "What a crawl needs of an HTML page.", -1, module_methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    elements_prepare();
    tokens_prepare();
    return references_prepare() ? NULL : PyModule_Create(&html_module);
}
