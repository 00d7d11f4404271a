/* What the Python side shares with the search that is fed by the reader of pages. */
#ifndef LYCOSA_MODEL_H
#define LYCOSA_MODEL_H

#include "content.h"

/* NULL if the object is no Model. */
const Model *model_of(PyObject *object);
/* The texts found, in the order of `Found` in extract.py. Without `has_all`, of the page's text there is only the head,
 * and only where labels may be. */
PyObject *find_content(const Model *model, Document *document, int has_all, PyObject **why);

#endif
