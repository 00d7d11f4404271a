/* HTML to elements and blocks of text, in one pass, as leniently as a browser where it matters for text. */
#include "scan.h"

static int read_meta(Scanner *s, const Attributes *attributes) {
    Meta *meta = &s->document->meta;
    Span key = attributes->property.at ? attributes->property : attributes->itemprop;
    if (!key.at || !attributes->content.at)
        return 0;
    size_t before = meta->og_title.length;
    if (meta_tag(meta, key, attributes->content))
        return -1;
    if (meta->og_title.length != before)
        note_title_words(s, &meta->og_title);
    return 0;
}

/* Where the element's end tag begins; the end of the text if there is none. */
static const char *raw_end(const char *at, const char *end, Tag tag) {
    const char *name = TAG_NAMES[tag];
    size_t length = strlen(name);
    for (;;) {
        at = memchr(at, '<', (size_t)(end - at));
        if (!at || (size_t)(end - at) < length + 2)
            return end;
        if (at[1] == '/' && !strncasecmp(at + 2, name, length))
            return at;
        at++;
    }
}

static int is_json_ld(const Attributes *attributes) {
    return attributes->type.at && span_is(attributes->type, "application/ld+json");
}

int note_raw(Scanner *s, Tag tag, int is_json, const char *start, const char *close) {
    Meta *meta = &s->document->meta;
    if (tag == TAG_TITLE && !meta->title.length && !s->open_count[TAG_SVG]) {
        if (append_collapsed(&meta->title, start, close, 1000))
            return -1;
        note_title_words(s, &meta->title);
    }
    return tag == TAG_SCRIPT && is_json ? meta_ld(meta, start, close) : 0;
}

int read_raw(Scanner *s, Tag tag, int is_json) {
    if (s->is_never_closed[tag])
        return 0;
    const char *start = s->at, *close = raw_end(start, s->end, tag);
    if (close == s->end && tag != TAG_SCRIPT && tag != TAG_STYLE) {
        /* A browser would hide the rest of the page; a reader wants it. Looked for once, so that time stays linear. */
        s->is_never_closed[tag] = 1;
        return 0;
    }
    const char *after = close < s->end ? memchr(close, '>', (size_t)(s->end - close)) : NULL;
    s->at = after ? after + 1 : s->end;
    return note_raw(s, tag, is_json, start, close);
}

static int read_break(Scanner *s) {
    Buffer *text = &s->document->text;
    end_word(s);
    if (!s->has_block)
        return 0;
    if (++s->breaks >= 2)
        return end_block(s);
    s->is_pending = 0;
    if (buffer_reserve(text, 8))
        return -1;
    if (text->length > s->block.start && text->bytes[text->length - 1] != '\n')
        text->bytes[text->length++] = '\n';
    s->block.lines++;
    return 0;
}

int read_start_tag(Scanner *s, Tag tag, const Attributes *attributes) {
    Document *document = s->document;
    TagKind kind = TAG_KINDS[tag];
    switch (tag) {
    case TAG_META:
        return read_meta(s, attributes);
    case TAG_BR:
        return read_break(s);
    case TAG_IMG:
        s->images++;
        document->images++;
        return 0;
    case TAG_HTML:
    case TAG_BODY:
        if (attributes->lang.at && attributes->lang.at < attributes->lang.end) {
            document->meta.language.length = 0;
            if (append_collapsed(&document->meta.language, attributes->lang.at, attributes->lang.end, 40))
                return -1;
        }
        break;
    case TAG_TIME:
        if (attributes->datetime.at && !document->meta.time.length &&
            append_collapsed(&document->meta.time, attributes->datetime.at, attributes->datetime.end, 60))
            return -1;
        break;
    case TAG_H1:
        document->h1s++;
        break;
    case TAG_ARTICLE:
        document->articles++;
        break;
    default:
        break;
    }
    if (kind.flags & IS_RAW)
        return attributes->is_closed ? 0 : read_raw(s, tag, is_json_ld(attributes));
    if (kind.flags & IS_BLOCK) {
        if (end_block(s))
            return -1;
    }
    /* XML serialisers write empty elements so, and nobody who writes so means anything else. */
    if (kind.flags & IS_VOID || attributes->is_closed)
        return 0;
    close_before(s, tag);
    return push(s, tag, attributes);
}

