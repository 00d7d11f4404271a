/* One HTML text to what a crawl needs of it: what the page says of itself, its links and its text.
 *
 * elements.c    what each element means to the standard and to a reader; names of attributes
 * text.c        growing buffers, UTF-8; references.c: character references (text.h)
 * tokens.c      text to tags, attributes and runs of text
 * feed.c        the same tokens for the search for main content (feed.h)
 * tree.c        the tree that grows from them: nodes, open elements, where the next node goes
 * formatting.c  formatting elements that go on where they were not closed, or were closed in the wrong order
 * modes.c       the rules of tree construction, mode by mode
 * tables.c      those of tables; foreign.c: of SVG and MathML; doctype.c: of old pages
 * walk.c        the elements that matter, in the order of the tree
 * values.c      values and texts as Python strings
 * head.c        <title>, <meta>, <base>, <link rel=canonical>
 * links.c       links and their anchor texts
 * layout.c      the text a reader sees, a block per line
 * module.c      the Python side
 *
 * The tree is the one the HTML standard demands, with scripts off. Everything is linear in the length of the text:
 * depth, elements and steps are bounded, nothing recurses. Past the bounds only links are read. */
#ifndef LYCOSA_HTML_H
#define LYCOSA_HTML_H

#include "feed.h"

/* Where open elements end, as in browsers: what is opened deeper has no content of its own. */
enum { MAX_OPEN = 512 };
/* Templates within templates; deeper ones are read like other elements. */
enum { MAX_TEMPLATES = 512 };
/* Looking through open and formatting elements takes a step for each. Real pages take at most 4 for a byte of text; end
 * tags that close nothing, below 512 open elements, would take 200. */
enum { MIN_STEPS = 1 << 25, STEPS_PER_BYTE = 8 };

/* elements.c */

#define ELEMENT_LIST(X)                                                                                                \
    X(A, "a") X(ADDRESS, "address") X(ANNOTATION_XML, "annotation-xml") X(APPLET, "applet") X(AREA, "area")            \
    X(ARTICLE, "article") X(ASIDE, "aside") X(AUDIO, "audio") X(B, "b") X(BASE, "base") X(BASEFONT, "basefont")        \
    X(BGSOUND, "bgsound") X(BIG, "big") X(BLOCKQUOTE, "blockquote") X(BODY, "body") X(BR, "br") X(BUTTON, "button")    \
    X(CANVAS, "canvas") X(CAPTION, "caption") X(CENTER, "center") X(CODE, "code") X(COL, "col")                        \
    X(COLGROUP, "colgroup") X(DATALIST, "datalist") X(DD, "dd") X(DESC, "desc") X(DETAILS, "details")                  \
    X(DIALOG, "dialog") X(DIR, "dir") X(DIV, "div") X(DL, "dl") X(DT, "dt") X(EM, "em") X(EMBED, "embed")              \
    X(FIELDSET, "fieldset") X(FIGCAPTION, "figcaption") X(FIGURE, "figure") X(FONT, "font") X(FOOTER, "footer")        \
    X(FOREIGNOBJECT, "foreignobject") X(FORM, "form") X(FRAME, "frame") X(FRAMESET, "frameset") X(H1, "h1")            \
    X(H2, "h2") X(H3, "h3") X(H4, "h4") X(H5, "h5") X(H6, "h6") X(HEAD, "head") X(HEADER, "header")                    \
    X(HGROUP, "hgroup") X(HR, "hr") X(HTML, "html") X(I, "i") X(IFRAME, "iframe") X(IMAGE, "image") X(IMG, "img")      \
    X(INPUT, "input") X(KBD, "kbd") X(KEYGEN, "keygen") X(LABEL, "label") X(LEGEND, "legend") X(LI, "li")              \
    X(LINK, "link") X(LISTING, "listing") X(MAIN, "main") X(MALIGNMARK, "malignmark") X(MARQUEE, "marquee")            \
    X(MATH, "math") X(MENU, "menu") X(META, "meta") X(MGLYPH, "mglyph") X(MI, "mi") X(MN, "mn") X(MO, "mo")            \
    X(MS, "ms") X(MTEXT, "mtext") X(NAV, "nav") X(NOBR, "nobr") X(NOEMBED, "noembed") X(NOFRAMES, "noframes")          \
    X(NOSCRIPT, "noscript") X(OBJECT, "object") X(OL, "ol") X(OPTGROUP, "optgroup") X(OPTION, "option") X(P, "p")      \
    X(PARAM, "param") X(PLAINTEXT, "plaintext") X(PRE, "pre") X(RB, "rb") X(RP, "rp") X(RT, "rt") X(RTC, "rtc")        \
    X(RUBY, "ruby") X(S, "s") X(SAMP, "samp") X(SCRIPT, "script") X(SEARCH, "search") X(SECTION, "section")            \
    X(SELECT, "select") X(SMALL, "small") X(SOURCE, "source") X(SPAN, "span") X(STRIKE, "strike") X(STRONG, "strong")  \
    X(STYLE, "style") X(SUB, "sub") X(SUMMARY, "summary") X(SUP, "sup") X(SVG, "svg") X(TABLE, "table")                \
    X(TBODY, "tbody") X(TD, "td") X(TEMPLATE, "template") X(TEXTAREA, "textarea") X(TFOOT, "tfoot") X(TH, "th")        \
    X(THEAD, "thead") X(TIME, "time") X(TITLE, "title") X(TR, "tr") X(TRACK, "track") X(TT, "tt") X(U, "u")            \
    X(UL, "ul") X(VAR, "var") X(VIDEO, "video") X(WBR, "wbr") X(XMP, "xmp")

