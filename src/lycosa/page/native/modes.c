/* The rules of tree construction, mode by mode (HTML standard, 13.2.6); those of tables are in tables.c. */
#include "html.h"

/* Raw elements: their content is read at once, so there is no mode for it. */
static void insert_raw(Tree *tree, const Tag *tag, Name name) {
    uint32_t node = insert_element(tree, tag, name);
    Span text = tree->raw = take_raw(&tree->tokens, name);
    if (name == EL_TEXTAREA)
        text = skip_newline(text);
    uint32_t content = node && text.at < text.end ? add_node(tree, TEXT_NODE) : NO_NODE;
    if (!content)
        return;
    tree->nodes[content].at = (uint32_t)(text.at - tree->tokens.start);
    tree->nodes[content].end = (uint32_t)(text.end - tree->tokens.start);
    tree->nodes[content].flags = REPLACES_NUL | (flags_of(name) & IS_REFERENCED ? 0 : IS_LITERAL);
    append_node(tree, node, content);
}

static void merge_html(Tree *tree, const Tag *tag) {
    const Attribute *lang = attribute_of(tag, AT_LANG), *xml_lang = attribute_of(tag, AT_XML_LANG);
    if (lang && !tree->lang.at)
        tree->lang = source_of(tree, lang->at, lang->end);
    if (xml_lang && !tree->xml_lang.at)
        tree->xml_lang = source_of(tree, xml_lang->at, xml_lang->end);
}

void reset_mode(Tree *tree) {
    for (int i = tree->open_count - 1; i >= 0; i--, tree->steps++)
        switch (tree->open[i].name) {
        case EL_TD:
        case EL_TH:
            tree->mode = IN_CELL;
            return;
        case EL_TR:
            tree->mode = IN_ROW;
            return;
        case EL_TBODY:
        case EL_THEAD:
        case EL_TFOOT:
            tree->mode = IN_TABLE_BODY;
            return;
        case EL_CAPTION:
            tree->mode = IN_CAPTION;
            return;
        case EL_COLGROUP:
            tree->mode = IN_COLUMN_GROUP;
            return;
        case EL_TABLE:
            tree->mode = IN_TABLE;
            return;
        case EL_TEMPLATE:
            tree->mode = tree->template_count ? tree->template_modes[tree->template_count - 1] : IN_BODY;
            return;
        case EL_HEAD:
            tree->mode = IN_HEAD;
            return;
        case EL_BODY:
            tree->mode = IN_BODY;
            return;
        case EL_FRAMESET:
            tree->mode = IN_FRAMESET;
            return;
        case EL_HTML:
            tree->mode = tree->head ? AFTER_HEAD : BEFORE_HEAD;
            return;
        default:
            break;
        }
    tree->mode = IN_BODY;
}

/* Head */

static void start_template(Tree *tree, const Tag *tag) {
    insert_and_push(tree, tag, EL_TEMPLATE);
    tree->is_reordered = 1;
    tree->frameset_is_ok = 0;
    add_marker(tree);
    tree->mode = IN_TEMPLATE;
    if (tree->template_count < MAX_TEMPLATES)
        tree->template_modes[tree->template_count++] = IN_TEMPLATE;
}

void end_template(Tree *tree) {
    if (!tree->open_templates)
        return;
    pop_until(tree, EL_TEMPLATE);
    clear_to_marker(tree);
    if (tree->template_count)
        tree->template_count--;
    reset_mode(tree);
}

static int is_of_head(Name name) {
    return name == EL_BASE || name == EL_BASEFONT || name == EL_BGSOUND || name == EL_LINK || name == EL_META ||
           name == EL_TITLE || name == EL_NOFRAMES || name == EL_STYLE || name == EL_SCRIPT || name == EL_TEMPLATE;
}

void start_in_head(Tree *tree, Tag *tag) {
    switch (tag->name) {
    case EL_HTML:
        start_in_body(tree, tag);
        return;
    case EL_BASE:
    case EL_BASEFONT:
    case EL_BGSOUND:
    case EL_LINK:
    case EL_META:
        insert_element(tree, tag, tag->name);
        return;
    case EL_TITLE:
    case EL_NOFRAMES:
    case EL_STYLE:
    case EL_SCRIPT:
        insert_raw(tree, tag, tag->name);
        return;
    case EL_NOSCRIPT:
        insert_and_push(tree, tag, EL_NOSCRIPT);
        tree->mode = IN_HEAD_NOSCRIPT;
        return;
    case EL_TEMPLATE:
        start_template(tree, tag);
        return;
    case EL_HEAD:
        return;
    default:
        pop_open(tree);
        tree->mode = AFTER_HEAD;
        take_start_tag(tree, tag);
    }
}

