/* The text a reader sees: each block on a line of its own, paragraphs parted by an empty line, cells by a space.
   Headings are told once more, each on one line. */
#include "html.h"
#include <stdio.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef enum { INLINE, BLOCKS, LIST, ITEM, QUOTE, TABLE, SECTION, ROW, CELL } Kind;

typedef struct {
    uint32_t child; /* the next to be laid out */
    uint32_t ordinal;     /* of an ordered list's next item; how many rows or cells there were */
    uint32_t most, latest; /* cells of a table's rows */
    size_t at;            /* where a table's text begins, or a heading's */
    uint8_t kind, in_run, was_tight, was_started, was_held, is_ordered, is_heading;
} Frame;

/* White space, which the end of a block or cell makes void, and what parts lines or cells, which stays. */
enum { WHITE_SPACE = 1, BREAK = 2 };

typedef struct {
    const Tree *tree;
    Buffer out, headings;
    Frame *frames, lost;
    size_t frame_count, frame_capacity;
    int is_started;  /* something has been laid out */
    int has_content; /* on this line */
    int pending;     /* what becomes a space before the next word */
    int is_loose;    /* the last block wants an empty line after it */
    int is_held;     /* the next block goes on in this line */
    int is_tight;    /* no empty lines */
    int cells;       /* open ones; within them lines are parted by spaces */
    int failed;
} Layout;

/* Where memory ran out, a frame that nobody reads. */
static Frame *enter(Layout *layout, Kind kind, uint32_t child) {
    if (layout->frame_count == layout->frame_capacity) {
        size_t capacity = layout->frame_capacity ? layout->frame_capacity * 2 : 64;
        Frame *more = realloc(layout->frames, capacity * sizeof *more);
        if (!more) {
            layout->failed = 1;
            return &layout->lost;
        }
        layout->frames = more;
        layout->frame_capacity = capacity;
    }
    Frame *frame = &layout->frames[layout->frame_count++];
    *frame = (Frame){.child = child, .kind = (uint8_t)kind};
    return frame;
}

static int make_room(Layout *layout, size_t bytes) {
    layout->failed |= buffer_reserve(&layout->out, bytes);
    return layout->failed;
}

/* No text begins with an empty line or has two of them in a row. */
static void put_newline(Layout *layout) {
    Buffer *out = &layout->out;
    if (layout->cells) {
        layout->pending = BREAK;
        return;
    }
    layout->pending = layout->has_content = 0;
    /* After the number of an item that begins with a block. */
    if (out->length && out->bytes[out->length - 1] == ' ')
        out->length--;
    if (!out->length || (out->length > 1 && out->bytes[out->length - 1] == '\n' && out->bytes[out->length - 2] == '\n'))
        return;
    if (!make_room(layout, 1))
        out->bytes[out->length++] = '\n';
}

static void begin_block(Layout *layout, int is_loose) {
    if (!layout->is_started) {
        layout->is_started = 1;
        layout->pending &= BREAK;
    } else if (layout->is_held) {
        layout->is_held = 0;
        layout->pending &= BREAK;
    } else {
        put_newline(layout);
        if ((layout->is_loose || is_loose) && !layout->is_tight)
            put_newline(layout);
    }
    layout->is_loose = is_loose;
}

/* Words */

static inline void begin_word(Layout *layout) {
    if (layout->pending && layout->has_content)
        layout->out.bytes[layout->out.length++] = ' ';
    layout->pending = 0;
    layout->has_content = 1;
}

static void put_point(Layout *layout, uint32_t point) {
    if (point <= ' ' && is_space((unsigned char)point)) {
        layout->pending |= WHITE_SPACE;
        return;
    }
    begin_word(layout);
    layout->out.length += (size_t)utf8_write(layout->out.bytes + layout->out.length, point);
}

/* Where a run of words ends that are parted by single spaces. */
static const char *run_end(const char *at, const char *end) {
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(' '), reference = _mm_set1_epi8('&');
    /* A space counts with the character after it, so the last of sixteen is looked at with the next ones. */
    while (end - at >= 17) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(at + 1));
        __m128i low = _mm_cmpeq_epi8(_mm_max_epu8(text, space), space);
        __m128i next_low = _mm_cmpeq_epi8(_mm_max_epu8(next, space), space);
        __m128i single = _mm_andnot_si128(next_low, _mm_cmpeq_epi8(text, space));
        __m128i ends = _mm_or_si128(_mm_andnot_si128(single, low), _mm_cmpeq_epi8(text, reference));
        int mask = _mm_movemask_epi8(ends);
        if (mask)
            return at + __builtin_ctz((unsigned)mask);
        at += 16;
    }
