/* The rules of tables. What does not belong into a table goes before it. */
#include "html.h"

static int is_section(Name name) { return name == EL_TBODY || name == EL_TFOOT || name == EL_THEAD; }
static int is_cell(Name name) { return name == EL_TD || name == EL_TH; }

static int is_structure(Name name) {
    return is_section(name) || is_cell(name) || name == EL_CAPTION || name == EL_COL || name == EL_COLGROUP ||
           name == EL_TR;
}

static int has_section(Tree *tree) {
    return is_in_table_scope(tree, EL_TBODY) || is_in_table_scope(tree, EL_THEAD) || is_in_table_scope(tree, EL_TFOOT);
}

typedef enum { TO_TABLE, TO_SECTION, TO_ROW } Context;

static void clear_back(Tree *tree, Context context) {
    for (; tree->open_count > 1; pop_open(tree)) {
        Name name = current(tree)->name;
        if (name == EL_TEMPLATE || (context == TO_TABLE && name == EL_TABLE) ||
            (context == TO_SECTION && is_section(name)) || (context == TO_ROW && name == EL_TR))
            return;
    }
}

static void fostered_start(Tree *tree, Tag *tag) {
    tree->is_fostering = 1;
    start_in_body(tree, tag);
    tree->is_fostering = 0;
}

/* In table */

static void start_of_table(Tree *tree, Tag *tag) {
    switch (tag->name) {
    case EL_CAPTION:
        clear_back(tree, TO_TABLE);
        add_marker(tree);
        insert_and_push(tree, tag, EL_CAPTION);
        tree->mode = IN_CAPTION;
        return;
    case EL_COLGROUP:
    case EL_COL:
        clear_back(tree, TO_TABLE);
        insert_and_push(tree, NULL, EL_COLGROUP);
        tree->mode = IN_COLUMN_GROUP;
        if (tag->name == EL_COL)
            take_start_tag(tree, tag);
        return;
    case EL_TBODY:
    case EL_TFOOT:
    case EL_THEAD:
        clear_back(tree, TO_TABLE);
        insert_and_push(tree, tag, tag->name);
        tree->mode = IN_TABLE_BODY;
        return;
    case EL_TD:
    case EL_TH:
    case EL_TR:
        clear_back(tree, TO_TABLE);
        insert_and_push(tree, NULL, EL_TBODY);
        tree->mode = IN_TABLE_BODY;
        take_start_tag(tree, tag);
        return;
    case EL_TABLE:
        if (!is_in_table_scope(tree, EL_TABLE))
            return;
        pop_until(tree, EL_TABLE);
        reset_mode(tree);
        take_start_tag(tree, tag);
        return;
    case EL_STYLE:
    case EL_SCRIPT:
    case EL_TEMPLATE:
        start_in_head(tree, tag);
        return;
    case EL_INPUT:
        if (value_is(&tree->tokens, attribute_of(tag, AT_TYPE), "hidden"))
            insert_element(tree, tag, EL_INPUT);
        else
            fostered_start(tree, tag);
        return;
    case EL_FORM:
        if (!tree->open_templates && !tree->form)
            tree->form = insert_element(tree, tag, EL_FORM);
        return;
    default:
        fostered_start(tree, tag);
    }
}

static void end_of_table(Tree *tree, Tag *tag) {
    Name name = tag->name;
    if (name == EL_TABLE) {
        if (!is_in_table_scope(tree, EL_TABLE))
            return;
        pop_until(tree, EL_TABLE);
        reset_mode(tree);
    } else if (name == EL_TEMPLATE)
        end_template(tree);
    else if (!is_structure(name) && name != EL_BODY && name != EL_HTML) {
        tree->is_fostering = 1;
        end_in_body(tree, tag);
        tree->is_fostering = 0;
    }
}

/* In caption */

static int end_caption(Tree *tree) {
    if (!is_in_table_scope(tree, EL_CAPTION))
        return 0;
    end_implied(tree, NO_ELEMENT);
    pop_until(tree, EL_CAPTION);
    clear_to_marker(tree);
    tree->mode = IN_TABLE;
    return 1;
}

/* In column group */

static int end_column_group(Tree *tree) {
    if (!current_is(tree, EL_COLGROUP))
        return 0;
    pop_open(tree);
    tree->mode = IN_TABLE;
    return 1;
}

static void start_of_column_group(Tree *tree, Tag *tag) {
    if (tag->name == EL_HTML)
        start_in_body(tree, tag);
    else if (tag->name == EL_COL)
        insert_element(tree, tag, EL_COL);
    else if (tag->name == EL_TEMPLATE)
        start_in_head(tree, tag);
    else if (end_column_group(tree))
        take_start_tag(tree, tag);
}

/* In table body */

static int end_section(Tree *tree) {
    if (!has_section(tree))
        return 0;
    clear_back(tree, TO_SECTION);
    pop_open(tree);
    tree->mode = IN_TABLE;
    return 1;
}