static void start_after_head(Tree *tree, Tag *tag) {
    if (tag->name == EL_HTML) {
        start_in_body(tree, tag);
    } else if (tag->name == EL_BODY) {
        insert_and_push(tree, tag, EL_BODY);
        tree->frameset_is_ok = 0;
        tree->mode = IN_BODY;
    } else if (tag->name == EL_FRAMESET) {
        insert_and_push(tree, tag, EL_FRAMESET);
        tree->mode = IN_FRAMESET;
    } else if (is_of_head(tag->name)) {
        push_open(tree, tree->head, flags_of(EL_HEAD));
        start_in_head(tree, tag);
        int index = index_in_open(tree, tree->head);
        if (index > 0)
            remove_open(tree, index);
    } else if (tag->name != EL_HEAD) {
        insert_and_push(tree, NULL, EL_BODY);
        tree->mode = IN_BODY;
        take_start_tag(tree, tag);
    }
}

/* Body */

/* Ends an open <li>, <dt> or <dd> before the next one. */
static void end_item(Tree *tree, Name one, Name other) {
    for (int i = tree->open_count - 1; i >= 0; i--, tree->steps++) {
        Name name = tree->open[i].name;
        if (name == one || name == other) {
            end_implied(tree, name);
            pop_until(tree, name);
            return;
        }
        if (tree->open[i].flags & IS_SPECIAL && name != EL_ADDRESS && name != EL_DIV && name != EL_P)
            return;
    }
}

static void start_frameset(Tree *tree, const Tag *tag) {
    if (tree->open_count < 2 || tree->open[1].name != EL_BODY || !tree->frameset_is_ok)
        return;
    remove_node(tree, tree->open[1].node);
    /* What stood in the body is not part of the page any more. */
    tree->is_reordered = 1;
    while (tree->open_count > 1)
        pop_open(tree);
    insert_and_push(tree, tag, EL_FRAMESET);
    tree->mode = IN_FRAMESET;
}

static void start_link(Tree *tree, const Tag *tag) {
    uint32_t earlier = find_formatting(tree, EL_A);
    if (earlier) {
        adopt(tree, EL_A);
        forget_formatting(tree, earlier);
        if (tree->nodes[earlier].flags & IS_OPEN)
            remove_open(tree, index_in_open(tree, earlier));
    }
    reconstruct(tree);
    add_formatting(tree, insert_and_push(tree, tag, EL_A), tag->source);
}

static void start_select_part(Tree *tree, const Tag *tag) {
    if (is_in_scope(tree, EL_SELECT))
        end_implied(tree, tag->name == EL_OPTION ? EL_OPTGROUP : NO_ELEMENT);
    else if (current_is(tree, EL_OPTION))
        pop_open(tree);
    reconstruct(tree);
    insert_and_push(tree, tag, tag->name);
}

static void insert_void(Tree *tree, const Tag *tag, Name name) {
    reconstruct(tree);
    insert_element(tree, tag, name);
}

