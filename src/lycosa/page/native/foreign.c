/* The rules of SVG and MathML within HTML. */
#include "html.h"

static uint32_t flags_of_foreign(Name name, const Tree *tree, const Tag *tag) {
    Name local = name & ~FOREIGN;
    if (name & IN_SVG)
        return local == EL_FOREIGNOBJECT || local == EL_DESC || local == EL_TITLE ? IS_SPECIAL | IS_SCOPE | HOLDS_HTML
                                                                                  : 0;
    if (local == EL_MI || local == EL_MO || local == EL_MN || local == EL_MS || local == EL_MTEXT)
        return IS_SPECIAL | IS_SCOPE | HOLDS_TEXT;
    if (local != EL_ANNOTATION_XML)
        return 0;
    const Attribute *encoding = attribute_of(tag, AT_ENCODING);
    int is_html = value_is(&tree->tokens, encoding, "text/html") ||
                  value_is(&tree->tokens, encoding, "application/xhtml+xml");
    return IS_SPECIAL | IS_SCOPE | (is_html ? HOLDS_HTML : 0);
}

void start_foreign(Tree *tree, Tag *tag, Name space) {
    Name name = tag->name | space;
    uint32_t node = insert_element(tree, tag, name);
    tree->is_reordered |= tag->name == EL_TEMPLATE;
    if (!tag->is_self_closing)
        push_open(tree, node, flags_of_foreign(name, tree, tag));
}

static int breaks_out(const Tag *tag) {
    if (tag->name == EL_FONT)
        return attribute_of(tag, AT_COLOR) || attribute_of(tag, AT_FACE) || attribute_of(tag, AT_SIZE);
    return (flags_of(tag->name) & BREAKS_OUT) != 0;
}

static void leave(Tree *tree) {
    while (current(tree)->name & FOREIGN && !(current(tree)->flags & (HOLDS_HTML | HOLDS_TEXT)))
        pop_open(tree);
}

int start_in_foreign(Tree *tree, Tag *tag) {
    const Open *open = current(tree);
    if (!(open->name & FOREIGN) || open->flags & HOLDS_HTML)
        return 0;
    if (open->flags & HOLDS_TEXT && tag->name != EL_MGLYPH && tag->name != EL_MALIGNMARK)
        return 0;
    if (open->name == (EL_ANNOTATION_XML | (Name)IN_MATHML) && tag->name == EL_SVG)
        return 0;
    if (!breaks_out(tag)) {
        start_foreign(tree, tag, open->name & FOREIGN);
        return 1;
    }
    leave(tree);
    start_by_mode(tree, tag);
    return 1;
}

int end_in_foreign(Tree *tree, Tag *tag) {
    if (!(current(tree)->name & FOREIGN))
        return 0;
    if (tag->name == EL_BR || tag->name == EL_P) {
        leave(tree);
        end_by_mode(tree, tag);
        return 1;
    }
    for (int i = tree->open_count - 1; i > 0; i--, tree->steps++) {
        if (!(tree->open[i].name & FOREIGN))
            return 0;
        if ((tree->open[i].name & ~FOREIGN) == tag->name) {
            while (tree->open_count > i)
                pop_open(tree);
            return 1;
        }
    }
    return 1;
}

int text_in_foreign(Tree *tree, Span text, uint32_t flags) {
    if (!(current(tree)->name & FOREIGN) || current(tree)->flags & (HOLDS_HTML | HOLDS_TEXT))
        return 0;
    insert_text(tree, text, flags | REPLACES_NUL);
    if (!is_blank(text, flags))
        tree->frameset_is_ok = 0;
    return 1;
}
