/* The Python side: one function, from a text to what is read of it. */
#include "html.h"

/* What was last asked about is read next, and needs no second look. */
static PyObject *known_utf8;

/* A text, or the UTF-8 bytes of one. */
static const char *source_bytes(PyObject *source, Py_ssize_t *length, char **owned) {
    *owned = NULL;
    if (!PyBytes_Check(source))
        return PyUnicode_Check(source)
                   ? utf8_of(source, length, owned)
                   : (const char *)PyErr_Format(PyExc_TypeError, "a text or bytes, not %s", Py_TYPE(source)->tp_name);
    *length = PyBytes_GET_SIZE(source);
    const char *bytes = PyBytes_AS_STRING(source);
    if (source == known_utf8 || is_utf8(bytes, (size_t)*length))
        return bytes;
    PyErr_SetString(PyExc_ValueError, "bytes that are not UTF-8");
    return NULL;
}

/* How many steps the last page took beyond those that its length explains. */
static size_t last_steps;

/* Kept between pages; taken by whoever reads, so that nobody shares it. */
static Tree *spare;

static Tree *take_tree(void) {
    Tree *tree = spare ? spare : calloc(1, sizeof *tree);
    spare = NULL;
    return tree;
}

static void give_back(Tree *tree) {
    tree_trim(tree);
    if (!spare) {
        spare = tree;
        return;
    }
    tree_free(tree);
    free(tree);
}

/* The arguments of `read`, in this order. */
enum { HTML, AGENT, LINK_TYPE, MAX_LINKS, MAX_DEPTH, MAX_ELEMENTS, MAX_CHARS, MODEL, ARGUMENTS };

typedef struct {
    PyTypeObject *link_type;
    const Model *model; /* or NULL */
    Span agent;
    size_t limits[ARGUMENTS];
} Wanted;

static int read_arguments(Wanted *wanted, PyObject *const *given, Py_ssize_t count) {
    if (count != ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "%d arguments, not %zd", ARGUMENTS, count);
        return -1;
    }
    Py_ssize_t length;
    const char *agent = PyUnicode_AsUTF8AndSize(given[AGENT], &length);
    if (!agent)
        return -1;
    wanted->agent = (Span){agent, agent + length};
    wanted->link_type = (PyTypeObject *)given[LINK_TYPE];
    if (!PyType_Check(given[LINK_TYPE]) || !PyType_IsSubtype(wanted->link_type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "links are tuples");
        return -1;
    }
    for (int i = MAX_LINKS; i <= MAX_CHARS; i++) {
        wanted->limits[i] = PyLong_AsSize_t(given[i]);
        if (PyErr_Occurred())
            return -1;
    }
    wanted->model = model_of(given[MODEL]);
    if (!wanted->model && !Py_IsNone(given[MODEL])) {
        PyErr_SetString(PyExc_TypeError, "the model is none");
        return -1;
    }
    return 0;
}

/* `search`: for main content, or NULL. */
static PyObject *read_tree(Tree *tree, Search *search, const Wanted *wanted) {
    size_t max_depth = wanted->limits[MAX_DEPTH];
    int is_too_large = tree->is_full || (max_depth < MAX_OPEN && depth_exceeds(tree, (uint32_t)max_depth));
    put_in_order(tree);
    if (tree->is_full)
        read_rest(tree);
    if (tree->failed)
        return PyErr_NoMemory();
    PyObject *head = read_head(tree, wanted->agent), *links = NULL, *text = NULL, *headings = NULL, *found = NULL;
    if (head)
        links = read_links(tree, wanted->link_type, wanted->limits[MAX_LINKS],
                           is_too_large ? 0 : wanted->limits[MAX_CHARS]);
    if (links && is_too_large) {
        text = PyUnicode_FromStringAndSize("", 0);
        headings = Py_XNewRef(text);
    } else if (links)
        text = read_layout(tree, &headings);
    if (text)
        found = search && !is_too_large ? search_found(search) : Py_NewRef(Py_None);
    if (found)
        return Py_BuildValue("(NNNNON)", head, links, text, headings, is_too_large ? Py_True : Py_False, found);
    Py_XDECREF(head);
    Py_XDECREF(links);
    Py_XDECREF(text);
    Py_XDECREF(headings);
    return NULL;
}

static PyObject *html_read(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    Wanted wanted;
    Py_ssize_t length;
    char *owned = NULL;
    (void)module;
    if (read_arguments(&wanted, given, count))
        return NULL;
    const char *bytes = source_bytes(given[HTML], &length, &owned);
    if (!bytes)
        return NULL;
    PyObject *result = NULL;
    Search *search = wanted.model ? search_begin(wanted.model) : NULL;
    Tree *tree = take_tree();
    if (length > UINT32_MAX / 4)
        PyErr_SetString(PyExc_ValueError, "more than a gigabyte of HTML");
    else if (!tree || (wanted.model && !search) ||
             tree_build(tree, bytes, (size_t)length, wanted.limits[MAX_ELEMENTS], search))
        PyErr_NoMemory();
    else
        result = read_tree(tree, search, &wanted);
    last_steps = (tree ? tree->steps : 0) + (search ? search_steps(search) : 0);
    if (search)
        search_free(search);
    if (tree)
        give_back(tree);
    free(owned);
    Py_CLEAR(known_utf8);
    return result;
}

static PyObject *html_is_utf8(PyObject *module, PyObject *body) {
    (void)module;
    if (!PyBytes_Check(body))
        return PyErr_Format(PyExc_TypeError, "bytes, not %s", Py_TYPE(body)->tp_name);
    int is_known = is_utf8(PyBytes_AS_STRING(body), (size_t)PyBytes_GET_SIZE(body));
    Py_XSETREF(known_utf8, is_known ? Py_NewRef(body) : NULL);
    return PyBool_FromLong(is_known);
}

static PyObject *html_steps(PyObject *module, PyObject *ignored) {
    (void)module;
    (void)ignored;
    return PyLong_FromSize_t(last_steps);
}

static PyMethodDef module_methods[] = {
    {"is_utf8", html_is_utf8, METH_O, "is_utf8(body): whether bytes are UTF-8 without an error"},
    {"read", (PyCFunction)(void (*)(void))html_read, METH_FASTCALL,
     "read(html, agent, link_type, max_links, max_depth, max_elements, max_chars, model): head, links, text, headings, "
     "whether the page is past the limits, and what the search for main content found"},
    {"steps", html_steps, METH_NOARGS, "steps(): how many the last page took in looking through what was open"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef html_module = {
    PyModuleDef_HEAD_INIT, "_native", "What a crawl needs of an HTML page.", -1, module_methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    elements_prepare();
    tokens_prepare();
    PyObject *module = references_prepare() ? NULL : PyModule_Create(&html_module);
    if (module && add_search(module))
        Py_CLEAR(module);
    return module;
}
