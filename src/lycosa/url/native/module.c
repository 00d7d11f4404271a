/* The Python side: a decider, which takes the links of a page and gives columns. */
#include "links.h"

typedef struct {
    PyObject_HEAD
    Characters characters;
    Limits limits;
    Rules rules;
    int asks_key; /* there are rules that only Python knows */
    KeyedHash hash;
    Origins origins;
    Met met;
    PyObject *facts_of, *verdict_of, *key_of, *odd, *odd_also; /* asked of Python */
    PyObject *link_type, *in_scope;
} Decider;

static PyTypeObject *remembered_type;
static PyObject *NAME_url, *NAME_host, *NAME_fingerprint, *NAME_in_scope, *WORD_nofollow, *WORD_utf8;

/* One page. */

typedef struct {
    Decider *decider;
    PyObject *base_url, *encoding;
    int is_utf8; /* the page; else queries beyond ASCII are spelt in Python */
    Base base;
    PyObject *base_facts; /* NULL: the base is odd, and so is every link */
    Span base_scheme;
} Page;

/* What an href led to: by this code (`facts`, `tail`) or, where it was odd, by Python (`link`). */
typedef struct {
    PyObject *url, *facts, *link;
    uint64_t hash, fingerprint;
    int was_met; /* and so `fingerprint` is known */
    Tail tail;
} Found;

static void found_forget(Found *found) {
    Py_CLEAR(found->url);
    Py_CLEAR(found->facts);
    Py_CLEAR(found->link);
}

static Reading text_of(PyObject *text, Span *span) {
    Py_ssize_t length;
    const char *at;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "hrefs are texts");
        return FAILED;
    }
    if (PyUnicode_GET_LENGTH(text) > MAX_TEXT)
        return ODD;
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        at = (const char *)PyUnicode_1BYTE_DATA(text);
        length = PyUnicode_GET_LENGTH(text);
    } else {
        at = PyUnicode_AsUTF8AndSize(text, &length);
        if (!at) {
            /* Half of a surrogate pair. */
            if (!PyErr_ExceptionMatches(PyExc_UnicodeError))
                return FAILED;
            PyErr_Clear();
            return ODD;
        }
    }
    *span = (Span){at, at + length};
    return length > MAX_TEXT ? ODD : PLAIN;
}

static int is_too_long(const Decider *decider, PyObject *text) {
    return decider->limits.max_length && (size_t)PyUnicode_GET_LENGTH(text) > decider->limits.max_length;
}

static int page_open(Page *page) {
    Decider *decider = page->decider;
    Span text;
    Parts parts;
    Tail tail;
    page->base_facts = NULL;
    page->base_scheme = (Span){NULL, NULL};
    Reading reading = text_of(page->base_url, &text);
    if (reading == PLAIN)
        reading = is_too_long(decider, page->base_url) ? ODD : split(text, page->base_scheme, &parts);
    if (reading == PLAIN)
        reading = write_tail(&decider->characters, &parts, NULL, &tail);
    if (reading != PLAIN || tail.path_length > MAX_TEXT)
        return reading == FAILED ? -1 : 0;
    PyObject *facts = origins_find(&decider->origins, parts.origin, decider->facts_of);
    if (!facts)
        return -1;
    if (Py_IsNone(facts)) {
        Py_DECREF(facts);
        return 0;
    }
    Base *base = &page->base;
    memcpy(base->path, tail.text, tail.path_length);
    base->path_length = base->directory_length = tail.path_length;
    while (base->path[base->directory_length - 1] != '/')
        base->directory_length--;
    base->is_unsettled = tail.is_unsettled;
    page->base_scheme = (Span){parts.origin.at, memchr(parts.origin.at, ':', length_of(parts.origin))};
    page->base_facts = facts;
    return 0;
}

static Span ascii_of(PyObject *text) {
    const char *at = (const char *)PyUnicode_1BYTE_DATA(text);
    return (Span){at, at + PyUnicode_GET_LENGTH(text)};
}

