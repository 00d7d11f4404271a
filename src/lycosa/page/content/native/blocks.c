/* Text to blocks: white space collapsed, tokens counted as scoring counts them, each block with what was in it. */
#include "search.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

void begin_block(Search *s) {
    memset(&s->block, 0, offsetof(Block, first_words));
    s->block.class_count = s->block.weighed = 0;
    s->block.start = (uint32_t)s->document.text.length;
    s->block.text_least = 127;
    s->block.text_most = -127;
    s->has_block = 0;
    s->is_pending = s->in_word = 0;
    s->breaks = 0;
    s->previous_cjk = 0;
    s->noted_depth = 0;
}

void note_word(Search *s, uint32_t hash) {
    Block *block = &s->block;
    /* The first words of a long block say enough. */
    if (block->weighed >= MAX_WEIGHED)
        return;
    uint16_t slot = weight_slot(hash);
    if (block->weighed < FIRST_WORDS)
        block->first_words[block->weighed] = slot;
    block->weighed++;
    int weight = s->text_weights[slot];
    block->text_weight += weight;
    block->text_least = weight < block->text_least ? weight : block->text_least;
    block->text_most = weight > block->text_most ? weight : block->text_most;
    block->title_tokens += s->title_words[slot >> 6 & 63] >> (slot & 63) & 1;
}

static inline void note_tokens(Search *s, uint32_t count) {
    Block *block = &s->block;
    block->tokens += count;
    block->link_tokens += s->link_depth > 0 ? count : 0;
    block->bold_tokens += s->bold > 0 ? count : 0;
    block->button_tokens += s->button > 0 ? count : 0;
}

int end_block(Search *s) {
    Document *document = &s->document;
    end_word(s);
    if (!s->has_block) {
        /* Nothing was written since the block began. */
        s->is_pending = 0;
        s->block.links = 0;
        return 0;
    }
    if (document->block_count == document->block_capacity) {
        size_t capacity = document->block_capacity ? document->block_capacity * 2 : 256;
        Block *blocks = realloc(document->blocks, capacity * sizeof *blocks);
        if (!blocks)
            return -1;
        document->blocks = blocks;
        document->block_capacity = capacity;
    }
    Block *block = &s->block;
    block->end = (uint32_t)document->text.length;
    block->heading = s->last_heading;
    block->images = (uint32_t)(s->images > 255 ? 255 : s->images);
    block->tag = document->elements[block->element].tag;
    s->images = 0;
    if (!block->weighed)
        block->text_least = block->text_most = 0;
    document->blocks[document->block_count++] = *block;
    if (TAG_KINDS[block->tag].flags & IS_HEADING)
        s->last_heading = (uint32_t)document->block_count;
    if (document->block_count >= MAX_BLOCKS)
        s->is_full = 1;
    begin_block(s);
    return 0;
}

/* Text */

enum {
    CHAR_WORD = 1,
    CHAR_SPACE = 2,
    CHAR_CJK = 4,
    CHAR_STOP = 8,
    CHAR_COMMA = 16,
    CHAR_DIGIT = 32,
    CHAR_UPPER = 64,
    CHAR_MARK = 128
};

static uint8_t ascii_kinds[128], ascii_folded[128];

void kinds_prepare(void) {
    for (int c = 0; c < 128; c++) {
        uint8_t kind = 0;
        if (is_letter((unsigned char)c) || c == '_')
            kind |= CHAR_WORD;
        if (c >= 'A' && c <= 'Z')
            kind |= CHAR_UPPER;
        if (is_digit((unsigned char)c))
            kind |= CHAR_WORD | CHAR_DIGIT;
        if (c <= ' ')
            kind |= CHAR_SPACE;
        if (c == '.' || c == '!' || c == '?')
            kind |= CHAR_STOP;
        if (c == ',' || c == ';')
            kind |= CHAR_COMMA;
        if (c == '|' || c == '>' || c == '<' || c == '/' || c == '#' || c == '@' || c == '=' || c == '{')
            kind |= CHAR_MARK;
        ascii_kinds[c] = kind;
        ascii_folded[c] = kind & CHAR_DIGIT ? '0' : lower((unsigned char)c);
    }
}