static void start_of_section(Tree *tree, Tag *tag) {
    Name name = tag->name;
    if (name == EL_TR || is_cell(name)) {
        clear_back(tree, TO_SECTION);
        insert_and_push(tree, name == EL_TR ? tag : NULL, EL_TR);
        tree->mode = IN_ROW;
        if (name != EL_TR)
            take_start_tag(tree, tag);
    } else if (!is_structure(name))
        start_of_table(tree, tag);
    else if (end_section(tree))
        take_start_tag(tree, tag);
}

/* In row */

static int end_row(Tree *tree) {
    if (!is_in_table_scope(tree, EL_TR))
        return 0;
    clear_back(tree, TO_ROW);
    pop_open(tree);
    tree->mode = IN_TABLE_BODY;
    return 1;
}

static void start_of_row(Tree *tree, Tag *tag) {
    if (is_cell(tag->name)) {
        clear_back(tree, TO_ROW);
        insert_and_push(tree, tag, tag->name);
        tree->mode = IN_CELL;
        add_marker(tree);
    } else if (!is_structure(tag->name))
        start_of_table(tree, tag);
    else if (end_row(tree))
        take_start_tag(tree, tag);
}

/* In cell */

static void close_cell(Tree *tree) {
    end_implied(tree, NO_ELEMENT);
    if (is_in_table_scope(tree, EL_TD) || is_in_table_scope(tree, EL_TH))
        while (tree->open_count > 1) {
            int is_last = is_cell(current(tree)->name);
            pop_open(tree);
            if (is_last)
                break;
        }
    clear_to_marker(tree);
    tree->mode = IN_ROW;
}

static void end_of_cell(Tree *tree, Tag *tag) {
    Name name = tag->name;
    if (is_cell(name)) {
        if (!is_in_table_scope(tree, name))
            return;
        end_implied(tree, NO_ELEMENT);
        pop_until(tree, name);
        clear_to_marker(tree);
        tree->mode = IN_ROW;
    } else if (name == EL_TABLE || name == EL_TR || is_section(name)) {
        if (!is_in_table_scope(tree, name))
            return;
        close_cell(tree);
        take_end_tag(tree, tag);
    } else if (name != EL_BODY && name != EL_CAPTION && name != EL_COL && name != EL_COLGROUP && name != EL_HTML)
        end_in_body(tree, tag);
}

/* By mode */

void start_in_table(Tree *tree, Tag *tag) {
    switch (tree->mode) {
    case IN_CAPTION:
        if (!is_structure(tag->name))
            start_in_body(tree, tag);
        else if (end_caption(tree))
            take_start_tag(tree, tag);
        return;
    case IN_COLUMN_GROUP:
        start_of_column_group(tree, tag);
        return;
    case IN_TABLE_BODY:
        start_of_section(tree, tag);
        return;
    case IN_ROW:
        start_of_row(tree, tag);
        return;
    case IN_CELL:
        if (!is_structure(tag->name)) {
            start_in_body(tree, tag);
            return;
        }
        close_cell(tree);
        take_start_tag(tree, tag);
        return;
    default:
        start_of_table(tree, tag);
    }
}

void end_in_table(Tree *tree, Tag *tag) {
    Name name = tag->name;
    switch (tree->mode) {
    case IN_CAPTION:
        if (name == EL_CAPTION)
            end_caption(tree);
        else if (name == EL_TABLE) {
            if (end_caption(tree))
                take_end_tag(tree, tag);
        } else if (!is_structure(name) && name != EL_BODY && name != EL_HTML)
            end_in_body(tree, tag);
        return;
    case IN_COLUMN_GROUP:
        if (name == EL_COLGROUP)
            end_column_group(tree);
        else if (name == EL_TEMPLATE)
            end_template(tree);
        else if (name != EL_COL && end_column_group(tree))
            take_end_tag(tree, tag);
        return;
    case IN_TABLE_BODY:
        if (is_section(name)) {
            if (!is_in_table_scope(tree, name))
                return;
            clear_back(tree, TO_SECTION);
            pop_open(tree);
            tree->mode = IN_TABLE;
        } else if (name == EL_TABLE) {
            if (end_section(tree))
                take_end_tag(tree, tag);
        } else
            end_of_table(tree, tag);
        return;
    case IN_ROW:
        if (name == EL_TR)
            end_row(tree);
        else if (name == EL_TABLE || (is_section(name) && is_in_table_scope(tree, name))) {
            if (end_row(tree))
                take_end_tag(tree, tag);
        } else if (!is_section(name))
            end_of_table(tree, tag);
        return;
    case IN_CELL:
        end_of_cell(tree, tag);
        return;
    default:
        end_of_table(tree, tag);
    }
}

void text_in_table(Tree *tree, Span text, uint32_t flags) {
    if (tree->mode == IN_COLUMN_GROUP) {
        /* White space between columns is shown nowhere. */
        text = skip_space(text, flags);
        if (text.at == text.end || !end_column_group(tree))
            return;
    }
    int is_tabled = flags_of(current(tree)->name) & IS_TABLED || current_is(tree, EL_TEMPLATE);
    if (is_tabled && is_blank(text, flags)) {
        insert_text(tree, text, flags);
        return;
    }
    tree->is_fostering = 1;
    text_in_body(tree, text, flags);
    tree->is_fostering = 0;
}