/* `found` is empty before, and owns what it gets. */
static Reading find_plainly(Page *page, PyObject *href, int is_utf8, Found *found) {
    Decider *decider = page->decider;
    Span text;
    Parts parts;
    if (!page->base_facts)
        return ODD;
    Reading reading = text_of(href, &text);
    if (reading != PLAIN)
        return reading;
    if (is_too_long(decider, href) || (!is_utf8 && !PyUnicode_IS_ASCII(href)))
        return ODD;
    reading = split(text, page->base_scheme, &parts);
    if (reading == PLAIN)
        reading = write_tail(&decider->characters, &parts, &page->base, &found->tail);
    if (reading != PLAIN)
        return reading;
    found->facts = parts.origin.at ? origins_find(&decider->origins, parts.origin, decider->facts_of)
                                   : Py_NewRef(page->base_facts);
    if (!found->facts)
        return FAILED;
    if (Py_IsNone(found->facts))
        return ODD;
    if (!PyTuple_GET_SIZE(found->facts))
        return NOTHING;
    Span origin = ascii_of(PyTuple_GET_ITEM(found->facts, ORIGIN));
    Span tail = {found->tail.text, found->tail.text + found->tail.length};
    found->hash = hash_of(tail, decider->origins.seed ^ (uintptr_t)found->facts);
    found->url = met_find(&decider->met, found->hash, origin, tail, &found->fingerprint);
    found->was_met = found->url != NULL;
    if (found->was_met)
        return PLAIN;
    reading = within_limits(&decider->limits, &found->tail, length_of(origin));
    if (reading != PLAIN)
        return reading;
    found->url = PyUnicode_New((Py_ssize_t)(length_of(origin) + length_of(tail)), 127);
    if (!found->url)
        return FAILED;
    char *url = (char *)PyUnicode_1BYTE_DATA(found->url);
    memcpy(url, origin.at, length_of(origin));
    memcpy(url + length_of(origin), tail.at, length_of(tail));
    return PLAIN;
}

static Reading find_oddly(Page *page, PyObject *href, int is_link, Found *found) {
    found_forget(found);
    PyObject *arguments[3] = {page->base_url, href, page->encoding};
    found->link = is_link ? PyObject_Vectorcall(page->decider->odd, arguments, 3, NULL)
                          : PyObject_Vectorcall(page->decider->odd_also, arguments, 2, NULL);
    if (!found->link)
        return FAILED;
    if ((PyObject *)Py_TYPE(found->link) != page->decider->link_type)
        return NOTHING;
    found->url = PyObject_GetAttr(found->link, NAME_url);
    return found->url ? PLAIN : FAILED;
}

/* Links are spelt in the encoding of their page, what it names besides is not. */
static Reading find(Page *page, PyObject *href, int is_link, Found *found) {
    found_forget(found);
    Reading reading = find_plainly(page, href, page->is_utf8 || !is_link, found);
    return reading == ODD ? find_oddly(page, href, is_link, found) : reading;
}

/* Scope and fingerprint. */

static PyObject *verdict_of(Decider *decider, const Found *found) {
    PyObject *verdict = PyTuple_GET_ITEM(found->facts, VERDICT);
    if (!Py_IsNone(verdict))
        return Py_NewRef(verdict);
    PyObject *arguments[3] = {found->url, PyTuple_GET_ITEM(found->facts, HOST), PyTuple_GET_ITEM(found->facts, DOMAIN_)};
    return PyObject_Vectorcall(decider->verdict_of, arguments, 3, NULL);
}

/* By a key that Python made. */
static int hash_asked(Decider *decider, const Found *found, uint8_t *rest) {
    PyObject *tail = PyUnicode_FromStringAndSize(found->tail.text, (Py_ssize_t)found->tail.length);
    if (!tail)
        return -1;
    PyObject *arguments[2] = {PyTuple_GET_ITEM(found->facts, ORIGIN), tail};
    PyObject *key = PyObject_Vectorcall(decider->key_of, arguments, 2, NULL);
    Py_DECREF(tail);
    Py_ssize_t length;
    const char *text = key ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
    if (text)
        keyed_digest(&decider->hash, text, (size_t)length, rest, FINGERPRINT_BYTES - HOST_BYTES);
    Py_XDECREF(key);
    return text ? 0 : -1;
}