static int read_tag(Scanner *s) {
    const char *at = s->at + 1, *end = s->end;
    int is_end = at < end && *at == '/';
    at += is_end;
    const char *name = at;
    while (at < end && !is_kind(at, ENDS_NAME))
        at++;
    Tag tag = tag_of(name, (size_t)(at - name));
    Attributes attributes;
    if (!is_end)
        memset(&attributes, 0, sizeof attributes);
    const char *after = at < end && *at == '>' ? at + 1 : read_attributes(at, end, is_end ? NULL : &attributes);
    if (!after) {
        s->at = end;
        return 0;
    }
    s->at = after;
    return is_end ? read_end_tag(s, tag) : read_start_tag(s, tag, &attributes);
}

/* Comments, declarations and what looks like them. */
static void skip_markup(Scanner *s) {
    const char *at = s->at, *end = s->end;
    if (end - at >= 4 && !memcmp(at, "<!--", 4)) {
        /* "<!-->" and "<!--->" are whole comments. */
        const char *from = at + 2;
        for (const char *c = from;; c++) {
            c = memchr(c, '>', (size_t)(end - c));
            if (!c) {
                s->at = end;
                return;
            }
            if (c - from >= 2 && c[-1] == '-' && c[-2] == '-') {
                s->at = c + 1;
                return;
            }
        }
    }
    const char *close = memchr(at, '>', (size_t)(end - at));
    s->at = close ? close + 1 : end;
}

static int is_markup(const char *at, const char *end) {
    return end - at > 1 && (is_letter((unsigned char)at[1]) || at[1] == '/' || at[1] == '!' || at[1] == '?');
}

static int scan_all(Scanner *s) {
    while (s->at < s->end && !s->is_full) {
        const char *open = memchr(s->at, '<', (size_t)(s->end - s->at));
        if (!open)
            open = s->end;
        /* "<" before anything but a name is text. */
        while (open < s->end && !is_markup(open, s->end)) {
            open = memchr(open + 1, '<', (size_t)(s->end - open - 1));
            if (!open)
                open = s->end;
        }
        if (open > s->at && !s->skipped && read_text(s, s->at, open))
            return -1;
        s->at = open;
        if (open >= s->end)
            break;
        if (open[1] == '!' || open[1] == '?')
            skip_markup(s);
        else if (read_tag(s))
            return -1;
    }
    return end_block(s);
}

int scanner_begin(Scanner *s, Document *document, const int8_t *text_weights) {
    memset(s, 0, sizeof *s);
    if (!add_element(document))
        return -1;
    memset(document->elements, 0, sizeof *document->elements);
    s->document = document;
    static const int8_t NO_WEIGHTS[WEIGHTS];
    s->text_weights = text_weights ? text_weights : NO_WEIGHTS;
    s->stack[0] = (Open){.tag = TAG_CUSTOM, .is_block = 1};
    s->depth = 1;
    begin_block(s);
    return 0;
}

int scan(Document *document, const char *html, size_t length, const int8_t *text_weights) {
    Scanner *s = malloc(sizeof *s);
    if (!s || scanner_begin(s, document, text_weights)) {
        free(s);
        return -1;
    }
    s->at = html;
    s->end = html + length;
    int failed = scan_all(s);
    free(s);
    return failed;
}

void document_reset(Document *document) {
    Document old = *document;
    memset(document, 0, sizeof *document);
    document->text = old.text;
    document->text.length = 0;
    document->elements = old.elements;
    document->element_capacity = old.element_capacity;
    document->blocks = old.blocks;
    document->block_capacity = old.block_capacity;
    document->classes = old.classes;
    document->class_capacity = old.class_capacity;
    meta_free(&old.meta);
}

void document_free(Document *document) {
    meta_free(&document->meta);
    buffer_free(&document->text);
    free(document->elements);
    free(document->blocks);
    free(document->classes);
    memset(document, 0, sizeof *document);
}
