/* The tree that grows: nodes, open elements, and where the next node goes. */
#include "html.h"

/* About a megabyte. */
enum { MAX_SPARE_NODES = 1 << 15 };

/* Room for one more; NULL where memory ran out. */
static void *grown(void *items, size_t count, size_t *capacity, size_t size, size_t least) {
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : least;
    void *more = realloc(items, wanted * size);
    if (more)
        *capacity = wanted;
    return more;
}

/* NO_NODE where memory ran out: nothing is read any more. */
uint32_t add_node(Tree *tree, Name name) {
    Node *nodes = grown(tree->nodes, tree->node_count, &tree->node_capacity, sizeof *nodes, 4096);
    if (!nodes) {
        tree->failed = 1;
        return NO_NODE;
    }
    tree->nodes = nodes;
    nodes[tree->node_count] = (Node){.name = name};
    if (name != TEXT_NODE && ++tree->element_count > tree->max_elements)
        tree->is_full = 1;
    return (uint32_t)tree->node_count++;
}

void note(Tree *tree, uint32_t node) {
    uint32_t *noted = grown(tree->noted, tree->noted_count, &tree->noted_capacity, sizeof *noted, 256);
    if (!noted) {
        tree->failed = 1;
        return;
    }
    tree->noted = noted;
    noted[tree->noted_count++] = node;
}

static void keep_attributes(Tree *tree, uint32_t node, const Tag *tag) {
    tree->nodes[node].at = (uint32_t)tree->attribute_count;
    for (uint32_t i = 0; i < tag->attribute_count; i++) {
        Attribute *attributes = grown(tree->attributes, tree->attribute_count, &tree->attribute_capacity,
                                      sizeof *attributes, 512);
        if (!attributes) {
            tree->failed = 1;
            break;
        }
        tree->attributes = attributes;
        attributes[tree->attribute_count++] = tag->attributes[i];
    }
    tree->nodes[node].end = (uint32_t)tree->attribute_count;
}

void append_node(Tree *tree, uint32_t parent, uint32_t node) {
    Node *nodes = tree->nodes, *above = &nodes[parent];
    if (!node)
        return;
    nodes[node].parent = parent;
    nodes[node].previous = above->last;
    nodes[node].next = NO_NODE;
    if (above->last)
        nodes[above->last].next = node;
    else
        above->first = node;
    above->last = node;
}

void insert_before(Tree *tree, uint32_t parent, uint32_t node, uint32_t before) {
    Node *nodes = tree->nodes;
    if (!node)
        return;
    uint32_t previous = nodes[before].previous;
    nodes[node].parent = parent;
    nodes[node].previous = previous;
    nodes[node].next = before;
    nodes[before].previous = node;
    if (previous)
        nodes[previous].next = node;
    else
        nodes[parent].first = node;
}

void remove_node(Tree *tree, uint32_t node) {
    Node *nodes = tree->nodes, *here = &nodes[node];
    if (!here->parent)
        return;
    if (here->previous)
        nodes[here->previous].next = here->next;
    else
        nodes[here->parent].first = here->next;
    if (here->next)
        nodes[here->next].previous = here->previous;
    else
        nodes[here->parent].last = here->previous;
    here->parent = here->previous = here->next = NO_NODE;
}

/* Before the last open table, unless a template was opened since. */
static void foster(Tree *tree, uint32_t node) {
    tree->is_reordered = 1;
    for (int i = tree->open_count - 1; i > 0; i--, tree->steps++) {
        uint32_t open = tree->open[i].node;
        if (tree->open[i].name == EL_TEMPLATE) {
            append_node(tree, open, node);
            return;
        }
        if (tree->open[i].name == EL_TABLE) {
            if (tree->nodes[open].parent)
                insert_before(tree, tree->nodes[open].parent, node, open);
            else
                append_node(tree, tree->open[i - 1].node, node);
            return;
        }
    }
    append_node(tree, tree->open[0].node, node);
}