void start_in_body(Tree *tree, Tag *tag) {
    Name name = tag->name;
    uint32_t flags = flags_of(name);
    if (flags & ENDS_P) {
        close_p(tree);
        insert_and_push(tree, tag, name);
        return;
    }
    switch (name) {
    case EL_HTML:
        if (!tree->open_templates)
            merge_html(tree, tag);
        return;
    case EL_BASE:
    case EL_BASEFONT:
    case EL_BGSOUND:
    case EL_LINK:
    case EL_META:
    case EL_NOFRAMES:
    case EL_SCRIPT:
    case EL_STYLE:
    case EL_TEMPLATE:
    case EL_TITLE:
        start_in_head(tree, tag);
        return;
    case EL_BODY:
        if (tree->open_count > 1 && tree->open[1].name == EL_BODY && !tree->open_templates)
            tree->frameset_is_ok = 0;
        return;
    case EL_FRAMESET:
        start_frameset(tree, tag);
        return;
    case EL_H1:
    case EL_H2:
    case EL_H3:
    case EL_H4:
    case EL_H5:
    case EL_H6:
        close_p(tree);
        if (current(tree)->flags & IS_HEADING)
            pop_open(tree);
        insert_and_push(tree, tag, name);
        return;
    case EL_PRE:
    case EL_LISTING:
        close_p(tree);
        insert_and_push(tree, tag, name);
        tree->skips_newline = 1;
        tree->frameset_is_ok = 0;
        return;
    case EL_FORM:
        if (tree->form && !tree->open_templates)
            return;
        close_p(tree);
        uint32_t form = insert_and_push(tree, tag, name);
        if (!tree->open_templates)
            tree->form = form;
        return;
    case EL_LI:
        tree->frameset_is_ok = 0;
        end_item(tree, EL_LI, EL_LI);
        close_p(tree);
        insert_and_push(tree, tag, name);
        return;
    case EL_DD:
    case EL_DT:
        tree->frameset_is_ok = 0;
        end_item(tree, EL_DD, EL_DT);
        close_p(tree);
        insert_and_push(tree, tag, name);
        return;
    case EL_PLAINTEXT:
        close_p(tree);
        insert_and_push(tree, tag, name);
        tree->raw = take_raw(&tree->tokens, name);
        if (tree->raw.at < tree->raw.end)
            text_in_body(tree, tree->raw, IS_LITERAL | REPLACES_NUL);
        return;
    case EL_BUTTON:
        if (is_in_scope(tree, EL_BUTTON)) {
            end_implied(tree, NO_ELEMENT);
            pop_until(tree, EL_BUTTON);
        }
        reconstruct(tree);
        insert_and_push(tree, tag, name);
        tree->frameset_is_ok = 0;
        return;
    case EL_A:
        start_link(tree, tag);
        return;
    case EL_NOBR:
        reconstruct(tree);
        if (is_in_scope(tree, EL_NOBR)) {
            if (!adopt(tree, EL_NOBR))
                end_other(tree, EL_NOBR);
            reconstruct(tree);
        }
        add_formatting(tree, insert_and_push(tree, tag, name), tag->source);
        return;
    case EL_APPLET:
    case EL_MARQUEE:
    case EL_OBJECT:
        reconstruct(tree);
        insert_and_push(tree, tag, name);
        add_marker(tree);
        tree->frameset_is_ok = 0;
        return;
    case EL_TABLE:
        if (!tree->is_quirky)
            close_p(tree);
        insert_and_push(tree, tag, name);
        tree->frameset_is_ok = 0;
        tree->mode = IN_TABLE;
        return;
    case EL_AREA:
    case EL_BR:
    case EL_EMBED:
    case EL_IMG:
    case EL_KEYGEN:
    case EL_WBR:
        insert_void(tree, tag, name);
        tree->frameset_is_ok = 0;
        return;
    case EL_IMAGE:
        insert_void(tree, tag, EL_IMG);
        tree->frameset_is_ok = 0;
        return;
    case EL_INPUT:
        if (is_in_scope(tree, EL_SELECT))
            pop_until(tree, EL_SELECT);
        insert_void(tree, tag, name);
        if (!value_is(&tree->tokens, attribute_of(tag, AT_TYPE), "hidden"))
            tree->frameset_is_ok = 0;
        return;
    case EL_PARAM:
    case EL_SOURCE:
    case EL_TRACK:
        insert_element(tree, tag, name);
        return;
    case EL_HR:
        close_p(tree);
        if (is_in_scope(tree, EL_SELECT))
            end_implied(tree, NO_ELEMENT);
        insert_element(tree, tag, name);
        tree->frameset_is_ok = 0;
        return;
    case EL_TEXTAREA:
        insert_raw(tree, tag, name);
        tree->frameset_is_ok = 0;
        return;
    case EL_XMP:
        close_p(tree);
        reconstruct(tree);
        insert_raw(tree, tag, name);
        tree->frameset_is_ok = 0;
        return;
    case EL_IFRAME:
        tree->frameset_is_ok = 0;
        insert_raw(tree, tag, name);
        return;
    case EL_NOEMBED:
        insert_raw(tree, tag, name);
        return;
    case EL_SELECT:
        if (is_in_scope(tree, EL_SELECT)) {
            pop_until(tree, EL_SELECT);
            return;
        }
        reconstruct(tree);
        insert_and_push(tree, tag, name);
        tree->frameset_is_ok = 0;
        return;
    case EL_OPTGROUP:
    case EL_OPTION:
        start_select_part(tree, tag);
        return;
    case EL_RB:
    case EL_RTC:
    case EL_RP:
    case EL_RT:
        if (is_in_scope(tree, EL_RUBY))
            end_implied(tree, name == EL_RP || name == EL_RT ? EL_RTC : NO_ELEMENT);
        insert_and_push(tree, tag, name);
        return;
    case EL_MATH:
    case EL_SVG:
        reconstruct(tree);
        start_foreign(tree, tag, name == EL_SVG ? IN_SVG : IN_MATHML);
        return;
    case EL_CAPTION:
    case EL_COL:
    case EL_COLGROUP:
    case EL_FRAME:
    case EL_HEAD:
    case EL_TBODY:
    case EL_TD:
    case EL_TFOOT:
    case EL_TH:
    case EL_THEAD:
    case EL_TR:
        return;
    default:
        reconstruct(tree);
        uint32_t node = insert_and_push(tree, tag, name);
        if (flags & IS_FORMATTING)
            add_formatting(tree, node, tag->source);
    }
}

