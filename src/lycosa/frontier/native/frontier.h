/* What the frontier does for each link that is found: the twins of arrivals.py and bloom.py. */
#ifndef LYCOSA_FRONTIER_H
#define LYCOSA_FRONTIER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { FINGERPRINT_BYTES = 8, MAX_HOST = 1024 };

typedef struct {
    const uint8_t *at, *end;
} Span;

static inline size_t length_of(Span span) { return (size_t)(span.end - span.at); }

/* reading.c: targets as messages have them. */

enum { FIRST_RANK_OF_DOUBT = 11, LAST_RANK = 14, HIGHEST_CLASS = 10 };

typedef struct {
    Span whole, url, host, fingerprint, referrer;
    size_t origin_length, tail_at; /* of the URL: scheme, host and port; and where that is other than the host alone */
    uint64_t depth, priority, deferred;
    unsigned rank;
    int is_https, is_plain; /* nothing is to be said of it but these */
} Target;

/* The targets of a message that are still to be read; -1 if these bytes are none. */
int begin_targets(Span *bytes, size_t *count);
/* The next of them; -1 if these bytes are none. */
int read_target(Span *bytes, Target *target);
/* A plain target as it stands in its queue; a new reference, or NULL. */
PyObject *write_entry(const Target *target);

/* arrivals.c, bloom.c: the functions of the module. */

PyObject *named_in(PyObject *module, PyObject *messages);
PyObject *arriving(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *bloom_patterns(PyObject *module, PyObject *arguments);
PyObject *bloom_has(PyObject *module, PyObject *arguments);
PyObject *bloom_add(PyObject *module, PyObject *arguments);

#endif