static int hash_found(Decider *decider, const Found *found, uint64_t *fingerprint) {
    uint8_t bytes[FINGERPRINT_BYTES];
    char key[MAX_KEY];
    if (found->was_met) {
        *fingerprint = found->fingerprint;
        return 0;
    }
    Span origin = ascii_of(PyTuple_GET_ITEM(found->facts, KEY_ORIGIN));
    size_t length = decider->asks_key ? 0 : write_key(&decider->rules, &found->tail, key + length_of(origin));
    memcpy(bytes, PyBytes_AS_STRING(PyTuple_GET_ITEM(found->facts, HOST_MARK)), HOST_BYTES);
    if (length) {
        memcpy(key, origin.at, length_of(origin));
        keyed_digest(&decider->hash, key, length_of(origin) + length, bytes + HOST_BYTES,
                     FINGERPRINT_BYTES - HOST_BYTES);
    } else if (hash_asked(decider, found, bytes + HOST_BYTES)) {
        return -1;
    }
    memcpy(fingerprint, bytes, sizeof *fingerprint);
    return 0;
}

static int read_fingerprint(PyObject *link, uint64_t *fingerprint) {
    PyObject *bytes = PyObject_GetAttr(link, NAME_fingerprint);
    if (!bytes)
        return -1;
    int is_one = PyBytes_Check(bytes) && PyBytes_GET_SIZE(bytes) == FINGERPRINT_BYTES;
    if (is_one)
        memcpy(fingerprint, PyBytes_AS_STRING(bytes), sizeof *fingerprint);
    else
        PyErr_SetString(PyExc_TypeError, "a fingerprint has eight bytes");
    Py_DECREF(bytes);
    return is_one ? 0 : -1;
}

static PyObject *bytes_of(uint64_t fingerprint) {
    return PyBytes_FromStringAndSize((const char *)&fingerprint, FINGERPRINT_BYTES);
}

/* The link as Python knows it, so that it can be renamed. */
static PyObject *link_of(Decider *decider, const Found *found, uint64_t fingerprint) {
    if (found->link)
        return Py_NewRef(found->link);
    PyObject *bytes = bytes_of(fingerprint);
    if (!bytes)
        return NULL;
    PyObject *facts = found->facts;
    PyObject *arguments[] = {found->url, PyTuple_GET_ITEM(facts, ORIGIN), PyTuple_GET_ITEM(facts, HOST),
                             PyTuple_GET_ITEM(facts, DOMAIN_), bytes, decider->in_scope, Py_True};
    PyObject *link = PyObject_Vectorcall(decider->link_type, arguments, 7, NULL);
    Py_DECREF(bytes);
    return link;
}

static int rename_found(Decider *decider, const Found *found, PyObject *renamed, uint64_t *fingerprint) {
    PyObject *link = link_of(decider, found, *fingerprint);
    PyObject *other = link ? PyObject_CallOneArg(renamed, link) : NULL;
    int failed = !other || read_fingerprint(other, fingerprint);
    Py_XDECREF(other);
    Py_XDECREF(link);
    return failed ? -1 : 0;
}

/* 1: in scope, 0: not, -1: failed. Only what is in scope has a fingerprint. */
static int judge(Decider *decider, const Found *found, uint64_t *fingerprint) {
    int is_in_scope;
    if (found->link) {
        PyObject *answer = PyObject_GetAttr(found->link, NAME_in_scope);
        is_in_scope = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        return is_in_scope == 1 && read_fingerprint(found->link, fingerprint) ? -1 : is_in_scope;
    }
    PyObject *verdict = verdict_of(decider, found);
    if (!verdict)
        return -1;
    is_in_scope = verdict == decider->in_scope;
    Py_DECREF(verdict);
    return is_in_scope && hash_found(decider, found, fingerprint) ? -1 : is_in_scope;
}

/* What is new, each once: at the place of the first, by the URL of the last. */

typedef struct {
    PyObject *urls, *hosts, *fingerprints;
    uint64_t *numbers; /* of `fingerprints` */
    uint32_t *places;  /* one more than an index of them, by number; 0: free */
    size_t mask;
} News;

