/* The columns of a set in another order. Everything is checked, and all memory taken, before
 * anything moves; then a panel at a time is turned, so that it takes no second set. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"

#include <inttypes.h>
#include <string.h>

static efface_status check_order(const efface_data *data, const uint32_t *source,
                                 efface_error *error) {
    const uint32_t d = data->n_columns;
    bool *const seen = ef_alloc_zero(d, sizeof *seen);
    efface_status status = seen != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (uint32_t j = 0; status == EFFACE_OK && j < d; j++) {
        if (source[j] >= d || seen[source[j]])
            status = ef_fail(error, EFFACE_E_ARGUMENT,
                             "column %" PRIu32 " cannot come from column %" PRIu32
                             ": each column comes once",
                             j + 1, source[j] + 1);
        else
            seen[source[j]] = true;
    }
    ef_free(seen);
    return status;
}

/* Gives n things of `size` bytes another order, through `room`. */
static void turn(void *things, size_t n, size_t size, const uint32_t *source, unsigned char *room) {
    unsigned char *const bytes = things;
    for (size_t j = 0; j < n; j++)
        memcpy(room + j * size, bytes + source[j] * size, size);
    memcpy(bytes, room, n * size);
}

efface_status efface_data_order_columns(efface_data *data, const uint32_t *source,
                                        efface_error *error) {
    if (data == NULL || source == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and source must not be NULL");
    const uint32_t d = data->n_columns;
    efface_status status = ef_data_check_whole(data, error);
    EF_THEN(status, check_order(data, source, error));
    if (status != EFFACE_OK)
        return status;
    const size_t side_by_side = EF_PANEL * sizeof *data->values;
    unsigned char *const room = ef_alloc(d, side_by_side); /* larger than all else */
    if (room == NULL)
        return ef_fail_memory(error);
    for (size_t p = 0; p * EF_PANEL < data->n_rows; p++)
        turn(ef_data_panel(data, p), d, side_by_side, source, room);
    turn(data->ranges.least, d, sizeof *data->ranges.least, source, room);
    turn(data->ranges.most, d, sizeof *data->ranges.most, source, room);
    turn(data->ranges.n_least, d, sizeof *data->ranges.n_least, source, room);
    turn(data->ranges.n_most, d, sizeof *data->ranges.n_most, source, room);
    if (data->names != NULL)
        turn(data->names, d, sizeof *data->names, source, room);
    if (data->types != NULL)
        turn(data->types, d, sizeof *data->types, source, room);
    if (data->offsets != NULL)
        turn(data->offsets, d, sizeof *data->offsets, source, room);
    data->stamp.generation++;
    ef_free(room);
    return EFFACE_OK;
}
