/*
 * Reasons as people read them. Families say why a change takes the work that it takes in the present
 * tense, for they do not know whether it is made or only looked at. A report of what was done has
 * the past tense, and a preview the future.
 */
#include "model/family.h"

#include <assert.h>
#include <string.h>

const char ef_because_nothing[] = "no row changes";
const char ef_because_rekeyed[] = "a new seed was given";
const char ef_because_redefined[] = "the definition of the method changed";
const char ef_because_taken_out[] = "the part of these rows leaves the sums";
const char ef_because_added[] = "the part of these rows joins the sums";
const char ef_because_replaced[] = "the part of these rows in the sums is replaced";

typedef struct tenses {
    const char *present, *past, *future;
} tenses;

static const tenses reasons[] = {
    {ef_because_nothing, "no row changed", "no row will change"},
    {ef_because_rekeyed, ef_because_rekeyed, ef_because_rekeyed},
    {ef_because_redefined, ef_because_redefined, ef_because_redefined},
    {ef_because_taken_out, "their part was subtracted from the sums; no other row was needed",
     "their part will be subtracted from the sums; no other row will be needed"},
    {ef_because_added, "their part was added to the sums; no other row was needed",
     "their part will be added to the sums; no other row will be needed"},
    {ef_because_replaced, "their part in the sums was replaced; no other row was needed",
     "their part in the sums will be replaced; no other row will be needed"},
    {"cluster centers move, and other rows are assigned again",
     "cluster centers moved, and other rows were assigned again",
     "cluster centers will move, and other rows will be assigned again"},
    {"the correction of small clusters moves a center",
     "the correction of small clusters moved a center",
     "the correction of small clusters will move a center"},
    {"a cluster becomes empty or starts from another row",
     "a cluster became empty or started from another row",
     "a cluster will become empty or start from another row"},
    {"the fit stops at another iteration", "the fit stopped at another iteration",
     "the fit will stop at another iteration"},
    {"a cluster starts from another row", "a cluster started from another row",
     "a cluster will start from another row"},
    {"the range of the values changes", "the range of the values changed",
     "the range of the values will change"},
    {"the range of a column changes", "the range of a column changed",
     "the range of a column will change"},
    {"the unit of a column changes", "the unit of a column changed",
     "the unit of a column will change"},
    {"the range of the target changes", "the range of the target changed",
     "the range of the target will change"},
    {"the scale of a column with long tails moved", "the scale of a column with long tails changed",
     "the scale of a column with long tails will change"},
    {"centers are rounded to another width", "centers were rounded to another width",
     "centers will be rounded to another width"},
    {"the number of clusters changes", "the number of clusters changed",
     "the number of clusters will change"},
    {"the size of the sample changes", "the size of the sample changed",
     "the size of the sample will change"},
    {"other rows are in the sample", "other rows came into the sample",
     "other rows will come into the sample"},
    {"the width of the tree changes", "the width of the tree changed",
     "the width of the tree will change"},
    {"so many rows change that adding up all is quicker",
     "so many rows changed that adding up all was quicker",
     "so many rows will change that adding up all will be quicker"},
    {"the classes of the rows change", "the classes of the rows changed",
     "the classes of the rows will change"},
    {"coefficients are rounded to another width", "coefficients were rounded to another width",
     "coefficients will be rounded to another width"},
    {"the spread of a column changes", "the spread of a column changed",
     "the spread of a column will change"},
    {"a step of the fit ends at another point",
     "a step of the fit ended at another point, and the fit went on from there",
     "a step of the fit will end at another point, and the fit will go on from there"},
    {"another split is now the best in parts of trees",
     "another split became the best in parts of trees, and these were grown again",
     "another split will be the best in parts of trees, and these will be grown again"},
};

const char *ef_reason_told(const char *reason, bool to_come) {
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        const tenses *const r = &reasons[i];
        if (strcmp(reason, r->present) == 0 || strcmp(reason, r->past) == 0)
            return to_come ? r->future : r->past;
    }
    assert(reason == NULL); /* a reason that has no tenses */
    return reason;
}