static int news_begin(News *news, size_t max_count) {
    size_t size = 8;
    while (size < 2 * max_count)
        size *= 2;
    news->mask = size - 1;
    news->urls = PyList_New(0);
    news->hosts = PyList_New(0);
    news->fingerprints = PyList_New(0);
    news->numbers = PyMem_Malloc(size / 2 * sizeof *news->numbers);
    news->places = PyMem_Calloc(size, sizeof *news->places);
    if (!news->urls || !news->hosts || !news->fingerprints)
        return -1;
    if (news->numbers && news->places)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static void news_end(News *news) {
    Py_XDECREF(news->urls);
    Py_XDECREF(news->hosts);
    Py_XDECREF(news->fingerprints);
    PyMem_Free(news->numbers);
    PyMem_Free(news->places);
}

static int news_add(News *news, PyObject *url, PyObject *host, uint64_t number) {
    size_t at = (size_t)(number * 0x9E3779B97F4A7C15u >> 32) & news->mask;
    while (news->places[at] && news->numbers[news->places[at] - 1] != number)
        at = (at + 1) & news->mask;
    if (news->places[at]) {
        Py_ssize_t index = (Py_ssize_t)news->places[at] - 1;
        return PyList_SetItem(news->urls, index, Py_NewRef(url)) || PyList_SetItem(news->hosts, index, Py_NewRef(host));
    }
    Py_ssize_t count = PyList_GET_SIZE(news->fingerprints);
    PyObject *bytes = bytes_of(number);
    int failed = !bytes || PyList_Append(news->urls, url) || PyList_Append(news->hosts, host) ||
                 PyList_Append(news->fingerprints, bytes);
    Py_XDECREF(bytes);
    news->numbers[count] = number;
    news->places[at] = (uint32_t)count + 1;
    return failed;
}

static int news_note(News *news, const Found *found, uint64_t number) {
    if (found->facts)
        return news_add(news, found->url, PyTuple_GET_ITEM(found->facts, HOST), number);
    PyObject *host = PyObject_GetAttr(found->link, NAME_host);
    int failed = !host || news_add(news, found->url, host, number);
    Py_XDECREF(host);
    return failed;
}

static int news_has(const News *news, uint64_t number) {
    size_t at = (size_t)(number * 0x9E3779B97F4A7C15u >> 32) & news->mask;
    while (news->places[at] && news->numbers[news->places[at] - 1] != number)
        at = (at + 1) & news->mask;
    return news->places[at] != 0;
}

/* What is followed and not new, each once. */

typedef struct {
    uint64_t *slots; /* 0: free */
    size_t mask;
    PyObject *fingerprints; /* NULL: nobody asked */
    size_t count;
} Others;

static int others_begin(Others *others, size_t max_count) {
    size_t size = 8;
    while (size < 2 * max_count)
        size *= 2;
    others->mask = size - 1;
    others->slots = PyMem_Calloc(size, sizeof *others->slots);
    others->fingerprints = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(max_count * FINGERPRINT_BYTES));
    if (others->slots && others->fingerprints)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static void others_end(Others *others) {
    PyMem_Free(others->slots);
    Py_XDECREF(others->fingerprints);
}

/* Whether it had not been added. A zero, which marks what is free, is left out: nobody has it. */
static int others_add(Others *others, uint64_t number) {
    size_t at = (size_t)(number * 0x9E3779B97F4A7C15u >> 32) & others->mask;
    while (others->slots[at] && others->slots[at] != number)
        at = (at + 1) & others->mask;
    if (others->slots[at] || !number)
        return 0;
    others->slots[at] = number;
    return 1;
}

static void others_tell(Others *others, uint64_t number) {
    char *to = PyBytes_AS_STRING(others->fingerprints) + others->count++ * FINGERPRINT_BYTES;
    memcpy(to, &number, sizeof number);
}

/* A new reference, or NULL. */
static PyObject *others_told(Others *others) {
    if (!others->fingerprints)
        return PyBytes_FromStringAndSize(NULL, 0);
    if (_PyBytes_Resize(&others->fingerprints, (Py_ssize_t)(others->count * FINGERPRINT_BYTES)))
        return NULL;
    return Py_NewRef(others->fingerprints);
}

/* All links of a page. */

enum { BASE, LINKS, ALSO, ENCODING, IS_UTF8, REMEMBERED, RENAMED, IS_FOLLOWED, OBEYS_NOFOLLOW, TELLS_OTHERS, ARGUMENTS };

typedef struct {
    Page page;
    PyObject *const *given;
    int is_followed, obeys_nofollow;
    PyObject *targets, *anchors, *rels;
    News news;
    Others others;
} Pass;

static int follows(const Pass *pass, PyObject *rel) {
    if (!pass->is_followed || !pass->obeys_nofollow || !PyUnicode_GET_LENGTH(rel))
        return pass->is_followed;
    int is_refused = PyUnicode_Contains(rel, WORD_nofollow);
    return is_refused < 0 ? -1 : !is_refused;
}

/* What is named besides the links is new whether remembered or not. */
static int note_also(Pass *pass, const Found *found) {
    uint64_t number;
    int is_in_scope = judge(pass->page.decider, found, &number);
    return is_in_scope < 1 ? is_in_scope : news_note(&pass->news, found, number);
}

static int note_if_new(Pass *pass, const Found *found) {
    Decider *decider = pass->page.decider;
    PyObject *renamed = pass->given[RENAMED];
    uint64_t number;
    int is_in_scope = judge(decider, found, &number);
    if (is_in_scope < 1)
        return is_in_scope;
    uint64_t own = number;
    if (!Py_IsNone(renamed) && rename_found(decider, found, renamed, &number))
        return -1;
    int tells_others = pass->others.fingerprints != NULL;
    if (!remembered_has(pass->given[REMEMBERED], number) || (tells_others && news_has(&pass->news, number)))
        return news_note(&pass->news, found, number);
    if (tells_others && others_add(&pass->others, number)) {
        /* Now and then it is sent again with its URL: what others say of it may move it up. */
        if (remembered_meet(pass->given[REMEMBERED], number))
            return news_note(&pass->news, found, number);
        others_tell(&pass->others, number);
    }
    /* What is met for the second time will be met again. */
    return found->facts && !found->was_met ? met_keep(&decider->met, found->hash, found->url, own) : 0;
}

static int add_link(Pass *pass, PyObject *link, Found *found) {
    if (!PyTuple_Check(link) || PyTuple_GET_SIZE(link) != 3 || !PyUnicode_Check(PyTuple_GET_ITEM(link, 2))) {
        PyErr_SetString(PyExc_TypeError, "a link is href, anchor and rel");
        return -1;
    }
    Reading reading = find(&pass->page, PyTuple_GET_ITEM(link, 0), 1, found);
    if (reading != PLAIN)
        return reading == FAILED ? -1 : 0;
    PyObject *rel = PyTuple_GET_ITEM(link, 2);
    if (PyList_Append(pass->targets, found->url) || PyList_Append(pass->anchors, PyTuple_GET_ITEM(link, 1)) ||
        PyList_Append(pass->rels, rel))
        return -1;
    int is_followed = follows(pass, rel);
    return is_followed < 1 ? is_followed : note_if_new(pass, found);
}

static int add_links(Pass *pass, Found *found) {
    PyObject *links = pass->given[LINKS], *also = pass->given[ALSO];
    Py_ssize_t count = PyList_GET_SIZE(links);
    /* Python is called in between, and the list is not this code's own. */
    for (Py_ssize_t i = 0; i < count && i < PyList_GET_SIZE(links); i++) {
        PyObject *link = Py_NewRef(PyList_GET_ITEM(links, i));
        int failed = add_link(pass, link, found);
        Py_DECREF(link);
        if (failed)
            return -1;
    }
    for (Py_ssize_t i = 0; pass->is_followed && i < PyTuple_GET_SIZE(also); i++) {
        Reading reading = find(&pass->page, PyTuple_GET_ITEM(also, i), 0, found);
        if (reading == FAILED || (reading == PLAIN && note_also(pass, found)))
            return -1;
    }
    return 0;
}

static int pass_begin(Pass *pass) {
    if (page_open(&pass->page))
        return -1;
    pass->targets = PyList_New(0);
    pass->anchors = PyList_New(0);
    pass->rels = PyList_New(0);
    size_t count = (size_t)PyList_GET_SIZE(pass->given[LINKS]) + (size_t)PyTuple_GET_SIZE(pass->given[ALSO]);
    if (!pass->targets || !pass->anchors || !pass->rels || news_begin(&pass->news, count))
        return -1;
    return pass->given[TELLS_OTHERS] == Py_True ? others_begin(&pass->others, count) : 0;
}

static int check_arguments(PyObject *const *given, Py_ssize_t count) {
    if (count == ARGUMENTS && PyUnicode_Check(given[BASE]) && PyList_Check(given[LINKS]) &&
        PyTuple_Check(given[ALSO]) && Py_TYPE(given[REMEMBERED]) == remembered_type)
        return 0;
    PyErr_SetString(PyExc_TypeError, "base, list of links, tuple of hrefs, encoding, is UTF-8, remembered, ...");
    return -1;
}

static PyObject *columns_of(Pass *pass) {
    const News *news = &pass->news;
    PyObject *others = others_told(&pass->others);
    PyObject *columns = others ? PyTuple_Pack(7, pass->targets, pass->anchors, pass->rels, news->urls, news->hosts,
                                              news->fingerprints, others)
                               : NULL;
    Py_XDECREF(others);
    return columns;
}

static PyObject *decider_decide(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    if (check_arguments(given, count))
        return NULL;
    Pass pass = {.given = given};
    Found found;
    found.url = found.facts = found.link = NULL;
    pass.page.decider = (Decider *)self;
    pass.page.base_url = given[BASE];
    pass.page.encoding = given[ENCODING];
    pass.page.is_utf8 = given[IS_UTF8] == Py_True;
    pass.is_followed = given[IS_FOLLOWED] == Py_True;
    pass.obeys_nofollow = given[OBEYS_NOFOLLOW] == Py_True;
    PyObject *columns = NULL;
    if (!pass_begin(&pass) && !add_links(&pass, &found))
        columns = columns_of(&pass);
    found_forget(&found);
    Py_XDECREF(pass.targets);
    Py_XDECREF(pass.anchors);
    Py_XDECREF(pass.rels);
    Py_XDECREF(pass.page.base_facts);
    news_end(&pass.news);
    others_end(&pass.others);
    return columns;
}

/* Hrefs that are new: how many are in scope and not remembered. */
static PyObject *decider_count_new(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    if (count != 3 || !PyUnicode_Check(given[0]) || !PyList_Check(given[1]) || Py_TYPE(given[2]) != remembered_type)
        return PyErr_Format(PyExc_TypeError, "base, list of hrefs, remembered");
    Page page = {.decider = (Decider *)self, .base_url = given[0], .encoding = WORD_utf8, .is_utf8 = 1};
    Found found;
    found.url = found.facts = found.link = NULL;
    Py_ssize_t new = 0, hrefs = PyList_GET_SIZE(given[1]);
    int failed = page_open(&page);
    for (Py_ssize_t i = 0; !failed && i < hrefs && i < PyList_GET_SIZE(given[1]); i++) {
        PyObject *href = Py_NewRef(PyList_GET_ITEM(given[1], i));
        Reading reading = find(&page, href, 1, &found);
        uint64_t number;
        int is_in_scope = reading == PLAIN ? judge(page.decider, &found, &number) : 0;
        failed = reading == FAILED || is_in_scope < 0;
        new += is_in_scope == 1 && !remembered_has(given[2], number);
        Py_DECREF(href);
    }
    found_forget(&found);
    Py_XDECREF(page.base_facts);
    return failed ? NULL : PyLong_FromSsize_t(new);
}

/* The type. */

static int fill_characters(uint8_t *kinds, const char *given, Py_ssize_t length) {
    if (length != 256) {
        PyErr_SetString(PyExc_ValueError, "a kind for each of 256 bytes");
        return -1;
    }
    memcpy(kinds, given, 256);
    return 0;
}

static int decider_fill(Decider *decider, PyObject *arguments) {
    const char *secret, *path, *query;
    Py_ssize_t secret_bytes, path_bytes, query_bytes, max_length, max_depth, max_repeats, max_origins;
    PyObject *names, *prefixes, *defaults;
    PyObject *kept[7];
    if (!PyArg_ParseTuple(arguments, "y#(y#y#)(nnn)(ppOOO)pn(OOOOO)OO", &secret, &secret_bytes, &path, &path_bytes, &query,
                          &query_bytes, &max_length, &max_depth, &max_repeats, &decider->rules.drops_or_sorts,
                          &decider->rules.sorts, &names, &prefixes, &defaults, &decider->asks_key, &max_origins,
                          &kept[0], &kept[1], &kept[2], &kept[3], &kept[4], &kept[5], &kept[6]))
        return -1;
    if (secret_bytes < 1 || secret_bytes > 64 || max_length < 0 || max_depth < 0 || max_repeats < 0 || max_origins < 1) {
        PyErr_SetString(PyExc_ValueError, "a secret of 1 to 64 bytes, limits that are not negative");
        return -1;
    }
    decider->facts_of = Py_NewRef(kept[0]);
    decider->verdict_of = Py_NewRef(kept[1]);
    decider->key_of = Py_NewRef(kept[2]);
    decider->odd = Py_NewRef(kept[3]);
    decider->odd_also = Py_NewRef(kept[4]);
    decider->link_type = Py_NewRef(kept[5]);
    decider->in_scope = Py_NewRef(kept[6]);
    decider->limits = (Limits){(size_t)max_length, (size_t)max_depth, (size_t)max_repeats};
    decider->origins.max_count = (size_t)max_origins;
    decider->origins.seed = hash_of((Span){secret, secret + secret_bytes}, 0);
    keyed_begin(&decider->hash, (const uint8_t *)secret, (size_t)secret_bytes, FINGERPRINT_BYTES - HOST_BYTES);
    return fill_characters(decider->characters.path, path, path_bytes) ||
           fill_characters(decider->characters.query, query, query_bytes) ||
           words_fill(&decider->rules.names, names) || words_fill(&decider->rules.prefixes, prefixes) ||
           words_fill(&decider->rules.defaults, defaults);
}

static PyObject *decider_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    (void)names;
    Decider *decider = (Decider *)type->tp_alloc(type, 0);
    if (decider && decider_fill(decider, arguments))
        Py_CLEAR(decider);
    return (PyObject *)decider;
}

