/* The search for main content, fed with the tokens of the reader of pages (native/feed.h). */
#include "../../native/feed.h"
#include "model.h"
#include "scan.h"

struct Search {
    const Model *model;
    Document document;
    Scanner scanner;
};

uint8_t searched_tag(const char *name, size_t length) {
    tags_prepare();
    return (uint8_t)tag_of(name, length);
}

int is_searched_raw(uint8_t tag) { return (TAG_KINDS[tag].flags & IS_RAW) != 0; }

int is_model(PyObject *object) { return model_of(object) != NULL; }

/* Kept between pages, as long as it is not much; taken by whoever searches, so that nobody shares it. */
static Search *spare;
enum { MAX_SPARE_ELEMENTS = 1 << 12, MAX_SPARE_BYTES = 1 << 18 };

Search *search_begin(PyObject *model) {
    Search *search = spare ? spare : calloc(1, sizeof *search);
    spare = NULL;
    if (!search)
        return NULL;
    document_reset(&search->document);
    search->model = model_of(model);
    if (search->model && !scanner_begin(&search->scanner, &search->document, search->model->text_weights))
        return search;
    search_free(search);
    return NULL;
}

void search_free(Search *search) {
    const Document *document = &search->document;
    if (!spare && document->element_capacity <= MAX_SPARE_ELEMENTS && document->text.capacity <= MAX_SPARE_BYTES) {
        spare = search;
        return;
    }
    document_free(&search->document);
    free(search);
}

int search_text(Search *search, const char *at, const char *end) {
    Scanner *s = &search->scanner;
    return s->skipped || s->is_full ? 0 : read_text(s, at, end);
}

static void note_attribute(Attributes *found, AttributeName name, Span value) {
    switch (name) {
    case AT_CLASS:
        found->class_ = value;
        break;
    case AT_ID:
        found->id = value;
        break;
    case AT_STYLE:
        found->style = value;
        break;
    case AT_ROLE:
        found->role = value;
        break;
    case AT_ITEMPROP:
        found->itemprop = value;
        break;
    case AT_HREF:
        found->href = value;
        break;
    case AT_REL:
        found->rel = value;
        break;
    case AT_NAME:
    case AT_PROPERTY:
    case AT_HTTP_EQUIV:
        if (!found->property.at)
            found->property = value;
        break;
    case AT_CONTENT:
        found->content = value;
        break;
    case AT_DATETIME:
        found->datetime = value;
        break;
    case AT_TYPE:
        found->type = value;
        break;
    case AT_LANG:
        found->lang = value;
        break;
    case AT_HIDDEN:
        found->is_hidden |= 1;
        break;
    case AT_ARIA_HIDDEN:
        found->is_hidden |= span_is(value, "true") ? 2 : 0;
        break;
    default:
        break;
    }
}

int search_start_tag(Search *search, uint8_t tag, const char *html, const Attribute *given, uint32_t count,
                     int is_self_closing) {
    static const Attributes NONE;
    if (search->scanner.is_full)
        return 0;
    if (!count && !is_self_closing)
        return read_start_tag(&search->scanner, (Tag)tag, &NONE);
    Attributes attributes = NONE;
    for (uint32_t i = 0; i < count; i++)
        note_attribute(&attributes, given[i].name, (Span){html + given[i].at, html + given[i].end});
    attributes.is_closed = is_self_closing;
    return read_start_tag(&search->scanner, (Tag)tag, &attributes);
}

int search_raw(Search *search, uint8_t tag, int is_json, const char *at, const char *end) {
    return search->scanner.is_full ? 0 : note_raw(&search->scanner, (Tag)tag, is_json, at, end);
}

const char *search_raw_from(Search *search, uint8_t tag, int is_json, const char *at, const char *end) {
    Scanner *s = &search->scanner;
    s->at = at;
    s->end = end;
    return s->is_full || !read_raw(s, (Tag)tag, is_json) ? s->at : NULL;
}

int search_end_tag(Search *search, uint8_t tag) {
    return search->scanner.is_full ? 0 : read_end_tag(&search->scanner, (Tag)tag);
}

PyObject *search_found(Search *search) {
    if (end_block(&search->scanner))
        return PyErr_NoMemory();
    return find_content(search->model, &search->document, 0, NULL);
}

PyObject *search_anew(Search *search, const char *html, size_t length) {
    document_free(&search->document);
    if (scan(&search->document, html, length, search->model->text_weights))
        return PyErr_NoMemory();
    return find_content(search->model, &search->document, 0, NULL);
}