/* The name of an element: one of these, or OTHER_NAME with a hash; those of SVG and MathML are marked as such. */
enum {
    NO_ELEMENT,
#define X(id, name) EL_##id,
    ELEMENT_LIST(X)
#undef X
        ELEMENTS,
    OTHER_NAME = 1 << 28,
    IN_SVG = 1 << 30,
    IN_MATHML = 1 << 29,
};
typedef uint32_t Name;
#define FOREIGN ((Name)IN_SVG | (Name)IN_MATHML)
#define TEXT_NODE UINT32_MAX

enum {
    IS_SPECIAL = 1 << 0,    /* the standard's "special" */
    IS_SCOPE = 1 << 1,      /* nothing beyond it is "in scope" */
    IS_IMPLIED = 1 << 2,    /* its end tag may be left out */
    IS_FORMATTING = 1 << 3, /* goes on where it was not closed */
    IS_VOID = 1 << 4,       /* has no content */
    IS_RAW = 1 << 5,        /* its content is text up to its end tag */
    IS_REFERENCED = 1 << 6, /* raw, but with character references */
    IS_HEADING = 1 << 7,
    ENDS_P = 1 << 8,    /* its start tag ends a paragraph, and it is a plain block otherwise */
    BREAKS_OUT = 1 << 9, /* its start tag ends SVG and MathML */
    IS_TABLED = 1 << 10, /* table, or a part of one that takes no text */
    IS_BLOCK = 1 << 11,  /* for a reader: on lines of its own */
    IS_UNSEEN = 1 << 12, /* for a reader: not shown */
    IS_NOTED = 1 << 13,  /* of interest for links or head */
    IS_KEPT = 1 << 14,   /* its attributes are kept */
    HAS_ATTRIBUTES = 1 << 15, /* that matter */
    ENDS_LAST = 1 << 18, /* its end tag ends it, and nothing else, if nothing is open within it */
    /* Of open elements in SVG and MathML only. */
    HOLDS_HTML = 1 << 16,
    HOLDS_TEXT = 1 << 17,
};
extern uint32_t element_flags[ELEMENTS];
extern uint8_t searched_tags[ELEMENTS]; /* as the search for main content calls them */

