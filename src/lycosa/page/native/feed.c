/* The tokens that the search for main content is given, with a tree or without. */
#include "html.h"

static uint8_t searched(const Tag *tag) {
    return tag->name < ELEMENTS ? searched_tags[tag->name] : searched_other(tag->written);
}

/* Elements of which a reader sees no content, in the order of `Tokens.ends`. */
static const Name PASSED_OVER[PASSED_KINDS] = {EL_OBJECT, EL_VIDEO, EL_AUDIO, EL_CANVAS};

/* Whether there is an end tag further on. What was looked through once is not looked through again. */
static int is_ended_later(Tokens *tokens, int kind) {
    if (!tokens->ends[kind] || tokens->ends[kind] < tokens->at)
        tokens->ends[kind] = raw_end(tokens->at, tokens->end, element_name(PASSED_OVER[kind]));
    return tokens->ends[kind] < tokens->end;
}

/* An element that is passed over and never ends would take the rest of the page with it. */
static int hides_the_rest(Tokens *tokens) {
    for (int kind = 0; kind < PASSED_KINDS; kind++)
        if (PASSED_OVER[kind] == tokens->tag.name)
            return !is_ended_later(tokens, kind);
    return 0;
}

int feed_start_tag(Search *search, Tokens *tokens) {
    const Tag *tag = &tokens->tag;
    uint8_t kind = searched(tag);
    if (is_passed_over(kind) && hides_the_rest(tokens))
        kind = searched_other(tag->written);
    const Attributes attributes = {tokens->start, tag->attributes, tag->noted, tag->attribute_count,
                                   tag->is_self_closing};
    return search_start_tag(search, kind, &attributes);
}

int feed_end_tag(Search *search, const Tokens *tokens) { return search_end_tag(search, searched(&tokens->tag)); }

/* Where a raw element is never closed, a browser hides the rest of the page; a reader wants it, but for scripts and
 * styles. */
int is_raw_to_readers(Name name, Span content, const char *end) {
    return content.end < end || name == EL_SCRIPT || name == EL_STYLE;
}

/* Without a tree, a raw element is known by its name alone. Serialisers of XML write empty ones as "<script/>". Each
 * kind is looked at once for an end that is not there, so that time stays linear. */
static int feed_raw(Search *search, Tokens *tokens, uint8_t *is_never_closed) {
    Name name = tokens->tag.name;
    if (!(flags_of(name) & IS_RAW) || tokens->tag.is_self_closing || is_never_closed[name])
        return 0;
    const char *start = tokens->at;
    Span content = take_raw(tokens, name);
    if (is_raw_to_readers(name, content, tokens->end))
        return search_raw(search, content);
    is_never_closed[name] = 1;
    tokens->at = start;
    return 0;
}

int feed_markup(Search *search, const char *html, const char *at, const char *end) {
    Tokens tokens = {.start = html, .at = at, .end = end, .has_all = 1};
    uint8_t is_never_closed[ELEMENTS] = {0};
    for (int failed = 0; !failed;)
        switch (next_token(&tokens, 0)) {
        case TOKEN_END:
            return 0;
        case TOKEN_TEXT:
            failed = search_text(search, tokens.text);
            break;
        case TOKEN_START_TAG:
            failed = feed_start_tag(search, &tokens) || feed_raw(search, &tokens, is_never_closed);
            break;
        case TOKEN_END_TAG:
            failed = feed_end_tag(search, &tokens);
            break;
        default:
            break;
        }
    return -1;
}