static uint8_t kind_of(uint32_t point) {
    if (point < 128)
        return ascii_kinds[point];
    if (point < 0x2000) {
        if (point == 0xa0 || point == 0xad)
            return CHAR_SPACE;
        if (point < 0xc0)
            return point == 0xa9 || point == 0xbb || point == 0xab || point == 0xb7 ? CHAR_MARK : 0;
        if (point == 0x60c)
            return CHAR_COMMA;
        if (point == 0x61f || point == 0x6d4 || point == 0x964)
            return CHAR_STOP;
        return CHAR_WORD;
    }
    if (point < 0x3040) {
        if (point == 0x3000 || point <= 0x200f || point == 0x2028 || point == 0x2029 || point == 0x202f)
            return CHAR_SPACE;
        if (point == 0x3002 || point == 0x2026)
            return CHAR_STOP;
        if (point == 0x3001)
            return CHAR_COMMA;
        if (point == 0x2022 || point == 0x203a || (point >= 0x2190 && point < 0x2c00))
            return CHAR_MARK;
        return point >= 0x2c00 && point < 0x3000 ? CHAR_WORD : 0;
    }
    if (point <= 0x30ff || (point >= 0x3400 && point <= 0x4dbf) || (point >= 0x4e00 && point <= 0x9fff) ||
        (point >= 0xac00 && point <= 0xd7af) || (point >= 0xf900 && point <= 0xfaff))
        return CHAR_CJK;
    if (point >= 0xd800 && point < 0xe000)
        return 0;
    if (point >= 0xff00 && point < 0xff66) {
        if (point == 0xff01 || point == 0xff1f || point == 0xff0e)
            return CHAR_STOP;
        if (point == 0xff0c || point == 0xff1b)
            return CHAR_COMMA;
        return (point >= 0xff10 && point < 0xff1a) || (point >= 0xff21 && point < 0xff3b) || point > 0xff40 ? CHAR_WORD
                                                                                                            : 0;
    }
    if (point == 0xfeff)
        return CHAR_SPACE;
    return point >= 0x1f000 && point < 0x20000   ? CHAR_MARK
           : point >= 0x20000 && point < 0x40000 ? CHAR_WORD
                                                 : CHAR_WORD;
}

/* The block's first character decides which element it belongs to; inline elements leave their words. */
static void note_context(Search *s) {
    Block *block = &s->block;
    const Open *open = &s->stack[s->depth - 1];
    if (!s->has_block) {
        s->has_block = 1;
        block->element = open->element;
    }
    block->words |= open->words;
    block->groups |= open->groups;
    for (int i = s->depth - 1; i >= 0 && i >= (int)s->noted_depth && !s->stack[i].is_block; i--)
        for (int j = 0; j < s->stack[i].class_count && block->class_count < BLOCK_CLASSES; j++)
            block->classes[block->class_count++] = s->document.classes[s->stack[i].classes + (uint32_t)j];
    s->noted_depth = (uint32_t)s->depth;
}

static inline void begin_character(Search *s) {
    Buffer *text = &s->document.text;
    if (!s->has_block || s->noted_depth != (uint32_t)s->depth)
        note_context(s);
    if (s->is_pending) {
        if (text->length > s->block.start && text->bytes[text->length - 1] != '\n')
            text->bytes[text->length++] = ' ';
        s->is_pending = 0;
    }
    s->breaks = 0;
}

static inline void begin_word(Search *s, uint8_t kind) {
    if (!s->in_word) {
        s->in_word = 1;
        s->word_hash = HASH_START;
        note_tokens(s, 1);
        s->block.capitals += (kind & CHAR_UPPER) != 0;
    }
}

