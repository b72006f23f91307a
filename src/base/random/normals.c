/* Standard normal numbers by the polar method. */
#include "base/random/normals.h"

#include <math.h>

static double draw_signed(uint64_t seed, ef_purpose purpose, uint32_t attempt, uint64_t index,
                          uint32_t step) {
    return 2.0 * ef_tape_unit(ef_tape(seed, purpose, attempt, index, step)) - 1.0;
}

ef_normal_pair ef_tape_normals(uint64_t seed, ef_purpose purpose, uint64_t index, uint32_t step) {
    for (uint32_t attempt = 0;; attempt++) {
        const double a = draw_signed(seed, purpose, attempt, index, step);
        const double b = draw_signed(seed, purpose, attempt, index, step + 1);
        const double s = a * a + b * b;
        if (s < 1.0) {
            const double factor = sqrt((-2.0 * ef_log(s)) / s);
            return (ef_normal_pair){a * factor, b * factor};
        }
    }
}
