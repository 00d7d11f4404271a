/* What the compiled parts of a site's notes have in common. */
#ifndef LYCOSA_SITE_H
#define LYCOSA_SITE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define BASE 0x9E3779B97F4A7C15u

/* A number whose bits all depend on all bits of another. */
static inline uint64_t mixed(uint64_t number) {
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

/* lines.c: the lines that the pages of a site had. */
extern PyType_Spec LINES;

/* links.c: where a page leads, each link as one of some bits. */
PyObject *link_bits(PyObject *module, PyObject *arguments);

#endif
