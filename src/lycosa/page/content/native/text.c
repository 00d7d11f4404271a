/* Character references, UTF-8 and growing buffers. */
#include "content.h"

int buffer_reserve(Buffer *buffer, size_t more) {
    size_t needed = buffer->length + more;
    if (needed <= buffer->capacity)
        return 0;
    size_t capacity = needed + needed / 2 + 64;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return -1;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

int buffer_append(Buffer *buffer, const char *bytes, size_t length) {
    if (buffer_reserve(buffer, length))
        return -1;
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return 0;
}

void buffer_free(Buffer *buffer) {
    free(buffer->bytes);
    memset(buffer, 0, sizeof *buffer);
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
    int is_hex = c < end && (*c == 'x' || *c == 'X');
    if (is_hex)
        c++;
    const char *digits = c;
    for (; c < end; c++) {
        int digit = is_digit((unsigned char)*c) ? *c - '0'
                    : is_hex && lower((unsigned char)*c) >= 'a' && lower((unsigned char)*c) <= 'f'
                        ? lower((unsigned char)*c) - 'a' + 10
                        : -1;
        if (digit < 0)
            break;
        if (value < 0x110000)
            value = value * (is_hex ? 16 : 10) + (uint32_t)digit;
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

typedef struct {
    const char *name;
    uint16_t point;
} Common;

/* The references that make up nearly all of those met; the rest is looked up in Python's own table. */
static const Common COMMON[] = {
    {"amp", '&'},      {"nbsp", 0xa0},     {"quot", '"'},     {"lt", '<'},       {"gt", '>'},       {"apos", '\''},
    {"copy", 0xa9},    {"rsquo", 0x2019},  {"lsquo", 0x2018}, {"ldquo", 0x201c}, {"rdquo", 0x201d}, {"ndash", 0x2013},
    {"mdash", 0x2014}, {"hellip", 0x2026}, {"raquo", 0xbb},   {"laquo", 0xab},   {"middot", 0xb7},  {"bull", 0x2022},
    {"eacute", 0xe9},  {"egrave", 0xe8},   {"agrave", 0xe0},  {"ouml", 0xf6},    {"auml", 0xe4},    {"uuml", 0xfc},
    {"szlig", 0xdf},   {"reg", 0xae},      {"times", 0xd7},   {"deg", 0xb0},     {"euro", 0x20ac},  {"emsp", 0x2003},
    {"ensp", 0x2002},
};

static PyObject *entities; /* html.entities.html5, held for good */

static const char *read_rare(const char *at, const char *name_end, Reference *found) {
    char name[34];
    size_t length = (size_t)(name_end - at - 1);
    if (!entities) {
        PyObject *module = PyImport_ImportModule("html.entities");
        entities = module ? PyObject_GetAttrString(module, "html5") : NULL;
        Py_XDECREF(module);
        PyErr_Clear();
    }
    if (!entities || !PyDict_Check(entities))
        return at;
    memcpy(name, at + 1, length);
    name[length] = ';';
    name[length + 1] = 0;
    PyObject *value = PyDict_GetItemString(entities, name);
    if (!value || !PyUnicode_Check(value) || PyUnicode_GET_LENGTH(value) > 2)
        return at;
    found->count = (int)PyUnicode_GET_LENGTH(value);
    for (int i = 0; i < found->count; i++)
        found->points[i] = PyUnicode_READ_CHAR(value, i);
    return name_end;
}

const char *read_reference(const char *at, const char *end, Reference *found) {
    if (end - at < 3)
        return at;
    if (at[1] == '#')
        return read_number(at, end, found);
    const char *c = at + 1;
    const char *limit = end - c > 31 ? c + 31 : end;
    while (c < limit && (is_letter((unsigned char)*c) || is_digit((unsigned char)*c)))
        c++;
    size_t length = (size_t)(c - at - 1);
    if (!length)
        return at;
    int is_closed = c < end && *c == ';';
    for (size_t i = 0; i < sizeof COMMON / sizeof *COMMON; i++)
        if (strlen(COMMON[i].name) == length && !memcmp(COMMON[i].name, at + 1, length)) {
            found->points[0] = COMMON[i].point;
            found->count = 1;
            return c + is_closed;
        }
    const char *after = is_closed ? read_rare(at, c, found) : at;
    return after == at ? at : after + 1;
}

int append_collapsed(Buffer *out, const char *at, const char *end, size_t max) {
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
            next = read_reference(at, end, &found);
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
