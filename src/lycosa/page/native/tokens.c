/* Text to tags, attributes and runs of text, as the standard's tokenizer finds them. */
#include "html.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

_Static_assert((int)ATTRIBUTES <= (int)MAX_ATTRIBUTES, "each known attribute once");

enum { SPACE = 1, ENDS_TAG_NAME = 2, ENDS_NAME = 4, ENDS_VALUE = 8 };
static uint8_t kinds[256];

void tokens_prepare(void) {
    for (int c = 0; c < 256; c++) {
        int space = is_space((unsigned char)c), close = c == '>';
        kinds[c] = (uint8_t)((space ? SPACE : 0) | (space || close || c == '/' ? ENDS_TAG_NAME : 0) |
                             (space || close || c == '/' || c == '=' ? ENDS_NAME : 0) |
                             (space || close ? ENDS_VALUE : 0));
    }
}

static inline int is_kind(const char *at, int kind) { return kinds[(unsigned char)*at] & kind; }

static inline const char *skip_spaces(const char *at, const char *end) {
    while (at < end && is_kind(at, SPACE))
        at++;
    return at;
}

/* Most values and texts are short, and a call for each would cost more than the search. */
static inline const char *find_char(const char *at, const char *end, char sought) {
#ifdef __SSE2__
    if (end - at >= 32)
        for (int i = 0; i < 2; i++, at += 16) {
            __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
            unsigned mask = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(sought)));
            if (mask)
                return at + __builtin_ctz(mask);
        }
#endif
    return memchr(at, sought, (size_t)(end - at));
}

static inline void note_attribute(Tokens *tokens, Span name, Span value) {
    Tag *tag = &tokens->tag;
    AttributeName known = name_of_attribute(name.at, span_length(name), tokens->end);
    /* Of an attribute given twice the first counts. */
    if (!known || tag->noted >> known & 1)
        return;
    tag->noted |= (uint64_t)1 << known;
    tag->attributes[tag->attribute_count++] =
        (Attribute){(uint32_t)(value.at - tokens->start), (uint32_t)(value.end - tokens->start), known};
}

/* Where an attribute's name ends that begins at `at`; its first character may be a "=". */
static inline const char *name_end(const char *at, const char *end) {
    at++;
#ifdef __SSE2__
    if (end - at >= 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at), space = _mm_set1_epi8(' ');
        __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('=')), _mm_cmpeq_epi8(text, _mm_set1_epi8('>')));
        ends = _mm_or_si128(ends, _mm_cmpeq_epi8(text, _mm_set1_epi8('/')));
        /* Control characters are looked at below. */
        ends = _mm_or_si128(ends, _mm_cmpeq_epi8(_mm_max_epu8(text, space), space));
        unsigned mask = (unsigned)_mm_movemask_epi8(ends);
        at += mask ? __builtin_ctz(mask) : 16;
    }
#endif
    while (at < end && !is_kind(at, ENDS_NAME))
        at++;
    return at;
}

/* Where a tag's name ends. */
static inline const char *tag_name_end(const char *at, const char *end) {
#ifdef __SSE2__
    /* Nearly all end within sixteen characters, and how many they are need not be guessed. */
    if (end - at >= 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at), space = _mm_set1_epi8(' ');
        __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('>')), _mm_cmpeq_epi8(text, _mm_set1_epi8('/')));
        /* Control characters are looked at below. */
        ends = _mm_or_si128(ends, _mm_cmpeq_epi8(_mm_max_epu8(text, space), space));
        unsigned mask = (unsigned)_mm_movemask_epi8(ends);
        at += mask ? __builtin_ctz(mask) : 16;
    }
#endif
    while (at < end && !is_kind(at, ENDS_TAG_NAME))
        at++;
    return at;
}

/* One attribute, from the beginning of its name; gives what comes after it, NULL where the text ends first. */
static inline const char *read_attribute(const char *at, const char *end, Span *name, Span *value) {
    *name = (Span){at, name_end(at, end)};
    at = name->end;
    *value = (Span){at, at};
    if (at < end && is_kind(at, SPACE))
        at = skip_spaces(at, end);
    if (at >= end || *at != '=')
        return at;
    at++;
    if (at < end && is_kind(at, SPACE))
        at = skip_spaces(at, end);
    if (at >= end)
        return NULL;
    if (*at == '"' || *at == '\'') {
        const char *close = find_char(at + 1, end, *at);
        if (!close)
            return NULL;
        *value = (Span){at + 1, close};
        return close + 1;
    }
    value->at = at;
    while (at < end && !is_kind(at, ENDS_VALUE))
        at++;
    value->end = at;
    return at;
}

