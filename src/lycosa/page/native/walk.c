/* Ways through a finished tree. */
#include "html.h"

uint32_t next_node(const Tree *tree, uint32_t node, uint32_t root, int is_over) {
    const Node *nodes = tree->nodes;
    if (!is_over && nodes[node].first)
        return nodes[node].first;
    while (node != root && !nodes[node].next)
        node = nodes[node].parent;
    return node == root ? NO_NODE : nodes[node].next;
}

/* The elements of interest in the order of the tree, where they were not made in it; those of templates are none. */
void put_in_order(Tree *tree) {
    if (!tree->is_reordered)
        return;
    tree->is_reordered = 0;
    tree->noted_count = 0;
    int is_over = 0;
    for (uint32_t node = DOCUMENT; (node = next_node(tree, node, DOCUMENT, is_over)) && !tree->failed;) {
        Name name = tree->nodes[node].name;
        is_over = is_template(name);
        if (name != TEXT_NODE && flags_of(name & ~FOREIGN) & IS_NOTED)
            note(tree, node);
    }
}

int is_within(const Tree *tree, uint32_t node, Name name) {
    for (node = tree->nodes[node].parent; node; node = tree->nodes[node].parent)
        if ((tree->nodes[node].name & ~FOREIGN) == name)
            return 1;
    return 0;
}

int depth_exceeds(const Tree *tree, uint32_t max_depth) {
    const Node *nodes = tree->nodes;
    uint32_t depth = 0;
    for (uint32_t node = DOCUMENT;;) {
        if (nodes[node].first && !is_template(nodes[node].name)) {
            node = nodes[node].first;
            depth++;
        } else {
            while (node != DOCUMENT && !nodes[node].next) {
                node = nodes[node].parent;
                depth--;
            }
            if (node == DOCUMENT)
                return 0;
            node = nodes[node].next;
        }
        if (depth > max_depth && nodes[node].name != TEXT_NODE)
            return 1;
    }
}

Span attribute_value(const Tree *tree, const Node *node, AttributeName name) {
    for (uint32_t i = node->at; i < node->end; i++)
        if (tree->attributes[i].name == name)
            return source_of(tree, tree->attributes[i].at, tree->attributes[i].end);
    return (Span){NULL, NULL};
}

/* Past the bound on elements: what is of interest is noted one after the other, without a tree. */
void read_rest(Tree *tree) {
    int in_noscript = 0, in_template = 0;
    for (;;) {
        TokenKind kind = next_token(&tree->tokens, 0);
        const Tag *tag = &tree->tokens.tag;
        if (kind == TOKEN_END || tree->failed)
            return;
        if (kind != TOKEN_START_TAG && kind != TOKEN_END_TAG)
            continue;
        int step = kind == TOKEN_START_TAG ? 1 : -1;
        uint32_t flags = flags_of(tag->name);
        if (tag->name == EL_NOSCRIPT)
            in_noscript = step > 0;
        else if (tag->name == EL_TEMPLATE)
            in_template += step > 0 || in_template ? step : 0;
        if (step < 0)
            continue;
        int is_fallback = in_noscript && tag->name != EL_A && tag->name != EL_AREA;
        if (flags & IS_NOTED && tag->attribute_count && !in_template && !is_fallback)
            make_loose(tree, tag);
        if (flags & IS_RAW)
            take_raw(&tree->tokens, tag->name);
    }
}