#endif
    for (; at < end; at++) {
        unsigned char c = (unsigned char)*at;
        if (c > ' ' && c != '&')
            continue;
        if (c != ' ' || at + 1 == end || (unsigned char)at[1] <= ' ')
            return at;
    }
    return at;
}

static void put_text(Layout *layout, Span text, uint32_t flags, int in_attribute) {
    const char *at = text.at, *end = text.end;
    while (at < end && is_space((unsigned char)*at)) {
        layout->pending |= WHITE_SPACE;
        at++;
    }
    if (at == end || make_room(layout, (size_t)(end - at) * 3 + 8))
        return;
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (is_space(c)) {
            layout->pending |= WHITE_SPACE;
            at++;
            continue;
        }
        if (!c) {
            if (flags & REPLACES_NUL)
                put_point(layout, 0xfffd);
            at++;
            continue;
        }
        Reference found;
        const char *after = at;
        if (c == '&' && !(flags & IS_LITERAL) && (after = resolve_reference(at, end, in_attribute, &found)) != at) {
            for (int i = 0; i < found.count; i++)
                put_point(layout, found.points[i]);
            at = after;
            continue;
        }
        after = run_end(at + 1, end);
        begin_word(layout);
        memcpy(layout->out.bytes + layout->out.length, at, (size_t)(after - at));
        layout->out.length += (size_t)(after - at);
        at = after;
    }
}

/* An image is read as its text, apart from the words around it. */
static Span image_text(const Tree *tree, const Node *node) {
    return node->name == EL_IMG ? attribute_value(tree, node, AT_ALT) : (Span){NULL, NULL};
}

static void put_image(Layout *layout, Span alt) {
    if (alt.at == alt.end)
        return;
    layout->pending |= WHITE_SPACE;
    put_text(layout, alt, REPLACES_NUL, 1);
    layout->pending |= WHITE_SPACE;
}

/* Blocks */

static int is_unseen(Name name) {
    Name local = name & ~FOREIGN;
    return flags_of(name) & IS_UNSEEN || local == EL_SCRIPT || local == EL_STYLE || local == EL_NOSCRIPT ||
           local == EL_TEMPLATE;
}

static int is_empty_text(const Tree *tree, const Node *node) {
    return is_blank(source_of(tree, node->at, node->end), node->flags);
}

/* Whether an item begins with words, not with a block. */
static int leads_with_words(const Tree *tree, uint32_t item) {
    for (uint32_t child = tree->nodes[item].first; child; child = tree->nodes[child].next) {
        const Node *node = &tree->nodes[child];
        if (node->name == TEXT_NODE) {
            if (!is_empty_text(tree, node))
                return 1;
        } else if (!is_unseen(node->name))
            return !(flags_of(node->name) & IS_BLOCK);
    }
    return 0;
}

static void put_pre_point(Layout *layout, uint32_t point) {
    if (point == '\n' && layout->cells) {
        layout->pending = BREAK;
        return;
    }
    if (layout->pending)
        layout->out.bytes[layout->out.length++] = ' ';
    layout->pending = 0;
    layout->has_content = point != '\n';
    layout->out.length += (size_t)utf8_write(layout->out.bytes + layout->out.length, point);
}

static void put_pre_text(Layout *layout, Span text, uint32_t flags, int in_attribute) {
    if (make_room(layout, span_length(text) * 3 + 8))
        return;
    for (const char *at = text.at; at < text.end;) {
        Reference found;
        uint32_t point;
        const char *after = at;
        if (*at == '&' && !(flags & IS_LITERAL) &&
            (after = resolve_reference(at, text.end, in_attribute, &found)) != at) {
            for (int i = 0; i < found.count; i++)
                put_pre_point(layout, found.points[i]);
            at = after;
        } else if (*at == '\r') {
            put_pre_point(layout, '\n');
            at += 1 + (at + 1 < text.end && at[1] == '\n');
        } else {
            at = utf8_read(at, text.end, &point);
            if (point || flags & REPLACES_NUL)
                put_pre_point(layout, point ? point : 0xfffd);
        }
    }
}

