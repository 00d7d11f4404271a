/* Hints a page gives of its content: the article in JSON-LD, the description in <meta>. */
#include "features.h"

/* Letters and digits compared; a hint is the set of the hashes of all its windows of that length. */
enum { WINDOW = 20, MIN_BODY = 100, BODY_WORDS = 1 << 14, DESCRIPTION_WORDS = 1 << 8 };

typedef struct {
    uint64_t *bits;
    uint32_t words;
} Windows;

/* What a byte counts as: a letter in lower case, a digit or a part of another character; 0 if it does not count. */
static unsigned char counted[256];

void hints_prepare(void) {
    for (int c = 0; c < 256; c++)
        counted[c] = is_letter((unsigned char)c) || is_digit((unsigned char)c) || c >= 0x80 ? lower((unsigned char)c) : 0;
}

static uint32_t read_letters(const char *at, const char *end, char *letters, uint32_t max) {
    uint32_t count = 0;
    for (; at < end && count < max; at++) {
        letters[count] = (char)counted[(unsigned char)*at];
        count += letters[count] != 0;
    }
    return count;
}

static inline uint64_t *slot_of(const Windows *windows, uint32_t hash) {
    return &windows->bits[hash_mix(hash) >> 6 & (windows->words - 1)];
}

static int add_windows(Windows *windows, const Buffer *text) {
    char *letters = malloc(text->length);
    if (!letters)
        return -1;
    uint32_t count = read_letters(text->bytes, text->bytes + text->length, letters, (uint32_t)text->length);
    uint32_t hash = 0, power = 1;
    for (int i = 0; i < WINDOW; i++)
        power *= 31;
    for (uint32_t i = 0; i < count; i++) {
        hash = hash * 31 + (unsigned char)letters[i];
        if (i >= WINDOW)
            hash -= power * (unsigned char)letters[i - WINDOW];
        if (i + 1 >= WINDOW)
            *slot_of(windows, hash) |= 1ull << (hash_mix(hash) & 63);
    }
    free(letters);
    return 0;
}

/* As in `add_windows`, but by powers of 31, so that no letter waits for those before it. */
static uint32_t hash_window(const char *letters, uint32_t count) {
    static const uint32_t POWERS[WINDOW] = {
        3886143071u, 3450495425u, 3297894943u, 1353309697u, 3784433119u, 1507551809u, 3789408671u, 4001564289u,
        129082719u, 2498015937u, 4098453791u, 2487512833u, 1742810335u, 887503681u, 28629151u, 923521u,
        29791u, 961u, 31u, 1u,
    };
    uint32_t hash = 0;
    for (uint32_t i = 0; i < WINDOW; i++)
        hash += POWERS[i] * (unsigned char)letters[i];
    return count < WINDOW ? 0 : hash;
}

static uint8_t look_up(const Windows *windows, int is_short, uint32_t hash) {
    if (!windows->bits)
        return NO_HINT;
    if (is_short)
        return SHORT;
    return *slot_of(windows, hash) >> (hash_mix(hash) & 63) & 1 ? HINTED : UNHINTED;
}

int match_hints(const Document *document, uint8_t *in_body, uint8_t *in_description, size_t step) {
    uint64_t description_bits[DESCRIPTION_WORDS] = {0};
    Windows body = {NULL, BODY_WORDS}, description = {NULL, DESCRIPTION_WORDS};
    int failed = 0;
    if (document->meta.body.length >= MIN_BODY) {
        body.bits = calloc(BODY_WORDS, sizeof *body.bits);
        failed = !body.bits || add_windows(&body, &document->meta.body);
    }
    if (document->meta.description.length >= WINDOW) {
        description.bits = description_bits;
        failed |= add_windows(&description, &document->meta.description);
    }
    for (size_t b = 0; !failed && b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        const char *text = document->text.bytes;
        char letters[WINDOW] = {0};
        uint32_t count = 0, hash = 0;
        if (body.bits || description.bits) {
            count = read_letters(text + block->start, text + block->end, letters, WINDOW);
            hash = hash_window(letters, count);
        }
        in_body[b * step] = look_up(&body, count < WINDOW, hash);
        in_description[b * step] = look_up(&description, count < WINDOW, hash);
    }
    free(body.bits);
    return failed ? -1 : 0;
}
