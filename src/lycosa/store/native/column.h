#ifndef LYCOSA_STORE_COLUMN_H
#define LYCOSA_STORE_COLUMN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *text_column(PyObject *module, PyObject *values);

#endif
