/* The limit of CPU time of a page, without a call to the kernel for each: the twin of `TimerPerPage` in watchdog.py.
 *
 * One timer of CPU time goes off again and again, and finds out by a number whether the page is still the one that it
 * found before. The number is all that a page costs. The handler runs whatever the parsers do, and ends the process by
 * the default action of its signal, as a timer for each page would. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

/* A page is ended after its limit and at most two of so many parts of it more. */
enum { PARTS = 8 };
static const double MAX_SECONDS = 1e9;
static const int64_t SECOND = 1000000000, MIN_INTERVAL = 4000000;

/* Of the process, as timer and signal are. What is being read, 0 for nothing; what the timer found, and when. */
static volatile uint64_t current, found;
static volatile int64_t found_at, limit;

typedef struct {
    PyObject_HEAD
    int64_t *slot;
    uint64_t count;
} OneTimer;

static int64_t used(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void look(int number) {
    uint64_t reading = current;
    int64_t now = used();
    if (reading != found) {
        found = reading;
        found_at = now;
    } else if (reading && now - found_at >= limit) {
        signal(number, SIG_DFL);
        raise(number); /* as soon as this handler returns */
    }
}

/* Without a limit nobody looks. */
static int begin_to_look(int64_t limit_ns) {
    int64_t interval = limit_ns / PARTS < MIN_INTERVAL ? MIN_INTERVAL : limit_ns / PARTS;
    struct sigaction action = {.sa_handler = look, .sa_flags = SA_RESTART};
    struct itimerval timer;
    timer.it_interval.tv_sec = timer.it_value.tv_sec = interval / SECOND;
    timer.it_interval.tv_usec = timer.it_value.tv_usec = interval % SECOND / 1000;
    sigemptyset(&action.sa_mask);
    current = found = 0;
    limit = limit_ns;
    if (!limit_ns)
        return 0;
    return sigaction(SIGPROF, &action, NULL) || setitimer(ITIMER_PROF, &timer, NULL) ? -1 : 0;
}

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    int fd;
    double seconds;
    (void)named;
    if (!PyArg_ParseTuple(arguments, "id", &fd, &seconds))
        return NULL;
    if (!(seconds >= 0)) {
        PyErr_SetString(PyExc_ValueError, "no time to read a page in");
        return NULL;
    }
    OneTimer *self = (OneTimer *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    void *memory = mmap(NULL, sizeof *self->slot, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    self->slot = memory == MAP_FAILED ? NULL : memory;
    if (!self->slot || begin_to_look((int64_t)((seconds < MAX_SECONDS ? seconds : MAX_SECONDS) * SECOND))) {
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void end_all(OneTimer *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (self->slot) {
        struct itimerval never = {{0, 0}, {0, 0}};
        current = 0;
        setitimer(ITIMER_PROF, &never, NULL);
        munmap(self->slot, sizeof *self->slot);
    }
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *begin(OneTimer *self, PyObject *number) {
    long long token = PyLong_AsLongLong(number);
    if (token == -1 && PyErr_Occurred())
        return NULL;
    *(volatile int64_t *)self->slot = token;
    current = ++self->count;
    Py_RETURN_NONE;
}

static PyObject *end(OneTimer *self, PyObject *nothing) {
    (void)nothing;
    current = 0;
    *(volatile int64_t *)self->slot = 0;
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"begin", (PyCFunction)begin, METH_O, "begin(token): a page is read from now on"},
    {"end", (PyCFunction)end, METH_NOARGS, "end(): nothing is read any more"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot TYPE_SLOTS[] = {
    {Py_tp_new, make}, {Py_tp_dealloc, end_all}, {Py_tp_methods, METHODS}, {0, NULL}};
static PyType_Spec TYPE = {"lycosa.process._native.OneTimer", sizeof(OneTimer), 0, Py_TPFLAGS_DEFAULT, TYPE_SLOTS};

static int fill(PyObject *module) {
    PyObject *type = PyType_FromSpec(&TYPE);
    int failed = !type || PyModule_AddObjectRef(module, "OneTimer", type);
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, fill}, {0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, NULL, SLOTS, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
