/* How features become bytes; shared by the files that compute them. */
#ifndef LYCOSA_FEATURES_H
#define LYCOSA_FEATURES_H

#include "content.h"

enum { CONTAINERS = 4 };

/* hints.c: whether a block begins as a hint does. There is none, the block is too short, it does not, it does. */
enum { NO_HINT, SHORT, UNHINTED, HINTED };
/* Their values stand `step` bytes apart. */
int match_hints(const Document *document, uint8_t *in_body, uint8_t *in_description, size_t step);

/* columns.c: rows of whole tiles become columns. There are rows for whole tiles of blocks too, those past `count` zero,
 * as are the ends of rows past `used`. */
enum { TILE = 16 };
_Static_assert(SECOND_COLUMNS % TILE == 0 && SECOND_COLUMNS >= SECOND_FEATURES, "whole tiles");
static inline size_t whole_tiles(size_t count) { return (count + TILE - 1) / TILE * TILE; }
uint8_t *make_rows(size_t count, size_t used, size_t row);
void transpose(const uint8_t *rows, size_t row, size_t count, uint8_t *columns, size_t stride);

/* 12 steps to each doubling. */
static inline uint8_t as_log(uint32_t value) {
    /* Exact as a float, whose bits are the logarithm: the exponent and, of the fraction, sixteenths. */
    float v = (float)(int32_t)(value >= 1u << 20 ? 1u << 20 : value + 1);
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint8_t)(((bits >> 23) - 127) * 12 + ((bits >> 19 & 15) * 12 >> 4));
}

static inline uint8_t as_ratio(float part, float whole) {
    float value = part * (255 / (whole > 0 ? whole : 1));
    return (uint8_t)(int)(value < 255 ? value : 255);
}

static inline uint8_t as_signed(float value) {
    value = value < 127 ? value : 127;
    return (uint8_t)(int)((value > -128 ? value : -128) + 128);
}

/* How many blocks lie between two, and on which side. */
static inline uint8_t as_distance(size_t block, size_t from) {
    return block < from ? as_signed(-(float)as_log((uint32_t)(from - block)))
                        : as_signed(as_log((uint32_t)(block - from)));
}

#endif
