/* Cash of URLs, and the links of visited pages: what `importance.py` gives and answers is computed here.
 *
 * Fingerprints are numbers, big end first: the first two bytes stand for the host, the other six for the URL. */
#ifndef LYCOSA_CASH_H
#define LYCOSA_CASH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { WAYS = 8, ID_BITS = 48, LEAST_BITS = 16, HOSTS = 1 << 16 };
enum { USED = 0x40, VISITED = 0x80, CLASS = 0x0F };

/* table.c: buckets of eight places. A URL's bucket follows from its fingerprint; in a full one, who has least leaves. */

typedef struct {
    uint32_t tags[WAYS];
    float cash[WAYS];
    uint8_t linking[WAYS]; /* a bit for each eighth of all hosts that link to it */
    uint8_t state[WAYS];   /* 0 if nobody has the place; else in use, visited or not, and the class */
} Bucket;

typedef struct {
    Bucket *buckets;
    unsigned bits, most_bits;
    size_t used;
} Table;

typedef struct {
    Bucket *bucket; /* NULL: there is no place */
    int way;
} Place;

int table_begin(Table *table, size_t max_bytes);
size_t table_bytes(const Table *table);
Place table_find(const Table *table, uint64_t mark);
/* For one that has none. `left`, `left_cash`: state and cash of who had to leave. Everybody may stand elsewhere after. */
Place table_make(Table *table, uint64_t mark, uint8_t *left, float *left_cash);

/* remembered.c: the links of visited pages, and which of those have most to pass on. */

typedef struct {
    uint64_t mark, *links;
    uint32_t count;
    float got;    /* the most that it had at once, fading */
    float queued; /* with how much it stands in the heap; 0: it does not */
} Page;

typedef struct {
    float amount;
    uint32_t page;
} Turn;

typedef struct {
    Page *pages;
    size_t page_count, page_room;
    uint32_t *places; /* one more than an index of pages, by mark; 0: free */
    size_t mask;
    Turn *heap;
    size_t heap_count, heap_room;
    size_t size, max_size; /* in links */
} Remembered;

void remembered_end(Remembered *remembered);
int remember(Remembered *remembered, uint64_t mark, const uint64_t *links, size_t count, float cash);
int remembered_note(Remembered *remembered, uint64_t mark, float cash);
/* The page that has most to pass on, which leaves the heap; NULL if none has so much. */
const Page *remembered_richest(Remembered *remembered, float least);

#endif
