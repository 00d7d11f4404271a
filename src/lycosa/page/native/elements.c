/* What each element means to the standard and to a reader, and which attributes are of interest. */
#include "html.h"

uint32_t element_flags[ELEMENTS];

static const char *const ELEMENT_NAMES[ELEMENTS] = {
    "",
#define X(id, name) name,
    ELEMENT_LIST(X)
#undef X
};

static const char *const ATTRIBUTE_NAMES[ATTRIBUTES] = {
    "",       "alt",  "aria-label", "class", "color",    "content", "datetime", "encoding", "face",
    "hidden", "href", "http-equiv", "id",    "itemprop", "lang",    "name",     "property", "rel",
    "role",   "size", "src",        "start", "style",    "title",   "type",     "value",    "xml:lang",
};

typedef struct {
    uint32_t flags;
    const char *names;
} Class;

static const Class CLASSES[] = {
    {IS_SPECIAL, "address applet area article aside base basefont bgsound blockquote body br button caption center col "
                 "colgroup dd details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 "
                 "h3 h4 h5 h6 head header hgroup hr html iframe img input keygen li link listing main marquee menu meta "
                 "nav noembed noframes noscript object ol p param plaintext pre script search section select source "
                 "style summary table tbody td template textarea tfoot th thead title tr track ul wbr xmp"},
    {IS_SCOPE, "applet caption html table td th marquee object select template"},
    {IS_IMPLIED, "dd dt li optgroup option p rb rp rt rtc"},
    {IS_FORMATTING, "a b big code em font i nobr s small strike strong tt u"},
    {IS_VOID, "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"},
    {IS_RAW, "iframe noembed noframes script style textarea title xmp"},
    {IS_REFERENCED, "textarea title"},
    {IS_HEADING, "h1 h2 h3 h4 h5 h6"},
    {ENDS_P, "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header "
             "hgroup main menu nav ol p search section summary ul"},
    {ENDS_LAST, "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer "
                "h1 h2 h3 h4 h5 h6 header hgroup label li main menu nav ol p search section span summary time ul"},
    {BREAKS_OUT, "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing "
                 "menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"},
    {IS_TABLED, "table tbody tfoot thead tr"},
    {IS_BLOCK, "html body p div section article header footer nav aside main figure figcaption address blockquote pre hr "
               "h1 h2 h3 h4 h5 h6 ul ol li dl dt dd menu details summary table"},
    {IS_UNSEEN, "datalist head noembed noframes noscript rp script style template title"},
    {IS_NOTED, "a area base frame iframe link meta title"},
    {IS_KEPT, "a area base frame iframe img li link meta ol"},
    {HAS_ATTRIBUTES, "a annotation-xml area base font frame html iframe image img input li link meta ol"},
};

enum { SLOTS = 1024, WORD = 8 };

typedef struct {
    uint64_t name;
    uint16_t value, length;
} Slot;

static Slot tag_slots[SLOTS], attribute_slots[SLOTS];

/* Up to eight characters in lower case. Only letters have a lower case: what lacks the bit 0x40 is left as it is. */
static inline uint64_t folded(const char *at, size_t length, const char *end) {
    uint64_t word = 0;
    if (end - at >= WORD)
        memcpy(&word, at, WORD);
    else
        memcpy(&word, at, length < WORD ? length : WORD);
    if (length < WORD)
        word &= ((uint64_t)1 << (8 * length)) - 1;
    return word | (word & 0x4040404040404040u) >> 1;
}

static inline uint32_t slot_of(uint64_t name) { return (uint32_t)(name * 0x9e3779b97f4a7c15u >> 54); }

static void add_slot(Slot *slots, const char *name, int value) {
    size_t length = strlen(name);
    uint64_t key = folded(name, length, name + length);
    uint32_t slot = slot_of(key);
    while (slots[slot].name)
        slot = (slot + 1) % SLOTS;
    slots[slot] = (Slot){key, (uint16_t)value, (uint16_t)length};
}

/* The rest of a name that is longer than a word. */
static int has_rest(const char *name, const char *at, size_t length) {
    for (size_t i = WORD; i < length; i++)
        if (lower((unsigned char)at[i]) != (unsigned char)name[i])
            return 0;
    return 1;
}

static inline int find_slot(const Slot *slots, const char *const *names, const char *at, size_t length,
                            const char *end) {
    uint64_t key = folded(at, length, end);
    for (uint32_t slot = slot_of(key); slots[slot].name; slot = (slot + 1) % SLOTS)
        if (slots[slot].name == key && slots[slot].length == length &&
            (length <= WORD || has_rest(names[slots[slot].value], at, length)))
            return slots[slot].value;
    return 0;
}

static Name other_name(const char *at, size_t length) {
    uint32_t hash = HASH_START;
    for (size_t i = 0; i < length; i++)
        hash = hash_step(hash, lower((unsigned char)at[i]));
    return OTHER_NAME | (hash & (OTHER_NAME - 1));
}

Name name_of_tag(const char *at, size_t length, const char *end) {
    int found = find_slot(tag_slots, ELEMENT_NAMES, at, length, end);
    return found ? (Name)found : other_name(at, length);
}

const char *element_name(Name name) { return name < ELEMENTS ? ELEMENT_NAMES[name] : ""; }

AttributeName name_of_attribute(const char *at, size_t length, const char *end) {
    return (AttributeName)find_slot(attribute_slots, ATTRIBUTE_NAMES, at, length, end);
}

uint8_t searched_tags[ELEMENTS];

void elements_prepare(void) {
    if (element_flags[EL_A])
        return;
    for (int id = 1; id < ELEMENTS; id++)
        searched_tags[id] = searched_tag(ELEMENT_NAMES[id]);
    for (int id = 1; id < ELEMENTS; id++)
        add_slot(tag_slots, ELEMENT_NAMES[id], id);
    for (int id = 1; id < ATTRIBUTES; id++)
        add_slot(attribute_slots, ATTRIBUTE_NAMES[id], id);
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        for (const char *name = CLASSES[i].names; *name;) {
            size_t length = strcspn(name, " ");
            element_flags[name_of_tag(name, length, name + length)] |= CLASSES[i].flags;
            name += length + (name[length] == ' ');
        }
}
