/* Open elements: what a tag opens, what it closes, and what its blocks inherit. */
#include "search.h"

Element *add_element(Document *document) {
    if (document->element_count == document->element_capacity) {
        size_t capacity = document->element_capacity ? document->element_capacity * 2 : 512;
        Element *elements = realloc(document->elements, capacity * sizeof *elements);
        if (!elements)
            return NULL;
        document->elements = elements;
        document->element_capacity = capacity;
    }
    return &document->elements[document->element_count++];
}

static void raise_levels(uint8_t *levels, uint32_t words, uint32_t groups, uint8_t level) {
    for (; words; words &= words - 1) {
        int group = __builtin_ctz(words);
        levels[group] = levels[group] > level ? levels[group] : level;
    }
    for (; groups; groups &= groups - 1) {
        int group = WORD_GROUPS + __builtin_ctz(groups);
        levels[group] = levels[group] > level ? levels[group] : level;
    }
}

static void fill_element(Document *document, const Open *above, const Open *open, uint32_t signature) {
    Element *element = &document->elements[open->element];
    const Element *parent = &document->elements[above->element];
    memset(element, 0, offsetof(Element, levels));
    element->parent = above->element;
    element->depth = parent->depth + 1;
    element->tag = open->tag;
    element->signature = hash_mix(hash_step(signature, open->tag));
    element->path = hash_mix(hash_step(parent->path, open->tag));
    element->classes = open->classes;
    element->class_count = open->class_count;
    for (int i = 0; i < LEVEL_ROOM; i++)
        element->levels[i] = (uint8_t)(parent->levels[i] - (parent->levels[i] > 1));
    raise_levels(element->levels, above->words, above->groups, LEVEL_WRAP);
    raise_levels(element->levels, open->words, open->groups, LEVEL_OWN);
}

static void pop(Search *s) {
    s->depth--;
    s->open_count[s->stack[s->depth].tag]--;
    if (s->link_depth > s->depth)
        s->link_depth = 0;
    if (s->bold > s->depth)
        s->bold = 0;
    if (s->button > s->depth)
        s->button = 0;
    if (s->skipped > s->depth)
        s->skipped = 0;
    if (s->keeps_space > s->depth)
        s->keeps_space = 0;
    if (s->noted_depth > (uint32_t)s->depth)
        s->noted_depth = (uint32_t)s->depth;
}

static int read_named(Search *s, const Attributes *attributes, AttributeName name, uint32_t *words, int *count) {
    uint32_t ignored = HASH_START;
    return has_attribute(attributes, name) && read_words(s, value_of(attributes, name), words, &ignored, count);
}

int push(Search *s, SearchedTag tag, const Attributes *attributes) {
    if (s->depth >= MAX_DEPTH) {
        s->overflow++;
        return 0;
    }
    Document *document = &s->document;
    TagKind kind = TAG_KINDS[tag];
    const Open *above = &s->stack[s->depth - 1];
    Open *open = &s->stack[s->depth];
    uint32_t signature = HASH_START;
    int count = 0;
    memset(open, 0, sizeof *open);
    open->tag = (uint8_t)tag;
    open->classes = (uint32_t)document->class_count;
    Span class_ = value_of(attributes, AT_CLASS);
    if ((class_.at && read_class(s, class_, &open->words, &signature, &count)) ||
        read_named(s, attributes, AT_ID, &open->words, &count) ||
        read_named(s, attributes, AT_ROLE, &open->words, &count) ||
        read_named(s, attributes, AT_ITEMPROP, &open->words, &count))
        return -1;
    open->class_count = (uint16_t)count;
    if (kind.group >= 0)
        open->groups = 1u << kind.group;
    if (hides(attributes))
        open->groups |= 1u << GROUP_HIDDEN;
    open->is_block = (kind.flags & IS_BLOCK) && document->element_count < MAX_ELEMENTS;
    if (open->is_block) {
        open->element = (uint32_t)document->element_count;
        if (!add_element(document))
            return -1;
        fill_element(document, above, open, signature);
        open->words = 0;
        open->groups = 0;
    } else {
        open->element = above->element;
        open->words |= above->words;
        open->groups |= above->groups;
    }
    s->depth++;
    s->open_count[tag]++;
    if (kind.flags & IS_BOLD && !s->bold)
        s->bold = s->depth;
    if (kind.flags & IS_SKIPPED && !s->skipped)
        s->skipped = s->depth;
    if (kind.flags & IS_BUTTON && !s->button)
        s->button = s->depth;
    if (!s->keeps_space &&
        (kind.flags & KEEPS_SPACE || (span_length(class_) > 3 && !memcmp(class_.at, "bbs-", 4))))
        s->keeps_space = s->depth;
    if (tag == TAG_A && has_attribute(attributes, AT_HREF)) {
        s->link_depth = s->depth;
        s->block.links++;
    }
    return 0;
}