static void put_pre_image(Layout *layout, Span alt) {
    if (alt.at == alt.end || make_room(layout, 8))
        return;
    put_pre_point(layout, ' ');
    put_pre_text(layout, alt, REPLACES_NUL, 1);
    if (!make_room(layout, 8))
        put_pre_point(layout, ' ');
}

static void put_pre(Layout *layout, uint32_t pre) {
    const Tree *tree = layout->tree;
    begin_block(layout, 1);
    size_t start = layout->out.length;
    int is_over = 0;
    for (uint32_t node = pre; (node = next_node(tree, node, pre, is_over)) && !layout->failed;) {
        const Node *inner = &tree->nodes[node];
        is_over = is_template(inner->name) || (inner->name & ~FOREIGN) == EL_NOSCRIPT;
        if (inner->name == TEXT_NODE)
            put_pre_text(layout, source_of(tree, inner->at, inner->end), inner->flags, 0);
        else
            put_pre_image(layout, image_text(tree, inner));
    }
    if (layout->out.length > start && layout->out.bytes[layout->out.length - 1] == '\n') {
        layout->out.length--;
        layout->has_content = layout->out.length > start && layout->out.bytes[layout->out.length - 1] != '\n';
    }
}

static uint32_t ordinal_of(const Tree *tree, const Node *node, AttributeName name, uint32_t otherwise) {
    Span value = attribute_value(tree, node, name);
    if (value.at == value.end || !is_digit((unsigned char)*value.at))
        return otherwise;
    uint32_t ordinal = 0;
    for (; value.at < value.end && is_digit((unsigned char)*value.at) && ordinal < 100000000; value.at++)
        ordinal = ordinal * 10 + (uint32_t)(*value.at - '0');
    return ordinal;
}

static int is_cell(Name name) { return name == EL_TD || name == EL_TH; }
static int is_section(Name name) { return name == EL_TBODY || name == EL_THEAD || name == EL_TFOOT; }

static int row_has_cell(const Tree *tree, uint32_t row) {
    for (uint32_t child = tree->nodes[row].first; child; child = tree->nodes[child].next)
        if (is_cell(tree->nodes[child].name))
            return 1;
    return 0;
}

static int has_cell(const Tree *tree, uint32_t table) {
    for (uint32_t part = tree->nodes[table].first; part; part = tree->nodes[part].next) {
        if (tree->nodes[part].name == EL_TR && row_has_cell(tree, part))
            return 1;
        if (is_section(tree->nodes[part].name))
            for (uint32_t row = tree->nodes[part].first; row; row = tree->nodes[row].next)
                if (tree->nodes[row].name == EL_TR && row_has_cell(tree, row))
                    return 1;
    }
    return 0;
}

/* A table begins a block only after its cells are laid out, so what these do to `is_held` counts: see `end_table`. */
static void begin_table(Layout *layout, uint32_t table) {
    if (!has_cell(layout->tree, table))
        return;
    Frame *frame = enter(layout, TABLE, layout->tree->nodes[table].first);
    if (layout->failed)
        return;
    frame->was_started = (uint8_t)layout->is_started;
    frame->was_held = (uint8_t)layout->is_held;
    frame->at = layout->out.length;
    int is_loose = layout->is_loose;
    begin_block(layout, 1);
    layout->is_started = frame->was_started;
    layout->is_held = frame->was_held;
    layout->is_loose = is_loose;
}

static void end_table(Layout *layout, const Frame *frame) {
    Buffer *out = &layout->out;
    if (layout->is_started && frame->was_held != layout->is_held && !layout->cells && out->length > frame->at) {
        size_t lines = frame->at ? (layout->is_tight ? 1 : 2) : 0, length = out->length - frame->at;
        if (frame->was_held) {
            if (make_room(layout, lines))
                return;
            memmove(out->bytes + frame->at + lines, out->bytes + frame->at, length);
            memset(out->bytes + frame->at, '\n', lines);
            out->length += lines;
        } else {
            size_t skipped = 0;
            while (skipped < lines && skipped < length && out->bytes[frame->at + skipped] == '\n')
                skipped++;
            memmove(out->bytes + frame->at, out->bytes + frame->at + skipped, length - skipped);
            out->length -= skipped;
        }
    }
    if (layout->is_started)
        layout->is_held = 0;
    layout->is_started = layout->is_loose = layout->has_content = 1;
    /* Cells that the last row lacks are parted too. */
    layout->pending = frame->latest < frame->most ? BREAK : layout->pending & BREAK;
}

