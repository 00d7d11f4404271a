/* Hrefs in their parts, and path and query as the URL standard resolves and escapes them.
 *
 * What becomes of single characters is handed in: the parser that Python asks was asked for each of them. */
#include "links.h"

enum { MAX_SEGMENTS = 64 };

static inline int is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static inline int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static inline int is_lower_case(Span text, const char *word) {
    size_t length = strlen(word);
    return length_of(text) == length && !memcmp(text.at, word, length);
}

static int is_any_case(Span text, const char *word) {
    if (length_of(text) != strlen(word))
        return 0;
    for (const char *at = text.at; at < text.end; at++, word++)
        if ((*at | 32) != *word)
            return 0;
    return 1;
}

/* What ends a scheme, or NULL if there is none. */
static const char *scheme_end(Span href) {
    if (!is_letter(*href.at))
        return NULL;
    for (const char *at = href.at + 1; at < href.end; at++) {
        if (*at == ':')
            return at;
        if (!is_letter(*at) && !(*at >= '0' && *at <= '9') && *at != '+' && *at != '-' && *at != '.')
            return NULL;
    }
    return NULL;
}

/* Where a host ends, or a first segment; `also` ends it too. */
static const char *find_end(Span text, char also) {
    const char *at = text.at;
    while (at < text.end && *at != '/' && *at != '?' && *at != '#' && *at != also)
        at++;
    return at;
}

/* After `//`: host and all that goes with it, up to the path. */
static Reading split_authority(Span scheme, const char *at, const char *end, Parts *parts) {
    const char *stop = find_end((Span){at, end}, '\\');
    size_t length = length_of(scheme) + 3 + (size_t)(stop - at);
    if (stop == at || length > MAX_ORIGIN)
        return ODD;
    if (scheme.end + 3 == at) {
        parts->origin = (Span){scheme.at, stop};
    } else {
        memcpy(parts->made, scheme.at, length_of(scheme));
        memcpy(parts->made + length_of(scheme), "://", 3);
        memcpy(parts->made + length_of(scheme) + 3, at, (size_t)(stop - at));
        parts->origin = (Span){parts->made, parts->made + length};
    }
    parts->is_rooted = 1;
    parts->path.at = stop;
    return PLAIN;
}

static Reading split_start(Span href, Span base_scheme, Parts *parts) {
    const char *colon = scheme_end(href);
    if (colon) {
        Span scheme = {href.at, colon};
        if (is_lower_case(scheme, "http") || is_lower_case(scheme, "https")) {
            /* `http:x` goes on from an http page, and `http:///x` has a host all the same. */
            int has_host = href.end - colon > 3 && colon[1] == '/' && colon[2] == '/';
            return has_host ? split_authority(scheme, colon + 3, href.end, parts) : ODD;
        }
        /* Others may be open to the crawl where they name a host. */
        int names_host = href.end - colon > 3 && colon[1] == '/' && colon[2] == '/';
        int is_known = is_any_case(scheme, "http") || is_any_case(scheme, "https") || is_any_case(scheme, "ftp") ||
                       is_any_case(scheme, "file");
        return names_host || is_known ? ODD : NOTHING;
    }
    if (base_scheme.at == base_scheme.end)
        return ODD;
    if (href.at[0] != '/') {
        /* A colon in the first segment that ends no scheme. */
        const char *stop = find_end(href, ':');
        return stop < href.end && *stop == ':' ? ODD : PLAIN;
    }
    parts->is_rooted = 1;
    return href.end - href.at > 1 && href.at[1] == '/' ? split_authority(base_scheme, href.at + 2, href.end, parts)
                                                       : PLAIN;
}

Reading split(Span href, Span base_scheme, Parts *parts) {
    while (href.at < href.end && (uint8_t)*href.at <= ' ')
        href.at++;
    while (href.at < href.end && (uint8_t)href.end[-1] <= ' ')
        href.end--;
    /* Its own page. */
    if (href.at == href.end || *href.at == '#')
        return NOTHING;
    parts->origin = (Span){NULL, NULL};
    parts->is_rooted = 0;
    parts->path.at = href.at;
    Reading reading = split_start(href, base_scheme, parts);
    if (reading != PLAIN)
        return reading;
    const char *hash = memchr(parts->path.at, '#', (size_t)(href.end - parts->path.at));
    const char *end = hash ? hash : href.end;
    const char *question = memchr(parts->path.at, '?', (size_t)(end - parts->path.at));
    parts->path.end = question ? question : end;
    parts->query = question ? (Span){question + 1, end} : (Span){end, end};
    return PLAIN;
}

static inline char *write_escape(char *to, uint8_t byte) {
    static const char DIGITS[] = "0123456789ABCDEF";
    *to++ = '%';
    *to++ = DIGITS[byte >> 4];
    *to++ = DIGITS[byte & 15];
    return to;
}

