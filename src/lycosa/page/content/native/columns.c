/* Rows of bytes to columns, a tile of sixteen times sixteen at a time. */
#include "features.h"
#ifdef __SSE2__
#include <emmintrin.h>

/* Each turn puts the first half of the lines between the second; after four of them rows are columns. */
static void turn(__m128i *lines) {
    __m128i mixed[TILE];
    for (int i = 0; i < TILE / 2; i++) {
        mixed[2 * i] = _mm_unpacklo_epi8(lines[i], lines[i + TILE / 2]);
        mixed[2 * i + 1] = _mm_unpackhi_epi8(lines[i], lines[i + TILE / 2]);
    }
    memcpy(lines, mixed, sizeof mixed);
}

static void transpose_tile(const uint8_t *rows, size_t row, uint8_t *columns, size_t stride) {
    __m128i lines[TILE];
    for (int i = 0; i < TILE; i++)
        lines[i] = _mm_loadu_si128((const __m128i *)(const void *)(rows + (size_t)i * row));
    for (int i = 0; i < 4; i++)
        turn(lines);
    for (int i = 0; i < TILE; i++)
        _mm_storeu_si128((__m128i *)(void *)(columns + (size_t)i * stride), lines[i]);
}
#else
static void transpose_tile(const uint8_t *rows, size_t row, uint8_t *columns, size_t stride) {
    for (size_t i = 0; i < TILE; i++)
        for (size_t j = 0; j < TILE; j++)
            columns[j * stride + i] = rows[i * row + j];
}
#endif

uint8_t *make_rows(size_t count, size_t used, size_t row) {
    size_t whole = whole_tiles(count) * row;
    uint8_t *rows = malloc(whole + 1);
    if (!rows)
        return NULL;
    for (size_t b = 0; b < count; b++)
        memset(rows + b * row + used, 0, row - used);
    memset(rows + count * row, 0, whole - count * row);
    return rows;
}

void transpose(const uint8_t *rows, size_t row, size_t count, uint8_t *columns, size_t stride) {
    for (size_t b = 0; b < count; b += TILE)
        for (size_t f = 0; f < row; f += TILE)
            transpose_tile(rows + b * row + f, row, columns + f * stride + b, stride);
}