/* Nothing at or after `end` is read. */
Name name_of_tag(const char *at, size_t length, const char *end);
const char *element_name(Name name);
AttributeName name_of_attribute(const char *at, size_t length, const char *end);
void elements_prepare(void);

/* tokens.c */

/* Those that are known, each once. */
enum { MAX_ATTRIBUTES = 64 };
/* Kinds of elements that the search for main content passes over, unless they never end. */
enum { PASSED_KINDS = 4 };

typedef struct {
    Name name;
    int is_self_closing;
    Span written; /* the name */
    Span source; /* from after the name up to ">" */
    Attribute attributes[MAX_ATTRIBUTES]; /* those with a known name, each once */
    uint32_t attribute_count;
    uint64_t noted; /* which there are */
} Tag;

typedef enum { TOKEN_END, TOKEN_TEXT, TOKEN_START_TAG, TOKEN_END_TAG, TOKEN_COMMENT, TOKEN_DOCTYPE, TOKEN_CDATA } TokenKind;

typedef struct {
    const char *start, *at, *end;
    Span text; /* of a text, or a doctype */
    int has_all; /* attributes of all tags are wanted */
    Tag tag;
    const char *ends[PASSED_KINDS]; /* where the next end tag of each stands, as far as it was looked for */
} Tokens;

TokenKind next_token(Tokens *tokens, int in_foreign);
/* The same for all tags with the same attributes, however they are written; `source` is that of a Tag. */
uint64_t hash_attributes(Span source);
/* The content of a raw element, whose end tag is read too. */
Span take_raw(Tokens *tokens, Name name);
/* Where the next end tag of that name stands, or `end`. */
const char *raw_end(const char *at, const char *end, const char *name);
const Attribute *attribute_of(const Tag *tag, AttributeName name);
int value_is(const Tokens *tokens, const Attribute *attribute, const char *word);
void tokens_prepare(void);

/* feed.c; other than 0 where memory ran out */

int feed_start_tag(Search *search, Tokens *tokens);
int feed_end_tag(Search *search, const Tokens *tokens);
/* Whether readers too take an element's content for raw; `end` is that of the page's text. */
int is_raw_to_readers(Name name, Span content, const char *end);

/* tree.c */

enum {
    IS_OPEN = 1,       /* on the stack of open elements */
    IS_LISTED = 2,     /* in the list of formatting elements */
    IS_LITERAL = 4,    /* text without references */
    IS_JOINED = 16,    /* text that goes on where the text before it ended */
    REPLACES_NUL = 8,  /* text in which NUL is U+FFFD, elsewhere it is nothing */
};

/* Nodes are told by their number. That of none is false, and what stands there is blank; the first is the document. */
enum { NO_NODE = 0, DOCUMENT = 1 };
/* In the list of formatting elements: those before it do not go on after it. No node has this number. */
#define MARKER UINT32_MAX

typedef struct {
    uint32_t parent, first, last, previous, next;
    uint32_t at, end; /* text: its source; element: its attributes, first and after the last */
    Name name;
    uint32_t flags;
} Node;

typedef struct {
    uint32_t node, flags;
    Name name;
} Open;

typedef struct {
    uint32_t node; /* or MARKER */
    Span source;   /* of its attributes */
    uint64_t hash; /* of them, once it was asked for */
} Formatting;

typedef enum {
    INITIAL,
    BEFORE_HTML,
    BEFORE_HEAD,
    IN_HEAD,
    IN_HEAD_NOSCRIPT,
    AFTER_HEAD,
    IN_BODY,
    IN_TABLE,
    IN_CAPTION,
    IN_COLUMN_GROUP,
    IN_TABLE_BODY,
    IN_ROW,
    IN_CELL,
    IN_TEMPLATE,
    AFTER_BODY,
    IN_FRAMESET,
    AFTER_FRAMESET,
    AFTER_AFTER_BODY,
    AFTER_AFTER_FRAMESET,
} Mode;

