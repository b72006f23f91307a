/* A k-means model follows a change as every family does (family.h): revision.c does the work, and
 * what it was becomes a report. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/kmeans/following/revision.h"
#include "model/kmeans/kmeans_inside.h"

#include <string.h>

const char *ef_reason_name(ef_reason reason) {
    switch (reason) {
    case EF_REASON_NONE: return ef_because_nothing;
    case EF_REASON_CENTERS: return "cluster centers move, and other rows are assigned again";
    case EF_REASON_GAMMA: return "the correction of small clusters moves a center";
    case EF_REASON_EMPTY: return "a cluster becomes empty or starts from another row";
    case EF_REASON_STOP: return "the fit stops at another iteration";
    case EF_REASON_SEED: return "a cluster starts from another row";
    case EF_REASON_BOUND: return "the range of the values changes";
    case EF_REASON_SCALE: return "the range of a column changes";
    case EF_REASON_SPREAD: return "the unit of a column changes";
    case EF_REASON_EPSILON: return "centers are rounded to another width";
    case EF_REASON_CLUSTERS: return "the number of clusters changes";
    case EF_REASON_RATE: return "the size of the sample changes";
    case EF_REASON_SAMPLE: return "other rows are in the sample";
    case EF_REASON_WIDTH: return "the width of the tree changes";
    }
    return "unknown reason";
}

/* `before`, a number, `behind`: much faster than snprintf, and short beside a request. */
static void put_where(char where[EFFACE_WHERE_BYTES], const char *before, uint32_t number,
                      const char *behind) {
    char digits[10];
    size_t n = 0, at = strlen(before);
    memcpy(where, before, at);
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (n != 0)
        where[at++] = digits[--n];
    memcpy(where + at, behind, strlen(behind) + 1);
}

static void put_report(const ef_effort *effort, efface_report *report) {
    report->action = effort->action;
    report->reason = ef_reason_name(effort->reason);
    report->rows_visited = effort->rows_visited;
    report->where[0] = '\0';
    if (effort->of_tree)
        put_where(report->where, "up to depth ", effort->depth, "");
    else if (effort->action == EFFACE_ACTION_REPAIRED)
        put_where(report->where, "from iteration ", effort->level, " on");
}

efface_status ef_kmeans_follow(void *state, const ef_news *news, void **next, bool *done,
                               efface_report *report, efface_error *error) {
    ef_effort effort = {.action = EFFACE_ACTION_ADJUSTED};
    efface_status status;
    if (news->only_look && news->rows != NULL) {
        *done = true;
        status = ef_kmeans_look(state, news->rows, news->change, &effort, error);
    } else {
        ef_revision *const revision = ef_alloc(1, sizeof *revision);
        if (revision == NULL)
            return ef_fail_memory(error);
        *revision = (ef_revision){.model = NULL};
        *done = true;
        status = news->rows == NULL
                     ? ef_revision_make_cold(revision, state, news->counts, news->change, done,
                                             &effort, error)
                     : ef_revision_make(revision, state, news->rows, news->change, error);
        if (status == EFFACE_OK && news->rows != NULL)
            ef_revision_report(revision, &effort);
        if (status == EFFACE_OK && *done && !news->only_look)
            *next = revision;
        else
            ef_kmeans_drop(revision);
        /* A look without rows finds as much as a look with rows, except in a tree. */
        *done |= news->only_look && effort.reason != EF_REASON_NONE;
    }
    if (status == EFFACE_OK)
        put_report(&effort, report);
    return status;
}

void ef_kmeans_commit(void *state, void *next) {
    ef_revision_commit(next, state);
    ef_kmeans_drop(next);
}

void ef_kmeans_drop(void *next) {
    ef_revision_free(next);
    ef_free(next);
}

/* ---------------------------------------------------------------- for families built of k-means */

const ef_map *ef_kmeans_next_map(const void *next) {
    const ef_revision *const revision = next;
    return revision->fresh != NULL ? &revision->fresh->domain.map : NULL;
}

const int32_t *ef_kmeans_next_dividers(const void *next, uint32_t *n_clusters) {
    return ef_revision_dividers(next, n_clusters);
}

bool ef_kmeans_next_labels(const void *next, uint32_t *labels) {
    return ef_revision_labels(next, labels);
}

bool ef_kmeans_may_weigh(const ef_kmeans *model, uint32_t divider, int64_t weight) {
    return model->tree != NULL || weight == ef_kmeans_mass(model, divider);
}
