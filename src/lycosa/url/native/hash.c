/* BLAKE2b under a key (RFC 7693), of short texts: what Python's hashlib gives, without objects. */
#include "links.h"

enum { BLOCK_BYTES = 128, ROUNDS = 12 };

static const uint64_t START[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
                                  0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};

static const uint8_t ORDER[ROUNDS][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

static inline uint64_t turned(uint64_t number, int by) { return number >> by | number << (64 - by); }

static inline uint64_t number_at(const uint8_t *at) {
    uint64_t number;
    memcpy(&number, at, sizeof number);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    return number;
}

#define MIX(a, b, c, d, x, y)                                                                                          \
    do {                                                                                                               \
        a += b + x;                                                                                                    \
        d = turned(d ^ a, 32);                                                                                         \
        c += d;                                                                                                        \
        b = turned(b ^ c, 24);                                                                                         \
        a += b + y;                                                                                                    \
        d = turned(d ^ a, 16);                                                                                         \
        c += d;                                                                                                        \
        b = turned(b ^ c, 63);                                                                                         \
    } while (0)

static void compress(uint64_t state[8], const uint8_t *block, uint64_t read, int is_last) {
    uint64_t m[16], v[16];
    for (int i = 0; i < 16; i++)
        m[i] = number_at(block + 8 * i);
    for (int i = 0; i < 8; i++) {
        v[i] = state[i];
        v[i + 8] = START[i];
    }
    v[12] ^= read;
    if (is_last)
        v[14] = ~v[14];
#pragma GCC unroll 12
    for (int round = 0; round < ROUNDS; round++) {
        const uint8_t *s = ORDER[round];
        MIX(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        MIX(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        MIX(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        MIX(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        MIX(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        MIX(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        MIX(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        MIX(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        state[i] ^= v[i] ^ v[i + 8];
}

/* The key is a block of its own, so it is read once for all texts. */
void keyed_begin(KeyedHash *hash, const uint8_t *secret, size_t secret_bytes, size_t digest_bytes) {
    uint8_t block[BLOCK_BYTES] = {0};
    memcpy(block, secret, secret_bytes);
    memcpy(hash->state, START, sizeof START);
    hash->state[0] ^= 0x01010000u ^ secret_bytes << 8 ^ digest_bytes;
    compress(hash->state, block, BLOCK_BYTES, 0);
}

/* Of a text that is not empty. */
void keyed_digest(const KeyedHash *hash, const char *text, size_t length, uint8_t *digest, size_t digest_bytes) {
    uint64_t state[8], read = BLOCK_BYTES;
    uint8_t block[BLOCK_BYTES] = {0};
    memcpy(state, hash->state, sizeof state);
    for (; length > BLOCK_BYTES; text += BLOCK_BYTES, length -= BLOCK_BYTES) {
        read += BLOCK_BYTES;
        compress(state, (const uint8_t *)text, read, 0);
    }
    memcpy(block, text, length);
    compress(state, block, read + length, 1);
    for (size_t i = 0; i < digest_bytes; i++)
        digest[i] = (uint8_t)(state[i / 8] >> 8 * (i % 8));
}
