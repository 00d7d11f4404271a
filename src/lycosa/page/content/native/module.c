/* The Python side: a model that extracts, and the same features for training. */
#include "search.h"

typedef struct {
    PyObject_HEAD Model model;
} ModelObject;

static PyObject *text_of(const char *bytes, size_t length) {
    return PyUnicode_DecodeUTF8(bytes ? bytes : "", (Py_ssize_t)length, "replace");
}

static PyObject *field(const Buffer *buffer) { return text_of(buffer->bytes, buffer->length); }

static PyObject *block_text(const Document *document, const Block *block) {
    size_t end = block->end;
    while (end > block->start && document->text.bytes[end - 1] == '\n')
        end--;
    return text_of(document->text.bytes + block->start, end - block->start);
}

/* A text that is searched by itself; NULL with an exception. */
static Search *search_alone(PyObject *html, const int8_t *text_weights) {
    char *owned;
    Py_ssize_t length;
    const char *bytes = utf8_of(html, &length, &owned);
    if (!bytes)
        return NULL;
    Search *search = length > UINT32_MAX / 4 ? NULL : search_with(text_weights);
    if (search && (feed_markup(search, bytes, bytes, bytes + length) || end_block(search))) {
        search_free(search);
        search = NULL;
    }
    free(owned);
    if (!search)
        PyErr_NoMemory();
    return search;
}

/* Room for all columns, each of whole tiles. The forests read on to the end of their lanes, and forget what they read. */
static uint8_t *make_columns(const Document *document, size_t *stride) {
    *stride = (document->block_count + 15) & ~(size_t)15;
    size_t size = *stride * (size_t)(feature_count() + SECOND_COLUMNS);
    uint8_t *columns = malloc(size + MAX_LANE);
    if (columns)
        memset(columns + size, 0, MAX_LANE);
    return columns;
}

/* `first` by the first forest alone, `both` by the two together. */
typedef struct {
    float *first, *both;
    float cut;
} Judgement;

static int judge(const Model *model, Document *document, Judgement *judgement) {
    size_t count = document->block_count, stride;
    uint8_t *columns = make_columns(document, &stride);
    float *odds = malloc((count + 1) * sizeof *odds);
    judgement->first = malloc((count + 1) * 2 * sizeof(float));
    judgement->both = judgement->first ? judgement->first + count : NULL;
    int failed = !columns || !odds || !judgement->first || describe(document, columns, stride, model->class_weights);
    if (!failed) {
        forest_judge(&model->first, columns, stride, count, odds);
        as_probabilities(odds, count, judgement->first);
        failed = describe_scores(document, judgement->first, columns + (size_t)feature_count() * stride, stride);
    }
    if (!failed) {
        forest_judge(&model->second, columns, stride, count, judgement->both);
        mix_odds(odds, count, judgement->both);
        as_probabilities(judgement->both, count, judgement->both);
        settle_comments(document, judgement->both);
        judgement->cut = best_cut(document, judgement->both);
    }
    free(columns);
    free(odds);
    return failed ? -1 : 0;
}

static int is_comment(const Document *document, const Block *block) {
    const uint8_t *levels = document->elements[block->element].levels;
    return levels[GROUP_OF_COMMENTS] && !levels[WORD_GROUPS + GROUP_FORM] && block->link_tokens * 2 < block->tokens &&
           block->tokens > 3;
}

static int append_block(Buffer *out, const Document *document, const Block *block) {
    size_t end = block->end;
    while (end > block->start && document->text.bytes[end - 1] == '\n')
        end--;
    return (out->length && buffer_append(out, "\n", 1)) ||
           buffer_append(out, document->text.bytes + block->start, end - block->start);
}

typedef enum { ALL, CONTENT, COMMENTS } Part;

static int is_of(Part part, const Document *document, const Judgement *judgement, size_t b) {
    if (part == ALL)
        return !document->elements[document->blocks[b].element].levels[WORD_GROUPS + GROUP_NOSCRIPT];
    int is_content = judgement->both[b] >= judgement->cut;
    return part == CONTENT ? is_content : !is_content && is_comment(document, &document->blocks[b]);
}

