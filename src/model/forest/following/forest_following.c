/*
 * How a forest follows a change of its rows.
 *
 * The rows that come or leave get slots or give them up (slot_changes.c) and go down each tree, all
 * together (tree_following.c).
 *
 * Tallies are counted in place, for most requests are carried out: if this one is not, those that
 * were touched are dropped, and made again when they are needed. Everything else is noted in plans,
 * one for each worker, and done on commit.
 */
#include "model/forest/following/forest_revision.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char bound_moved[] = "the range of the target changes";
static const char unit_moved[] = "the scale of a column with long tails moved";
static const char grown_again[] = "another split is now the best in parts of trees";

/* ---------------------------------------------------------------- all trees */

typedef struct team_of_followers {
    ef_tree_follower *followers;
    uint32_t first;
} team_of_followers;

static void follow_trees(void *context, unsigned worker, size_t first, size_t last) {
    const team_of_followers *const team = context;
    ef_tree_follower *const f = &team->followers[worker];
    for (size_t t = first; t < last && !f->failed; t++)
        f->failed = !ef_tree_follower_follow(f, team->first + (uint32_t)t);
}

/* The trees of each row of the change, if rows are in some only. */
static bool find_members(const ef_forest_revision *r, uint64_t **members) {
    const ef_forest *const f = r->forest;
    const size_t n_words = (f->n_trees + 63) / 64;
    if (f->params->rows != EFFACE_FOREST_SOME)
        return true;
    uint32_t *const places = ef_alloc(f->n_trees, sizeof *places);
    *members = ef_alloc_zero(r->n_rows, n_words * sizeof **members);
    for (size_t i = 0; places != NULL && *members != NULL && i < r->n_rows; i++)
        if (r->slots[i] != EF_NO_SLOT)
            ef_draw_trees(f->params->common.seed, f->rows.ids[r->slots[i]], f->params->trees_of_row,
                          f->n_trees, places, *members + i * n_words);
    ef_free(places);
    return places != NULL && *members != NULL;
}

/* How many threads are worth their while: trees that were just read have much to count. */
static unsigned threads_for(const ef_forest *f, size_t n_rows) {
    const bool much = !f->at_hand ? f->rows.n_slots >= 1000 : n_rows >= 16;
    return much ? f->params->common.n_threads : 1;
}

/* What the followers of a change share. */
typedef struct shared {
    uint64_t *members;     /* the trees of each row of the change, or NULL: all */
    uint64_t *all_members; /* of each slot, in an opened forest */
    ef_first_rows first;   /* of its trees, where they have all rows */
} shared;

static bool begin_followers(ef_forest_revision *r, const ef_news *news, shared *of_all,
                            ef_tree_follower *followers, unsigned n) {
    const bool opened = r->forest->sections != NULL;
    r->plans = ef_alloc_zero(n, sizeof *r->plans);
    bool ok = followers != NULL && r->plans != NULL && find_members(r, &of_all->members) &&
              (!opened || ef_forest_find_members(r->forest, &of_all->all_members));
    r->n_plans = r->plans != NULL ? n : 0;
    for (unsigned w = 0; ok && w < n; w++) {
        ok = ef_tree_follower_begin(&followers[w], r, &r->plans[w], news, of_all->members);
        followers[w].all_members = of_all->all_members;
    }
    if (!ok || !opened || r->forest->params->rows != EFFACE_FOREST_ALL)
        return ok;
    ok = ef_tree_follower_find_first(&followers[0], &of_all->first);
    for (unsigned w = 0; w < n; w++)
        followers[w].grower.first_rows = &of_all->first;
    return ok;
}

static void end_followers(shared *of_all, ef_tree_follower *followers, unsigned n,
                          uint64_t *n_visited) {
    for (unsigned w = 0; followers != NULL && w < n; w++) {
        *n_visited += followers[w].n_visited;
        ef_tree_follower_end(&followers[w]);
    }
    ef_first_rows_free(&of_all->first);
    ef_free(of_all->members);
    ef_free(of_all->all_members);
}

