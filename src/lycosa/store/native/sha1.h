/* SHA-1 of two messages at once, by the instructions that x86-64 has for it. */
#ifndef LYCOSA_STORE_SHA1_H
#define LYCOSA_STORE_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { SHA1_BYTES = 20 };

/* A message of two parts, of which the first is short. */
typedef struct {
    const uint8_t *head;
    size_t head_bytes;
    const uint8_t *body;
    size_t body_bytes;
} Message;

int has_sha1(void);
/* Only where `has_sha1`. */
void sha1_both(const Message messages[2], uint8_t digests[2][SHA1_BYTES]);

#endif