static void begin_quote(Layout *layout, uint32_t quote) {
    Frame *frame = enter(layout, QUOTE, layout->tree->nodes[quote].first);
    if (layout->failed)
        return;
    frame->was_tight = (uint8_t)layout->is_tight;
    if (layout->is_started) {
        put_newline(layout);
        if (!layout->is_tight)
            put_newline(layout);
        layout->is_loose = layout->is_held = 1;
    }
    layout->is_tight = 0;
}

static void begin_element(Layout *layout, uint32_t node) {
    const Node *element = &layout->tree->nodes[node];
    switch (element->name) {
    case EL_UL:
    case EL_MENU:
        enter(layout, LIST, element->first);
        return;
    case EL_OL: {
        Frame *frame = enter(layout, LIST, element->first);
        frame->is_ordered = 1;
        frame->ordinal = ordinal_of(layout->tree, element, AT_START, 1);
        return;
    }
    case EL_PRE:
        put_pre(layout, node);
        return;
    case EL_TABLE:
        begin_table(layout, node);
        return;
    case EL_BLOCKQUOTE:
        begin_quote(layout, node);
        return;
    default:
        if (element->first) {
            Frame *frame = enter(layout, BLOCKS, element->first);
            frame->is_heading = (flags_of(element->name) & IS_HEADING) != 0;
            frame->at = layout->out.length;
        }
    }
}

static void put_inline(Layout *layout, uint32_t node) {
    const Tree *tree = layout->tree;
    const Node *inner = &tree->nodes[node];
    if (inner->name == TEXT_NODE)
        put_text(layout, source_of(tree, inner->at, inner->end), inner->flags, 0);
    else if (flags_of(inner->name) & IS_BLOCK)
        begin_element(layout, node);
    else if (inner->name == EL_BR)
        put_newline(layout);
    else if (inner->name == EL_IMG)
        put_image(layout, image_text(tree, inner));
    else if (inner->first && !is_unseen(inner->name))
        enter(layout, INLINE, inner->first);
}

/* White space that no word follows in the same text is nothing; if it is so, the whole of it is passed over. */
static int skip_empty_texts(const Tree *tree, Frame *frame, uint32_t node) {
    do {
        if (!is_empty_text(tree, &tree->nodes[node]))
            return 0;
        node = tree->nodes[node].next;
    } while (node && tree->nodes[node].name == TEXT_NODE && tree->nodes[node].flags & IS_JOINED);
    frame->child = node;
    return 1;
}

/* A child of a block: words go on in the line that words have begun. */
static void put_in_block(Layout *layout, Frame *frame, uint32_t node) {
    const Node *child = &layout->tree->nodes[node];
    if (child->name != TEXT_NODE) {
        if (flags_of(child->name) & IS_BLOCK) {
            frame->in_run = 0;
            begin_element(layout, node);
            return;
        }
        if (is_unseen(child->name))
            return;
    }
    if (!frame->in_run) {
        if (child->name == TEXT_NODE && skip_empty_texts(layout->tree, frame, node))
            return;
        begin_block(layout, !layout->is_tight);
        frame->in_run = 1;
    }
    put_inline(layout, node);
}

static void put_ordinal(Layout *layout, uint32_t ordinal) {
    if (make_room(layout, 16))
        return;
    begin_word(layout);
    layout->out.length += (size_t)sprintf(layout->out.bytes + layout->out.length, "%u. ", ordinal);
}

