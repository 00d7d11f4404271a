/* The search for main content: what it makes of each token, in one pass, as leniently as a reader would. */
#include "search.h"

/* Kept between pages, as long as it is not much; taken by whoever searches, so that nobody shares it. */
static Search *spare;
enum { MAX_SPARE_ELEMENTS = 1 << 12, MAX_SPARE_BYTES = 1 << 18 };

Search *search_with(const int8_t *text_weights) {
    static const int8_t NO_WEIGHTS[WEIGHTS];
    Search *s = spare ? spare : calloc(1, sizeof *s);
    spare = NULL;
    if (!s)
        return NULL;
    memset(s, 0, offsetof(Search, document));
    document_reset(&s->document);
    if (!add_element(&s->document)) {
        search_free(s);
        return NULL;
    }
    memset(s->document.elements, 0, sizeof *s->document.elements);
    s->text_weights = text_weights ? text_weights : NO_WEIGHTS;
    s->stack[0] = (Open){.tag = TAG_CUSTOM, .is_block = 1};
    s->depth = 1;
    begin_block(s);
    return s;
}

Search *search_begin(const Model *model) {
    Search *s = search_with(model->text_weights);
    if (s)
        s->model = model;
    return s;
}

void search_free(Search *s) {
    const Document *document = &s->document;
    if (!spare && document->element_capacity <= MAX_SPARE_ELEMENTS && document->text.capacity <= MAX_SPARE_BYTES) {
        spare = s;
        return;
    }
    document_free(&s->document);
    free(s);
}

int search_text(Search *s, Span text) { return s->skipped || s->is_full ? 0 : read_text(s, text); }

int search_end_tag(Search *s, uint8_t tag) {
    s->is_full |= s->steps > MAX_STEPS;
    return s->is_full ? 0 : read_end_tag(s, (SearchedTag)tag);
}

size_t search_steps(const Search *s) { return s->steps + s->document.steps; }

int search_raw(Search *s, Span content) {
    Meta *meta = &s->document.meta;
    if (s->is_full)
        return 0;
    if (s->raw == TAG_TITLE && !meta->title.length && !s->open_count[TAG_SVG]) {
        if (append_collapsed(&meta->title, content, 0, 1000))
            return -1;
        note_title_words(s, &meta->title);
    }
    return s->raw == TAG_SCRIPT && s->raw_is_json ? meta_ld(meta, content) : 0;
}

/* Start tags */

/* What a <meta> is about: its name, property or http-equiv, whichever comes first. */
static Span key_of(const Attributes *attributes) {
    for (uint32_t i = 0; i < attributes->count; i++) {
        const Attribute *item = &attributes->items[i];
        if (item->name == AT_NAME || item->name == AT_PROPERTY || item->name == AT_HTTP_EQUIV)
            return (Span){attributes->html + item->at, attributes->html + item->end};
    }
    return value_of(attributes, AT_ITEMPROP);
}

static int read_meta(Search *s, const Attributes *attributes) {
    Meta *meta = &s->document.meta;
    Span key = key_of(attributes), content = value_of(attributes, AT_CONTENT);
    if (!key.at || !content.at)
        return 0;
    size_t before = meta->og_title.length;
    if (meta_tag(meta, key, content))
        return -1;
    if (meta->og_title.length != before)
        note_title_words(s, &meta->og_title);
    return 0;
}

static int read_break(Search *s) {
    Buffer *text = &s->document.text;
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

/* The last that is declared counts. */
static int read_language(Meta *meta, Span lang) {
    if (lang.at == lang.end)
        return 0;
    meta->language.length = 0;
    return append_collapsed(&meta->language, lang, 1, 40);
}

static int read_start_tag(Search *s, SearchedTag tag, const Attributes *attributes) {
    Document *document = &s->document;
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
        if (read_language(&document->meta, value_of(attributes, AT_LANG)))
            return -1;
        break;
    case TAG_TIME:
        if (has_attribute(attributes, AT_DATETIME) && !document->meta.time.length &&
            append_collapsed(&document->meta.time, value_of(attributes, AT_DATETIME), 1, 60))
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
    if (kind.flags & IS_RAW) {
        s->raw = tag;
        s->raw_is_json = span_is(value_of(attributes, AT_TYPE), "application/ld+json");
        return 0;
    }
    if (kind.flags & IS_BLOCK && end_block(s))
        return -1;
    /* XML serialisers write empty elements so, and nobody who writes so means anything else. */
    if (kind.flags & IS_VOID || attributes->is_self_closing)
        return 0;
    close_before(s, tag);
    return push(s, tag, attributes);
}

int search_start_tag(Search *s, uint8_t tag, const Attributes *attributes) {
    s->is_full |= s->steps > MAX_STEPS;
    return s->is_full ? 0 : read_start_tag(s, (SearchedTag)tag, attributes);
}

/* The document */

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