/* Closes the nearest open `tag` unless one of `barriers` stands between. */
static void close_implied(Search *s, SearchedTag tag, SearchedTag barrier, SearchedTag other) {
    if (!s->open_count[tag])
        return;
    for (int i = s->depth - 1; i > 0; i--, s->steps++) {
        SearchedTag open = (SearchedTag)s->stack[i].tag;
        if (open == tag) {
            while (s->depth > i)
                pop(s);
            return;
        }
        if (open == barrier || open == other)
            return;
    }
}

void close_before(Search *s, SearchedTag tag) {
    switch (tag) {
    case TAG_LI:
        close_implied(s, TAG_LI, TAG_UL, TAG_OL);
        break;
    case TAG_DT:
    case TAG_DD:
        close_implied(s, TAG_DT, TAG_DL, TAG_DD);
        close_implied(s, TAG_DD, TAG_DL, TAG_DT);
        break;
    case TAG_TD:
    case TAG_TH:
        close_implied(s, TAG_TD, TAG_TR, TAG_TABLE);
        close_implied(s, TAG_TH, TAG_TR, TAG_TABLE);
        break;
    case TAG_TR:
        close_implied(s, TAG_TR, TAG_TABLE, TAG_TBODY);
        break;
    case TAG_TBODY:
        close_implied(s, TAG_TBODY, TAG_TABLE, TAG_TABLE);
        break;
    case TAG_A:
        /* Links do not nest. An open one without blocks within ends here. */
        for (int i = s->depth - 1; i > 0 && !s->stack[i].is_block; i--, s->steps++)
            if (s->stack[i].tag == TAG_A) {
                while (s->depth > i)
                    pop(s);
                break;
            }
        s->link_depth = 0;
        return;
    default:
        break;
    }
    if (TAG_KINDS[tag].flags & IS_BLOCK && s->open_count[TAG_P])
        for (int i = s->depth - 1; i > 0; i--, s->steps++) {
            if (s->stack[i].tag == TAG_P) {
                while (s->depth > i)
                    pop(s);
                break;
            }
            if (s->stack[i].is_block)
                break;
        }
}

int read_end_tag(Search *s, SearchedTag tag) {
    int is_block = TAG_KINDS[tag].flags & IS_BLOCK;
    if (TAG_KINDS[tag].flags & (IS_VOID | IS_RAW))
        return tag == TAG_P || tag == TAG_BR ? end_block(s) : 0;
    if (s->overflow) {
        s->overflow--;
        return is_block ? end_block(s) : 0;
    }
    if (is_block && end_block(s))
        return -1;
    if (tag == TAG_A)
        s->link_depth = 0;
    if (!s->open_count[tag] || tag == TAG_HTML || tag == TAG_BODY)
        return 0;
    for (int i = s->depth - 1; i > 0; i--, s->steps++) {
        if (s->stack[i].tag == tag) {
            while (s->depth > i)
                pop(s);
            return 0;
        }
        if (!is_block && s->stack[i].is_block)
            return 0;
        /* Neither leaves a table cell. */
        if (is_block && (s->stack[i].tag == TAG_TD || s->stack[i].tag == TAG_TH) && tag != TAG_TR && tag != TAG_TABLE &&
            tag != TAG_TBODY)
            return 0;
    }
    return 0;
}
