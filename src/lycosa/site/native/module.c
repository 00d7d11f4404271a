/* The compiled parts of what is noted of a site, for every page that is visited. */
#include "site.h"

static int fill(PyObject *module) {
    PyObject *type = PyType_FromSpec(&LINES);
    int failed = !type || PyModule_AddObjectRef(module, "Lines", type);
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyMethodDef METHODS[] = {
    {"link_bits", link_bits, METH_VARARGS, "link_bits(targets, origin, names, most) -> 512 bits"},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, fill}, {0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, METHODS, SLOTS, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
