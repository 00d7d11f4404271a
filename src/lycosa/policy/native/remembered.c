/* As many links as memory is given; of pages that got little they are forgotten first. */
#include "cash.h"

/* What remembering a page takes beside its links, in links. */
enum { PAGE_LINKS = 8, FIRST_PAGES = 256 };

static size_t place_of(const Remembered *remembered, uint64_t mark) {
    size_t at = (size_t)(mark * 0x9E3779B97F4A7C15u >> 32) & remembered->mask;
    while (remembered->places[at] && remembered->pages[remembered->places[at] - 1].mark != mark)
        at = (at + 1) & remembered->mask;
    return at;
}

static Page *page_of(const Remembered *remembered, uint64_t mark) {
    if (!remembered->places)
        return NULL;
    uint32_t number = remembered->places[place_of(remembered, mark)];
    return number ? &remembered->pages[number - 1] : NULL;
}

void remembered_end(Remembered *remembered) {
    for (size_t i = 0; i < remembered->page_count; i++)
        PyMem_RawFree(remembered->pages[i].links);
    PyMem_RawFree(remembered->pages);
    PyMem_RawFree(remembered->places);
    PyMem_RawFree(remembered->heap);
}

static void place_all(Remembered *remembered) {
    memset(remembered->places, 0, (remembered->mask + 1) * sizeof *remembered->places);
    for (size_t i = 0; i < remembered->page_count; i++)
        remembered->places[place_of(remembered, remembered->pages[i].mark)] = (uint32_t)i + 1;
}

/* 0, or -1 where there is no memory: then nothing changes. */
static int make_room(Remembered *remembered) {
    if (remembered->page_count < remembered->page_room)
        return 0;
    size_t room = remembered->page_room ? 2 * remembered->page_room : FIRST_PAGES;
    uint32_t *places = PyMem_RawMalloc(2 * room * sizeof *places);
    Page *pages = places ? PyMem_RawRealloc(remembered->pages, room * sizeof *pages) : NULL;
    if (!pages) {
        PyMem_RawFree(places);
        PyErr_NoMemory();
        return -1;
    }
    PyMem_RawFree(remembered->places);
    remembered->pages = pages;
    remembered->places = places;
    remembered->page_room = room;
    remembered->mask = 2 * room - 1;
    place_all(remembered);
    return 0;
}

/* The heap: pages by what they had when they came in; those that moved since are passed over. */

static int push(Remembered *remembered, float amount, uint32_t page) {
    if (remembered->heap_count == remembered->heap_room) {
        size_t room = remembered->heap_room ? 2 * remembered->heap_room : FIRST_PAGES;
        Turn *heap = PyMem_RawRealloc(remembered->heap, room * sizeof *heap);
        if (!heap) {
            PyErr_NoMemory();
            return -1;
        }
        remembered->heap = heap;
        remembered->heap_room = room;
    }
    size_t at = remembered->heap_count++;
    for (; at && remembered->heap[(at - 1) / 2].amount < amount; at = (at - 1) / 2)
        remembered->heap[at] = remembered->heap[(at - 1) / 2];
    remembered->heap[at] = (Turn){amount, page};
    return 0;
}

static Turn pop(Remembered *remembered) {
    Turn *heap = remembered->heap, first = heap[0], last = heap[--remembered->heap_count];
    size_t count = remembered->heap_count, at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1].amount > heap[child].amount;
        if (heap[child].amount <= last.amount)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

static int by_what_they_got(const void *one, const void *other) {
    float a = ((const Page *)one)->got, b = ((const Page *)other)->got;
    return (a < b) - (a > b);
}

/* The half of them that got least. */
static int forget(Remembered *remembered) {
    qsort(remembered->pages, remembered->page_count, sizeof *remembered->pages, by_what_they_got);
    while (remembered->page_count && remembered->size > remembered->max_size / 2) {
        Page *page = &remembered->pages[--remembered->page_count];
        remembered->size -= page->count + PAGE_LINKS;
        PyMem_RawFree(page->links);
    }
    place_all(remembered);
    remembered->heap_count = 0;
    for (size_t i = 0; i < remembered->page_count; i++) {
        Page *page = &remembered->pages[i];
        page->got /= 2;
        if (page->queued > 0 && push(remembered, page->queued, (uint32_t)i))
            return -1;
    }
    return 0;
}

int remember(Remembered *remembered, uint64_t mark, const uint64_t *links, size_t count, float cash) {
    if (!count || count + PAGE_LINKS > remembered->max_size / 16 || page_of(remembered, mark))
        return 0;
    if (make_room(remembered))
        return -1;
    uint64_t *kept = PyMem_RawMalloc(count * sizeof *kept);
    if (!kept) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(kept, links, count * sizeof *kept);
    remembered->pages[remembered->page_count++] = (Page){mark, kept, (uint32_t)count, cash, 0};
    remembered->places[place_of(remembered, mark)] = (uint32_t)remembered->page_count;
    remembered->size += count + PAGE_LINKS;
    return remembered->size > remembered->max_size ? forget(remembered) : 0;
}

int remembered_note(Remembered *remembered, uint64_t mark, float cash) {
    Page *page = page_of(remembered, mark);
    /* It moves when it has half as much again: so the heap stays a few times as long as there are pages. */
    if (!page || cash <= 1.5f * page->queued)
        return 0;
    page->queued = cash;
    if (page->got < cash)
        page->got = cash;
    return push(remembered, cash, (uint32_t)(page - remembered->pages));
}

const Page *remembered_richest(Remembered *remembered, float least) {
    while (remembered->heap_count && remembered->heap[0].amount >= least) {
        Turn turn = pop(remembered);
        Page *page = &remembered->pages[turn.page];
        if (page->queued == turn.amount) {
            page->queued = 0;
            return page;
        }
    }
    return NULL;
}