static int decider_traverse(PyObject *self, visitproc visit, void *arg) {
    Decider *decider = (Decider *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(decider->facts_of);
    Py_VISIT(decider->verdict_of);
    Py_VISIT(decider->key_of);
    Py_VISIT(decider->odd);
    Py_VISIT(decider->odd_also);
    Py_VISIT(decider->link_type);
    Py_VISIT(decider->in_scope);
    return 0;
}

static int decider_clear(PyObject *self) {
    Decider *decider = (Decider *)self;
    Py_CLEAR(decider->facts_of);
    Py_CLEAR(decider->verdict_of);
    Py_CLEAR(decider->key_of);
    Py_CLEAR(decider->odd);
    Py_CLEAR(decider->odd_also);
    Py_CLEAR(decider->link_type);
    Py_CLEAR(decider->in_scope);
    return 0;
}

static void decider_free(PyObject *self) {
    Decider *decider = (Decider *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    decider_clear(self);
    origins_forget(&decider->origins);
    met_forget(&decider->met);
    words_free(&decider->rules.names);
    words_free(&decider->rules.prefixes);
    words_free(&decider->rules.defaults);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *decider_origins(PyObject *self, PyObject *ignored) {
    (void)ignored;
    return PyLong_FromSize_t(((Decider *)self)->origins.count);
}

static PyMethodDef decider_methods[] = {
    {"decide", (PyCFunction)(void (*)(void))decider_decide, METH_FASTCALL,
     "decide(base, links, also, encoding, is_utf8, remembered, renamed, is_followed, obeys_nofollow, tells_others): "
     "targets, anchors and rels of the links that lead somewhere; URLs, hosts and fingerprints of what is new among "
     "them; the fingerprints of the others that are followed"},
    {"count_new", (PyCFunction)(void (*)(void))decider_count_new, METH_FASTCALL,
     "count_new(base, hrefs, remembered): how many are in scope and not remembered"},
    {"origins", decider_origins, METH_NOARGS, "origins(): how many origins are kept"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot decider_slots[] = {
    {Py_tp_new, decider_new},         {Py_tp_dealloc, decider_free}, {Py_tp_traverse, decider_traverse},
    {Py_tp_clear, decider_clear},     {Py_tp_methods, decider_methods}, {0, NULL},
};

static PyType_Spec decider_spec = {"lycosa.url._native.Decider", sizeof(Decider), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, decider_slots};

/* For tests: BLAKE2b of a text under a key. */
static PyObject *keyed_hash(PyObject *module, PyObject *arguments) {
    const char *secret, *text;
    Py_ssize_t secret_bytes, length, digest_bytes;
    uint8_t digest[64];
    KeyedHash hash;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#y#n", &secret, &secret_bytes, &text, &length, &digest_bytes))
        return NULL;
    if (secret_bytes < 1 || secret_bytes > 64 || length < 1 || digest_bytes < 1 || digest_bytes > 64)
        return PyErr_Format(PyExc_ValueError, "a secret and a digest of 1 to 64 bytes, and a text");
    keyed_begin(&hash, (const uint8_t *)secret, (size_t)secret_bytes, (size_t)digest_bytes);
    keyed_digest(&hash, text, (size_t)length, digest, (size_t)digest_bytes);
    return PyBytes_FromStringAndSize((const char *)digest, digest_bytes);
}

/* Whether "://" stands in a text where it is not that of the web. */
static int names_other_scheme(PyObject *href) {
    if (!PyUnicode_Check(href)) {
        PyErr_SetString(PyExc_TypeError, "hrefs are texts");
        return -1;
    }
    if (!PyUnicode_IS_COMPACT_ASCII(href))
        return 1;
    Span text = ascii_of(href);
    for (const char *at = text.at; (at = memchr(at, ':', (size_t)(text.end - at))); at++) {
        size_t before = (size_t)(at - text.at);
        if (text.end - at < 3 || at[1] != '/' || at[2] != '/')
            continue;
        if (!(before >= 4 && !memcmp(at - 4, "http", 4)) && !(before >= 5 && !memcmp(at - 5, "https", 5)))
            return 1;
    }
    return 0;
}

static PyObject *may_name_others(PyObject *module, PyObject *links) {
    PyObject *several = PySequence_Fast(links, "links in a list");
    int found = several ? 0 : -1;
    (void)module;
    for (Py_ssize_t i = 0; !found && i < PySequence_Fast_GET_SIZE(several); i++) {
        PyObject *link = PySequence_Fast_GET_ITEM(several, i);
        if (PyTuple_Check(link) && PyTuple_GET_SIZE(link)) {
            found = names_other_scheme(PyTuple_GET_ITEM(link, 0));
        } else {
            PyErr_SetString(PyExc_TypeError, "links begin with their hrefs");
            found = -1;
        }
    }
    Py_XDECREF(several);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

static PyMethodDef module_methods[] = {
    {"may_name_others", may_name_others, METH_O,
     "may_name_others(links): whether some href may have another scheme than the web's; that of one beyond ASCII may"},
    {"keyed_hash", keyed_hash, METH_VARARGS, "keyed_hash(secret, text, digest_bytes): BLAKE2b under a key"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef links_module = {
    PyModuleDef_HEAD_INIT, "_native", "The links of a page in one pass.", -1, module_methods, NULL, NULL, NULL, NULL,
};

static int add_words(void) {
    NAME_url = PyUnicode_InternFromString("url");
    NAME_host = PyUnicode_InternFromString("host");
    NAME_fingerprint = PyUnicode_InternFromString("fingerprint");
    NAME_in_scope = PyUnicode_InternFromString("in_scope");
    WORD_nofollow = PyUnicode_InternFromString("nofollow");
    WORD_utf8 = PyUnicode_InternFromString("utf-8");
    return NAME_url && NAME_host && NAME_fingerprint && NAME_in_scope && WORD_nofollow && WORD_utf8 ? 0 : -1;
}

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module = add_words() ? NULL : PyModule_Create(&links_module);
    if (!module)
        return NULL;
    remembered_type = (PyTypeObject *)PyType_FromSpec(&remembered_spec);
    PyObject *decider_type = PyType_FromSpec(&decider_spec);
    if (!remembered_type || !decider_type || PyModule_AddObjectRef(module, "Remembered", (PyObject *)remembered_type) ||
        PyModule_AddObjectRef(module, "Decider", decider_type))
        Py_CLEAR(module);
    Py_XDECREF(decider_type);
    return module;
}
