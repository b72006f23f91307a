/*
 * efface: machine-learning models that can forget.
 *
 * WHAT EXACT MEANS
 *
 * A training set is a *set* of rows. Each row has a 64-bit id, d numbers, a weight, and perhaps an
 * owner. A model is a pure function of three things,
 *
 *     state = A(rows, parameters, seed)
 *
 * and of nothing else: not of the order of the rows, the number of threads, the processor, the
 * compiler, or of what the set held before. Therefore: after any sequence of forget, learn and
 * update calls, in any order and any batching, the state is byte for byte the state of fitting the
 * present rows with the same parameters and the same seed. Two states are compared as bytes
 * (efface_model_encode) or by their digest (efface_model_digest), never with a tolerance;
 * efface_model_verify does it for you. docs/why/exactness.md gives the argument,
 * docs/definition/numerics.md the arithmetic.
 *
 * Exact deletion is not privacy: someone who has both the model from before and the model from
 * after may learn about the row that left. And if requests may have been chosen by looking at
 * published models (the adaptive adversary, docs/why/exactness.md, section 4), the kept randomness
 * is correlated with the remaining rows. efface_model_rekey draws new randomness, and
 * efface_store_publish does so for every model that it gives out. docs/why/paper.md compares the
 * methods with the paper they come from.
 *
 * THE LIFE OF A MODEL
 *
 *     efface_data *people = NULL;
 *     efface_model *model = NULL;
 *     efface_kmeans_params params;
 *     efface_error error;
 *     efface_kmeans_params_init(&params);
 *     params.n_clusters = 8;
 *     params.common.seed = 20191105;
 *     const uint64_t id = 7;
 *     const efface_request request = {.ids = &id, .n_ids = 1};
 *     if (efface_data_load("people.csv", NULL, &people, &error) != EFFACE_OK ||
 *         efface_kmeans_fit(people, &params, &model, &error) != EFFACE_OK ||
 *         efface_model_forget(model, people, &request, NULL, &error) != EFFACE_OK)
 *         fprintf(stderr, "%s\n", error.message);
 *     efface_model_free(model);
 *     efface_data_free(people);
 *
 * RULES THAT HOLD FOR EVERY FUNCTION
 *
 * Errors. A function that can fail returns an efface_status. Outputs are written only on success,
 * and a failed call leaves every object as it was, unless its comment says otherwise. The last
 * argument is a place for the detail, or NULL: a sentence that says what to do, and the file, line
 * and column if there are any. Comments list the errors that a call is likely to give; any call may
 * give EFFACE_E_ARGUMENT for a NULL that is not allowed. The library never prints, exits or aborts.
 *
 * Ownership. What a function named create, load, fit or encode hands out is the caller's, to be
 * released with the free function of that type. Pointers that are passed in are only read during
 * the call. `free` releases memory and accepts NULL; `remove` and `forget` take data out of a set
 * or a model. The library overwrites memory before it releases it. It cannot overwrite copies that
 * the caller made.
 *
 * Interruption. A fit can be interrupted, and so can every call that may have to fit again: see
 * `interrupted` in efface_params. Such calls may return EFFACE_E_INTERRUPTED.
 *
 * Threads. Several threads may use different objects at once. Several threads may read one object
 * as long as none changes it; but a handle of a store is for one thread at a time. n_threads never
 * changes a result.
 *
 * Environment. One variable is read: EFFACE_KERNELS (ref, avx2, avx512, vnni, amx, neon) forces a
 * kernel table, for tests; a table that this processor cannot run is the error EFFACE_E_KERNELS.
 *
 * Versions. docs/use/upgrading.md says what a version number promises.
 *
 * WHERE TO FIND WHAT
 *
 * Each header is about one subject and compiles alone; programs include this one, which includes
 * them all. efface_data.h, efface_files.h and the header of each family begin with an example.
 *
 *     efface_status.h     status, error
 *     efface_data.h       sets of rows, offsets, rounding
 *     efface_files.h      texts, options of loading, loading
 *     efface_look.h       what is in a file that was not loaded
 *     efface_model.h      models of any family: parameters, change, verify
 *     efface_kmeans.h, efface_sums.h, efface_segmented.h, efface_forest.h,
 *     efface_logistic.h: the families
 *     efface_predictor.h  what predicts, and all that it can be asked; published models
 *     efface_metrics.h    how good a clustering is
 *     efface_group.h      many machines that work on one set
 *     efface_store.h      stores, their models, requests, publishing
 *     efface_receipts.h   receipts of requests
 *     efface_parts.h      stores in parts, one for each machine
 */
#ifndef EFFACE_H
#define EFFACE_H

#include "efface/efface_data.h"
#include "efface/efface_files.h"
#include "efface/efface_forest.h"
#include "efface/efface_group.h"
#include "efface/efface_kmeans.h"
#include "efface/efface_logistic.h"
#include "efface/efface_look.h"
#include "efface/efface_metrics.h"
#include "efface/efface_model.h"
#include "efface/efface_parts.h"
#include "efface/efface_predictor.h"
#include "efface/efface_receipts.h"
#include "efface/efface_segmented.h"
#include "efface/efface_status.h"
#include "efface/efface_store.h"
#include "efface/efface_sums.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; efface_version() returns that of the library in use. */
#define EFFACE_VERSION "0.3.0"
EFFACE_API const char *efface_version(void);

/* Returns the name of the kernel table in use: "ref", "avx2", "avx512" or "neon"; NULL if
 * EFFACE_KERNELS names one that this processor cannot run. */
EFFACE_API const char *efface_kernels_name(void);

#ifdef __cplusplus
}
#endif

#endif