/* The blocks of a part, one below the other, until there are enough bytes. */
static PyObject *join(const Document *document, const Judgement *judgement, Part part, size_t enough) {
    Buffer out = {0};
    for (size_t b = 0; b < document->block_count && out.length <= enough; b++)
        if (is_of(part, document, judgement, b) && append_block(&out, document, &document->blocks[b])) {
            buffer_free(&out);
            return PyErr_NoMemory();
        }
    PyObject *text = text_of(out.bytes, out.length);
    buffer_free(&out);
    return text;
}

/* The first short block whose own class says it is an author or a date. */
static PyObject *labelled(const Document *document, int group, uint32_t max_tokens, int has_digits) {
    for (size_t b = 0; b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        int is_own = block->words >> group & 1 || document->elements[block->element].levels[group] >= LEVEL_WRAP;
        if (is_own && block->tokens && block->tokens <= max_tokens && (block->digits > 0) == has_digits)
            return block_text(document, block);
    }
    return PyUnicode_FromStringAndSize("", 0);
}

static PyObject *titled(const Document *document) {
    if (!document->block_count)
        return PyUnicode_FromStringAndSize("", 0);
    const Block *block = &document->blocks[find_title(document)];
    return TAG_KINDS[block->tag].flags & IS_HEADING ? block_text(document, block) : PyUnicode_FromStringAndSize("", 0);
}

static PyObject *why_blocks(const Document *document, const Judgement *judgement) {
    PyObject *list = PyList_New((Py_ssize_t)document->block_count);
    for (size_t b = 0; list && b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        PyObject *text = block_text(document, block);
        PyObject *row =
            text ? Py_BuildValue("(NsffO)", text, TAG_NAMES[block->tag], judgement->first[b], judgement->both[b],
                                 judgement->both[b] >= judgement->cut ? Py_True : Py_False)
                 : NULL;
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)b, row);
    }
    return list;
}

/* Where labels for author and date are looked for (extract.py), in bytes of its longest characters. */
enum { HEAD_BYTES = 3000 * 4 };

/* The page's head as text, if it can have labels: all of them are Chinese. */
static PyObject *head_text(const Document *document) {
    for (size_t b = 0; b < document->block_count && document->blocks[b].start <= HEAD_BYTES; b++)
        if (document->blocks[b].cjk)
            return join(document, NULL, ALL, HEAD_BYTES);
    return PyUnicode_FromStringAndSize("", 0);
}

/* The texts found, in the order of `Found` in extract.py. Without `has_all`, of the page's text there is only the head,
 * and only where labels may be. */
static PyObject *find_content(const Model *model, Document *document, int has_all, PyObject **why) {
    Judgement judgement = {0};
    PyObject *found = NULL;
    if (judge(model, document, &judgement))
        PyErr_NoMemory();
    else {
        const Meta *meta = &document->meta;
        found = Py_BuildValue(
            "(NNNNNNNNNNNNNNNN)", join(document, &judgement, CONTENT, SIZE_MAX),
            join(document, &judgement, COMMENTS, SIZE_MAX), field(&meta->title), field(&meta->og_title),
            field(&meta->ld_title), titled(document), field(&meta->author), field(&meta->ld_author),
            labelled(document, GROUP_OF_AUTHORS, 10, 0), field(&meta->published), field(&meta->ld_published),
            field(&meta->time), labelled(document, GROUP_OF_DATES, 14, 1), field(&meta->language), field(&meta->body),
            has_all ? join(document, &judgement, ALL, SIZE_MAX) : head_text(document));
        if (found && why && !(*why = why_blocks(document, &judgement)))
            Py_CLEAR(found);
    }
    free(judgement.first);
    return found;
}

PyObject *search_found(Search *search) {
    return end_block(search) ? PyErr_NoMemory() : find_content(search->model, &search->document, 0, NULL);
}

