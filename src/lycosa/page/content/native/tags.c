/* What each tag means, and the words of class, id, role and itemprop that mean something. */
#include "content.h"

#define NONE (-1)

const TagKind TAG_KINDS[TAGS] = {
    [TAG_OTHER] = {0, NONE},
    [TAG_A] = {0, GROUP_A},
    [TAG_P] = {IS_BLOCK, GROUP_P},
    [TAG_DIV] = {IS_BLOCK, GROUP_DIV},
    [TAG_SPAN] = {0, NONE},
    [TAG_BR] = {IS_VOID, NONE},
    [TAG_LI] = {IS_BLOCK, GROUP_ITEM},
    [TAG_UL] = {IS_BLOCK, GROUP_LIST},
    [TAG_OL] = {IS_BLOCK, GROUP_LIST},
    [TAG_DL] = {IS_BLOCK, GROUP_LIST},
    [TAG_DT] = {IS_BLOCK, GROUP_ITEM},
    [TAG_DD] = {IS_BLOCK, GROUP_ITEM},
    [TAG_TABLE] = {IS_BLOCK, GROUP_TABLE},
    [TAG_TR] = {IS_BLOCK, NONE},
    [TAG_TD] = {IS_BLOCK, GROUP_CELL},
    [TAG_TH] = {IS_BLOCK, GROUP_CELL},
    [TAG_TBODY] = {IS_BLOCK, NONE},
    [TAG_H1] = {IS_BLOCK | IS_HEADING, GROUP_HEADING},
    [TAG_H2] = {IS_BLOCK | IS_HEADING, GROUP_HEADING},
    [TAG_H3] = {IS_BLOCK | IS_HEADING, GROUP_HEADING},
    [TAG_H4] = {IS_BLOCK | IS_HEADING, GROUP_HEADING},
    [TAG_H5] = {IS_BLOCK | IS_HEADING, GROUP_HEADING},
    [TAG_H6] = {IS_BLOCK | IS_HEADING, GROUP_HEADING},
    [TAG_ARTICLE] = {IS_BLOCK, GROUP_ARTICLE},
    [TAG_MAIN] = {IS_BLOCK, GROUP_MAIN},
    [TAG_SECTION] = {IS_BLOCK, GROUP_SECTION},
    [TAG_ASIDE] = {IS_BLOCK, GROUP_ASIDE},
    [TAG_NAV] = {IS_BLOCK, GROUP_NAV},
    [TAG_HEADER] = {IS_BLOCK, GROUP_HEADER},
    [TAG_FOOTER] = {IS_BLOCK, GROUP_FOOTER},
    [TAG_FORM] = {IS_BLOCK, GROUP_FORM},
    [TAG_PRE] = {IS_BLOCK | KEEPS_SPACE, GROUP_CODE},
    [TAG_CODE] = {0, GROUP_CODE},
    [TAG_BLOCKQUOTE] = {IS_BLOCK, GROUP_QUOTE},
    [TAG_FIGURE] = {IS_BLOCK, GROUP_FIGURE},
    [TAG_FIGCAPTION] = {IS_BLOCK, GROUP_FIGURE},
    [TAG_NOSCRIPT] = {IS_BLOCK, GROUP_NOSCRIPT},
    [TAG_BUTTON] = {IS_BUTTON, NONE},
    [TAG_LABEL] = {IS_BUTTON, NONE},
    [TAG_B] = {IS_BOLD, NONE},
    [TAG_I] = {0, NONE},
    [TAG_TIME] = {0, NONE},
    [TAG_ADDRESS] = {IS_BLOCK, NONE},
    [TAG_IMG] = {IS_VOID, NONE},
    [TAG_INPUT] = {IS_VOID, NONE},
    [TAG_HR] = {IS_VOID | IS_BLOCK, NONE},
    [TAG_META] = {IS_VOID, NONE},
    [TAG_LINK] = {IS_VOID, NONE},
    [TAG_BASE] = {IS_VOID, NONE},
    [TAG_TITLE] = {IS_RAW, NONE},
    [TAG_SCRIPT] = {IS_RAW, NONE},
    [TAG_STYLE] = {IS_RAW, NONE},
    [TAG_TEXTAREA] = {IS_RAW, NONE},
    [TAG_IFRAME] = {IS_RAW, NONE},
    [TAG_XMP] = {IS_RAW, NONE},
    [TAG_TEMPLATE] = {IS_BLOCK | IS_SKIPPED, NONE},
    [TAG_SELECT] = {IS_SKIPPED, NONE},
    [TAG_SVG] = {IS_SKIPPED, NONE},
    [TAG_MEDIA] = {IS_SKIPPED, NONE},
    [TAG_HTML] = {IS_BLOCK, NONE},
    [TAG_HEAD] = {IS_BLOCK, NONE},
    [TAG_BODY] = {IS_BLOCK, NONE},
    [TAG_DETAILS] = {IS_BLOCK, NONE},
    [TAG_SUMMARY] = {IS_BLOCK, NONE},
    [TAG_CENTER] = {IS_BLOCK, GROUP_DIV},
    [TAG_CUSTOM] = {IS_BLOCK, NONE},
};

