/* How the library is called: one thread at a time for each object, without the GIL, and so that a
 * KeyboardInterrupt ends long work. */
#include "module/py_extension.h"

#include <time.h>

bool gate_make(gate *g) {
    atomic_init(&g->inside, 0);
    g->lock = PyThread_allocate_lock();
    if (g->lock == NULL)
        PyErr_NoMemory();
    return g->lock != NULL;
}

void gate_free(gate *g) {
    if (g->lock != NULL)
        PyThread_free_lock(g->lock);
    g->lock = NULL;
}

PyThreadState *gate_enter(gate *g) {
    const unsigned long self = PyThread_get_thread_ident();
    if (atomic_load(&g->inside) == self) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a call that is not finished is using this object; wait until it ends");
        return NULL;
    }
    for (;;) {
        PyThreadState *const state = PyEval_SaveThread();
        if (PyThread_acquire_lock_timed(g->lock, -1, 1) == PY_LOCK_ACQUIRED) {
            atomic_store(&g->inside, self);
            return state;
        }
        PyEval_RestoreThread(state); /* a signal came */
        if (PyErr_CheckSignals() != 0)
            return NULL;
    }
}

void gate_leave(gate *g, PyThreadState *state) {
    atomic_store(&g->inside, 0);
    PyThread_release_lock(g->lock);
    PyEval_RestoreThread(state);
}

/* The library asks this before every pass over rows, which may be very short, and taking the GIL
 * may mean to wait for other threads: so it looks at signals only every now and then. */
int interrupted(void *context) {
    static _Thread_local double last;
    struct timespec time;
    (void)context;
    (void)timespec_get(&time, TIME_UTC);
    const double now = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
    if (now >= last && now < last + 0.02)
        return 0;
    last = now;
    const PyGILState_STATE state = PyGILState_Ensure();
    /* It may be asked again on the way out: handlers do not run over an exception. */
    const int raised = PyErr_Occurred() != NULL || PyErr_CheckSignals() != 0;
    if (raised)
        last = 0.0;
    PyGILState_Release(state);
    return raised;
}

int store_interrupted(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)part;
    return interrupted(context);
}
