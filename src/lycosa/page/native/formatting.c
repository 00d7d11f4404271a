/* Formatting elements: those not closed go on in the next block, those closed in the wrong order are put right. */
#include "html.h"

static void add_entry(Tree *tree, uint32_t node, Span source) {
    if (tree->formatting_count == tree->formatting_capacity) {
        size_t capacity = tree->formatting_capacity ? tree->formatting_capacity * 2 : 32;
        Formatting *more = realloc(tree->formatting, capacity * sizeof *more);
        if (!more) {
            tree->failed = 1;
            return;
        }
        tree->formatting = more;
        tree->formatting_capacity = capacity;
    }
    tree->formatting[tree->formatting_count++] = (Formatting){node, source, 0};
    if (node != MARKER)
        tree->nodes[node].flags |= IS_LISTED;
}

static void remove_entry(Tree *tree, size_t index) {
    if (tree->formatting[index].node != MARKER)
        tree->nodes[tree->formatting[index].node].flags &= ~(uint32_t)IS_LISTED;
    tree->formatting_count--;
    tree->steps += tree->formatting_count - index;
    memmove(&tree->formatting[index], &tree->formatting[index + 1],
            (tree->formatting_count - index) * sizeof *tree->formatting);
}

/* Most are written alike, or have none; the hash of the others is needed once. */
static int is_same(Formatting *entry, Span source, uint64_t *hash) {
    if (span_length(entry->source) == span_length(source) && !memcmp(entry->source.at, source.at, span_length(source)))
        return 1;
    if (!entry->hash)
        entry->hash = hash_attributes(entry->source);
    if (!*hash)
        *hash = hash_attributes(source);
    return entry->hash == *hash;
}

void add_formatting(Tree *tree, uint32_t node, Span source) {
    Name name = tree->nodes[node].name;
    size_t same = 0, earliest = 0;
    uint64_t hash = 0;
    /* What is nested too deep to be open does not go on either. */
    if (!(tree->nodes[node].flags & IS_OPEN))
        return;
    for (size_t i = tree->formatting_count; i-- > 0 && tree->formatting[i].node != MARKER; tree->steps++)
        if (tree->nodes[tree->formatting[i].node].name == name && is_same(&tree->formatting[i], source, &hash)) {
            same++;
            earliest = i;
        }
    /* "Noah's Ark": three of a kind. */
    if (same >= 3)
        remove_entry(tree, earliest);
    add_entry(tree, node, source);
}

void add_marker(Tree *tree) { add_entry(tree, MARKER, (Span){NULL, NULL}); }

void clear_to_marker(Tree *tree) {
    while (tree->formatting_count) {
        uint32_t node = tree->formatting[tree->formatting_count - 1].node;
        remove_entry(tree, tree->formatting_count - 1);
        if (node == MARKER)
            return;
    }
}

static size_t index_in_list(Tree *tree, uint32_t node) {
    for (size_t i = tree->formatting_count; i-- > 0; tree->steps++)
        if (tree->formatting[i].node == node)
            return i;
    return SIZE_MAX;
}

uint32_t find_formatting(Tree *tree, Name name) {
    for (size_t i = tree->formatting_count; i-- > 0 && tree->formatting[i].node != MARKER; tree->steps++)
        if (tree->nodes[tree->formatting[i].node].name == name)
            return tree->formatting[i].node;
    return NO_NODE;
}

void forget_formatting(Tree *tree, uint32_t node) {
    if (tree->nodes[node].flags & IS_LISTED)
        remove_entry(tree, index_in_list(tree, node));
}

static uint32_t copy_of(Tree *tree, uint32_t node) {
    uint32_t copy = make_element(tree, tree->nodes[node].name);
    if (copy) {
        tree->nodes[copy].at = tree->nodes[node].at;
        tree->nodes[copy].end = tree->nodes[node].end;
    }
    return copy;
}

static void replace_entry(Tree *tree, size_t index, uint32_t node) {
    tree->nodes[tree->formatting[index].node].flags &= ~(uint32_t)IS_LISTED;
    tree->nodes[node].flags |= IS_LISTED;
    tree->formatting[index].node = node;
}

