/*
 * Requests change a set: rows leave, come, or get other values.
 *
 * In a group each rank changes those of its own, and all are told of the change of all ranks
 * (change.h). What is wrong with the whole, such as an id that no rank has, all find. Each function
 * changes nothing if it fails; on success the caller has the change to release.
 */
#ifndef EF_CHANGING_ROWS_H
#define EF_CHANGING_ROWS_H

#include "model/request/change.h"

/* Takes the rows of a request, or those of them that are there, out of the set. *n_missing becomes
 * the number of ids and owners that are not there. */
efface_status ef_take_out(efface_data *data, const efface_request *request, ef_joint_change *change,
                          size_t *n_missing, efface_error *error);

/* Rows come to the set, in a group to this rank. */
efface_status ef_take_in_rows(efface_data *data, const efface_rows *rows, ef_joint_change *change,
                              efface_error *error);

/* Rows of the set get other values. */
efface_status ef_replace_rows(efface_data *data, const efface_rows *rows, ef_joint_change *change,
                              efface_error *error);

#endif