/* Whether an element is in scope: the last question and its answer. */
typedef struct {
    Name name, barrier;
    uint32_t changes;
    int is_found;
} Asked;

typedef struct {
    size_t node_count, attribute_count, noted_count, formatting_count, element_count, max_elements;
    size_t steps; /* taken in looking through open and formatting elements */
    int open_count, open_paragraphs, open_templates, open_foreign;
    int open_keeping; /* links and <pre>: within them all white space counts */
    int template_count;
    uint32_t open_changes;
    Asked asked;
    Mode mode;
    uint32_t html, head, form;
    Search *fed; /* the search for main content, as long as it is given the tree's tokens; or NULL */
    Span raw;           /* of the last raw element */
    Span lang, xml_lang; /* of <html>, the first that is given */
    int is_quirky, is_fostering, frameset_is_ok, skips_newline;
    int is_parted;    /* a comment has been read since the last text */
    int is_reordered; /* nodes are not in the order of the tree */
    int is_full;      /* there are more elements than allowed, or more steps; the rest is not in the tree */
    int failed;       /* memory ran out */
    /* From here on nothing is set anew for the next page. */
    Node *nodes;
    Attribute *attributes;
    uint32_t *noted; /* elements of interest, in the order they were made */
    Formatting *formatting;
    size_t node_capacity, attribute_capacity, noted_capacity, formatting_capacity;
    Tokens tokens;
    Open open[MAX_OPEN];
    Mode template_modes[MAX_TEMPLATES];
} Tree;

/* A tree of all zeros, or one that was built before: what it used for one page serves for the next. */
int tree_build(Tree *tree, const char *html, size_t length, size_t max_elements, Search *search);
/* Gives memory back; all of it, or what is more than usual pages need. */
void tree_free(Tree *tree);
void tree_trim(Tree *tree);

static inline const Open *current(const Tree *tree) { return &tree->open[tree->open_count - 1]; }
static inline int current_is(const Tree *tree, Name name) { return tree->open_count && current(tree)->name == name; }
static inline uint32_t flags_of(Name name) { return name < ELEMENTS ? element_flags[name] : 0; }

uint32_t add_node(Tree *tree, Name name);
uint32_t make_element(Tree *tree, Name name);
/* An element that is in no tree. */
void make_loose(Tree *tree, const Tag *tag);
void note(Tree *tree, uint32_t node);
void append_node(Tree *tree, uint32_t parent, uint32_t node);
void insert_before(Tree *tree, uint32_t parent, uint32_t node, uint32_t before);
void remove_node(Tree *tree, uint32_t node);
/* The appropriate place for a node whose parent would be `target`. */
void insert_at(Tree *tree, uint32_t target, Name target_name, uint32_t node);
void push_open(Tree *tree, uint32_t node, uint32_t flags);
/* What is put among the open elements is counted. */
void note_open(Tree *tree, const Open *open);
void pop_open(Tree *tree);
void remove_open(Tree *tree, int index);
void pop_until(Tree *tree, Name name);
uint32_t insert_element(Tree *tree, const Tag *tag, Name name);
uint32_t insert_and_push(Tree *tree, const Tag *tag, Name name);
void insert_text(Tree *tree, Span text, uint32_t flags);
/* The index of an open element, or -1. */
int index_in_open(Tree *tree, uint32_t node);
int is_in_scope(Tree *tree, Name name);
int is_in_button_scope(Tree *tree, Name name);
int is_in_list_scope(Tree *tree, Name name);
int is_in_table_scope(Tree *tree, Name name);
void end_implied(Tree *tree, Name except);
void close_p(Tree *tree);
/* Whether a text is nothing but white space; the flags of its node say what references and NULs are. */
int is_blank(Span text, uint32_t flags);
Span skip_space(Span text, uint32_t flags);
Span skip_newline(Span text);

/* formatting.c */

