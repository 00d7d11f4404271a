/* How features become bytes; shared by the files that compute them. */
#ifndef LYCOSA_FEATURES_H
#define LYCOSA_FEATURES_H

#include "content.h"

enum { CONTAINERS = 4 };

/* hints.c: whether a block begins as a hint does. There is none, the block is too short, it does not, it does. */
enum { NO_HINT, SHORT, UNHINTED, HINTED };
int match_hints(const Document *document, uint8_t *in_body, uint8_t *in_description);

/* 12 steps to each doubling. */
static inline uint8_t as_log(uint32_t value) {
    uint32_t v = value >= 1u << 20 ? 1u << 20 : value + 1;
    int exponent = 31 - __builtin_clz(v);
    uint32_t fraction = exponent >= 4 ? v >> (exponent - 4) & 15 : v << (4 - exponent) & 15;
    return (uint8_t)(exponent * 12 + (int)(fraction * 12 >> 4));
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
