/* Ten bytes a place, and never more than was allowed. */
#include "cash.h"

static uint64_t id_of(uint64_t mark) { return mark & (((uint64_t)1 << ID_BITS) - 1); }

int table_begin(Table *table, size_t max_bytes) {
    table->bits = table->most_bits = LEAST_BITS;
    while (table->most_bits < ID_BITS - 1 && sizeof(Bucket) << (table->most_bits + 1) <= max_bytes)
        table->most_bits++;
    table->buckets = PyMem_RawCalloc((size_t)1 << table->bits, sizeof(Bucket));
    if (!table->buckets)
        PyErr_NoMemory();
    return table->buckets ? 0 : -1;
}

size_t table_bytes(const Table *table) { return sizeof(Bucket) << table->bits; }

static Bucket *bucket_of(const Table *table, uint64_t mark) {
    return &table->buckets[id_of(mark) >> (ID_BITS - table->bits)];
}

/* The first sixteen bits are told by the bucket, the rest is kept: so a bucket can be halved without its URLs. */
Place table_find(const Table *table, uint64_t mark) {
    Bucket *bucket = bucket_of(table, mark);
    for (int way = 0; way < WAYS; way++)
        if (bucket->tags[way] == (uint32_t)mark && bucket->state[way])
            return (Place){bucket, way};
    return (Place){NULL, 0};
}

static void move(Bucket *from, int way, Bucket *to, int at) {
    to->tags[at] = from->tags[way];
    to->cash[at] = from->cash[way];
    to->linking[at] = from->linking[way];
    to->state[at] = from->state[way];
}

/* Every bucket becomes two: the next bit of whoever stands there, which its tag has, tells in which. */
static void grow(Table *table) {
    uint32_t bit = (uint32_t)1 << (ID_BITS - table->bits - 1);
    Bucket *wider = PyMem_RawCalloc((size_t)2 << table->bits, sizeof(Bucket));
    if (!wider) { /* it goes on as it is: that is allowed, too */
        table->most_bits = table->bits;
        return;
    }
    for (size_t i = 0; i < (size_t)1 << table->bits; i++) {
        int counts[2] = {0, 0};
        for (int way = 0; way < WAYS; way++)
            if (table->buckets[i].state[way]) {
                int half = (table->buckets[i].tags[way] & bit) != 0;
                move(&table->buckets[i], way, &wider[2 * i + (size_t)half], counts[half]++);
            }
    }
    PyMem_RawFree(table->buckets);
    table->buckets = wider;
    table->bits++;
}

Place table_make(Table *table, uint64_t mark, uint8_t *left, float *left_cash) {
    if (table->bits < table->most_bits && table->used > ((size_t)WAYS << table->bits) / 5 * 3)
        grow(table);
    Bucket *bucket = bucket_of(table, mark);
    int poorest = 0;
    for (int way = 0; way < WAYS && bucket->state[poorest]; way++)
        if (!bucket->state[way] || bucket->cash[way] < bucket->cash[poorest])
            poorest = way;
    *left = bucket->state[poorest];
    *left_cash = bucket->cash[poorest];
    table->used += !*left;
    bucket->tags[poorest] = (uint32_t)mark;
    bucket->cash[poorest] = 0;
    bucket->linking[poorest] = 0;
    bucket->state[poorest] = USED;
    return (Place){bucket, poorest};
}
