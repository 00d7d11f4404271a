/* Targets in msgpack: read from messages, and written as entries of queues.
 *
 * What is not plain, or odd in any way, is left to Python: it has the last word on what a target may be. */
#include "frontier.h"

enum { FIELDS = 17, MAX_DEPTH = 32 };
enum { FIXED_ARRAY = 0x90, FIXED_TEXT = 0xa0, NIL = 0xc0, BYTES_8 = 0xc4, NUMBER_8 = 0xcc, TEXT_8 = 0xd9, ARRAY_16 = 0xdc };

static int read_big(Span *bytes, unsigned width, uint64_t *number) {
    if (length_of(*bytes) < width)
        return -1;
    *number = 0;
    while (width--)
        *number = *number << 8 | *bytes->at++;
    return 0;
}

static int read_array(Span *bytes, uint64_t *count) {
    if (bytes->at == bytes->end)
        return -1;
    uint8_t head = *bytes->at++;
    if ((head & 0xf0) == FIXED_ARRAY) {
        *count = head & 0x0f;
        return 0;
    }
    if (head == ARRAY_16 || head == ARRAY_16 + 1)
        return read_big(bytes, head == ARRAY_16 ? 2 : 4, count);
    return -1;
}

static int take(Span *bytes, uint64_t length, Span *taken) {
    if (length > length_of(*bytes))
        return -1;
    *taken = (Span){bytes->at, bytes->at + length};
    bytes->at += length;
    return 0;
}

/* A text, or bytes, by the first of the codes for lengths of 1, 2 and 4 bytes. */
static int read_sized(Span *bytes, uint8_t first, Span *taken) {
    uint64_t length;
    if (bytes->at == bytes->end)
        return -1;
    uint8_t head = *bytes->at++;
    if (first == TEXT_8 && (head & 0xe0) == FIXED_TEXT)
        return take(bytes, head & 0x1f, taken);
    if (head < first || head > first + 2 || read_big(bytes, 1u << (head - first), &length))
        return -1;
    return take(bytes, length, taken);
}

/* Numbers that are not negative. */
static int read_number(Span *bytes, uint64_t *number) {
    if (bytes->at == bytes->end)
        return -1;
    uint8_t head = *bytes->at++;
    if (head < 0x80) {
        *number = head;
        return 0;
    }
    return head < NUMBER_8 || head > NUMBER_8 + 3 ? -1 : read_big(bytes, 1u << (head - NUMBER_8), number);
}

/* Past one value, whatever it is. */
static int skip(Span *bytes, unsigned depth) {
    static const uint8_t FIXED[256] = {
        [0xca] = 4, [0xcb] = 8, [0xcc] = 1, [0xcd] = 2, [0xce] = 4, [0xcf] = 8,
        [0xd0] = 1, [0xd1] = 2, [0xd2] = 4, [0xd3] = 8,
        [0xd4] = 2, [0xd5] = 3, [0xd6] = 5, [0xd7] = 9, [0xd8] = 17,
    };
    Span taken;
    uint64_t count = 0;
    if (bytes->at == bytes->end || depth > MAX_DEPTH)
        return -1;
    uint8_t head = *bytes->at;
    if ((head & 0xe0) == FIXED_TEXT || (head >= TEXT_8 && head <= TEXT_8 + 2))
        return read_sized(bytes, TEXT_8, &taken);
    if (head >= BYTES_8 && head <= BYTES_8 + 2)
        return read_sized(bytes, BYTES_8, &taken);
    if ((head & 0xf0) == FIXED_ARRAY || head == ARRAY_16 || head == ARRAY_16 + 1) {
        if (read_array(bytes, &count))
            return -1;
    } else if ((head & 0xf0) == 0x80 || head == 0xde || head == 0xdf) {
        bytes->at++;
        count = head & 0x0f;
        if (head >= 0xde && read_big(bytes, head == 0xde ? 2 : 4, &count))
            return -1;
        count *= 2;
    } else if (head >= 0xc7 && head <= 0xc9) {
        bytes->at++;
        return read_big(bytes, 1u << (head - 0xc7), &count) || take(bytes, count + 1, &taken) ? -1 : 0;
    } else {
        bytes->at++;
        return take(bytes, FIXED[head], &taken);
    }
    while (count--)
        if (skip(bytes, depth + 1))
            return -1;
    return 0;
}

