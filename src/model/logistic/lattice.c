/* The lattice of a model. */
#include "model/logistic/lattice.h"

#include "base/memory/memory.h"
#include "base/numbers/grid.h"
#include "base/random/tape.h"
#include "model/logistic/losses.h"

#include <math.h>
#include <string.h>

#define SQUARE_UNIT 0x1p-46 /* of a product of two terms */
#define OF_SAMPLE 0.75      /* the part of the sample in the whitening */
#define OF_SPREADS 0.25     /* that of the spreads of all rows */
#define MOST_PENALTY 0x1p120

/* ---------------------------------------------------------------- the basis */

/* The k for which 2^(k - 1/2) <= n < 2^(k + 1/2), n from 1 on: is the square of n, its leading bits
 * at the top of 128, at least half of what comes next? */
static int nearest_power(uint64_t n) {
    const int k = 63 - __builtin_clzll(n);
    const ef_u128 top = (ef_u128)n << (63 - k);
    return k + (top * top >> 127 != 0);
}

static int ceil_half(int n) {
    return n >= 0 ? (n + 1) / 2 : -(-n / 2);
}

static int floor_half(int n) {
    return n >= 0 ? n / 2 : -((1 - n) / 2);
}

ef_lattice_basis ef_lattice_basis_of(uint64_t n_rows, uint32_t n_terms,
                                     const efface_logistic_params *params) {
    const int n = nearest_power(n_rows != 0 ? n_rows : 1), p = nearest_power(n_terms);
    const int rate = n - p - nearest_power(params->sample);
    const int kept = 4 + p - ceil_half(n), dear = floor_half(n - p) - 3;
    const int wanted = kept > 0 ? kept : 0, fine = wanted < dear ? wanted : dear;
    const double near = params->width > 0.0 ? params->width : ef_power_of_two(fine);
    const double far = ef_power_of_two(dear + 3), middle = ef_power_of_two(dear + 1);
    const double unit = sqrt((double)params->weight_unit); /* of a standard error */
    return (ef_lattice_basis){.shift = rate > 0 ? (unsigned)rate : 0,
                              .widths = {unit * (far > near ? far : near),
                                         unit * (middle > near ? middle : near), unit * near}};
}

bool ef_lattice_samples(uint64_t seed, unsigned shift, uint64_t id) {
    return shift == 0 || ef_tape(seed, EF_TAPE_WHITENING, 0, id, 0) >> (64 - shift) == 0;
}

/* A number of which the leading 64 bits are at least 2^63 sqrt(2) is nearer to the power above. */
int32_t ef_lattice_spread(ef_i128 squares) {
    const uint64_t half = UINT64_C(0xB504F333F9DE6485);
    if (squares <= 0)
        return INT32_MIN;
    int bits = 0;
    for (ef_u128 rest = (ef_u128)squares; rest != 0; rest >>= 1)
        bits++;
    const ef_u128 top =
        bits <= 64 ? (ef_u128)squares << (64 - bits) : (ef_u128)squares >> (bits - 64);
    return bits - 1 + ((uint64_t)top >= half);
}

/* ---------------------------------------------------------------- making */

/* The whitening M, below the diagonal and on it. */
static void fill_whitening(ef_lattice *lattice, const ef_lattice_makings *of) {
    const uint32_t p = lattice->n_terms;
    const double factor =
        OF_SAMPLE * of->start * SQUARE_UNIT * ef_power_of_two((int)of->basis.shift);
    for (uint32_t l = 0; l < p; l++) {
        const int32_t spread = ef_lattice_spread(of->all->products[l]);
        double *const row = lattice->factor.lower + (size_t)l * p;
        for (uint32_t j = 0; j <= l; j++)
            row[j] = spread != INT32_MIN && of->all->products[j] > 0
                         ? ef_i128_to_double(ef_moments_product(of->sample, j, l)) * factor
                         : 0.0;
        if (spread != INT32_MIN)
            row[l] = row[l] + OF_SPREADS * of->start * SQUARE_UNIT * ef_power_of_two(spread) +
                     lattice->penalties[l];
    }
}

