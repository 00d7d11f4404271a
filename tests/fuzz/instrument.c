/* Linked into the extension for fuzzing: which edges of the code a call reached, and allocations that fail.
 *
 * The compiler calls `__sanitizer_cov_trace_pc` at each edge (-fsanitize-coverage=trace-pc), and malloc, calloc, realloc
 * and free of the extension are given the names below (-Dmalloc=…). This file itself is compiled without either. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Edges */

enum { EDGES = 1 << 16 };
static uint8_t hits[EDGES], known[EDGES];
static uintptr_t previous;

void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0);
    uint8_t *hit = &hits[(here ^ previous) & (EDGES - 1)];
    *hit += *hit < 255;
    previous = here >> 1;
}

/* How often is told apart by powers of two: a loop that is gone through once more is nothing new. */
static uint8_t as_bit(uint8_t count) {
    uint8_t bit = 1;
    while (count >>= 1)
        bit = (uint8_t)(bit << 1);
    return bit;
}

/* What the calls since the last question reached and none had reached before. */
size_t new_edges(void) {
    size_t found = 0;
    for (size_t i = 0; i < EDGES; i += sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, hits + i, sizeof eight);
        for (size_t j = i; eight && j < i + sizeof eight; j++) {
            uint8_t bit = hits[j] ? as_bit(hits[j]) : 0;
            found += (bit & ~known[j]) != 0;
            known[j] |= bit;
        }
    }
    memset(hits, 0, sizeof hits);
    previous = 0;
    return found;
}

/* Allocations */

static Py_ssize_t until, failed, live;
static int goes_on;

static int fails(void) {
    if (!until || (--until && !(goes_on && failed)))
        return 0;
    if (goes_on)
        until = 1;
    failed++;
    return 1;
}

void *counted_malloc(size_t size) {
    void *memory = fails() ? NULL : malloc(size);
    live += memory != NULL;
    return memory;
}

void *counted_calloc(size_t count, size_t size) {
    void *memory = fails() ? NULL : calloc(count, size);
    live += memory != NULL;
    return memory;
}

void *counted_realloc(void *old, size_t size) {
    void *memory = fails() ? NULL : realloc(old, size);
    live += memory && !old;
    return memory;
}

void counted_free(void *memory) {
    live -= memory != NULL;
    free(memory);
}

static PyMemAllocatorEx usual[2];
static const PyMemAllocatorDomain DOMAINS[2] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

static void *hooked_malloc(void *to, size_t size) {
    PyMemAllocatorEx *usually = to;
    return fails() ? NULL : usually->malloc(usually->ctx, size);
}

static void *hooked_calloc(void *to, size_t count, size_t size) {
    PyMemAllocatorEx *usually = to;
    return fails() ? NULL : usually->calloc(usually->ctx, count, size);
}

static void *hooked_realloc(void *to, void *old, size_t size) {
    PyMemAllocatorEx *usually = to;
    return fails() ? NULL : usually->realloc(usually->ctx, old, size);
}

static void hooked_free(void *to, void *memory) {
    PyMemAllocatorEx *usually = to;
    usually->free(usually->ctx, memory);
}

/* Calls with the `at`-th allocation failing, the extension's own and Python's counted together, or with all from there
 * on; at 0 none fails. */
PyObject *call_with_failure(PyObject *callable, PyObject *arguments, Py_ssize_t at, int all) {
    for (int i = 0; i < 2; i++) {
        PyMemAllocatorEx hooked = {&usual[i], hooked_malloc, hooked_calloc, hooked_realloc, hooked_free};
        PyMem_GetAllocator(DOMAINS[i], &usual[i]);
        PyMem_SetAllocator(DOMAINS[i], &hooked);
    }
    failed = 0;
    goes_on = all;
    until = at;
    PyObject *result = PyObject_Call(callable, arguments, NULL);
    until = 0;
    for (int i = 0; i < 2; i++)
        PyMem_SetAllocator(DOMAINS[i], &usual[i]);
    return result;
}

Py_ssize_t failures(void) { return failed; }
/* Allocations of the extension that were not given back. */
Py_ssize_t live_allocations(void) { return live; }