/* One spelling of each character, in upper case where it is an escape. NULL if it is odd. */
static char *write_bytes(const uint8_t *kinds, Span text, char *to, int *seen) {
    while (text.at < text.end) {
        uint8_t kind = kinds[(uint8_t)*text.at];
        if (!kind) {
            *to++ = *text.at++;
            continue;
        }
        *seen |= kind;
        if (kind & IS_ODD)
            return NULL;
        if (kind & IS_ESCAPED) {
            to = write_escape(to, (uint8_t)*text.at++);
        } else if (kind & IS_PERCENT && length_of(text) > 2 && hex_value(text.at[1]) >= 0 &&
                   hex_value(text.at[2]) >= 0) {
            to = write_escape(to, (uint8_t)(hex_value(text.at[1]) << 4 | hex_value(text.at[2])));
            text.at += 3;
        } else {
            *to++ = *text.at++;
        }
    }
    return to;
}

/* A dot may be spelt as an escape, and so may a dot segment. */
static int has_escaped_dot(Span path) {
    for (const char *at = path.at; path.end - at > 2 && (at = memchr(at, '%', (size_t)(path.end - at) - 2)); at++)
        if (at[1] == '2' && (at[2] | 32) == 'e')
            return 1;
    return 0;
}

/* What the parser takes for the drive of a file, and keeps, though this is no file. */
static int is_drive(Span segment) {
    return length_of(segment) == 2 && is_letter(segment.at[0]) && (segment.at[1] == ':' || segment.at[1] == '|');
}

/* The end of what is left of `root` to `to`, both slashes, without its last segment; NULL if that is odd. */
static char *without_last(char *root, char *to) {
    const char *end = to - 1;
    if (to - root < 2)
        return to;
    to--;
    while (to[-1] != '/')
        to--;
    return is_drive((Span){to, end}) ? NULL : to;
}

/* Segments after `to`, which ends with a slash, as all that begins at `root` does. */
static char *write_segments(const uint8_t *kinds, Span path, char *root, char *to, int *seen) {
    for (;;) {
        const char *slash = memchr(path.at, '/', length_of(path));
        Span segment = {path.at, slash ? slash : path.end};
        int is_dot = length_of(segment) == 1 && segment.at[0] == '.';
        int is_two_dots = length_of(segment) == 2 && segment.at[0] == '.' && segment.at[1] == '.';
        if (is_two_dots)
            to = without_last(root, to);
        else if (!is_dot)
            to = write_bytes(kinds, segment, to, seen);
        if (!to)
            return NULL;
        if (slash && !is_dot && !is_two_dots)
            *to++ = '/';
        if (!slash)
            return to;
        path.at = slash + 1;
    }
}

/* Without a base, parts must be rooted. */
Reading write_tail(const Characters *characters, const Parts *parts, const Base *base, Tail *tail) {
    char *to = tail->text;
    int seen = 0;
    Span path = parts->path;
    if (parts->is_rooted) {
        *to++ = '/';
        if (path.at < path.end && *path.at != '/')
            return ODD;
        path.at += path.at < path.end;
    } else {
        size_t kept = path.at < path.end ? base->directory_length : base->path_length;
        memcpy(to, base->path, kept);
        to += kept;
        seen = base->is_unsettled;
    }
    if (path.at < path.end) {
        to = write_segments(characters->path, path, tail->text, to, &seen);
        if (!to || (seen & IS_PERCENT && has_escaped_dot(path)))
            return ODD;
    }
    tail->path_length = (size_t)(to - tail->text);
    if (parts->query.at < parts->query.end) {
        *to++ = '?';
        to = write_bytes(characters->query, parts->query, to, &seen);
        if (!to)
            return ODD;
    }
    tail->length = (size_t)(to - tail->text);
    tail->is_unsettled = seen & (IS_UNWISE | IS_PERCENT);
    return PLAIN;
}

static size_t slashes_in(const char *at, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += at[i] == '/';
    return count;
}

/* Whether a segment recurs so often that it may be a loop; empty ones are slips of a template. */
static int may_loop(const Tail *tail, size_t slashes, size_t max_repeats) {
    Span segments[MAX_SEGMENTS];
    size_t count = 0;
    if (slashes >= MAX_SEGMENTS)
        return 1;
    for (const char *at = tail->text, *end = at + tail->path_length;; count++) {
        const char *slash = memchr(at, '/', (size_t)(end - at)), *stop = slash ? slash : end;
        size_t length = (size_t)(stop - at), before = 0;
        for (size_t i = 0; length && i < count; i++)
            before += length_of(segments[i]) == length && !memcmp(segments[i].at, at, length);
        if (length && before >= max_repeats)
            return 1;
        if (!slash)
            return 0;
        segments[count] = (Span){at, stop};
        at = slash + 1;
    }
}

Reading within_limits(const Limits *limits, const Tail *tail, size_t origin_length) {
    if (limits->max_length && origin_length + tail->length > limits->max_length)
        return NOTHING;
    size_t slashes = slashes_in(tail->text, tail->path_length);
    /* Python counts those of the query too, and looks at no path that has fewer. */
    if (slashes <= 2 && limits->max_path_depth > 2 &&
        slashes + slashes_in(tail->text + tail->path_length, tail->length - tail->path_length) <= 2)
        return PLAIN;
    size_t depth = slashes - (tail->text[tail->path_length - 1] == '/');
    if (limits->max_path_depth && depth > limits->max_path_depth)
        return NOTHING;
    return limits->max_repeats && may_loop(tail, slashes, limits->max_repeats) ? ODD : PLAIN;
}
