/* The links of a page in one pass: from hrefs to URLs in fetch form, keys, fingerprints, and what is new.
 *
 * What is plain is decided here, and nearly all hrefs are. What is odd is decided in Python, link by link: this code never
 * guesses. What belongs to the crawl (who is in scope, what an origin is) is asked of Python, once for each origin. */
#ifndef LYCOSA_LINKS_H
#define LYCOSA_LINKS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum {
    MAX_TEXT = 2048,         /* bytes of an href, and of a base's path; longer ones are odd */
    MAX_ORIGIN = 320,        /* bytes of an origin; no host that can exist needs more */
    MAX_TAIL = 4 * MAX_TEXT, /* a base's path, and an href of which each byte is escaped */
    MAX_KEY = MAX_ORIGIN + 3 * MAX_TAIL,
    FINGERPRINT_BYTES = 8,
    HOST_BYTES = 2,
};

typedef struct {
    const char *at, *end;
} Span;

static inline size_t length_of(Span span) { return (size_t)(span.end - span.at); }

/* How the reading of an href ends. */
typedef enum { FAILED = -1, PLAIN, NOTHING, ODD } Reading;

/* hash.c: BLAKE2b under a key. */

typedef struct {
    uint64_t state[8];
} KeyedHash;

void keyed_begin(KeyedHash *hash, const uint8_t *secret, size_t secret_bytes, size_t digest_bytes);
void keyed_digest(const KeyedHash *hash, const char *text, size_t length, uint8_t *digest, size_t digest_bytes);

/* tail.c: path and query in fetch form. */

/* What becomes of a byte of a path or a query: 0 if it stays, or one of these. */
enum { IS_ESCAPED = 1, IS_UNWISE = 2, IS_PERCENT = 4, IS_ODD = 8 };

typedef struct {
    uint8_t path[256], query[256];
} Characters;

typedef struct {
    size_t length, path_length;
    int is_unsettled; /* its key may be spelt otherwise */
    char text[MAX_TAIL];
} Tail;

/* The page that hrefs stand on, or what its <base> says. */
typedef struct {
    char path[MAX_TEXT];
    size_t path_length, directory_length, scheme_length;
    int is_unsettled;
} Base;

/* An href in its parts: where the origin is given, `origin` is not empty. `made` keeps one that was put together. */
typedef struct {
    Span origin, path, query;
    int is_rooted; /* its path does not go on from that of the base */
    char made[MAX_ORIGIN];
} Parts;

/* `base`: what comes before `//host`, or empty if there is none. */
Reading split(Span href, Span base_scheme, Parts *parts);
Reading write_tail(const Characters *characters, const Parts *parts, const Base *base, Tail *tail);

typedef struct {
    size_t max_length, max_path_depth, max_repeats; /* 0: no limit */
} Limits;

Reading within_limits(const Limits *limits, const Tail *tail, size_t origin_length);

/* key.c: the dedup key. */

typedef struct {
    uint64_t hash;
    Span text;
} Word;

typedef struct {
    Word *slots;
    size_t mask, count;
    char *bytes;
} Words;

typedef struct {
    int drops_or_sorts, sorts;
    Words names, prefixes, defaults;
} Rules;

int words_fill(Words *words, PyObject *texts);
void words_free(Words *words);
/* The key after its origin; 0 if that is left to Python. `key` has room for three times the tail. */
size_t write_key(const Rules *rules, const Tail *tail, char *key);

/* origins.c: what Python said of origins. */

typedef struct {
    uint64_t hash;
    PyObject *raw, *facts;
} OriginSlot;

typedef struct {
    OriginSlot *slots;
    size_t count, mask, max_count;
    uint64_t seed;
} Origins;

/* What Python answers for an origin that leads somewhere. */
enum { ORIGIN, HOST, DOMAIN_, VERDICT, KEY_ORIGIN, HOST_MARK, FACTS };

/* A new reference: None if all its URLs are odd, () if they lead nowhere, or facts. */
PyObject *origins_find(Origins *origins, Span raw, PyObject *ask);
void origins_forget(Origins *origins);
uint64_t hash_of(Span text, uint64_t seed);

/* met.c: URLs that were met lately. */

typedef struct {
    uint64_t hash, fingerprint;
    PyObject *url; /* ASCII */
} MetUrl;

typedef struct {
    MetUrl *places; /* NULL: none yet */
} Met;

/* A new reference, or NULL without an error. */
PyObject *met_find(const Met *met, uint64_t hash, Span origin, Span tail, uint64_t *fingerprint);
int met_keep(Met *met, uint64_t hash, PyObject *url, uint64_t fingerprint);
void met_forget(Met *met);

/* remembered.c: fingerprints that need not be sent again. */

extern PyType_Spec remembered_spec;
int remembered_has(PyObject *remembered, uint64_t fingerprint);
/* One that is remembered is met on one more page: whether it is to be sent again. */
int remembered_meet(PyObject *remembered, uint64_t fingerprint);

#endif