static void put_in_list(Layout *layout, Frame *frame, uint32_t node) {
    const Node *item = &layout->tree->nodes[node];
    int was_tight = layout->is_tight;
    if (item->name == EL_UL || item->name == EL_OL || item->name == EL_MENU) {
        /* A list in a list, outside of its items. */
        Frame *nested = enter(layout, ITEM, NO_NODE);
        nested->was_tight = (uint8_t)was_tight;
        layout->is_tight = 1;
        begin_element(layout, node);
        return;
    }
    if (item->name != EL_LI)
        return;
    begin_block(layout, 0);
    if (frame->is_ordered) {
        uint32_t ordinal = ordinal_of(layout->tree, item, AT_VALUE, frame->ordinal);
        frame->ordinal = ordinal + 1;
        put_ordinal(layout, ordinal);
    }
    Frame *inner = enter(layout, ITEM, item->first);
    inner->was_tight = (uint8_t)was_tight;
    layout->is_tight = 1;
    layout->is_held = leads_with_words(layout->tree, node);
}

/* The frames of a table's parts stand above its own. */
static Frame *table_of(Frame *frame) {
    while (frame->kind == SECTION)
        frame--;
    return frame;
}

static void put_in_table(Layout *layout, Frame *frame, uint32_t node) {
    const Node *part = &layout->tree->nodes[node];
    if (frame->kind == ROW) {
        if (!is_cell(part->name))
            return;
        layout->pending = frame->ordinal++ ? BREAK : layout->pending & BREAK;
        Frame *cell = enter(layout, CELL, part->first);
        cell->was_started = (uint8_t)layout->is_started;
        layout->cells++;
    } else if (part->name == EL_TR) {
        if (table_of(frame)->ordinal++)
            put_newline(layout);
        enter(layout, ROW, part->first);
    } else if (is_section(part->name))
        enter(layout, SECTION, part->first);
}

/* Copied once it is laid out; what parts its lines becomes a space. One in another is told before it, and in it. */
static void end_heading(Layout *layout, size_t at) {
    if (at >= layout->out.length)
        return;
    Span shown = stripped((Span){layout->out.bytes + at, layout->out.bytes + layout->out.length});
    if (!span_length(shown))
        return;
    if (buffer_reserve(&layout->headings, span_length(shown) + 1)) {
        layout->failed = 1;
        return;
    }
    char *to = layout->headings.bytes + layout->headings.length;
    for (const char *from = shown.at; from < shown.end; from++)
        *to++ = *from == '\n' ? ' ' : *from;
    *to++ = '\n';
    layout->headings.length = (size_t)(to - layout->headings.bytes);
}

static void leave(Layout *layout) {
    Frame frame = layout->frames[--layout->frame_count];
    if (frame.is_heading)
        end_heading(layout, frame.at);
    switch (frame.kind) {
    case ITEM:
    case QUOTE:
        layout->is_tight = frame.was_tight;
        return;
    case CELL:
        layout->cells--;
        layout->is_started = frame.was_started;
        layout->pending &= BREAK;
        return;
    case ROW: {
        Frame *table = table_of(&layout->frames[layout->frame_count - 1]);
        table->latest = frame.ordinal;
        table->most = frame.ordinal > table->most ? frame.ordinal : table->most;
        return;
    }
    case TABLE:
        end_table(layout, &frame);
        return;
    default:
        return;
    }
}

PyObject *read_layout(const Tree *tree, PyObject **headings) {
    Layout layout = {.tree = tree};
    enter(&layout, BLOCKS, tree->nodes[DOCUMENT].first);
    while (layout.frame_count && !layout.failed) {
        Frame *frame = &layout.frames[layout.frame_count - 1];
        uint32_t child = frame->child;
        if (!child) {
            leave(&layout);
            continue;
        }
        frame->child = tree->nodes[child].next;
        switch (frame->kind) {
        case INLINE:
        case CELL:
            put_inline(&layout, child);
            break;
        case LIST:
            put_in_list(&layout, frame, child);
            break;
        case TABLE:
        case SECTION:
        case ROW:
            put_in_table(&layout, frame, child);
            break;
        default:
            put_in_block(&layout, frame, child);
        }
    }
    Span shown = stripped((Span){layout.out.bytes, layout.out.bytes + layout.out.length});
    PyObject *text = layout.failed ? PyErr_NoMemory() : text_object(shown.at, span_length(shown));
    if (text) {
        size_t length = layout.headings.length; /* of the last line end, none is wanted */
        *headings = text_object(layout.headings.bytes, length ? length - 1 : 0);
        if (!*headings)
            Py_CLEAR(text);
    }
    free(layout.out.bytes);
    free(layout.headings.bytes);
    free(layout.frames);
    return text;
}
