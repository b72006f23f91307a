/*
 * The trial of the starts of the method pyramid: the rows of the sample and of the jury with the
 * weights that they have there, and for each start a model of lloyd over the sample, and the
 * verdict on its centers, which is a partition of the jury.
 *
 * A fit takes from a trial what the starts come to, and lets go of the rest. The first request that
 * reaches the sample runs the starts again and keeps the trial beside the state (kept.h). For the
 * next the rows leave and come in its two sets, each start follows as any model of lloyd does
 * (revision.h), and only the verdicts on starts that moved are worked out again.
 *
 * Why this is exact: while the pilot stands, a row that stays has the base that it had, and while
 * the weights are cut down by as many bits, also the weight. So the two sets change by the changed
 * rows alone; a start is the fit of its set, by the law of lloyd. A trial of which this cannot be
 * said is dropped, and the starts are run again.
 *
 * It takes no more memory than the values of all rows do, or a MiB; a trial that would is not kept.
 * The ranks of a group keep none.
 */
#ifndef EF_TRIAL_H
#define EF_TRIAL_H

#include "model/kmeans/definition/levels.h"

/* A start of which nothing is there yet has no models. Their plan and domain are those of the model
 * that it is a start of, as it was at the last change. */
typedef struct ef_start {
    ef_kmeans *run;
    ef_kmeans *verdict; /* level 0 alone: the centers of the run, with the jury's partition */
} ef_start;

typedef struct ef_trial {
    efface_data *sample, *jury;
    ef_i128 weight; /* of the sample, before it is cut down */
    uint32_t n_starts;
    ef_start *starts;
} ef_trial;

struct ef_revision;

/* Without rows and models; NULL if out of memory. */
ef_trial *ef_trial_create(uint32_t n_starts);

/* Releases a trial, or the models of one start. Takes NULL. */
void ef_trial_free(ef_trial *trial);
void ef_trial_drop(ef_trial *trial, uint32_t start);
size_t ef_trial_bytes(const ef_trial *trial);

/* Whether one with so many rows may be kept. */
bool ef_trial_fits(const ef_kmeans *model, size_t n_sample, size_t n_jury);

/* Gives a trial the marked rows of a model's set. It may be that it cannot be kept. Notes the
 * weight of the jury in the pilot. */
efface_status ef_trial_gather(ef_trial *trial, ef_kmeans *model, const efface_data *data,
                              const uint8_t *codes, bool *keeps, efface_error *error);

/* Runs a start and judges it. The builders are for the sample and for the jury. */
efface_status ef_trial_run(ef_trial *trial, const ef_kmeans *model, uint32_t start, bool keeps,
                           ef_level_builder *running, ef_level_builder *judging,
                           efface_error *error);

/* Tells what a start came to, and adds the work it took since it was last told. */
void ef_trial_tell(ef_trial *trial, uint32_t start, ef_starts *to, ef_work_done *work);

/* The same of all starts, into an ef_starts of which nothing is there yet. */
efface_status ef_trial_tell_all(ef_trial *trial, ef_starts *to, ef_work_done *work,
                                efface_error *error);

/* Lets a trial follow the change of a revision whose pilot stands. Where it cannot, or memory is
 * short, it is released, and *trial becomes NULL; fails only if it was interrupted. If no row of
 * the sample is reached, it cannot be interrupted either. */
efface_status ef_trial_follow(ef_trial **trial, const struct ef_revision *revision,
                              efface_error *error);

#endif