/* "Any other end tag". */
void end_other(Tree *tree, Name name) {
    for (int i = tree->open_count - 1; i > 0; i--, tree->steps++) {
        if (tree->open[i].name == name) {
            end_implied(tree, name);
            while (tree->open_count > i)
                pop_open(tree);
            return;
        }
        if (tree->open[i].flags & IS_SPECIAL)
            return;
    }
}

static void end_form(Tree *tree) {
    if (tree->open_templates) {
        if (is_in_scope(tree, EL_FORM)) {
            end_implied(tree, NO_ELEMENT);
            pop_until(tree, EL_FORM);
        }
        return;
    }
    uint32_t form = tree->form;
    tree->form = NO_NODE;
    if (!form || !(tree->nodes[form].flags & IS_OPEN))
        return;
    for (int i = tree->open_count - 1; i > 0 && tree->open[i].node != form; i--, tree->steps++)
        if (tree->open[i].flags & IS_SCOPE)
            return;
    end_implied(tree, NO_ELEMENT);
    remove_open(tree, index_in_open(tree, form));
}

static void end_heading(Tree *tree) {
    int is_found = 0;
    for (int i = tree->open_count - 1; i > 0 && !is_found && !(tree->open[i].flags & IS_SCOPE); i--, tree->steps++)
        is_found = (tree->open[i].flags & IS_HEADING) != 0;
    if (!is_found)
        return;
    end_implied(tree, NO_ELEMENT);
    while (tree->open_count > 1) {
        int is_last = (current(tree)->flags & IS_HEADING) != 0;
        pop_open(tree);
        if (is_last)
            return;
    }
}

static void end_body(Tree *tree) {
    if (is_in_scope(tree, EL_BODY))
        tree->mode = AFTER_BODY;
}

void end_in_body(Tree *tree, Tag *tag) {
    Name name = tag->name;
    uint32_t flags = flags_of(name);
    /* Most tags end what was opened last. */
    if (flags & ENDS_LAST && current(tree)->name == name) {
        pop_open(tree);
        return;
    }
    if (flags & IS_FORMATTING) {
        if (!adopt(tree, name))
            end_other(tree, name);
        return;
    }
    if (flags & IS_HEADING) {
        end_heading(tree);
        return;
    }
    switch (name) {
    case EL_TEMPLATE:
        end_template(tree);
        return;
    case EL_BODY:
        end_body(tree);
        return;
    case EL_HTML:
        end_body(tree);
        if (tree->mode == AFTER_BODY)
            take_end_tag(tree, tag);
        return;
    case EL_FORM:
        end_form(tree);
        return;
    case EL_P:
        if (!tree->open_paragraphs || !is_in_button_scope(tree, EL_P))
            insert_and_push(tree, NULL, EL_P);
        close_p(tree);
        return;
    case EL_LI:
        if (!is_in_list_scope(tree, EL_LI))
            return;
        end_implied(tree, EL_LI);
        pop_until(tree, EL_LI);
        return;
    case EL_DD:
    case EL_DT:
        if (!is_in_scope(tree, name))
            return;
        end_implied(tree, name);
        pop_until(tree, name);
        return;
    case EL_APPLET:
    case EL_MARQUEE:
    case EL_OBJECT:
        if (!is_in_scope(tree, name))
            return;
        end_implied(tree, NO_ELEMENT);
        pop_until(tree, name);
        clear_to_marker(tree);
        return;
    case EL_BR:
        insert_void(tree, NULL, EL_BR);
        tree->frameset_is_ok = 0;
        return;
    default:
        break;
    }
    if (!(flags & ENDS_P) && name != EL_BUTTON && name != EL_LISTING && name != EL_PRE && name != EL_SELECT) {
        end_other(tree, name);
        return;
    }
    if (!is_in_scope(tree, name))
        return;
    end_implied(tree, NO_ELEMENT);
    pop_until(tree, name);
}

