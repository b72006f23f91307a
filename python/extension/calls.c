/* How the library is called: one thread at a time for each object, without the GIL. */
#include "extension.h"

bool gate_make(gate *g) {
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
    if (g->inside == self) {
        PyErr_SetString(PyExc_RuntimeError, "a call that is not finished is using this object");
        return NULL;
    }
    PyThreadState *const state = PyEval_SaveThread();
    (void)PyThread_acquire_lock(g->lock, WAIT_LOCK);
    g->inside = self;
    return state;
}

void gate_leave(gate *g, PyThreadState *state) {
    g->inside = 0;
    PyThread_release_lock(g->lock);
    PyEval_RestoreThread(state);
}
