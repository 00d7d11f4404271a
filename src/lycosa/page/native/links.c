/* Links and their anchor texts. */
#include "html.h"

enum { MAX_ANCHOR_CHARS = 300 };

typedef struct {
    const Tree *tree;
    PyTypeObject *type;
    PyObject *list;
    size_t max_links;
    size_t visited, max_visited; /* nodes within links */
    Line line;
    Buffer word;
} Links;

/* Takes the three texts, whatever becomes of them. */
static int add_link(Links *links, PyObject *href, PyObject *anchor, PyObject *rel) {
    PyObject *link = href && anchor && rel ? links->type->tp_alloc(links->type, 3) : NULL;
    if (!link) {
        Py_XDECREF(href);
        Py_XDECREF(anchor);
        Py_XDECREF(rel);
        return -1;
    }
    PyTuple_SET_ITEM(link, 0, href);
    PyTuple_SET_ITEM(link, 1, anchor);
    PyTuple_SET_ITEM(link, 2, rel);
    /* Texts make no cycles, so the collector need not look at them. */
    PyObject_GC_UnTrack(link);
    int failed = PyList_Append(links->list, link);
    Py_DECREF(link);
    return failed;
}

static PyObject *empty(void) { return PyUnicode_FromStringAndSize("", 0); }

/* Nothing may be called where the texts before have failed already. */
static PyObject *rel_of(Span rel) {
    PyObject *text = PyErr_Occurred() ? NULL : plain_value(rel);
    if (!text || !PyUnicode_GET_LENGTH(text))
        return text;
    PyObject *small = PyObject_CallMethod(text, "lower", NULL);
    Py_DECREF(text);
    return small;
}

/* What stands in for an anchor without text. */
static PyObject *label_of(const Tree *tree, uint32_t anchor) {
    Span text = attribute_value(tree, &tree->nodes[anchor], AT_TITLE);
    if (text.at == text.end)
        text = attribute_value(tree, &tree->nodes[anchor], AT_ARIA_LABEL);
    return collapsed_value(text, MAX_ANCHOR_CHARS);
}

/* An image is read as its text, apart from the words around it. */
static int append_image(Line *line, Span alt) {
    static const char SPACE[] = " ";
    Span space = {SPACE, SPACE + 1};
    return alt.at < alt.end &&
           (line_append(line, space, 1, 0, 0) || line_append(line, alt, 0, 1, 1) || line_append(line, space, 1, 0, 0));
}

static int append_node_text(Line *line, const Tree *tree, const Node *node) {
    if (node->name == TEXT_NODE)
        return line_append(line, source_of(tree, node->at, node->end), node->flags & IS_LITERAL, 0,
                           node->flags & REPLACES_NUL);
    return node->name == EL_IMG && append_image(line, attribute_value(tree, node, AT_ALT));
}

static PyObject *anchor_of(Links *links, uint32_t anchor, size_t *read) {
    const Tree *tree = links->tree;
    int is_over = 0;
    for (uint32_t node = anchor; (node = next_node(tree, node, anchor, is_over)); links->visited++) {
        is_over = is_template(tree->nodes[node].name);
        if (append_node_text(&links->line, tree, &tree->nodes[node]))
            return PyErr_NoMemory();
    }
    *read = links->line.read;
    if (links->line.chars)
        return line_finish(&links->line);
    line_forget(&links->line);
    return label_of(tree, anchor);
}

static int add_anchors(Links *links, size_t max_chars) {
    const Tree *tree = links->tree;
    size_t count = 0, spent = 0;
    for (size_t i = 0; i < tree->noted_count && count <= links->max_links; i++) {
        const Node *node = &tree->nodes[tree->noted[i]];
        Span href = {NULL, NULL};
        if ((node->name & ~FOREIGN) == EL_A)
            href = attribute_value(tree, node, AT_HREF);
        if (!href.at)
            continue;
        size_t read = 0;
        int is_read = spent < max_chars && links->visited <= links->max_visited;
        PyObject *anchor = is_read ? anchor_of(links, tree->noted[i], &read) : empty();
        spent += read;
        count++;
        Span rel = attribute_value(tree, node, AT_REL);
        if (add_link(links, plain_value(href), anchor, rel.at ? rel_of(rel) : empty()))
            return -1;
    }
    return 0;
}

