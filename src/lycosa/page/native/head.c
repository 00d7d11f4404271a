/* What a page says of itself: <title>, <meta>, <base>, <link rel=canonical>. */
#include "html.h"

enum { MAX_TITLE_CHARS = 1000, MAX_DESCRIPTION_CHARS = 2000 };

typedef struct {
    Span description, fallback, language;
    Buffer robots, word;
    PyObject *title, *base, *canonical, *refreshes;
} Head;

/* In lower case and without white space around it. */
static int read_word(Buffer *word, Span value) {
    word->length = 0;
    if (append_plain(word, value))
        return -1;
    lower_bytes(word);
    return 0;
}

static int is_word(Span text, const char *word, size_t length) {
    return span_length(text) == length && !memcmp(text.at, word, length);
}

#define IS(word) is_word(name, word, sizeof(word) - 1)

static int add_refresh(const Tree *tree, Head *head, uint32_t node, Span content) {
    /* Within <noscript> it sends visitors without scripts to an apology; `name="refresh"` means nothing. */
    if (!attribute_value(tree, &tree->nodes[node], AT_HTTP_EQUIV).at || is_within(tree, node, EL_NOSCRIPT))
        return 0;
    PyObject *value = plain_value(content);
    int failed = !value || PyList_Append(head->refreshes, value);
    Py_XDECREF(value);
    return failed;
}

/* Directives are parted by commas, so those of several elements make one list. */
static int add_directive(Head *head, const char *before, Span content) {
    Span prefix = {before, before + strlen(before)};
    if (append_plain(&head->robots, prefix) || append_plain(&head->robots, stripped(content)) ||
        buffer_reserve(&head->robots, 1)) {
        PyErr_NoMemory();
        return -1;
    }
    head->robots.bytes[head->robots.length++] = ',';
    return 0;
}

static int read_meta(const Tree *tree, Head *head, uint32_t node, Span agent) {
    const Node *meta = &tree->nodes[node];
    Span content = attribute_value(tree, meta, AT_CONTENT), key = attribute_value(tree, meta, AT_NAME);
    if (content.at == content.end)
        return 0;
    if (key.at == key.end)
        key = attribute_value(tree, meta, AT_HTTP_EQUIV);
    if (key.at == key.end)
        key = attribute_value(tree, meta, AT_PROPERTY);
    if (key.at == key.end)
        return 0;
    if (read_word(&head->word, key)) {
        PyErr_NoMemory();
        return -1;
    }
    Span name = stripped((Span){head->word.bytes, head->word.bytes + head->word.length});
    if (IS("description") && !head->description.at)
        head->description = content;
    else if (IS("og:description") && !head->fallback.at)
        head->fallback = content;
    else if (IS("refresh"))
        return add_refresh(tree, head, node, content);
    else if (IS("content-language") && !head->language.at)
        head->language = content;
    else if (IS("robots") || is_word(name, agent.at, span_length(agent)))
        return add_directive(head, "", content);
    else if (IS("tdm-reservation"))
        return add_directive(head, "tdm-reservation=", content);
    return 0;
}

static PyObject *read_title(const Tree *tree, uint32_t title) {
    Line line = {.max_chars = MAX_TITLE_CHARS};
    int failed = 0;
    for (uint32_t node = title; !failed && (node = next_node(tree, node, title, 0));)
        if (tree->nodes[node].name == TEXT_NODE)
            failed = line_append(&line, source_of(tree, tree->nodes[node].at, tree->nodes[node].end), 0, 0, 1);
    PyObject *text = failed ? PyErr_NoMemory() : line_finish(&line);
    free(line.bytes.bytes);
    return text;
}

static int read_canonical(const Tree *tree, Head *head, const Node *link) {
    Span rel = attribute_value(tree, link, AT_REL), href = attribute_value(tree, link, AT_HREF);
    if (!rel.at || href.at == href.end)
        return 0;
    if (read_word(&head->word, rel)) {
        PyErr_NoMemory();
        return -1;
    }
    if (!has_word((Span){head->word.bytes, head->word.bytes + head->word.length}, "canonical"))
        return 0;
    head->canonical = stripped_value(href);
    return head->canonical ? 0 : -1;
}

static int read_noted(const Tree *tree, Head *head, uint32_t node, Span agent) {
    const Node *element = &tree->nodes[node];
    /* A drawing has titles of its own. */
    if (element->name == EL_TITLE)
        return head->title ? 0 : !(head->title = read_title(tree, node));
    switch (element->name & ~FOREIGN) {
    case EL_META:
        return read_meta(tree, head, node, agent);
    case EL_BASE: {
        Span href = attribute_value(tree, element, AT_HREF);
        return head->base || !href.at ? 0 : !(head->base = stripped_value(href));
    }
    case EL_LINK:
        return head->canonical ? 0 : read_canonical(tree, head, element);
    default:
        return 0;
    }
}

static PyObject *or_empty(PyObject *text) { return text ? text : PyUnicode_FromStringAndSize("", 0); }

static PyObject *language_of(const Tree *tree, const Head *head) {
    Span declared = tree->lang.at < tree->lang.end ? tree->lang : tree->xml_lang;
    PyObject *language = stripped_value(declared);
    if (!language || PyUnicode_GET_LENGTH(language) || !head->language.at)
        return language;
    Py_DECREF(language);
    return stripped_value(head->language);
}

/* title, description, base, canonical, refreshes, language, robots */
PyObject *read_head(const Tree *tree, Span agent) {
    Head head = {0};
    PyObject *result = NULL;
    int failed = !(head.refreshes = PyList_New(0));
    for (size_t i = 0; !failed && i < tree->noted_count; i++)
        failed = read_noted(tree, &head, tree->noted[i], agent);
    if (!failed) {
        Span description = head.description.at ? head.description : head.fallback;
        result = Py_BuildValue("(NNNNNNN)", or_empty(head.title), collapsed_value(description, MAX_DESCRIPTION_CHARS),
                               or_empty(head.base), or_empty(head.canonical), head.refreshes, language_of(tree, &head),
                               text_object(head.robots.bytes, head.robots.length));
        head.title = head.base = head.canonical = head.refreshes = NULL;
    }
    Py_XDECREF(head.title);
    Py_XDECREF(head.base);
    Py_XDECREF(head.canonical);
    Py_XDECREF(head.refreshes);
    free(head.robots.bytes);
    free(head.word.bytes);
    return result;
}