void insert_at(Tree *tree, uint32_t target, Name target_name, uint32_t node) {
    if (tree->is_fostering && flags_of(target_name) & IS_TABLED)
        foster(tree, node);
    else
        append_node(tree, target, node);
}

/* Open elements */

static inline void count_open(Tree *tree, Name name, int step) {
    tree->open_changes++;
    if (name == EL_P)
        tree->open_paragraphs += step;
    else if (name == EL_A || name == EL_PRE || name == (EL_A | (Name)IN_SVG))
        tree->open_keeping += step;
    else if (name == EL_TEMPLATE)
        tree->open_templates += step;
    if (name & FOREIGN)
        tree->open_foreign += step;
}

void note_open(Tree *tree, const Open *open) {
    tree->nodes[open->node].flags |= IS_OPEN;
    count_open(tree, open->name, 1);
}

void push_open(Tree *tree, uint32_t node, uint32_t flags) {
    if (tree->open_count >= MAX_OPEN || !node)
        return;
    Open open = {node, flags, tree->nodes[node].name};
    tree->open[tree->open_count++] = open;
    note_open(tree, &open);
}

static void forget_open(Tree *tree, const Open *open) {
    tree->nodes[open->node].flags &= ~(uint32_t)IS_OPEN;
    count_open(tree, open->name, -1);
}

/* The root stays. */
void pop_open(Tree *tree) {
    if (tree->open_count > 1)
        forget_open(tree, &tree->open[--tree->open_count]);
}

void remove_open(Tree *tree, int index) {
    forget_open(tree, &tree->open[index]);
    memmove(&tree->open[index], &tree->open[index + 1], (size_t)(--tree->open_count - index) * sizeof *tree->open);
}

void pop_until(Tree *tree, Name name) {
    while (tree->open_count > 1) {
        int is_last = current(tree)->name == name;
        pop_open(tree);
        if (is_last)
            return;
    }
}

int index_in_open(Tree *tree, uint32_t node) {
    int i = tree->open_count - 1;
    for (; i >= 0 && tree->open[i].node != node; i--)
        tree->steps++;
    return i;
}

static int find_in_scope(Tree *tree, Name name, Name barrier, Name other) {
    for (int i = tree->open_count - 1; i >= 0; i--, tree->steps++) {
        const Open *open = &tree->open[i];
        if (open->name == name)
            return 1;
        if (open->flags & IS_SCOPE || open->name == barrier || open->name == other)
            return 0;
    }
    return 0;
}

/* Asked again and again by a million end tags that close nothing, so the last answer is kept. */
static int is_reached(Tree *tree, Name name, Name barrier, Name other) {
    if (tree->asked.name != name || tree->asked.barrier != barrier || tree->asked.changes != tree->open_changes) {
        tree->asked.is_found = find_in_scope(tree, name, barrier, other);
        tree->asked.name = name;
        tree->asked.barrier = barrier;
        tree->asked.changes = tree->open_changes;
    }
    return tree->asked.is_found;
}

int is_in_scope(Tree *tree, Name name) { return is_reached(tree, name, NO_ELEMENT, NO_ELEMENT); }
int is_in_button_scope(Tree *tree, Name name) { return is_reached(tree, name, EL_BUTTON, NO_ELEMENT); }
int is_in_list_scope(Tree *tree, Name name) { return is_reached(tree, name, EL_OL, EL_UL); }

int is_in_table_scope(Tree *tree, Name name) {
    for (int i = tree->open_count - 1; i >= 0; i--, tree->steps++) {
        Name open = tree->open[i].name;
        if (open == name)
            return 1;
        if (open == EL_TABLE || open == EL_TEMPLATE || open == EL_HTML)
            return 0;
    }
    return 0;
}

void end_implied(Tree *tree, Name except) {
    while (current(tree)->flags & IS_IMPLIED && current(tree)->name != except)
        pop_open(tree);
}

