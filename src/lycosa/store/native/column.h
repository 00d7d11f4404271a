#ifndef LYCOSA_STORE_COLUMN_H
#define LYCOSA_STORE_COLUMN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec TEXT_COLUMN;

#endif
