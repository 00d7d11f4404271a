/* Attributes, and the words in them. */
#include "scan.h"

uint8_t markup_kinds[256];

void markup_prepare(void) {
    for (int c = 0; c < 256; c++) {
        int is_end = is_space((unsigned char)c) || c == '>';
        markup_kinds[c] = (uint8_t)((is_space((unsigned char)c) ? IS_SPACE : 0) |
                                    (is_end || c == '=' || c == '/' ? ENDS_NAME : 0) | (is_end ? ENDS_VALUE : 0));
    }
}

static inline const char *skip_spaces(const char *at, const char *end) {
    while (at < end && is_kind(at, IS_SPACE))
        at++;
    return at;
}

static void note_attribute(Attributes *found, Span name, Span value) {
    Span *to = NULL;
    switch (name.end - name.at) {
    case 2:
        to = span_is(name, "id") ? &found->id : NULL;
        break;
    case 3:
        to = span_is(name, "rel") ? &found->rel : NULL;
        break;
    case 4:
        to = span_is(name, "href")   ? &found->href
             : span_is(name, "name") ? &found->property
             : span_is(name, "role") ? &found->role
             : span_is(name, "type") ? &found->type
             : span_is(name, "lang") ? &found->lang
                                     : NULL;
        break;
    case 5:
        to = span_is(name, "class") ? &found->class_ : span_is(name, "style") ? &found->style : NULL;
        break;
    case 6:
        found->is_hidden |= span_is(name, "hidden");
        break;
    case 7:
        to = span_is(name, "content") ? &found->content : NULL;
        break;
    case 8:
        to = span_is(name, "itemprop")   ? &found->itemprop
             : span_is(name, "property") ? &found->property
             : span_is(name, "datetime") ? &found->datetime
                                         : NULL;
        break;
    case 10:
        to = span_is(name, "http-equiv") ? &found->property : NULL;
        break;
    case 11:
        found->is_hidden |= span_is(name, "aria-hidden") && span_is(value, "true") ? 2 : 0;
        break;
    default:
        break;
    }
    if (to && !to->at)
        *to = value;
}

const char *read_attributes(const char *at, const char *end, Attributes *found) {
    for (;;) {
        int is_slash = 0;
        for (; at < end && (is_kind(at, IS_SPACE) || *at == '/'); at++)
            is_slash = *at == '/';
        if (at >= end)
            return NULL;
        if (*at == '>') {
            if (found)
                found->is_closed = is_slash;
            return at + 1;
        }
        Span name = {at, at}, value = {at, at};
        if (*at == '=')
            at++;
        while (at < end && !is_kind(at, ENDS_NAME))
            at++;
        name.end = at;
        at = skip_spaces(at, end);
        if (at < end && *at == '=') {
            at = skip_spaces(at + 1, end);
            if (at >= end)
                return NULL;
            if (*at == '"' || *at == '\'') {
                const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
                if (!close)
                    return NULL;
                value = (Span){at + 1, close};
                at = close + 1;
            } else {
                value.at = at;
                while (at < end && !is_kind(at, ENDS_VALUE))
                    at++;
                value.end = at;
            }
        }
        if (found)
            note_attribute(found, name, value);
    }
}

int hides(const Attributes *attributes) {
    if (attributes->is_hidden & 1)
        return 1;
    for (const char *c = attributes->style.at; c && c + 9 < attributes->style.end; c++)
        if ((*c | 32) == 'd' && !strncasecmp(c, "display:", 8)) {
            const char *value = skip_spaces(c + 8, attributes->style.end);
            if (attributes->style.end - value >= 4 && !strncasecmp(value, "none", 4))
                return 1;
        }
    return 0;
}

static int make_room_for_classes(Document *document) {
    if (document->class_count + ELEMENT_CLASSES <= document->class_capacity)
        return 0;
    size_t capacity = document->class_capacity ? document->class_capacity * 2 : 1024;
    uint16_t *classes = realloc(document->classes, capacity * sizeof *classes);
    if (!classes)
        return -1;
    document->classes = classes;
    document->class_capacity = capacity;
    return 0;
}

static uint32_t slot_of_value(Span value) {
    uint64_t first = 0, last = 0;
    size_t length = (size_t)(value.end - value.at);
    memcpy(&first, value.at, length < 8 ? length : 8);
    memcpy(&last, length < 8 ? value.at : value.end - 8, length < 8 ? length : 8);
    return (uint32_t)(((first * 31 + last + length) * 0x9e3779b97f4a7c15u) >> 58) % WORDED;
}

int read_class(Scanner *s, Span value, uint32_t *groups, uint32_t *signature, int *count) {
    Document *document = s->document;
    size_t length = (size_t)(value.end - value.at);
    if (!length)
        return 0;
    Worded *worded = &s->worded[slot_of_value(value)];
    if (worded->value.at && (size_t)(worded->value.end - worded->value.at) == length &&
        !memcmp(worded->value.at, value.at, length)) {
        if (make_room_for_classes(document))
            return -1;
        memcpy(document->classes + document->class_count, document->classes + worded->classes,
               (size_t)worded->count * sizeof *document->classes);
        document->class_count += (size_t)worded->count;
        *groups |= worded->groups;
        *signature = worded->signature;
        *count = worded->count;
        return 0;
    }
    uint32_t classes = (uint32_t)document->class_count;
    if (read_words(s, value, groups, signature, count))
        return -1;
    *worded = (Worded){value, *groups, *signature, classes, *count};
    return 0;
}

int read_words(Scanner *s, Span value, uint32_t *groups, uint32_t *signature, int *count) {
    Document *document = s->document;
    const char *at = value.at, *end = value.end;
    if (end - at > 400)
        end = at + 400;
    while (at < end) {
        while (at < end && !is_letter((unsigned char)*at))
            at++;
        uint32_t hash = HASH_START;
        const char *start = at;
        while (at < end && (is_letter((unsigned char)*at) || *at == '_' || (unsigned char)*at >= 0x80)) {
            if (at > start && *at >= 'A' && *at <= 'Z' && at[-1] >= 'a' && at[-1] <= 'z')
                break;
            if (*at == '_')
                break;
            hash = hash_step(hash, lower((unsigned char)*at++));
        }
        if (at - start < 2)
            continue;
        int group = word_group(hash);
        if (group >= 0)
            *groups |= 1u << group;
        *signature = hash_step(*signature, hash);
        if (*count >= ELEMENT_CLASSES)
            continue;
        if (make_room_for_classes(document))
            return -1;
        document->classes[document->class_count++] = weight_slot(hash);
        ++*count;
    }
    return 0;
}