/* A number that is usually not negative. */
static int read_count(Span *bytes, uint64_t *number, int *is_usual) {
    *number = 0;
    if (bytes->at == bytes->end || *bytes->at < 0xd0)
        return read_number(bytes, number);
    *is_usual = 0;
    return skip(bytes, 0);
}

int begin_targets(Span *bytes, size_t *count) {
    uint64_t targets;
    if (read_array(bytes, &targets) || targets > length_of(*bytes))
        return -1;
    *count = (size_t)targets;
    return 0;
}

static int is_ascii(Span text) {
    uint8_t all = 0;
    for (const uint8_t *at = text.at; at < text.end; at++)
        all |= *at;
    return all < 0x80;
}

static int begins_with(Span text, Span start) {
    return length_of(start) <= length_of(text) && !memcmp(text.at, start.at, length_of(start));
}

/* Scheme and host of the web, then a path. */
static int has_plain_url(Target *target) {
    Span url = target->url;
    size_t scheme = begins_with(url, (Span){(const uint8_t *)"https://", (const uint8_t *)"https://" + 8}) ? 8
                  : begins_with(url, (Span){(const uint8_t *)"http://", (const uint8_t *)"http://" + 7})  ? 7
                                                                                                           : 0;
    if (!scheme || length_of(url) <= 8 || !is_ascii(url) || !is_ascii(target->host) || !is_ascii(target->referrer))
        return 0;
    const uint8_t *path = memchr(url.at + 8, '/', length_of(url) - 8);
    if (!path || !length_of(target->host) || !begins_with((Span){url.at + scheme, path}, target->host))
        return 0;
    target->is_https = scheme == 8;
    target->origin_length = (size_t)(path - url.at);
    target->tail_at = scheme + length_of(target->host);
    /* A port; and a name that a resolver would take. */
    return target->origin_length - target->tail_at < 256 && length_of(target->host) <= MAX_HOST;
}

/* The fields behind the ones that are read: whether only `deferred` is said. */
static int read_rest(Span *bytes, uint64_t fields, Target *target, int *is_plain) {
    static const uint8_t USUAL[FIELDS] = {[9] = FIXED_TEXT, [13] = NIL, [15] = NIL};
    for (uint64_t field = 7; field < fields; field++) {
        if (bytes->at == bytes->end)
            return -1;
        if (field == 12 && *bytes->at < 0x80)
            target->deferred = *bytes->at++;
        else if (field < FIELDS && *bytes->at == USUAL[field])
            bytes->at++;
        else if ((*is_plain = 0, skip(bytes, 0)))
            return -1;
    }
    return 0;
}

int read_target(Span *bytes, Target *target) {
    const uint8_t *begin = bytes->at;
    uint64_t fields, kind;
    int is_usual = 1;
    *target = (Target){0};
    if (read_array(bytes, &fields) || fields < 7 || read_sized(bytes, TEXT_8, &target->url) ||
        read_sized(bytes, TEXT_8, &target->host) || read_sized(bytes, BYTES_8, &target->fingerprint) ||
        read_count(bytes, &kind, &is_usual))
        return -1;
    int is_plain = is_usual && kind == 0 && length_of(target->fingerprint) == FINGERPRINT_BYTES;
    if (read_count(bytes, &target->priority, &is_plain) || read_count(bytes, &target->depth, &is_plain) ||
        read_sized(bytes, TEXT_8, &target->referrer) ||
        read_rest(bytes, fields, target, &is_plain))
        return -1;
    target->whole = (Span){begin, bytes->at};
    is_plain = is_plain && target->priority >= 1 && target->priority <= HIGHEST_CLASS;
    target->rank = HIGHEST_CLASS + 1 - (unsigned)target->priority;
    if (target->deferred) {
        unsigned behind = target->deferred > 4 ? 4 : (unsigned)target->deferred;
        target->rank = FIRST_RANK_OF_DOUBT - 1 + behind;
    }
    target->is_plain = is_plain && has_plain_url(target);
    return 0;
}