static PyObject *model_extract(ModelObject *self, PyObject *args) {
    PyObject *html, *why = NULL;
    int wants_why = 0;
    if (!PyArg_ParseTuple(args, "U|p", &html, &wants_why))
        return NULL;
    Search *search = search_alone(html, self->model.text_weights);
    if (!search)
        return NULL;
    PyObject *found = find_content(&self->model, &search->document, 1, wants_why ? &why : NULL);
    search_free(search);
    return found ? Py_BuildValue("(NN)", found, why ? why : Py_NewRef(Py_None)) : NULL;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const char *bytes;
    Py_ssize_t length;
    if ((keywords && PyDict_GET_SIZE(keywords)) || !PyArg_ParseTuple(args, "y#", &bytes, &length))
        return NULL;
    ModelObject *self = (ModelObject *)type->tp_alloc(type, 0);
    ModelRead read = self ? model_read(&self->model, bytes, (size_t)length) : MODEL_READ;
    if (read == MODEL_READ)
        return (PyObject *)self;
    Py_DECREF(self);
    if (read == NO_MEMORY)
        return PyErr_NoMemory();
    PyErr_SetString(PyExc_ValueError, "not a content model of this version");
    return NULL;
}

static void model_dealloc(ModelObject *self) {
    model_free(&self->model);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* sums(columns, way): what the second forest adds up for each block; None where this machine knows fewer ways. */
static PyObject *model_sums(ModelObject *self, PyObject *args) {
    const char *given;
    Py_ssize_t length, way;
    if (!PyArg_ParseTuple(args, "y#n", &given, &length, &way))
        return NULL;
    size_t features = (size_t)feature_count() + SECOND_FEATURES, count = (size_t)length / features;
    uint8_t *columns = calloc((size_t)length + MAX_LANE, 1);
    PyObject *sums = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(int32_t)));
    if (!columns || !sums) {
        free(columns);
        Py_XDECREF(sums);
        return PyErr_NoMemory();
    }
    memcpy(columns, given, (size_t)length);
    int is_known = way >= 0 && forest_sum(&self->model.second, (size_t)way, columns, count, count,
                                          (int32_t *)(void *)PyBytes_AS_STRING(sums));
    free(columns);
    if (is_known)
        return sums;
    Py_DECREF(sums);
    Py_RETURN_NONE;
}

static PyMethodDef model_methods[] = {
    {"extract", (PyCFunction)model_extract, METH_VARARGS, "extract(html, why=False): the parts of a page"},
    {"sums", (PyCFunction)model_sums, METH_VARARGS, "sums(columns, way): of the second forest, by one way of adding"},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject ModelType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lycosa.page._native.Model",
    .tp_basicsize = sizeof(ModelObject),
    .tp_dealloc = (destructor)model_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = model_methods,
    .tp_new = model_new,
};

/* For training */

static PyObject *slots_of(const uint16_t *slots, size_t count) {
    return PyBytes_FromStringAndSize((const char *)slots, (Py_ssize_t)(count * sizeof *slots));
}

static PyObject *class_slots(const Document *document, const Block *block) {
    uint16_t slots[256];
    size_t count = 0;
    for (; count < block->class_count; count++)
        slots[count] = block->classes[count];
    for (uint32_t at = block->element;; at = document->elements[at].parent) {
        const Element *element = &document->elements[at];
        for (int i = 0; i < element->class_count && count < 256; i++)
            slots[count++] = document->classes[element->classes + (uint32_t)i];
        if (!at)
            break;
    }
    return slots_of(slots, count);
}