/* Whether a <link> leads to another page or feed, not to a part of this one (docs/decisions/0025). */
static int is_crawlable(Links *links, const Node *link) {
    Span rel = attribute_value(links->tree, link, AT_REL), type = attribute_value(links->tree, link, AT_TYPE);
    Span href = attribute_value(links->tree, link, AT_HREF);
    if (rel.at == rel.end || href.at == href.end)
        return 0;
    links->word.length = 0;
    if (append_plain(&links->word, rel))
        return -1;
    lower_bytes(&links->word);
    Span words = {links->word.bytes, links->word.bytes + links->word.length};
    if (has_word(words, "stylesheet") ||
        !(has_word(words, "alternate") || has_word(words, "next") || has_word(words, "prev") ||
          has_word(words, "previous")))
        return 0;
    if (type.at == type.end)
        return 1;
    links->word.length = 0;
    if (append_plain(&links->word, type))
        return -1;
    lower_bytes(&links->word);
    words = (Span){links->word.bytes, links->word.bytes + links->word.length};
    return contains(words, "html") || contains(words, "rss") || contains(words, "atom");
}

/* 1: added, 0: no link, -1: failed. */
static int add_other(Links *links, uint32_t index) {
    const Tree *tree = links->tree;
    const Node *node = &tree->nodes[index];
    Span to, text, rel = {NULL, NULL};
    switch (node->name & ~FOREIGN) {
    case EL_AREA:
        to = attribute_value(tree, node, AT_HREF);
        if (!to.at)
            return 0;
        text = attribute_value(tree, node, AT_ALT);
        rel = attribute_value(tree, node, AT_REL);
        break;
    case EL_LINK: {
        int found = is_crawlable(links, node);
        if (found < 1) {
            if (found < 0)
                PyErr_NoMemory();
            return found;
        }
        to = attribute_value(tree, node, AT_HREF);
        text = attribute_value(tree, node, AT_TITLE);
        rel = attribute_value(tree, node, AT_REL);
        break;
    }
    default:
        to = attribute_value(tree, node, AT_SRC);
        /* A frame within <noscript> is a tracker's pixel. */
        if (to.at == to.end || is_within(tree, index, EL_NOSCRIPT))
            return 0;
        text = attribute_value(tree, node, AT_TITLE);
    }
    return add_link(links, plain_value(to), collapsed_value(text, MAX_ANCHOR_CHARS), rel_of(rel)) ? -1 : 1;
}

static int add_others(Links *links, Name kind) {
    const Tree *tree = links->tree;
    size_t seen = 0;
    for (size_t i = 0; i < tree->noted_count && seen < links->max_links; i++) {
        if ((tree->nodes[tree->noted[i]].name & ~FOREIGN) != kind)
            continue;
        if ((size_t)PyList_GET_SIZE(links->list) > links->max_links)
            return 0;
        seen++;
        if (add_other(links, tree->noted[i]) < 0)
            return -1;
    }
    return 0;
}

/* The links of the text first, then <area>, frames and <link>; one over `max_links` where more exist.
 *
 * Links that are nested by force share their texts, so `max_chars` bounds what is read for all together. At 0 no
 * anchor is read. Each node is within one link at most unless they are nested so, which bounds the nodes too. */
PyObject *read_links(Tree *tree, PyTypeObject *type, size_t max_links, size_t max_chars) {
    Links links = {.tree = tree, .type = type, .max_links = max_links, .line = {.max_chars = MAX_ANCHOR_CHARS}};
    links.max_visited = 2 * tree->node_count;
    links.list = PyList_New(0);
    if (!links.list || add_anchors(&links, max_chars) || add_others(&links, EL_AREA) || add_others(&links, EL_IFRAME) ||
        add_others(&links, EL_FRAME) || add_others(&links, EL_LINK))
        Py_CLEAR(links.list);
    tree->steps += links.visited;
    free(links.line.bytes.bytes);
    free(links.word.bytes);
    return links.list;
}