void close_p(Tree *tree) {
    if (!tree->open_paragraphs || !is_in_button_scope(tree, EL_P))
        return;
    end_implied(tree, EL_P);
    pop_until(tree, EL_P);
}

/* Nodes from tokens */

uint32_t make_element(Tree *tree, Name name) {
    uint32_t node = add_node(tree, name);
    if (node && flags_of(name & ~FOREIGN) & IS_NOTED)
        note(tree, node);
    return node;
}

uint32_t insert_element(Tree *tree, const Tag *tag, Name name) {
    uint32_t node = make_element(tree, name);
    if (!node)
        return NO_NODE;
    /* Attributes matter by the name alone: a link in a drawing is a link. */
    if (tag && flags_of(name & ~FOREIGN) & IS_KEPT)
        keep_attributes(tree, node, tag);
    if (tree->open_count)
        insert_at(tree, current(tree)->node, current(tree)->name, node);
    else
        append_node(tree, DOCUMENT, node);
    return node;
}

void make_loose(Tree *tree, const Tag *tag) {
    uint32_t node = make_element(tree, tag->name);
    if (node)
        keep_attributes(tree, node, tag);
}

uint32_t insert_and_push(Tree *tree, const Tag *tag, Name name) {
    uint32_t node = insert_element(tree, tag, name);
    push_open(tree, node, flags_of(name));
    return node;
}

void insert_text(Tree *tree, Span text, uint32_t flags) {
    if (text.at == text.end)
        return;
    uint32_t node = add_node(tree, TEXT_NODE);
    if (!node)
        return;
    tree->nodes[node].at = (uint32_t)(text.at - tree->tokens.start);
    tree->nodes[node].end = (uint32_t)(text.end - tree->tokens.start);
    tree->nodes[node].flags = flags;
    insert_at(tree, current(tree)->node, current(tree)->name, node);
    uint32_t previous = tree->nodes[node].previous;
    if (previous && tree->nodes[previous].name == TEXT_NODE && !tree->is_parted)
        tree->nodes[node].flags |= IS_JOINED;
    tree->is_parted = 0;
}

/* The text without the white space it begins with. */
Span skip_space(Span text, uint32_t flags) {
    Reference found;
    while (text.at < text.end) {
        if (is_space((unsigned char)*text.at)) {
            text.at++;
            continue;
        }
        int is_reference = *text.at == '&' && !(flags & IS_LITERAL);
        const char *after = is_reference ? resolve_reference(text.at, text.end, 0, &found) : text.at;
        if (after == text.at || found.points[0] > ' ' || !is_space((unsigned char)found.points[0]))
            break;
        text.at = after;
    }
    return text;
}

/* The text without the new line that <pre> and <textarea> may begin with. */
Span skip_newline(Span text) {
    Reference found;
    if (text.at == text.end)
        return text;
    if (*text.at == '\n')
        text.at++;
    else if (*text.at == '\r')
        text.at += 1 + (text.end - text.at > 1 && text.at[1] == '\n');
    else if (*text.at == '&') {
        const char *after = resolve_reference(text.at, text.end, 0, &found);
        if (after != text.at && found.points[0] == '\n')
            text.at = after;
    }
    return text;
}

int is_blank(Span text, uint32_t flags) {
    for (text = skip_space(text, flags); text.at < text.end && !*text.at && !(flags & REPLACES_NUL);
         text = skip_space(text, flags))
        text.at++;
    return text.at == text.end;
}

/* The whole */

/* White space at the edge of a block, which is most of all texts, is shown nowhere. */
static int is_edge(const Tree *tree, Span text) {
    if (tree->mode != IN_BODY || tree->open_keeping || tree->formatting_count)
        return 0;
    for (const char *at = text.at; at < text.end; at++)
        if (!is_space((unsigned char)*at))
            return 0;
    if (!(current(tree)->flags & IS_BLOCK))
        return 0;
    uint32_t last = tree->nodes[current(tree)->node].last;
    return !last || flags_of(tree->nodes[last].name) & IS_BLOCK;
}

