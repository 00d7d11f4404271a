/* What a page says of itself: <title>, <meta> and JSON-LD, read leniently and without a tree. */
#include "content.h"

enum { MAX_FIELD = 1000, MAX_LD_BODY = 200000 };

int append_collapsed(Buffer *out, Span text, int in_attribute, size_t max) {
    const char *at = text.at, *end = text.end;
    size_t start = out->length;
    int is_pending = 0;
    if ((size_t)(end - at) > 4 * max)
        end = at + 4 * max;
    if (buffer_reserve(out, (size_t)(end - at) * 2 + 16))
        return -1;
    while (at < end && out->length - start < max) {
        Reference found = {{0, 0}, 0};
        const char *next = at;
        if (*at == '&')
            next = resolve_reference(at, end, in_attribute, &found);
        if (next == at) {
            next = utf8_read(at, end, &found.points[0]);
            found.count = 1;
        }
        at = next;
        for (int i = 0; i < found.count; i++) {
            uint32_t point = found.points[i];
            if (point <= ' ' || point == 0xa0 || point == 0x3000) {
                is_pending = out->length > start;
                continue;
            }
            if (is_pending)
                out->bytes[out->length++] = ' ';
            is_pending = 0;
            out->length += (size_t)utf8_write(out->bytes + out->length, point);
        }
        if (buffer_reserve(out, (size_t)(end - at) * 2 + 16))
            return -1;
    }
    return 0;
}

static int is_one_of(Span span, const char *const *words) {
    for (; *words; words++)
        if (span_is(span, *words))
            return 1;
    return 0;
}

static int set_once(Buffer *field, Span value) {
    return field->length ? 0 : append_collapsed(field, value, 1, MAX_FIELD);
}

static const char *const TITLE_KEYS[] = {"og:title", "twitter:title", "dc.title", "headline", "title", NULL};
static const char *const AUTHOR_KEYS[] = {
    "author",         "article:author",  "dc.creator",     "dcterms.creator",   "byl",
    "parsely-author", "sailthru.author", "article.author", "og:article:author", NULL};
static const char *const DATE_KEYS[] = {"article:published_time",
                                        "datepublished",
                                        "og:published_time",
                                        "date",
                                        "dc.date",
                                        "dc.date.issued",
                                        "dcterms.date",
                                        "dcterms.created",
                                        "pubdate",
                                        "publishdate",
                                        "publish_date",
                                        "publish-date",
                                        "parsely-pub-date",
                                        "sailthru.date",
                                        "article.published",
                                        "article:published",
                                        "og:article:published_time",
                                        "cxenseparse:recs:publishtime",
                                        "datecreated",
                                        "weibo: article:create_at",
                                        "bytedance:published_time",
                                        NULL};
static const char *const DESCRIPTION_KEYS[] = {"description", "og:description", "twitter:description", NULL};

int meta_tag(Meta *meta, Span key, Span content) {
    if (content.at == content.end)
        return 0;
    if (is_one_of(key, TITLE_KEYS))
        return set_once(&meta->og_title, content);
    if (is_one_of(key, AUTHOR_KEYS))
        /* Facebook's pages are no names. */
        return content.end - content.at > 4 && !memcmp(content.at, "http", 4) ? 0 : set_once(&meta->author, content);
    if (is_one_of(key, DATE_KEYS))
        return set_once(&meta->published, content);
    if (is_one_of(key, DESCRIPTION_KEYS))
        return set_once(&meta->description, content);
    if (span_is(key, "og:type")) {
        if (span_is(content, "article") || span_is(content, "news") || span_is(content, "blog"))
            meta->kinds |= OG_ARTICLE;
    }
    if (span_is(key, "content-language") || span_is(key, "og:locale"))
        return set_once(&meta->language, content);
    return 0;
}

static uint32_t four_digits(const char *at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char digit = lower((unsigned char)at[i]);
        value = value * 16 + (uint32_t)(is_digit(digit)                ? digit - '0'
                                        : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                                       : 0);
    }
    return value;
}

