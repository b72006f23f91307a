/* What one row adds at a point. */
#include "model/logistic/losses.h"

#include "base/numbers/elementary.h"
#include "base/random/tape.h"

#define LOGISTIC_BITS 30
#define HINGE_BITS 20

int ef_loss_bits(efface_loss loss) {
    return loss == EFFACE_LOSS_LOGISTIC ? LOGISTIC_BITS : HINGE_BITS;
}

double ef_loss_scale(efface_loss loss) {
    return loss == EFFACE_LOSS_LOGISTIC ? 0.25 : 2.0;
}

double ef_loss_start(efface_loss loss) {
    return loss == EFFACE_LOSS_LOGISTIC ? 0.25 : 1.0;
}

/* A number that is not negative, to the nearest whole number, halves up. */
static int64_t round_up(double x) {
    return (int64_t)(x + 0.5);
}

static ef_row_part logistic_part(double t, bool is_of_class) {
    const double u = ef_exp(t < 0.0 ? t : -t), sum = 1.0 + u;
    const double loss = ef_log(sum) + (t < 0.0 ? -t : 0.0);
    const int64_t slope = round_up((t < 0.0 ? 1.0 : u) / sum * 0x1p30);
    return (ef_row_part){.loss = round_up(loss * 0x1p30),
                         .slope = is_of_class ? -slope : slope,
                         .q = 4.0 * u / (sum * sum)};
}

static ef_row_part hinge_part(double t, bool is_of_class) {
    const double miss = 1.0 - t;
    if (!(miss > 0.0))
        return (ef_row_part){0};
    const int64_t slope = round_up(miss * 0x1p21);
    return (ef_row_part){
        .loss = round_up(miss * miss * 0x1p20), .slope = is_of_class ? -slope : slope, .q = 1.0};
}

ef_row_part ef_loss_part(efface_loss loss, double z, bool is_of_class) {
    const double limited = ef_limit_z(z), t = is_of_class ? limited : -limited;
    return loss == EFFACE_LOSS_LOGISTIC ? logistic_part(t, is_of_class)
                                        : hinge_part(t, is_of_class);
}