const char *const TAG_NAMES[TAGS] = {
    "other",  "a",     "p",        "div",        "span",   "br",         "li",       "ul",     "ol",     "dl",
    "dt",     "dd",    "table",    "tr",         "td",     "th",         "tbody",    "h1",     "h2",     "h3",
    "h4",     "h5",    "h6",       "article",    "main",   "section",    "aside",    "nav",    "header", "footer",
    "form",   "pre",   "code",     "blockquote", "figure", "figcaption", "noscript", "button", "label",  "b",
    "i",      "time",  "address",  "img",        "input",  "hr",         "meta",     "link",   "base",   "title",
    "script", "style", "textarea", "iframe",     "xmp",    "template",   "select",   "svg",    "video",  "html",
    "head",   "body",  "details",  "summary",    "center", "custom",
};

const char *const TAG_GROUP_NAMES[TAG_GROUPS] = {
    "article", "main",  "section", "aside",    "nav",    "header", "footer",  "form", "table", "list", "item",
    "code",    "quote", "figure",  "noscript", "hidden", "a",      "heading", "p",    "cell",  "div",
};

typedef struct {
    const char *name;
    uint8_t tag;
} Alias;

/* Tags that mean the same to a reader. */
static const Alias ALIASES[] = {
    {"strong", TAG_B},        {"em", TAG_I},
    {"thead", TAG_TBODY},     {"tfoot", TAG_TBODY},
    {"audio", TAG_MEDIA},     {"object", TAG_MEDIA},
    {"canvas", TAG_MEDIA},    {"image", TAG_IMG},
    {"embed", TAG_INPUT},     {"source", TAG_INPUT},
    {"track", TAG_INPUT},     {"wbr", TAG_LINK},
    {"col", TAG_LINK},        {"area", TAG_LINK},
    {"param", TAG_LINK},      {"keygen", TAG_INPUT},
    {"fieldset", TAG_DIV},    {"legend", TAG_DIV},
    {"caption", TAG_DIV},     {"dialog", TAG_ASIDE},
    {"menu", TAG_UL},         {"dir", TAG_UL},
    {"hgroup", TAG_DIV},      {"noembed", TAG_IFRAME},
    {"noframes", TAG_IFRAME}, {"datalist", TAG_SELECT},
    {"listing", TAG_PRE},     {"plaintext", TAG_PRE},
    {"samp", TAG_CODE},       {"kbd", TAG_CODE},
    {"tt", TAG_CODE},         {"search", TAG_FORM},
    {"colgroup", TAG_TBODY},  {"frameset", TAG_DIV},
};