/* The texts, first words and class words of all blocks, as three lists. */
static int add_rows(const Document *document, PyObject *texts, PyObject *words, PyObject *classes) {
    for (size_t b = 0; b < document->block_count; b++) {
        const Block *block = &document->blocks[b];
        PyObject *row[] = {block_text(document, block),
                           slots_of(block->first_words, block->weighed < FIRST_WORDS ? block->weighed : FIRST_WORDS),
                           class_slots(document, block)};
        int failed = !row[0] || !row[1] || !row[2] || PyList_Append(texts, row[0]) || PyList_Append(words, row[1]) ||
                     PyList_Append(classes, row[2]);
        for (int i = 0; i < 3; i++)
            Py_XDECREF(row[i]);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *training_rows(const Document *document, const uint8_t *columns, size_t stride) {
    PyObject *texts = PyList_New(0), *words = PyList_New(0), *classes = PyList_New(0), *result = NULL;
    if (texts && words && classes && !add_rows(document, texts, words, classes))
        result = Py_BuildValue("(nny#OOO)", (Py_ssize_t)document->block_count, (Py_ssize_t)stride, columns,
                               (Py_ssize_t)(stride * (size_t)feature_count()), texts, words, classes);
    Py_XDECREF(texts);
    Py_XDECREF(words);
    Py_XDECREF(classes);
    return result;
}

static const int8_t *weights_of(const char *bytes, Py_ssize_t length) {
    return bytes && length == WEIGHTS ? (const int8_t *)bytes : NULL;
}

/* describe(html, text_weights, class_weights, scores): first-forest columns, or the second's where scores are given */
static PyObject *content_describe(PyObject *module, PyObject *args) {
    PyObject *html;
    const char *text_weights = NULL, *class_weights = NULL, *scores = NULL;
    Py_ssize_t text_length = 0, class_length = 0, scores_length = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "U|z#z#z#", &html, &text_weights, &text_length, &class_weights, &class_length, &scores,
                          &scores_length))
        return NULL;
    Search *search = search_alone(html, weights_of(text_weights, text_length));
    if (!search)
        return NULL;
    Document *document = &search->document;
    PyObject *result = NULL;
    size_t stride;
    uint8_t *columns = make_columns(document, &stride);
    if (!columns || describe(document, columns, stride, weights_of(class_weights, class_length))) {
        PyErr_NoMemory();
        goto done;
    }
    size_t count = document->block_count;
    if (scores) {
        if ((size_t)scores_length != count * sizeof(float)) {
            PyErr_SetString(PyExc_ValueError, "a score for each block");
            goto done;
        }
        if (describe_scores(document, (const float *)(const void *)scores, columns, stride)) {
            PyErr_NoMemory();
            goto done;
        }
        result = Py_BuildValue("(nny#)", (Py_ssize_t)count, (Py_ssize_t)stride, columns,
                               (Py_ssize_t)(stride * SECOND_FEATURES));
        goto done;
    }
    result = training_rows(document, columns, stride);
done:
    free(columns);
    search_free(search);
    return result;
}

static PyObject *content_lay_out(PyObject *module, PyObject *html) {
    (void)module;
    if (!PyUnicode_Check(html))
        return PyErr_Format(PyExc_TypeError, "a text, not %s", Py_TYPE(html)->tp_name);
    Search *search = search_alone(html, NULL);
    if (!search)
        return NULL;
    PyObject *text = join(&search->document, NULL, ALL, SIZE_MAX);
    search_free(search);
    return text;
}

static PyObject *content_feature_names(PyObject *module, PyObject *ignored) {
    (void)module;
    (void)ignored;
    PyObject *list = PyList_New(0);
    for (int f = 0; list && f < feature_count() + SECOND_FEATURES; f++) {
        PyObject *name =
            PyUnicode_FromString(f < feature_count() ? feature_name(f) : SECOND_NAMES[f - feature_count()]);
        if (!name || PyList_Append(list, name))
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyMethodDef module_methods[] = {
    {"describe", content_describe, METH_VARARGS,
     "describe(html, text_weights, class_weights, scores): blocks as numbers"},
    {"lay_out", content_lay_out, METH_O, "lay_out(html): all text, a block per line"},
    {"feature_names", content_feature_names, METH_NOARGS,
     "feature_names(): of the first forest, then what the second adds"},
    {NULL, NULL, 0, NULL},
};

const Model *model_of(PyObject *object) {
    return Py_IS_TYPE(object, &ModelType) ? &((ModelObject *)object)->model : NULL;
}

int add_search(PyObject *module) {
    words_prepare();
    kinds_prepare();
    hints_prepare();
    return PyType_Ready(&ModelType) || PyModule_AddObjectRef(module, "Model", (PyObject *)&ModelType) ||
                   PyModule_AddIntConstant(module, "SECOND_FEATURES", SECOND_FEATURES) ||
                   PyModule_AddIntConstant(module, "WEIGHTS", WEIGHTS) || PyModule_AddFunctions(module, module_methods)
               ? -1
               : 0;
}