bool ef_lattice_init(ef_lattice *lattice, const ef_lattice_makings *of) {
    const uint32_t p = of->all->n;
    *lattice = (ef_lattice){.n_terms = p};
    lattice->phases = ef_alloc((size_t)EF_N_STAGES * p, sizeof *lattice->phases);
    lattice->penalties = ef_alloc(p, sizeof *lattice->penalties);
    if (lattice->phases == NULL || lattice->penalties == NULL ||
        !ef_cholesky_init(&lattice->factor, p)) {
        ef_lattice_free(lattice);
        return false;
    }
    memcpy(lattice->widths, of->basis.widths, sizeof lattice->widths);
    lattice->penalties[0] = 0.0;
    for (uint32_t j = 1; j < p; j++)
        lattice->penalties[j] = of->alpha * ef_power_of_two(-2 * of->exponents[j - 1]);
    for (uint32_t stage = 0; stage < EF_N_STAGES; stage++)
        for (uint32_t j = 0; j < p; j++)
            lattice->phases[stage * p + j] =
                ef_tape_unit(ef_tape(of->seed, EF_TAPE_LATTICE, 0, j, stage)) - 0.5;
    fill_whitening(lattice, of);
    (void)ef_cholesky_factor(&lattice->factor);
    return true;
}

void ef_lattice_free(ef_lattice *lattice) {
    ef_free(lattice->phases);
    ef_free(lattice->penalties);
    ef_cholesky_free(&lattice->factor);
    *lattice = (ef_lattice){0};
}

/* ---------------------------------------------------------------- points */

void ef_lattice_place(const ef_lattice *lattice, uint32_t stage, const int64_t *steps, double *u) {
    const double *const phases = lattice->phases + (size_t)stage * lattice->n_terms;
    for (uint32_t j = 0; j < lattice->n_terms; j++)
        u[j] = lattice->factor.dropped[j] ? 0.0
                                          : lattice->widths[stage] * ((double)steps[j] + phases[j]);
}

/* S L^-T u, from the last term on. */
void ef_lattice_coefficients(const ef_lattice *lattice, uint32_t stage, const int64_t *steps,
                             double *b) {
    const ef_cholesky *const f = &lattice->factor;
    ef_lattice_place(lattice, stage, steps, b);
    for (uint32_t i = f->n; i-- > 0;) {
        const double *const row = f->lower + (size_t)i * f->n;
        if (f->dropped[i])
            continue;
        b[i] = b[i] / row[i];
        ef_axpy(-b[i], row, b, i);
        b[i] *= f->scales[i];
    }
}

/* L^T S^-1 times the change, row by row of L. */
void ef_lattice_whiten(const ef_lattice *lattice, double *change, double *whitened) {
    const ef_cholesky *const f = &lattice->factor;
    memset(whitened, 0, f->n * sizeof *whitened);
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->dropped[i])
            continue;
        change[i] = change[i] / f->scales[i];
        ef_axpy(change[i], f->lower + (size_t)i * f->n, whitened, i + 1);
    }
}

bool ef_lattice_nearest(const ef_lattice *lattice, uint32_t stage, const double *u,
                        const double *delta, double factor, int64_t *steps) {
    const double *const phases = lattice->phases + (size_t)stage * lattice->n_terms;
    for (uint32_t j = 0; j < lattice->n_terms; j++) {
        const double target = (u[j] + factor * delta[j]) / lattice->widths[stage] - phases[j];
        if (lattice->factor.dropped[j]) {
            steps[j] = 0;
            continue;
        }
        if (!(fabs(target) < (double)EF_STEPS_MAX - 1.0))
            return false;
        steps[j] = (int64_t)ef_round_even(target);
    }
    return true;
}

/* A whole number from a double that is one, not negative and at most 2^120. */
static ef_i128 wide_of(double whole) {
    int shift = 0;
    while (whole >= 0x1p62) {
        whole *= 0.5;
        shift++;
    }
    return (ef_i128)((ef_u128)(uint64_t)whole << shift);
}

ef_i128 ef_lattice_penalty(const ef_lattice *lattice, const double *b, int bits) {
    double sum = 0.0;
    for (uint32_t j = 0; j < lattice->n_terms; j++)
        sum += lattice->penalties[j] * b[j] * b[j];
    const double units = 0.5 * sum * ef_power_of_two(bits);
    const double most = units < MOST_PENALTY ? units : MOST_PENALTY;
    return wide_of(most < 0x1p51 ? ef_round_even(most) : most);
}