/* From after the tag's name to after its ">"; NULL where the text ends first: such a tag is none. */
static const char *read_attributes(Tokens *tokens, const char *at, int is_noted) {
    const char *end = tokens->end;
    for (;;) {
        int is_slash = 0;
        for (; at < end && (is_kind(at, SPACE) || *at == '/'); at++)
            is_slash = *at == '/';
        if (at >= end)
            return NULL;
        if (*at == '>') {
            tokens->tag.is_self_closing = is_slash;
            return at + 1;
        }
        Span name, value;
        at = read_attribute(at, end, &name, &value);
        if (!at)
            return NULL;
        if (is_noted)
            note_attribute(tokens, name, value);
    }
}

/* FNV-1a of 64 bits. */
static inline uint64_t hash_further(uint64_t hash, uint32_t c) { return (hash ^ c) * 0x100000001b3u; }

static uint64_t hash_name(Span name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; name.at < name.end; name.at++)
        hash = hash_further(hash, lower((unsigned char)*name.at));
    return hash;
}

/* As the page means it: see `append_plain`. */
static uint64_t hash_value(uint64_t hash, Span value) {
    for (const char *at = value.at; at < value.end;) {
        Reference found;
        const char *after = *at == '&' ? resolve_reference(at, value.end, 1, &found) : at;
        if (after == at) {
            found.count = 1;
            after = utf8_read(at, value.end, &found.points[0]);
            if (found.points[0] == '\r') {
                found.points[0] = '\n';
                after += after < value.end && *after == '\n';
            } else if (!found.points[0])
                found.points[0] = 0xfffd;
        }
        for (int i = 0; i < found.count; i++)
            hash = hash_further(hash, found.points[i]);
        at = after;
    }
    return hash;
}

uint64_t hash_attributes(Span source) {
    /* Past these it is not looked whether an attribute was given before. */
    uint64_t names[MAX_ATTRIBUTES], sum = 1;
    int count = 0;
    for (const char *at = source.at, *end = source.end;;) {
        while (at < end && (is_kind(at, SPACE) || *at == '/'))
            at++;
        Span name, value;
        if (at >= end || !(at = read_attribute(at, end, &name, &value)))
            return sum;
        uint64_t hash = hash_name(name);
        int is_given = 0;
        for (int i = 0; i < count && !is_given; i++)
            is_given = names[i] == hash;
        if (is_given)
            continue;
        if (count < MAX_ATTRIBUTES)
            names[count++] = hash;
        /* A sum, since their order does not matter. */
        sum += hash_value(hash_further(hash, '='), value) | 1;
    }
}

const Attribute *attribute_of(const Tag *tag, AttributeName name) {
    for (uint32_t i = 0; i < tag->attribute_count; i++)
        if (tag->attributes[i].name == name)
            return &tag->attributes[i];
    return NULL;
}

int value_is(const Tokens *tokens, const Attribute *attribute, const char *word) {
    return attribute && span_is((Span){tokens->start + attribute->at, tokens->start + attribute->end}, word);
}

/* Up to after "-->" or "--!>", from after "<!--"; "<!-->" and "<!--->" are whole comments. */
static const char *after_comment(const char *at, const char *end) {
    if (at < end && *at == '>')
        return at + 1;
    if (end - at > 1 && at[0] == '-' && at[1] == '>')
        return at + 2;
    for (const char *c = at; (c = memchr(c, '>', (size_t)(end - c))); c++) {
        if (c - at >= 2 && c[-1] == '-' && c[-2] == '-')
            return c + 1;
        if (c - at >= 3 && c[-1] == '!' && c[-2] == '-' && c[-3] == '-')
            return c + 1;
    }
    return end;
}

static const char *after_close(const char *at, const char *end) {
    const char *close = memchr(at, '>', (size_t)(end - at));
    return close ? close + 1 : end;
}

static TokenKind read_declaration(Tokens *tokens) {
    const char *at = tokens->at + 2, *end = tokens->end;
    if (end - at >= 2 && at[0] == '-' && at[1] == '-') {
        tokens->at = after_comment(at + 2, end);
        return TOKEN_COMMENT;
    }
    tokens->at = after_close(at, end);
    if (!span_begins((Span){at, end}, "doctype"))
        return TOKEN_COMMENT;
    tokens->text = (Span){at + 7, tokens->at};
    return TOKEN_DOCTYPE;
}

/* Gives whether there was a tag; at the end of the text there may be none. */
static int read_tag(Tokens *tokens, const char *name, int is_end) {
    const char *end = tokens->end, *at = tag_name_end(name, end);
    Tag *tag = &tokens->tag;
    tag->name = name_of_tag(name, (size_t)(at - name), end);
    tag->written = (Span){name, at};
    tag->attribute_count = 0;
    tag->noted = 0;
    tag->is_self_closing = 0;
    int is_noted = !is_end && (tokens->has_all || flags_of(tag->name) & HAS_ATTRIBUTES);
    const char *after = at < end && *at == '>' ? at + 1 : read_attributes(tokens, at, is_noted);
    if (!after) {
        tokens->at = end;
        return 0;
    }
    tag->source = (Span){at, after - 1};
    tokens->at = after;
    return 1;
}

