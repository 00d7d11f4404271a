/* A doctype, and whether it asks for the ways of old browsers: to them a table does not end a paragraph. */
#include "html.h"

static const char *const QUIRKY_BEGINNINGS[] = {
    "+//silmaril//dtd html pro v0r11 19970101//",
    "-//advasoft ltd//dtd html 3.0 aswedit + extensions//",
    "-//as//dtd html 3.0 aswedit + extensions//",
    "-//ietf//dtd html 2.0 level 1//",
    "-//ietf//dtd html 2.0 level 2//",
    "-//ietf//dtd html 2.0 strict level 1//",
    "-//ietf//dtd html 2.0 strict level 2//",
    "-//ietf//dtd html 2.0 strict//",
    "-//ietf//dtd html 2.0//",
    "-//ietf//dtd html 2.1e//",
    "-//ietf//dtd html 3.0//",
    "-//ietf//dtd html 3.2 final//",
    "-//ietf//dtd html 3.2//",
    "-//ietf//dtd html 3//",
    "-//ietf//dtd html level 0//",
    "-//ietf//dtd html level 1//",
    "-//ietf//dtd html level 2//",
    "-//ietf//dtd html level 3//",
    "-//ietf//dtd html strict level 0//",
    "-//ietf//dtd html strict level 1//",
    "-//ietf//dtd html strict level 2//",
    "-//ietf//dtd html strict level 3//",
    "-//ietf//dtd html strict//",
    "-//ietf//dtd html//",
    "-//metrius//dtd metrius presentational//",
    "-//microsoft//dtd internet explorer 2.0 html strict//",
    "-//microsoft//dtd internet explorer 2.0 html//",
    "-//microsoft//dtd internet explorer 2.0 tables//",
    "-//microsoft//dtd internet explorer 3.0 html strict//",
    "-//microsoft//dtd internet explorer 3.0 html//",
    "-//microsoft//dtd internet explorer 3.0 tables//",
    "-//netscape comm. corp.//dtd html//",
    "-//netscape comm. corp.//dtd strict html//",
    "-//o'reilly and associates//dtd html 2.0//",
    "-//o'reilly and associates//dtd html extended 1.0//",
    "-//o'reilly and associates//dtd html extended relaxed 1.0//",
    "-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
    "-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//",
    "-//spyglass//dtd html 2.0 extended//",
    "-//sq//dtd html 2.0 hotmetal + extensions//",
    "-//sun microsystems corp.//dtd hotjava html//",
    "-//sun microsystems corp.//dtd hotjava strict html//",
    "-//w3c//dtd html 3 1995-03-24//",
    "-//w3c//dtd html 3.2 draft//",
    "-//w3c//dtd html 3.2 final//",
    "-//w3c//dtd html 3.2//",
    "-//w3c//dtd html 3.2s draft//",
    "-//w3c//dtd html 4.0 frameset//",
    "-//w3c//dtd html 4.0 transitional//",
    "-//w3c//dtd html experimental 19960712//",
    "-//w3c//dtd html experimental 970421//",
    "-//w3c//dtd w3 html//",
    "-//w3o//dtd w3 html 3.0//",
    "-//webtechs//dtd mozilla html 2.0//",
    "-//webtechs//dtd mozilla html//",
};
static const char *const QUIRKY_WITHOUT_SYSTEM[] = {
    "-//w3c//dtd html 4.01 frameset//",
    "-//w3c//dtd html 4.01 transitional//",
};

static void skip(Span *rest) {
    while (rest->at < rest->end && is_space((unsigned char)*rest->at))
        rest->at++;
}

/* A quoted identifier; false where there is none, or it is not closed. */
static int read_identifier(Span *rest, Span *found) {
    skip(rest);
    if (rest->at == rest->end || (*rest->at != '"' && *rest->at != '\''))
        return 0;
    const char *close = memchr(rest->at + 1, *rest->at, (size_t)(rest->end - rest->at - 1));
    if (!close)
        return 0;
    *found = (Span){rest->at + 1, close};
    rest->at = close + 1;
    return 1;
}

static int is_quirky(Span rest) {
    Span name = {rest.at, rest.at}, public = {NULL, NULL}, system = {NULL, NULL};
    if (rest.end > rest.at && rest.end[-1] == '>')
        rest.end--;
    else
        return 1;
    skip(&rest);
    name.at = rest.at;
    while (rest.at < rest.end && !is_space((unsigned char)*rest.at))
        rest.at++;
    name.end = rest.at;
    if (!span_is(name, "html"))
        return 1;
    skip(&rest);
    if (rest.at == rest.end)
        return 0;
    if (span_begins(rest, "public")) {
        rest.at += 6;
        if (!read_identifier(&rest, &public))
            return 1;
        skip(&rest);
        if (rest.at < rest.end && !read_identifier(&rest, &system))
            return 1;
    } else if (span_begins(rest, "system")) {
        rest.at += 6;
        if (!read_identifier(&rest, &system))
            return 1;
    } else
        return 1;
    if (span_is(public, "-//w3o//dtd w3 html strict 3.0//en//") ||
        span_is(public, "-/w3c/dtd html 4.0 transitional/en") || span_is(public, "html") ||
        span_is(system, "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd"))
        return 1;
    for (size_t i = 0; i < sizeof QUIRKY_BEGINNINGS / sizeof *QUIRKY_BEGINNINGS; i++)
        if (span_begins(public, QUIRKY_BEGINNINGS[i]))
            return 1;
    for (size_t i = 0; i < sizeof QUIRKY_WITHOUT_SYSTEM / sizeof *QUIRKY_WITHOUT_SYSTEM; i++)
        if (!system.at && span_begins(public, QUIRKY_WITHOUT_SYSTEM[i]))
            return 1;
    return 0;
}

void take_doctype(Tree *tree, Span doctype) {
    if (tree->mode != INITIAL)
        return;
    tree->is_quirky = is_quirky(doctype);
    tree->mode = BEFORE_HTML;
}