static efface_status follow_all(ef_forest_revision *r, const ef_news *news, uint64_t *n_visited,
                                efface_error *error) {
    const efface_params *const common = &r->forest->params->common;
    ef_progress progress = {.told = common->progress, .context = common->interrupt_context};
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    ef_pool *const pool = ef_pool_create(threads_for(r->forest, r->n_rows));
    const unsigned n = pool != NULL ? ef_pool_size(pool) : 0;
    ef_tree_follower *const followers = ef_alloc_zero(n, sizeof *followers);
    shared of_all = {.members = NULL};
    efface_status status = pool != NULL && begin_followers(r, news, &of_all, followers, n)
                               ? EFFACE_OK
                               : ef_fail_memory(error);
    team_of_followers team = {followers, 0};
    while (status == EFFACE_OK && team.first < r->forest->n_trees) {
        const uint32_t rest = r->forest->n_trees - team.first, at_once = rest < 16 ? rest : 16;
        status = ef_ask(&interrupt, error);
        if (status == EFFACE_OK)
            ef_pool_run(pool, at_once, 1, follow_trees, &team);
        for (unsigned w = 0; status == EFFACE_OK && w < n; w++)
            if (followers[w].failed)
                status = ef_fail_memory(error);
        team.first += at_once;
        if (status == EFFACE_OK && common->progress != NULL)
            ef_tell(&progress, (double)team.first / (double)r->forest->n_trees);
    }
    end_followers(&of_all, followers, n, n_visited);
    ef_free(followers);
    ef_pool_free(pool);
    return status;
}

/* ---------------------------------------------------------------- follow, commit, drop */

void ef_forest_drop(void *next) {
    ef_forest_revision *const r = next;
    if (r == NULL)
        return;
    ef_forest *const f = r->forest;
    ef_forest_free(r->fresh);
    for (unsigned w = 0; w < r->n_plans; w++)
        ef_forest_plan_drop(&r->plans[w], f->trees);
    ef_free(r->plans);
    if (!r->committed) {
        if (r->sized)
            ef_forest_count_sizes(r, r->change, true);
        for (size_t i = 0; i < r->n_rows; i++)
            if (r->slots[i] != EF_NO_SLOT && r->leaves[i])
                f->rows.leaving[r->slots[i]] = false;
        ef_forest_move_back(r);
        for (size_t i = 0; i < r->n_rows; i++)
            if (r->slots[i] != EF_NO_SLOT && !r->leaves[i])
                ef_forest_slots_release(&f->rows, r->slots[i]);
        if (r->has_classes) {
            const bool grown = f->classes.n_ids != r->classes_before.n_ids;
            ef_classes_free(&f->classes);
            f->classes = r->classes_before;
            f->rules.n_classes = f->classes.n_ids;
            f->rules.ranks = f->classes.ranks;
            for (uint32_t t = 0; grown && t < f->n_trees; t++)
                for (uint32_t i = 0; i < f->trees[t].n_used; i++)
                    ef_dtree_drop_tally(&f->trees[t], i);
        }
    } else {
        ef_classes_free(&r->classes_before);
    }
    ef_free(r->slots);
    ef_free(r->positions);
    ef_free(r->leaves);
    ef_free(r);
}

static efface_status refit_forest(ef_forest_revision *r, const ef_news *news, const char *reason,
                                  efface_report *report, efface_error *error) {
    void *fresh = NULL;
    report->action = EFFACE_ACTION_REFITTED;
    report->reason = reason;
    report->rows_visited = news->rows->n_rows;
    if (news->only_look)
        return EFFACE_OK;
    const efface_status status =
        ef_forest_fit(news->rows, &r->forest->params->common, &fresh, error);
    r->fresh = fresh;
    return status;
}

/* Says how many trees were grown again in parts. */
static void tell_forest(const ef_forest_revision *r, uint64_t n_visited, efface_report *report) {
    const uint32_t n_trees = r->forest->n_trees;
    uint32_t n = 0, last = n_trees;
    for (unsigned w = 0; w < r->n_plans; w++) {
        last = n_trees;
        for (size_t i = 0; i < r->plans[w].n_steps; i++)
            if (r->plans[w].steps[i].kind == EF_GRAFT && r->plans[w].steps[i].tree != last) {
                last = r->plans[w].steps[i].tree;
                n++;
            }
    }
    report->rows_visited = n_visited;
    report->action = n != 0 ? EFFACE_ACTION_REPAIRED : EFFACE_ACTION_ADJUSTED;
    report->reason = n != 0 ? grown_again : ef_because_nothing;
    if (n != 0)
        (void)snprintf(report->where, sizeof report->where, "in %u of %u trees", (unsigned)n,
                       (unsigned)n_trees);
}