void add_formatting(Tree *tree, uint32_t node, Span source);
void add_marker(Tree *tree);
void clear_to_marker(Tree *tree);
void reconstruct(Tree *tree);
/* The adoption agency; false if the end tag is like any other. */
int adopt(Tree *tree, Name name);
uint32_t find_formatting(Tree *tree, Name name);
void forget_formatting(Tree *tree, uint32_t node);

/* modes.c, tables.c, foreign.c */

/* `flags`: of the node that a text becomes, but for what the place decides. */
void take_text(Tree *tree, Span text, uint32_t flags);
void take_start_tag(Tree *tree, Tag *tag);
void take_end_tag(Tree *tree, Tag *tag);
/* As above, but by the rules of the mode even within SVG and MathML. */
void start_by_mode(Tree *tree, Tag *tag);
void end_by_mode(Tree *tree, Tag *tag);
void take_doctype(Tree *tree, Span doctype);
void start_in_body(Tree *tree, Tag *tag);
void end_in_body(Tree *tree, Tag *tag);
void start_in_head(Tree *tree, Tag *tag);
void end_template(Tree *tree);
void text_in_body(Tree *tree, Span text, uint32_t flags);
void end_other(Tree *tree, Name name);
void reset_mode(Tree *tree);
void start_in_table(Tree *tree, Tag *tag);
void end_in_table(Tree *tree, Tag *tag);
void text_in_table(Tree *tree, Span text, uint32_t flags);
static inline int is_foreign(const Tree *tree) { return tree->open_foreign && current(tree)->name & FOREIGN; }
/* True where the token was dealt with; false: by the rules of the mode. */
int start_in_foreign(Tree *tree, Tag *tag);
int end_in_foreign(Tree *tree, Tag *tag);
int text_in_foreign(Tree *tree, Span text, uint32_t flags);
void start_foreign(Tree *tree, Tag *tag, Name space);

/* walk.c */

/* The next node in the order of the tree within `root`, or NO_NODE; `is_over`: not the node's own children. */
uint32_t next_node(const Tree *tree, uint32_t node, uint32_t root, int is_over);
void put_in_order(Tree *tree);
void read_rest(Tree *tree);
int is_within(const Tree *tree, uint32_t node, Name name);
int depth_exceeds(const Tree *tree, uint32_t max_depth);
static inline Span source_of(const Tree *tree, uint32_t at, uint32_t end) {
    return (Span){tree->tokens.start + at, tree->tokens.start + end};
}
static inline int is_template(Name name) { return (name & ~FOREIGN) == EL_TEMPLATE; }
/* The value of an element's attribute; `at` is NULL where it has none. */
Span attribute_value(const Tree *tree, const Node *node, AttributeName name);

/* values.c; objects are NULL where there is an exception */

PyObject *text_object(const char *bytes, size_t length);
/* A value as the page means it: references resolved, new lines as one character. */
int append_plain(Buffer *out, Span value);
PyObject *plain_value(Span value);
/* Without white space around it. */
Span stripped(Span text);
PyObject *stripped_value(Span value);
/* On one line, at most `max_chars` characters. */
PyObject *collapsed_value(Span value, size_t max_chars);
void lower_bytes(Buffer *text);
int has_word(Span text, const char *word);
int contains(Span text, const char *word);

/* A text on one line, from several pieces: runs of white space become one space, none at the ends. */
typedef struct {
    Buffer bytes;
    size_t chars, max_chars, read; /* read: characters of the pieces */
    int is_pending;
} Line;

int line_append(Line *line, Span text, int is_literal, int in_attribute, int replaces_nul);
void line_forget(Line *line);
PyObject *line_finish(Line *line);

/* head.c, links.c, layout.c: what is read, as Python objects; NULL with an exception */

PyObject *read_head(const Tree *tree, Span agent);
PyObject *read_links(Tree *tree, PyTypeObject *type, size_t max_links, size_t max_chars);
PyObject *read_layout(const Tree *tree, PyObject **headings);

#endif
