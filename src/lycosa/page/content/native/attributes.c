/* What attributes say: that an element is hidden, and the words of its class, id and role. */
#include "search.h"

int hides(const Attributes *attributes) {
    Span style = value_of(attributes, AT_STYLE);
    if (has_attribute(attributes, AT_HIDDEN))
        return 1;
    for (const char *c = style.at; c && c + 9 < style.end; c++)
        if (span_begins((Span){c, style.end}, "display:")) {
            const char *value = c + 8;
            while (value < style.end && is_space((unsigned char)*value))
                value++;
            if (span_begins((Span){value, style.end}, "none"))
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

/* The first and the last eight characters, or twice four, or all three: no length that is not known beforehand. */
static inline uint32_t slot_of_value(Span value) {
    uint64_t first = 0, last = 0;
    size_t length = span_length(value);
    if (length >= 8) {
        memcpy(&first, value.at, 8);
        memcpy(&last, value.end - 8, 8);
    } else if (length >= 4) {
        memcpy(&first, value.at, 4);
        memcpy(&last, value.end - 4, 4);
    } else {
        first = (unsigned char)value.at[0] | (uint64_t)(unsigned char)value.at[length / 2] << 8;
        last = (unsigned char)value.end[-1];
    }
    return (uint32_t)(((first * 31 + last + length) * 0x9e3779b97f4a7c15u) >> 58) % WORDED;
}

int read_class(Search *s, Span value, uint32_t *groups, uint32_t *signature, int *count) {
    Document *document = &s->document;
    size_t length = span_length(value);
    if (!length)
        return 0;
    Worded *worded = &s->worded[slot_of_value(value)];
    if (worded->value.at && span_length(worded->value) == length &&
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

int read_words(Search *s, Span value, uint32_t *groups, uint32_t *signature, int *count) {
    Document *document = &s->document;
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