/* How far a referrer of the same origin begins as the URL does: all of it, to the last folder, to the origin. */
static size_t shared_with_referrer(const Target *target) {
    Span url = target->url, referrer = target->referrer;
    if (!begins_with(referrer, (Span){url.at, url.at + target->origin_length}))
        return 0;
    if (begins_with(url, referrer))
        return length_of(referrer);
    const uint8_t *folder = url.end;
    while (folder[-1] != '/')
        folder--;
    return begins_with(referrer, (Span){url.at, folder}) ? (size_t)(folder - url.at) : target->origin_length;
}

static uint8_t *write_big(uint8_t *to, uint64_t number, unsigned width) {
    while (width--)
        *to++ = (uint8_t)(number >> 8 * width);
    return to;
}

static uint8_t *write_number(uint8_t *to, uint64_t number) {
    if (number < 0x80) {
        *to++ = (uint8_t)number;
        return to;
    }
    unsigned power = number < 0x100 ? 0 : number < 0x10000 ? 1 : number < 0x100000000 ? 2 : 3;
    *to++ = (uint8_t)(NUMBER_8 + power);
    return write_big(to, number, 1u << power);
}

static uint8_t *write_head(uint8_t *to, size_t length) {
    if (length < 32) {
        *to++ = (uint8_t)(FIXED_TEXT | length);
        return to;
    }
    unsigned power = length < 0x100 ? 0 : length < 0x10000 ? 1 : 2;
    *to++ = (uint8_t)(TEXT_8 + power);
    return write_big(to, length, 1u << power);
}

static uint8_t *write_bytes(uint8_t *to, const uint8_t *from, size_t length) {
    memcpy(to, from, length);
    return to + length;
}

PyObject *write_entry(const Target *target) {
    size_t shared = shared_with_referrer(target);
    size_t mark = target->origin_length - target->tail_at, path = length_of(target->url) - target->origin_length;
    size_t place = (size_t)target->is_https + mark + path, referrer = length_of(target->referrer) - shared;
    /* Three heads of at most nine bytes, two numbers as long, and what else is said. */
    PyObject *entry = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(place + referrer + FINGERPRINT_BYTES + 64));
    if (!entry)
        return NULL;
    uint8_t *begin = (uint8_t *)PyBytes_AS_STRING(entry), *to = begin;
    *to++ = (uint8_t)(FIXED_ARRAY | (target->deferred ? 13 : 5));
    to = write_head(to, place);
    if (target->is_https)
        *to++ = 's';
    to = write_bytes(to, target->url.at + target->tail_at, mark + path);
    *to++ = BYTES_8;
    *to++ = FINGERPRINT_BYTES;
    to = write_bytes(to, target->fingerprint.at, FINGERPRINT_BYTES);
    to = write_number(to, target->depth);
    to = write_number(to, shared);
    to = write_head(to, referrer);
    to = write_bytes(to, target->referrer.at + shared, referrer);
    if (target->deferred) {
        *to++ = 0;
        *to++ = (uint8_t)target->priority;
        *to++ = 0;
        *to++ = 0;
        *to++ = FIXED_TEXT;
        *to++ = 0;
        *to++ = 0;
        *to++ = (uint8_t)target->deferred;
    }
    return _PyBytes_Resize(&entry, to - begin) ? NULL : entry;
}