static void write_point(Search *s, uint32_t point, uint8_t kind) {
    Document *document = &s->document;
    Block *block = &s->block;
    if (kind & CHAR_SPACE) {
        end_word(s);
        if (s->keeps_space && point == '\n' && s->has_block && document->text.length > block->start) {
            if (document->text.bytes[document->text.length - 1] != '\n')
                document->text.bytes[document->text.length++] = '\n';
            s->is_pending = 0;
            block->lines++;
        } else if (point != 0xad && point && !(point >= 0x200b && point <= 0x200f) && point != 0xfeff)
            s->is_pending = 1;
        return;
    }
    begin_character(s);
    document->text.length += (size_t)utf8_write(document->text.bytes + document->text.length, point);
    block->chars++;
    if (kind & CHAR_CJK) {
        end_word(s);
        note_tokens(s, 1);
        block->cjk++;
        note_word(s, hash_step(hash_step(HASH_START, s->previous_cjk), point));
        s->previous_cjk = point;
        return;
    }
    if (!(kind & CHAR_WORD)) {
        end_word(s);
        s->previous_cjk = 0;
        block->stops += (kind & CHAR_STOP) != 0;
        block->commas += (kind & CHAR_COMMA) != 0;
        block->marks += (kind & CHAR_MARK) != 0;
        return;
    }
    block->letters++;
    block->digits += (kind & CHAR_DIGIT) != 0;
    begin_word(s, kind);
    s->word_hash = hash_step(s->word_hash, point < 128 ? ascii_folded[point] : point);
}

enum { CHUNK = 8 };

/* A run of ASCII letters and digits, eight at a time and without case; all numbers are one word. (On a big-endian
 * machine the hashes, and so the model, would be others.) */
static inline uint32_t hash_run(uint32_t hash, const char *at, const char *run_end, const char *end, uint32_t digits) {
    uint64_t state = hash;
    if ((size_t)(run_end - at) == digits)
        return hash_step(hash, '0');
    for (; at < run_end; at += CHUNK) {
        size_t length = (size_t)(run_end - at);
        uint64_t chunk = 0;
        if (end - at >= CHUNK)
            memcpy(&chunk, at, CHUNK);
        else
            memcpy(&chunk, at, length < CHUNK ? length : CHUNK);
        chunk |= 0x2020202020202020u;
        if (length < CHUNK)
            chunk &= ((uint64_t)1 << (8 * length)) - 1;
        state = (state ^ chunk) * 0x9e3779b97f4a7c15u;
        state ^= state >> 29;
    }
    return (uint32_t)(state ^ state >> 32);
}

/* Where a run of ASCII letters and digits ends, and how many digits it has. */
static inline const char *run_of_letters(const char *at, const char *end, uint32_t *digits) {
    *digits = 0;
#ifdef __SSE2__
    /* Sixteen at once: nearly every word ends within them, and nothing has to be guessed. */
    while (end - at >= 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i small = _mm_or_si128(text, _mm_set1_epi8(0x20));
        __m128i letter =
            _mm_and_si128(_mm_cmpgt_epi8(small, _mm_set1_epi8('a' - 1)), _mm_cmplt_epi8(small, _mm_set1_epi8('z' + 1)));
        __m128i digit =
            _mm_and_si128(_mm_cmpgt_epi8(text, _mm_set1_epi8('0' - 1)), _mm_cmplt_epi8(text, _mm_set1_epi8('9' + 1)));
        __m128i line = _mm_cmpeq_epi8(text, _mm_set1_epi8('_'));
        uint32_t is_digit_at = (uint32_t)_mm_movemask_epi8(digit);
        uint32_t is_word_at = (uint32_t)_mm_movemask_epi8(_mm_or_si128(letter, line)) | is_digit_at;
        uint32_t length = (uint32_t)__builtin_ctz(~is_word_at);
        for (uint32_t left = is_digit_at & ((1u << length) - 1); left; left &= left - 1)
            ++*digits;
        at += length;
        if (length < 16)
            return at;
    }
#endif
    for (; at < end && (unsigned char)*at < 128 && ascii_kinds[(unsigned char)*at] & CHAR_WORD; at++)
        *digits += is_digit((unsigned char)*at);
    return at;
}

static inline int is_ascii_sign(const char *at, const char *end) {
    return at < end && (unsigned char)*at < 128 && *at != '&' && !(ascii_kinds[(unsigned char)*at] & CHAR_SPACE);
}

/* Most text is words of ASCII, single spaces and punctuation: what is counted of them is put down once for all. Begins
 * at such a sign, and gives where there is another. */