void reconstruct(Tree *tree) {
    size_t i = tree->formatting_count;
    while (i > 0 && tree->formatting[i - 1].node != MARKER &&
           !(tree->nodes[tree->formatting[i - 1].node].flags & IS_OPEN))
        i--;
    for (; i < tree->formatting_count && !tree->is_full; i++) {
        uint32_t node = copy_of(tree, tree->formatting[i].node);
        if (!node)
            return;
        insert_at(tree, current(tree)->node, current(tree)->name, node);
        push_open(tree, node, flags_of(tree->nodes[node].name));
        replace_entry(tree, i, node);
    }
}

static int is_node_in_scope(Tree *tree, int index) {
    for (int i = tree->open_count - 1; i > index; i--, tree->steps++)
        if (tree->open[i].flags & IS_SCOPE)
            return 0;
    return 1;
}

/* The topmost special element below the formatting element, or -1. */
static int find_furthest(Tree *tree, int index) {
    for (int i = index + 1; i < tree->open_count; i++, tree->steps++)
        if (tree->open[i].flags & IS_SPECIAL)
            return i;
    return -1;
}

static void replace_open(Tree *tree, int index, uint32_t node) {
    tree->nodes[tree->open[index].node].flags &= ~(uint32_t)IS_OPEN;
    tree->nodes[node].flags |= IS_OPEN;
    tree->open[index].node = node;
}

/* Steps 13 to 20 of the standard: the block leaves the formatting element, a copy of which takes the block's content. */
static void part(Tree *tree, int index, int furthest_index) {
    uint32_t element = tree->open[index].node, furthest = tree->open[furthest_index].node, last = furthest;
    Open above = tree->open[index - 1];
    size_t bookmark = index_in_list(tree, element);
    tree->is_reordered = 1;
    int at = furthest_index;
    for (int count = 1; --at > index; count++) {
        uint32_t node = tree->open[at].node;
        if (count > 3 && tree->nodes[node].flags & IS_LISTED) {
            size_t listed = index_in_list(tree, node);
            bookmark -= listed < bookmark;
            remove_entry(tree, listed);
        }
        if (!(tree->nodes[node].flags & IS_LISTED)) {
            remove_open(tree, at);
            continue;
        }
        uint32_t copy = copy_of(tree, node);
        if (!copy)
            return;
        size_t listed = index_in_list(tree, node);
        replace_entry(tree, listed, copy);
        replace_open(tree, at, copy);
        if (last == furthest)
            bookmark = listed + 1;
        remove_node(tree, last);
        append_node(tree, copy, last);
        last = copy;
    }
    remove_node(tree, last);
    insert_at(tree, above.node, above.name, last);
    uint32_t copy = copy_of(tree, element);
    if (!copy)
        return;
    while (tree->nodes[furthest].first) {
        uint32_t child = tree->nodes[furthest].first;
        remove_node(tree, child);
        append_node(tree, copy, child);
    }
    append_node(tree, furthest, copy);
    /* The copy takes the element's place: in the list at the bookmark, among open elements below the block. */
    size_t listed = index_in_list(tree, element);
    Formatting entry = tree->formatting[listed];
    remove_entry(tree, listed);
    bookmark -= listed < bookmark;
    add_entry(tree, copy, entry.source);
    if (tree->failed)
        return;
    for (size_t i = tree->formatting_count - 1; i > bookmark; i--, tree->steps++)
        tree->formatting[i] = tree->formatting[i - 1];
    entry.node = copy;
    tree->formatting[bookmark] = entry;
    int below = index_in_open(tree, furthest);
    Open open = tree->open[index];
    remove_open(tree, index);
    open.node = copy;
    memmove(&tree->open[below + 1], &tree->open[below], (size_t)(tree->open_count - below) * sizeof open);
    tree->open[below] = open;
    tree->open_count++;
    note_open(tree, &open);
}

int adopt(Tree *tree, Name name) {
    if (current(tree)->name == name && !(tree->nodes[current(tree)->node].flags & IS_LISTED)) {
        pop_open(tree);
        return 1;
    }
    for (int turn = 0; turn < 8 && !tree->is_full && !tree->failed; turn++) {
        uint32_t element = find_formatting(tree, name);
        if (!element)
            return 0;
        int index = tree->nodes[element].flags & IS_OPEN ? index_in_open(tree, element) : -1;
        if (index < 0) {
            forget_formatting(tree, element);
            return 1;
        }
        if (!is_node_in_scope(tree, index))
            return 1;
        int furthest = find_furthest(tree, index);
        if (furthest < 0) {
            while (tree->open_count > index)
                pop_open(tree);
            forget_formatting(tree, element);
            return 1;
        }
        part(tree, index, furthest);
    }
    return 1;
}
