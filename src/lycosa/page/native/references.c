/* Character references. */
#include "text.h"

/* Named references. The longest name that counts without its semicolon has six letters. */

enum { MAX_NAME = 32, MAX_OPEN_NAME = 6, SLOTS = 8192 };

typedef struct {
    char name[MAX_NAME + 1]; /* without semicolon */
    uint8_t length, is_open; /* is_open: counts without a semicolon */
    Reference means;
} Named;

static Named *names;
static uint16_t name_slots[SLOTS]; /* +1 */

static uint32_t hash_of(const char *at, size_t length) {
    uint32_t hash = HASH_START;
    for (size_t i = 0; i < length; i++)
        hash = hash_step(hash, (unsigned char)at[i]);
    return (hash ^ hash >> 15) % SLOTS;
}

static Named *find_name(const char *at, size_t length) {
    for (uint32_t slot = hash_of(at, length); name_slots[slot]; slot = (slot + 1) % SLOTS) {
        Named *named = &names[name_slots[slot] - 1];
        if (named->length == length && !memcmp(named->name, at, length))
            return named;
    }
    return NULL;
}

/* One entry of the table: "amp;" or, where it counts without, "amp". */
static int add_name(size_t *count, PyObject *key, PyObject *value) {
    Py_ssize_t length;
    const char *name = PyUnicode_AsUTF8AndSize(key, &length);
    if (!name)
        return -1;
    int is_open = length && name[length - 1] != ';';
    size_t bare = (size_t)length - !is_open;
    if (bare > MAX_NAME || !bare || PyUnicode_GET_LENGTH(value) > 2)
        return 0;
    Named *named = find_name(name, bare);
    if (!named) {
        named = &names[(*count)++];
        memcpy(named->name, name, bare);
        named->length = (uint8_t)bare;
        named->means.count = (int)PyUnicode_GET_LENGTH(value);
        for (int i = 0; i < named->means.count; i++)
            named->means.points[i] = PyUnicode_READ_CHAR(value, i);
        uint32_t slot = hash_of(name, bare);
        while (name_slots[slot])
            slot = (slot + 1) % SLOTS;
        name_slots[slot] = (uint16_t)*count;
    }
    named->is_open |= is_open;
    return 0;
}

int references_prepare(void) {
    if (names)
        return 0;
    PyObject *module = PyImport_ImportModule("html.entities");
    PyObject *table = module ? PyObject_GetAttrString(module, "html5") : NULL, *key, *value;
    Py_XDECREF(module);
    if (!table)
        return -1;
    size_t count = 0;
    Py_ssize_t at = 0;
    int failed = !PyDict_Check(table) || PyDict_GET_SIZE(table) >= SLOTS / 2;
    if (!failed && !(names = calloc((size_t)PyDict_GET_SIZE(table), sizeof *names)))
        PyErr_NoMemory();
    while (names && !failed && PyDict_Next(table, &at, &key, &value))
        failed = !PyUnicode_Check(key) || !PyUnicode_Check(value) || add_name(&count, key, value);
    Py_DECREF(table);
    if (names && !failed)
        return 0;
    free(names);
    names = NULL;
    memset(name_slots, 0, sizeof name_slots);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "html.entities.html5 is not as expected");
    return -1;
}

/* What 0x80-0x9f mean in numeric references (HTML standard): windows-1252. */
static const uint16_t C1[32] = {
    0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
    0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178,
};

static const char *read_number(const char *at, const char *end, Reference *found) {
    const char *c = at + 2;
    uint32_t value = 0;
    int is_hex = c < end && (*c | 32) == 'x';
    c += is_hex;
    const char *digits = c;
    for (; c < end; c++) {
        unsigned char letter = *c | 32;
        uint32_t next;
        if (is_digit((unsigned char)*c))
            next = (uint32_t)(*c - '0');
        else if (is_hex && letter >= 'a' && letter <= 'f')
            next = letter - 'a' + 10u;
        else
            break;
        if (value < 0x110000)
            value = value * (is_hex ? 16 : 10) + next;
    }
    if (c == digits)
        return at;
    if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        value = 0xfffd;
    else if (value >= 0x80 && value < 0xa0)
        value = C1[value - 0x80];
    found->points[0] = value;
    found->count = 1;
    return c < end && *c == ';' ? c + 1 : c;
}

const char *resolve_reference(const char *at, const char *end, int in_attribute, Reference *found) {
    if (end - at < 3)
        return at;
    if (at[1] == '#')
        return read_number(at, end, found);
    const char *name = at + 1, *c = name;
    const char *limit = end - c > MAX_NAME ? c + MAX_NAME : end;
    while (c < limit && (is_letter((unsigned char)*c) || is_digit((unsigned char)*c)))
        c++;
    size_t length = (size_t)(c - name);
    if (c < end && *c == ';') {
        const Named *named = find_name(name, length);
        if (named) {
            *found = named->means;
            return c + 1;
        }
    }
    for (size_t open = length < MAX_OPEN_NAME ? length : MAX_OPEN_NAME; open >= 2; open--) {
        const Named *named = find_name(name, open);
        if (!named || !named->is_open)
            continue;
        /* "?a=b&copy=1" is an address. */
        const char *next = name + open;
        if (in_attribute && next < end &&
            (*next == '=' || is_letter((unsigned char)*next) || is_digit((unsigned char)*next)))
            return at;
        *found = named->means;
        return next;
    }
    return at;
}