/* Whether a class has another rank than before: leaves have their classes by ranks in bytes. */
static bool ranks_moved(const ef_forest_revision *r) {
    const ef_forest_classes *const before = &r->classes_before, *const after = &r->forest->classes;
    bool moved = false;
    for (uint32_t c = 0; r->has_classes && c < before->n_ids; c++)
        moved |= before->ranks[c] != after->ranks[c];
    return moved;
}

/* Takes the rows of a change into slots, after the branches that they are in, or have been in, were
 * read. If classes have other ranks then, all branches come out otherwise. */
static efface_status take_change(ef_forest_revision *r, const ef_change *change,
                                 efface_error *error) {
    ef_forest *const f = r->forest;
    const efface_status status = ef_forest_read_branches(f, change, error);
    if (status != EFFACE_OK)
        return status;
    if (!ef_forest_prepare_rows(r, change))
        return ef_fail_memory(error);
    if (f->classes.n >= EF_MOST_CLASSES)
        return ef_fail(error, EFFACE_E_LIMIT,
                       "a forest can have at most 2^24 - 1 classes; these rows bring more");
    return ranks_moved(r) ? ef_forest_read_branches(f, NULL, error) : EFFACE_OK;
}

efface_status ef_forest_follow(void *state, const ef_news *news, void **next, bool *done,
                               efface_report *report, efface_error *error) {
    ef_forest *const f = state;
    *done = false;
    if (news->rows == NULL)
        return EFFACE_OK;
    assert(f->attached);
    ef_forest_revision *const r = ef_alloc_zero(1, sizeof *r);
    if (r == NULL)
        return ef_fail_memory(error);
    r->forest = f;
    r->totals = (ef_totals){news->counts->n_rows, news->counts->total_weight};
    r->n_taking_part = f->n_taking_part;
    int32_t exponent = 0;
    uint64_t n_visited = 0;
    efface_status status = ef_forest_check_weight(f, r->totals.total_weight, error);
    EF_THEN(status, ef_forest_find_exponent(f, news->rows, &exponent, error));
    if (status == EFFACE_OK) {
        r->change = news->change;
        r->sized = true;
        ef_forest_count_sizes(r, news->change, false);
        if (exponent != f->exponent)
            status = refit_forest(r, news, bound_moved, report, error);
        else if (!ef_forest_units_stay(f))
            status = refit_forest(r, news, unit_moved, report, error);
        else
            status = take_change(r, news->change, error);
        if (status == EFFACE_OK && r->slots != NULL)
            status = follow_all(r, news, &n_visited, error);
        if (status == EFFACE_OK && r->n_plans != 0)
            tell_forest(r, n_visited, report);
    }
    if (status != EFFACE_OK || news->only_look) {
        ef_forest_drop(r);
        *done = status == EFFACE_OK;
        return status;
    }
    *done = true;
    *next = r;
    return EFFACE_OK;
}

void ef_forest_commit(void *state, void *next) {
    ef_forest *const f = state;
    ef_forest_revision *const r = next;
    r->committed = true;
    ef_free(*f->gains);
    *f->gains = NULL;
    if (r->fresh != NULL) {
        const ef_forest was = *f;
        *f = *r->fresh;
        *r->fresh = was;
        ef_forest_drop(r);
        return;
    }
    for (unsigned w = 0; w < r->n_plans; w++)
        ef_forest_plan_commit(&r->plans[w], f->trees);
    for (size_t i = 0; i < r->n_rows; i++) {
        const uint32_t slot = r->slots[i];
        if (slot == EF_NO_SLOT || !r->leaves[i])
            continue;
        for (uint32_t t = 0; f->sections == NULL && t < f->n_trees; t++)
            f->trees[t].next[slot] = f->trees[t].before[slot] = EF_NO_SLOT;
        ef_forest_slots_release(&f->rows, slot);
    }
    f->totals = r->totals;
    f->n_taking_part = r->n_taking_part;
    ef_forest_drop(r);
}