static const char *write_ascii(Search *s, const char *at, const char *end) {
    Buffer *text = &s->document.text;
    Block *block = &s->block;
    begin_character(s);
    char *to = text->bytes + text->length;
    uint32_t hash = s->word_hash, tokens = 0, letters = 0, signs = 0, all_digits = 0;
    int in_word = s->in_word;
    do {
        uint8_t kind = ascii_kinds[(unsigned char)*at];
        if (kind & CHAR_WORD) {
            uint32_t digits;
            const char *after = run_of_letters(at, end, &digits);
            uint32_t length = (uint32_t)(after - at);
            if (!in_word) {
                in_word = 1;
                hash = HASH_START;
                tokens++;
                block->capitals += (kind & CHAR_UPPER) != 0;
            }
            if (length <= 16 && end - at >= 16)
                memcpy(to, at, 16); /* the buffer has room to spare */
            else
                memcpy(to, at, length);
            /* Nobody asks for the words after those that are weighed. */
            if (block->weighed < MAX_WEIGHED)
                hash = hash_run(hash, at, after, end, digits);
            to += length;
            letters += length;
            all_digits += digits;
            at = after;
        } else {
            if (in_word)
                note_word(s, hash);
            in_word = 0;
            s->previous_cjk = 0;
            block->stops += (kind & CHAR_STOP) != 0;
            block->commas += (kind & CHAR_COMMA) != 0;
            block->marks += (kind & CHAR_MARK) != 0;
            *to++ = *at++;
            signs++;
        }
        if (at < end && *at == ' ') {
            if (in_word)
                note_word(s, hash);
            in_word = 0;
            at++;
            if (!is_ascii_sign(at, end)) {
                s->is_pending = 1;
                break;
            }
            *to++ = ' ';
        }
    } while (is_ascii_sign(at, end));
    s->in_word = in_word;
    s->word_hash = hash;
    text->length = (size_t)(to - text->bytes);
    block->letters += letters;
    block->chars += letters + signs;
    block->digits += all_digits;
    note_tokens(s, tokens);
    return at;
}

int read_text(Search *s, Span words) {
    const char *at = words.at, *end = words.end;
    Buffer *text = &s->document.text;
    /* Between tags there is mostly white space. */
    if (!s->keeps_space)
        while (at < end && (unsigned char)*at <= ' ') {
            end_word(s);
            s->is_pending = 1;
            at++;
        }
    if (at == end)
        return 0;
    /* A reference is never shorter than half of what it stands for; a space may go before each character. */
    if (buffer_reserve(text, (size_t)(end - at) * 2 + 32))
        return -1;
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c == ' ') {
            end_word(s);
            s->is_pending = 1;
            at++;
            continue;
        }
        if (c == '&') {
            Reference found;
            const char *next = resolve_reference(at, end, 0, &found);
            if (next != at) {
                for (int i = 0; i < found.count; i++)
                    write_point(s, found.points[i], kind_of(found.points[i]));
                at = next;
                continue;
            }
        }
        if (is_ascii_sign(at, end))
            at = write_ascii(s, at, end);
        else if (c < 128) {
            write_point(s, c, ascii_kinds[c]);
            at++;
        } else {
            uint32_t point;
            at = utf8_read(at, end, &point);
            write_point(s, point, kind_of(point));
        }
    }
    return 0;
}

static void note_title_word(Search *s, uint32_t hash) {
    uint16_t slot = weight_slot(hash);
    s->title_words[slot >> 6 & 63] |= 1ull << (slot & 63);
}

/* As read_text finds words, so that those of the title are known again. */
void note_title_words(Search *s, const Buffer *title) {
    uint32_t hash = HASH_START, previous = 0;
    int in_word = 0;
    for (const char *at = title->bytes, *end = at + title->length; at < end;) {
        uint32_t digits;
        const char *after = run_of_letters(at, end, &digits);
        if (after > at) {
            hash = hash_run(in_word ? hash : HASH_START, at, after, end, digits);
            in_word = 1;
            at = after;
            continue;
        }
        uint32_t point;
        at = utf8_read(at, end, &point);
        uint8_t kind = kind_of(point);
        if (kind & CHAR_WORD) {
            hash = hash_step(in_word ? hash : HASH_START, point);
            in_word = 1;
            continue;
        }
        if (in_word)
            note_title_word(s, hash);
        in_word = 0;
        if (kind & CHAR_CJK)
            note_title_word(s, hash_step(hash_step(HASH_START, previous), point));
        previous = kind & CHAR_CJK ? point : 0;
    }
    if (in_word)
        note_title_word(s, hash);
}