/* The tree reads the content of a raw element at once, and the search is told of it afterwards. What is raw to the
 * standard but not to readers ends their common way: the search reads the rest without the tree. */
static void start_in_both(Tree *tree) {
    Tokens *tokens = &tree->tokens;
    const char *after = tokens->at;
    Name name = tokens->tag.name;
    int is_self_closing = tokens->tag.is_self_closing;
    tree->failed |= feed_start_tag(tree->fed, tokens);
    tree->raw.at = NULL;
    take_start_tag(tree, &tokens->tag);
    if (!tree->raw.at)
        return;
    if (!is_self_closing && is_raw_to_readers(name, tree->raw, tokens->end)) {
        tree->failed |= search_raw(tree->fed, tree->raw);
        return;
    }
    tree->failed |= feed_markup(tree->fed, tokens->start, after, tokens->end);
    tree->fed = NULL;
}

static void build(Tree *tree) {
    Tokens *tokens = &tree->tokens;
    size_t max_steps = MIN_STEPS + (size_t)(tokens->end - tokens->start) * STEPS_PER_BYTE;
    while (!tree->is_full && !tree->failed) {
        if (tree->steps > max_steps) {
            tree->is_full = 1;
            return;
        }
        switch (next_token(tokens, is_foreign(tree))) {
        case TOKEN_END:
            return;
        case TOKEN_TEXT:
            if (tree->fed)
                tree->failed |= search_text(tree->fed, tokens->text);
            if (tree->skips_newline)
                tokens->text = skip_newline(tokens->text);
            tree->skips_newline = 0;
            if (tokens->text.at < tokens->text.end && !is_edge(tree, tokens->text))
                take_text(tree, tokens->text, 0);
            continue;
        case TOKEN_CDATA:
            if (tokens->text.at < tokens->text.end)
                take_text(tree, tokens->text, IS_LITERAL);
            break;
        case TOKEN_START_TAG:
            tree->skips_newline = 0;
            if (tree->fed)
                start_in_both(tree);
            else
                take_start_tag(tree, &tokens->tag);
            continue;
        case TOKEN_END_TAG:
            if (tree->fed)
                tree->failed |= feed_end_tag(tree->fed, tokens);
            take_end_tag(tree, &tokens->tag);
            break;
        case TOKEN_DOCTYPE:
            take_doctype(tree, tokens->text);
            break;
        case TOKEN_COMMENT:
            tree->is_parted = 1;
            break;
        }
        tree->skips_newline = 0;
    }
}

int tree_build(Tree *tree, const char *html, size_t length, size_t max_elements, Search *search) {
    memset(tree, 0, offsetof(Tree, nodes));
    tree->tokens.start = tree->tokens.at = html;
    tree->tokens.end = html + length;
    tree->tokens.has_all = search != NULL;
    memset(tree->tokens.ends, 0, sizeof tree->tokens.ends);
    tree->fed = search;
    tree->max_elements = max_elements;
    tree->frameset_is_ok = 1;
    for (uint32_t node = NO_NODE; node <= DOCUMENT; node++)
        add_node(tree, NO_ELEMENT);
    tree->element_count = 0;
    tree->is_full = 0;
    if (!tree->failed)
        build(tree);
    return tree->failed ? -1 : 0;
}

void tree_free(Tree *tree) {
    free(tree->nodes);
    free(tree->attributes);
    free(tree->noted);
    free(tree->formatting);
    memset(tree, 0, sizeof *tree);
}

void tree_trim(Tree *tree) {
    if (tree->node_capacity > MAX_SPARE_NODES || tree->attribute_capacity > MAX_SPARE_NODES)
        tree_free(tree);
}