void text_in_body(Tree *tree, Span text, uint32_t flags) {
    if (tree->formatting_count)
        reconstruct(tree);
    insert_text(tree, text, flags);
    if (tree->frameset_is_ok && !is_blank(text, flags))
        tree->frameset_is_ok = 0;
}

/* Frames */

static void start_in_frameset(Tree *tree, Tag *tag) {
    switch (tag->name) {
    case EL_HTML:
        start_in_body(tree, tag);
        return;
    case EL_FRAMESET:
        insert_and_push(tree, tag, EL_FRAMESET);
        return;
    case EL_FRAME:
        insert_element(tree, tag, EL_FRAME);
        return;
    case EL_NOFRAMES:
        start_in_head(tree, tag);
        return;
    default:
        return;
    }
}

static void end_in_frameset(Tree *tree, Name name) {
    if (name != EL_FRAMESET || tree->open_count < 2)
        return;
    pop_open(tree);
    if (!current_is(tree, EL_FRAMESET))
        tree->mode = AFTER_FRAMESET;
}

/* Templates */

static void start_in_template(Tree *tree, Tag *tag) {
    Mode mode = IN_BODY;
    if (is_of_head(tag->name)) {
        start_in_head(tree, tag);
        return;
    }
    switch (tag->name) {
    case EL_CAPTION:
    case EL_COLGROUP:
    case EL_TBODY:
    case EL_TFOOT:
    case EL_THEAD:
        mode = IN_TABLE;
        break;
    case EL_COL:
        mode = IN_COLUMN_GROUP;
        break;
    case EL_TR:
        mode = IN_TABLE_BODY;
        break;
    case EL_TD:
    case EL_TH:
        mode = IN_ROW;
        break;
    default:
        break;
    }
    if (tree->template_count)
        tree->template_modes[tree->template_count - 1] = mode;
    tree->mode = mode;
    take_start_tag(tree, tag);
}

/* All modes */

static void begin_html(Tree *tree, const Tag *tag) {
    tree->html = insert_and_push(tree, NULL, EL_HTML);
    if (tag)
        merge_html(tree, tag);
    tree->mode = BEFORE_HEAD;
}

static void begin_head(Tree *tree, const Tag *tag) {
    tree->head = insert_and_push(tree, tag, EL_HEAD);
    tree->mode = IN_HEAD;
}

/* What a token without a rule of its own does before the body: it goes on to the next mode. */
static void go_on(Tree *tree) {
    switch (tree->mode) {
    case INITIAL:
        tree->is_quirky = 1;
        tree->mode = BEFORE_HTML;
        return;
    case BEFORE_HTML:
        begin_html(tree, NULL);
        return;
    case BEFORE_HEAD:
        begin_head(tree, NULL);
        return;
    case IN_HEAD:
        pop_open(tree);
        tree->mode = AFTER_HEAD;
        return;
    case IN_HEAD_NOSCRIPT:
        pop_open(tree);
        tree->mode = IN_HEAD;
        return;
    case AFTER_HEAD:
        insert_and_push(tree, NULL, EL_BODY);
        tree->mode = IN_BODY;
        return;
    default:
        tree->mode = IN_BODY;
    }
}

void take_start_tag(Tree *tree, Tag *tag) {
    if (tree->open_foreign && start_in_foreign(tree, tag))
        return;
    start_by_mode(tree, tag);
}