/* "<" before anything but a name, "/", "!" or "?" is text. */
static inline int is_markup(const char *at, const char *end) {
    if (end - at < 2)
        return 0;
    unsigned char next = (unsigned char)at[1];
    return is_letter(next) || next == '!' || next == '?' || (next == '/' && end - at > 2);
}

/* Where the text that begins at `at` ends: at markup, or at the end. */
static const char *text_end(const char *at, const char *end) {
    for (;; at++) {
        at = find_char(at, end, '<');
        if (!at)
            return end;
        if (is_markup(at, end))
            return at;
    }
}

static Span cdata(Tokens *tokens) {
    const char *at = tokens->at + 9, *end = tokens->end;
    for (const char *c = at; (c = memchr(c, '>', (size_t)(end - c))); c++)
        if (c - at >= 2 && c[-1] == ']' && c[-2] == ']') {
            tokens->at = c + 1;
            return (Span){at, c - 2};
        }
    tokens->at = end;
    return (Span){at, end};
}

TokenKind next_token(Tokens *tokens, int in_foreign) {
    const char *end = tokens->end;
    while (tokens->at < end) {
        const char *at = tokens->at;
        if (*at != '<' || !is_markup(at, end)) {
            tokens->text = (Span){at, text_end(at, end)};
            tokens->at = tokens->text.end;
            return TOKEN_TEXT;
        }
        if (is_letter((unsigned char)at[1])) {
            if (read_tag(tokens, at + 1, 0))
                return TOKEN_START_TAG;
        } else if (at[1] == '/') {
            if (is_letter((unsigned char)at[2])) {
                if (read_tag(tokens, at + 2, 1))
                    return TOKEN_END_TAG;
            } else {
                tokens->at = after_close(at + 2, end);
                if (at[2] != '>')
                    return TOKEN_COMMENT;
            }
        } else if (in_foreign && end - at >= 9 && !memcmp(at, "<![CDATA[", 9)) {
            tokens->text = cdata(tokens);
            return TOKEN_CDATA;
        } else if (at[1] == '!')
            return read_declaration(tokens);
        else {
            tokens->at = after_close(at, end);
            return TOKEN_COMMENT;
        }
    }
    return TOKEN_END;
}

/* Raw elements */

static int is_end_tag(const char *at, const char *end, const char *name, size_t length) {
    return (size_t)(end - at) >= length + 3 && at[1] == '/' && span_begins((Span){at + 2, end}, name) &&
           is_kind(at + 2 + length, ENDS_TAG_NAME);
}

/* In a script "<!--" hides end tags once a further "<script" was opened, until that one is closed or "-->" comes. */
static const char *script_end(const char *at, const char *end) {
    enum { PLAIN, ESCAPED, TWICE } state = PLAIN;
    const char *dashes = NULL; /* where "--" may have begun */
    while (at < end) {
        if (state != PLAIN && *at == '>' && at - dashes >= 2 && at[-1] == '-' && at[-2] == '-') {
            state = PLAIN;
            at++;
        } else if (*at != '<') {
            if (state == PLAIN) {
                at = memchr(at, '<', (size_t)(end - at));
                if (!at)
                    return end;
            } else
                at++;
        } else if (state == PLAIN && end - at >= 4 && !memcmp(at, "<!--", 4)) {
            state = ESCAPED;
            dashes = at + 2;
            at += 4;
        } else if (state != TWICE && is_end_tag(at, end, "script", 6))
            return at;
        else if (state == TWICE && is_end_tag(at, end, "script", 6)) {
            state = ESCAPED;
            at += 8;
        } else if (state == ESCAPED && end - at > 7 && span_begins((Span){at + 1, end}, "script") &&
                   is_kind(at + 7, ENDS_TAG_NAME)) {
            state = TWICE;
            at += 7;
        } else
            at++;
    }
    return end;
}

const char *raw_end(const char *at, const char *end, const char *name) {
    size_t length = strlen(name);
    for (;; at++) {
        at = memchr(at, '<', (size_t)(end - at));
        if (!at)
            return end;
        if (is_end_tag(at, end, name, length))
            return at;
    }
}

Span take_raw(Tokens *tokens, Name name) {
    const char *start = tokens->at, *close;
    if (name == EL_PLAINTEXT)
        close = tokens->end;
    else if (name == EL_SCRIPT)
        close = script_end(start, tokens->end);
    else
        close = raw_end(start, tokens->end, element_name(name));
    if (close < tokens->end)
        read_tag(tokens, close + 2, 1);
    else
        tokens->at = close;
    return (Span){start, close};
}
