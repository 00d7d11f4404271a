/* A round of SHA-1 waits for the one before it, so that the processor idles for half of the time: two messages at once
 * take hardly longer than one. */
#include "sha1.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

enum { BLOCK = 64, TAIL = 2 * BLOCK };
#define WITH_SHA __attribute__((target("sha,sse4.1")))

/* To be asked once: on a virtual machine an answer takes 10 µs. */
int has_sha1(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1u << 29)))
        return 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 19));
}

typedef struct {
    __m128i abcd, e;
} State;

/* Four rounds of each lane; the words of the message are made as they are needed. */
#define ROUNDS(group)                                                                                                  \
    for (int lane = 0; lane < LANES; lane++) {                                                                         \
        __m128i *w = words[lane];                                                                                      \
        if (group >= 4)                                                                                                \
            w[group & 3] = _mm_sha1msg2_epu32(                                                                         \
                _mm_xor_si128(_mm_sha1msg1_epu32(w[group & 3], w[(group + 1) & 3]), w[(group + 2) & 3]),               \
                w[(group + 3) & 3]);                                                                                   \
        __m128i e = group ? _mm_sha1nexte_epu32(before[lane], w[group & 3])                                            \
                          : _mm_add_epi32(states[lane].e, w[0]);                                                       \
        before[lane] = abcd[lane];                                                                                     \
        abcd[lane] = _mm_sha1rnds4_epu32(abcd[lane], e, group / 5);                                                    \
    }

#define BLOCKS_OF(name, lanes)                                                                                         \
    WITH_SHA static void name(State *states, const uint8_t **data, size_t blocks) {                                    \
        enum { LANES = lanes };                                                                                        \
        const __m128i order = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);                                  \
        for (; blocks; blocks--) {                                                                                     \
            __m128i words[LANES][4], abcd[LANES], before[LANES];                                                       \
            for (int lane = 0; lane < LANES; lane++) {                                                                 \
                for (int part = 0; part < 4; part++)                                                                   \
                    words[lane][part] =                                                                                \
                        _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data[lane] + 16 * part)), order);           \
                abcd[lane] = before[lane] = states[lane].abcd;                                                         \
                data[lane] += BLOCK;                                                                                   \
            }                                                                                                          \
            ROUNDS(0) ROUNDS(1) ROUNDS(2) ROUNDS(3) ROUNDS(4) ROUNDS(5) ROUNDS(6) ROUNDS(7) ROUNDS(8) ROUNDS(9)        \
            ROUNDS(10) ROUNDS(11) ROUNDS(12) ROUNDS(13) ROUNDS(14) ROUNDS(15) ROUNDS(16) ROUNDS(17) ROUNDS(18)         \
            ROUNDS(19)                                                                                                 \
            for (int lane = 0; lane < LANES; lane++) {                                                                 \
                states[lane].e = _mm_sha1nexte_epu32(before[lane], states[lane].e);                                    \
                states[lane].abcd = _mm_add_epi32(states[lane].abcd, abcd[lane]);                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

BLOCKS_OF(blocks_of_one, 1)
BLOCKS_OF(blocks_of_two, 2)

/* A message as blocks: those where head and body meet, those within the body, and those with the padding. */
typedef struct {
    uint8_t seam[TAIL], tail[TAIL];
    size_t seam_blocks, whole_blocks, tail_blocks;
    const uint8_t *whole;
} Blocks;

/* The head, and as much of the body as fills its last block; heads longer than the seam are begun here. */
WITH_SHA static void lay_out(const Message *message, State *state, Blocks *to) {
    const uint8_t *head = message->head, *body = message->body;
    size_t head_bytes = message->head_bytes, body_bytes = message->body_bytes;
    if (head_bytes >= BLOCK) {
        size_t blocks = head_bytes / BLOCK;
        blocks_of_one(state, &head, blocks);
        head_bytes -= blocks * BLOCK;
    }
    to->seam_blocks = 0;
    if (head_bytes && head_bytes + body_bytes >= BLOCK) {
        memcpy(to->seam, head, head_bytes);
        memcpy(to->seam + head_bytes, body, BLOCK - head_bytes);
        body += BLOCK - head_bytes;
        body_bytes -= BLOCK - head_bytes;
        head_bytes = 0;
        to->seam_blocks = 1;
    }
    to->whole = body;
    to->whole_blocks = head_bytes ? 0 : body_bytes / BLOCK;
    body += to->whole_blocks * BLOCK;
    body_bytes -= to->whole_blocks * BLOCK;
    size_t left = head_bytes + body_bytes;
    to->tail_blocks = left < BLOCK - 8 ? 1 : 2;
    memset(to->tail, 0, sizeof to->tail);
    if (head_bytes)
        memcpy(to->tail, head, head_bytes);
    if (body_bytes)
        memcpy(to->tail + head_bytes, body, body_bytes);
    to->tail[left] = 0x80;
    uint64_t bits = (uint64_t)(message->head_bytes + message->body_bytes) * 8;
    for (int at = 0; at < 8; at++)
        to->tail[to->tail_blocks * BLOCK - 1 - at] = (uint8_t)(bits >> (8 * at));
}

WITH_SHA void sha1_both(const Message messages[2], uint8_t digests[2][SHA1_BYTES]) {
    State states[2];
    Blocks blocks[2];
    const uint8_t *data[2];
    size_t left[2];
    for (int lane = 0; lane < 2; lane++) {
        states[lane].abcd = _mm_set_epi32(0x67452301, (int)0xEFCDAB89, (int)0x98BADCFE, 0x10325476);
        states[lane].e = _mm_set_epi32((int)0xC3D2E1F0, 0, 0, 0);
        lay_out(&messages[lane], &states[lane], &blocks[lane]);
        data[lane] = blocks[lane].seam;
        blocks_of_one(&states[lane], &data[lane], blocks[lane].seam_blocks);
        data[lane] = blocks[lane].whole;
        left[lane] = blocks[lane].whole_blocks;
    }
    size_t both = left[0] < left[1] ? left[0] : left[1];
    blocks_of_two(states, data, both);
    for (int lane = 0; lane < 2; lane++) {
        blocks_of_one(&states[lane], &data[lane], left[lane] - both);
        const uint8_t *tail = blocks[lane].tail;
        blocks_of_one(&states[lane], &tail, blocks[lane].tail_blocks);
        uint32_t words[5];
        _mm_storeu_si128((__m128i *)words, _mm_shuffle_epi32(states[lane].abcd, 0x1B));
        words[4] = (uint32_t)_mm_extract_epi32(states[lane].e, 3);
        for (int word = 0; word < 5; word++)
            for (int at = 0; at < 4; at++)
                digests[lane][4 * word + at] = (uint8_t)(words[word] >> (24 - 8 * at));
    }
}

#else

int has_sha1(void) { return 0; }

void sha1_both(const Message messages[2], uint8_t digests[2][SHA1_BYTES]) {
    (void)messages;
    memset(digests, 0, 2 * SHA1_BYTES);
}

#endif