void start_by_mode(Tree *tree, Tag *tag) {
    switch (tree->mode) {
    case INITIAL:
        go_on(tree);
        take_start_tag(tree, tag);
        return;
    case BEFORE_HTML:
        if (tag->name == EL_HTML) {
            begin_html(tree, tag);
            return;
        }
        go_on(tree);
        take_start_tag(tree, tag);
        return;
    case BEFORE_HEAD:
        if (tag->name == EL_HTML) {
            start_in_body(tree, tag);
            return;
        }
        if (tag->name == EL_HEAD) {
            begin_head(tree, tag);
            return;
        }
        go_on(tree);
        take_start_tag(tree, tag);
        return;
    case IN_HEAD:
        start_in_head(tree, tag);
        return;
    case IN_HEAD_NOSCRIPT:
        if (tag->name == EL_HTML)
            start_in_body(tree, tag);
        else if (tag->name == EL_BASEFONT || tag->name == EL_BGSOUND || tag->name == EL_LINK || tag->name == EL_META ||
                 tag->name == EL_NOFRAMES || tag->name == EL_STYLE)
            start_in_head(tree, tag);
        else if (tag->name != EL_HEAD && tag->name != EL_NOSCRIPT) {
            go_on(tree);
            take_start_tag(tree, tag);
        }
        return;
    case AFTER_HEAD:
        start_after_head(tree, tag);
        return;
    case IN_BODY:
        start_in_body(tree, tag);
        return;
    case IN_TEMPLATE:
        start_in_template(tree, tag);
        return;
    case IN_FRAMESET:
        start_in_frameset(tree, tag);
        return;
    case AFTER_FRAMESET:
    case AFTER_AFTER_FRAMESET:
        if (tag->name == EL_HTML)
            start_in_body(tree, tag);
        else if (tag->name == EL_NOFRAMES)
            start_in_head(tree, tag);
        return;
    case AFTER_BODY:
    case AFTER_AFTER_BODY:
        if (tag->name == EL_HTML) {
            start_in_body(tree, tag);
            return;
        }
        tree->mode = IN_BODY;
        take_start_tag(tree, tag);
        return;
    default:
        start_in_table(tree, tag);
    }
}

void take_end_tag(Tree *tree, Tag *tag) {
    if (tree->open_foreign && end_in_foreign(tree, tag))
        return;
    end_by_mode(tree, tag);
}

void end_by_mode(Tree *tree, Tag *tag) {
    Name name = tag->name;
    int may_go_on = name == EL_BODY || name == EL_HTML || name == EL_BR;
    switch (tree->mode) {
    case INITIAL:
        go_on(tree);
        take_end_tag(tree, tag);
        return;
    case BEFORE_HTML:
    case BEFORE_HEAD:
        may_go_on |= name == EL_HEAD;
        break;
    case IN_HEAD:
        if (name == EL_HEAD) {
            go_on(tree);
            return;
        }
        if (name == EL_TEMPLATE) {
            end_template(tree);
            return;
        }
        break;
    case IN_HEAD_NOSCRIPT:
        if (name == EL_NOSCRIPT) {
            go_on(tree);
            return;
        }
        may_go_on = name == EL_BR;
        break;
    case AFTER_HEAD:
        if (name == EL_TEMPLATE) {
            end_template(tree);
            return;
        }
        break;
    case IN_BODY:
        end_in_body(tree, tag);
        return;
    case IN_TEMPLATE:
        if (name == EL_TEMPLATE)
            end_template(tree);
        return;
    case IN_FRAMESET:
        end_in_frameset(tree, name);
        return;
    case AFTER_FRAMESET:
        if (name == EL_HTML)
            tree->mode = AFTER_AFTER_FRAMESET;
        return;
    case AFTER_AFTER_FRAMESET:
        return;
    case AFTER_BODY:
        if (name == EL_HTML) {
            tree->mode = AFTER_AFTER_BODY;
            return;
        }
        may_go_on = 1;
        break;
    case AFTER_AFTER_BODY:
        may_go_on = 1;
        break;
    default:
        end_in_table(tree, tag);
        return;
    }
    if (may_go_on) {
        go_on(tree);
        take_end_tag(tree, tag);
    }
}

void take_text(Tree *tree, Span text, uint32_t flags) {
    if (tree->open_foreign && text_in_foreign(tree, text, flags))
        return;
    switch (tree->mode) {
    case INITIAL:
    case BEFORE_HTML:
    case BEFORE_HEAD:
    case IN_HEAD:
    case IN_HEAD_NOSCRIPT:
    case AFTER_HEAD:
        /* White space there is shown nowhere. */
        text = skip_space(text, flags);
        if (text.at == text.end)
            return;
        while (tree->mode < IN_BODY)
            go_on(tree);
        text_in_body(tree, text, flags);
        return;
    case IN_BODY:
    case IN_TEMPLATE:
    case IN_CAPTION:
    case IN_CELL:
        text_in_body(tree, text, flags);
        return;
    case IN_FRAMESET:
    case AFTER_FRAMESET:
    case AFTER_AFTER_FRAMESET:
        return;
    case AFTER_BODY:
    case AFTER_AFTER_BODY:
        if (!is_blank(text, flags | REPLACES_NUL))
            tree->mode = IN_BODY;
        text_in_body(tree, text, flags);
        return;
    default:
        text_in_table(tree, text, flags);
    }
}
