/*
 * The header of an IDX file, the format of the MNIST digits:
 *
 *     offset  bytes  what
 *     0       2      0
 *     2       1      element type: 08 u1, 09 i1, 0B i2, 0C i4, 0D f4, 0E f8
 *     3       1      number of dimensions n, at least 1
 *     4       4 n    the dimensions
 *     4+4n           the elements, the last dimension varying fastest
 *
 * All numbers are big-endian. The first dimension is the rows; images become rows of pixels.
 */
#include "base/errors/status.h"
#include "data/files/loaders.h"

#include <assert.h>

#define MAX_DIMENSIONS 255

static bool find_element(unsigned char code, ef_element *element) {
    switch (code) {
    case 0x08: *element = EF_ELEMENT_U1; return true;
    case 0x09: *element = EF_ELEMENT_I1; return true;
    case 0x0B: *element = EF_ELEMENT_I2; return true;
    case 0x0C: *element = EF_ELEMENT_I4; return true;
    case 0x0D: *element = EF_ELEMENT_F4; return true;
    case 0x0E: *element = EF_ELEMENT_F8; return true;
    default: return false;
    }
}

static efface_status fail_header(const ef_reader *reader, efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                      "the file ends within its IDX header; download it again");
}

efface_status ef_idx_header(ef_reader *reader, ef_file_array *array, efface_error *error) {
    efface_status status = ef_reader_fill(reader, 4, error);
    if (status != EFFACE_OK)
        return status;
    if (ef_reader_available(reader) < 4)
        return fail_header(reader, error);
    const unsigned char *const magic = ef_reader_at(reader);
    const unsigned char code = magic[2];
    const size_t n_dimensions = magic[3];
    assert(magic[0] == 0 && magic[1] == 0);
    *array = (ef_file_array){.big_endian = true};
    if (!find_element(code, &array->element))
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the file begins like an IDX file, but its element type %02X is unknown; "
                          "known types are 08, 09, 0B, 0C, 0D and 0E",
                          code);
    if (n_dimensions == 0)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the IDX header has no dimensions, so there are no rows");
    ef_reader_take(reader, 4);
    status = ef_reader_fill(reader, 4 * n_dimensions, error);
    if (status != EFFACE_OK)
        return status;
    if (ef_reader_available(reader) < 4 * n_dimensions)
        return fail_header(reader, error);
    uint64_t dimensions[MAX_DIMENSIONS];
    const unsigned char *at = ef_reader_at(reader);
    for (size_t i = 0; i < n_dimensions; i++, at += 4)
        dimensions[i] =
            (uint64_t)at[0] << 24 | (uint64_t)at[1] << 16 | (uint64_t)at[2] << 8 | at[3];
    ef_reader_take(reader, 4 * n_dimensions);
    ef_array_shape(array, dimensions, n_dimensions);
    return EFFACE_OK;
}