/* A JSON string's text: escapes resolved. Anything after a broken escape is kept as it is. */
static int append_json(Buffer *out, Span value, size_t max) {
    size_t start = out->length;
    if (buffer_reserve(out, (size_t)(value.end - value.at) + 8))
        return -1;
    for (const char *c = value.at; c < value.end && out->length - start < max; c++) {
        if (*c != '\\' || c + 1 >= value.end) {
            out->bytes[out->length++] = *c;
            continue;
        }
        c++;
        uint32_t point = (unsigned char)*c;
        if (*c == 'n' || *c == 'r' || *c == 't')
            point = '\n';
        else if (*c == 'u' && value.end - c > 4) {
            point = four_digits(c + 1);
            c += 4;
            if (point >= 0xd800 && point < 0xdc00 && value.end - c > 6 && c[1] == '\\' && c[2] == 'u') {
                uint32_t low = four_digits(c + 3);
                c += 6;
                point = 0x10000 + ((point & 0x3ff) << 10) + (low & 0x3ff);
            } else if (point >= 0xd800 && point < 0xe000)
                point = 0xfffd;
        }
        if (point >= 0x80 && (unsigned char)*c >= 0x80) {
            out->bytes[out->length++] = *c; /* a backslash before a letter that is not ASCII */
            continue;
        }
        out->length += (size_t)utf8_write(out->bytes + out->length, point);
    }
    /* A cut may have split a character. */
    if (out->length - start >= max) {
        while (out->length > start && ((unsigned char)out->bytes[out->length - 1] & 0xc0) == 0x80)
            out->length--;
        if (out->length > start && (unsigned char)out->bytes[out->length - 1] >= 0xc0)
            out->length--;
    }
    return 0;
}

static int set_json(Buffer *field, Span value) {
    Buffer plain = {0};
    if (field->length)
        return 0;
    int failed = append_json(&plain, value, MAX_FIELD) ||
                 append_collapsed(field, (Span){plain.bytes, plain.bytes + plain.length}, 0, MAX_FIELD);
    buffer_free(&plain);
    return failed;
}

static void note_type(Meta *meta, Span value) {
    static const char *const ARTICLES[] = {
        "article",     "newsarticle",      "blogposting",          "report",
        "techarticle", "scholarlyarticle", "reportagenewsarticle", "opinionnewsarticle",
        "recipe",      "liveblogposting",  "analysisnewsarticle",  NULL};
    static const char *const FORUMS[] = {"discussionforumposting", "qapage", "question", "socialmediaposting", NULL};
    static const char *const LISTS[] = {"collectionpage", "itemlist", "searchresultspage", NULL};
    if (is_one_of(value, ARTICLES))
        meta->kinds |= LD_ARTICLE;
    else if (is_one_of(value, FORUMS))
        meta->kinds |= LD_FORUM;
    else if (is_one_of(value, LISTS))
        meta->kinds |= LD_LIST;
}

static int note_pair(Meta *meta, Span key, Span value, int is_in_author) {
    if (span_is(key, "@type"))
        note_type(meta, value);
    else if (span_is(key, "headline"))
        return set_json(&meta->ld_title, value);
    else if (span_is(key, "datepublished") || span_is(key, "datecreated") || span_is(key, "uploaddate"))
        return set_json(&meta->ld_published, value);
    else if (span_is(key, "author") || (span_is(key, "name") && is_in_author))
        return value.end - value.at > 4 && !memcmp(value.at, "http", 4) ? 0 : set_json(&meta->ld_author, value);
    else if (span_is(key, "text") && meta->kinds & LD_FORUM && !meta->body.length)
        /* The first is the post, those after it are answers. */
        return append_json(&meta->body, value, MAX_LD_BODY);
    else if (span_is(key, "articlebody") && (size_t)(value.end - value.at) > meta->body.length) {
        meta->body.length = 0;
        return append_json(&meta->body, value, MAX_LD_BODY);
    }
    return 0;
}

/* Walks strings only: a string before a colon is a key, one after it a value. Broken JSON gives what can be read. */
int meta_ld(Meta *meta, Span json) {
    const char *end = json.end;
    Span key = {json.at, json.at}, last = key;
    int depth = 0, author_depth = -1, is_value = 0;
    for (const char *c = json.at; c < end; c++) {
        switch (*c) {
        case '"': {
            const char *start = ++c;
            while (c < end && *c != '"')
                c += *c == '\\' ? 2 : 1;
            if (c > end)
                c = end;
            last = (Span){start, c};
            if (is_value && note_pair(meta, key, last, author_depth >= 0 && depth > author_depth))
                return -1;
            break;
        }
        case ':':
            key = last;
            is_value = 1;
            if (span_is(key, "author") || span_is(key, "creator"))
                author_depth = depth;
            break;
        case '[':
            /* `"author": ["A", "B"]`: the values of an array belong to its key. */
            depth++;
            break;
        case '{':
            depth++;
            is_value = 0;
            break;
        case '}':
        case ']':
            depth--;
            is_value = 0;
            if (depth <= author_depth)
                author_depth = -1;
            break;
        case ',':
            if (depth <= author_depth)
                author_depth = -1;
            is_value = 0;
            break;
        default:
            break;
        }
    }
    return 0;
}

void meta_free(Meta *meta) {
    Buffer *fields[] = {&meta->title,       &meta->og_title,  &meta->ld_title,     &meta->author,
                        &meta->ld_author,   &meta->published, &meta->ld_published, &meta->time,
                        &meta->description, &meta->body,      &meta->language,     &meta->heading};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        buffer_free(fields[i]);
}
