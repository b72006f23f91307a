/* What tests check of k-means beside the bytes, and what walks note: functions of the table
 * (families.h). */
#ifndef EF_TESTS_KMEANS_NOTES_H
#define EF_TESTS_KMEANS_NOTES_H

#include "law/law_families.h"

void kmeans_compare(const efface_model *model, const efface_model *fresh, const efface_data *data);
void kmeans_check(const efface_model *model, const efface_data *data);
uint64_t kmeans_hash(const efface_model *model);

void kmeans_meet(const law_params *params, const efface_model *model);
void *kmeans_look(const efface_model *model);
void kmeans_note(void *before, const law_step *step);
void kmeans_tell(bool all);

#endif