/* One line per group; a line's first word names it. Compounds are listed where the web writes them as one word. */
static const char *const WORDS[WORD_GROUPS] = {
    "content contents contenido inhalt contenu conteudo maincontent contentmain conttext bbs neirong zhengwen nr cont",
    "body bd bodytext bodycopy articlebodytext copy",
    "post entry entrycontent postbody postcontent posts entries postmessage postentry hentry",
    "message msg messages messagecontent messagebody messagetext pcb plhin",
    "comment comments commentlist commenttext disqus commentary kommentar kommentare comentarios commentbody pinglun "
    "comentario commentaire commentaires commenti commento reacties komentarze komentar kommentarer livefyre",
    "reply replies respond response responses",
    "thread topic forum discussion board discuss threads",
    "main primary center middle central mainbody",
    "article articlebody articlecontent articletext artikel articulo artical art articles news_text newsarticle",
    "hidden hide invisible sr visually screenreader screen offscreen hiddenfields assistive",
    "related recommend recommended similar more also suggested popular trending latest recent readmore recommendations "
    "recommendation hot most next_article relatedposts crosssell upsell",
    "sidebar side aside rail complementary left right column sidenav secondary tertiary sidebarleft sidebarright",
    "author byline writer authors autor auteur zuozhe publisher source",
    "date time published timestamp datetime pubdate datum fecha posted dateline updated",
    "toolbar tools actions action buttons btn button control controls toolbox tool bar",
    "note notice alert warning error tip callout admonition announcement notification",
    "quote blockquote quoted quotes cite bbcode",
    "answer question answers questions qa faq faqs",
    "product price sku cart shop buy prices products checkout basket wishlist store add",
    "signature sig signatures",
    "image caption figure photo gallery img picture media video photos images figcaption wp player credit",
    "summary abstract excerpt lead intro teaser introduction lede snippet",
    "pagination pager paging prev next previous pagenav pages_nav pagelist",
    "modal popup overlay dialog lightbox tooltip popover drawer offcanvas",
    "code pre highlight syntax codeblock prettyprint example snippets",
    "container wrapper inner outer wrap layout wrapper_inner root app frame",
    "review reviews rating ratings stars star",
    "breadcrumb breadcrumbs crumb crumbs bread path position location",
    "detail details detailed",
    "doc docs documentation manual reference guide tutorial wiki markdown mw prose wysiwyg rte rst docstring api theme",
    "footer foot bottom contentinfo ft pagefooter sitefooter colophon",
    "nav navigation menu navbar dropdown submenu navi menuitem megamenu topnav mainmenu subnav sitemap globalnav",
};

const char *const WORD_GROUP_NAMES[WORD_GROUPS] = {
    "content", "body",      "post",    "message",    "comment", "reply",   "thread",     "main",
    "article", "hidden",    "related", "sidebar",    "author",  "date",    "toolbar",    "note",
    "quote",   "answer",    "product", "signature",  "image",   "summary", "pagination", "modal",
    "code",    "container", "review",  "breadcrumb", "detail",  "doc",     "footer",     "nav",
};

enum { WORD_SLOTS = 2048 };
static uint32_t word_hashes[WORD_SLOTS];
static int8_t word_groups[WORD_SLOTS];

static void add_word(const char *word, size_t length, int group) {
    uint32_t hash = HASH_START;
    for (size_t i = 0; i < length; i++)
        hash = hash_step(hash, (unsigned char)word[i]);
    uint32_t slot = hash_mix(hash) % WORD_SLOTS;
    while (word_hashes[slot] && word_hashes[slot] != hash)
        slot = (slot + 1) % WORD_SLOTS;
    if (!word_hashes[slot]) {
        word_hashes[slot] = hash;
        word_groups[slot] = (int8_t)group;
    }
}

void words_prepare(void) {
    for (int group = 0; group < WORD_GROUPS; group++)
        for (const char *word = WORDS[group]; *word;) {
            size_t length = strcspn(word, " ");
            add_word(word, length, group);
            word += length + (word[length] == ' ');
        }
}

uint8_t searched_tag(const char *name) {
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (!strcmp(ALIASES[i].name, name))
            return ALIASES[i].tag;
    for (int tag = TAG_A; tag < TAG_CUSTOM; tag++)
        if (!strcmp(TAG_NAMES[tag], name))
            return (uint8_t)tag;
    return searched_other((Span){name, name + strlen(name)});
}

int is_passed_over(uint8_t tag) { return TAG_KINDS[tag].flags & IS_SKIPPED; }

uint8_t searched_other(Span name) { return memchr(name.at, '-', span_length(name)) ? TAG_CUSTOM : TAG_OTHER; }

int word_group(uint32_t hash) {
    for (uint32_t slot = hash_mix(hash) % WORD_SLOTS; word_hashes[slot]; slot = (slot + 1) % WORD_SLOTS)
        if (word_hashes[slot] == hash)
            return word_groups[slot];
    return -1;
}
