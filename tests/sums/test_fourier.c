/* Random Fourier features: their definition, the kernel that they stand for, and their bytes. */
#include "base/memory/memory.h"
#include "base/numbers/elementary.h"
#include "base/numbers/grid.h"
#include "base/random/normals.h"
#include "fault/failing_memory.h"
#include "model/sums/coordinates/fourier.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SEED UINT64_C(0x0123456789ABCDEF)

static uint64_t n_drawn;

static double draw(void) {
    return ef_tape_unit(ef_tape(UINT64_C(0x5EED), (ef_purpose)203, 0, n_drawn++, 0)) - 0.5;
}

static ef_fourier make(double gamma, uint32_t n_features, uint32_t n_inputs) {
    ef_fourier fourier;
    assert_true(ef_fourier_init(&fourier, SEED, gamma, n_features, n_inputs));
    return fourier;
}

/* The kernel's variance is the frequency's: exp(-gamma x^2) is the mean of cos(w x) for a normal w
 * of deviation sqrt(2 gamma); that many radians are sqrt(2 gamma) / (2 pi) turns. */
static void frequencies_and_phases_are_from_the_tape(void **state) {
    (void)state;
    static const uint32_t n_inputs[] = {1, 2, 3, 8, 33};
    static const double gammas[] = {1.0, 0.01, 4.0, 1e300, 1e-300, DBL_MAX};
    for (size_t i = 0; i < COUNT(n_inputs); i++)
        for (size_t g = 0; g < COUNT(gammas); g++) {
            const uint32_t n = n_inputs[i];
            ef_fourier fourier = make(gammas[g], 20, n);
            for (uint32_t f = 0; f < 20; f++) {
                for (uint32_t j = 0; j < n; j++) {
                    const ef_normal_pair pair = ef_tape_normals(SEED, EF_TAPE_FOURIER, f, j & ~1u);
                    const long double normal = j % 2 == 0 ? pair.first : pair.second;
                    const long double want = sqrtl(2.0L * gammas[g]) * normal / (2.0L * acosl(-1));
                    assert_true(fabsl(fourier.frequencies[f * n + j] - want) <=
                                fabsl(want) * 0x1p-51L);
                }
                assert_true(fourier.phases[f] ==
                            ef_tape_unit(ef_tape(SEED, EF_TAPE_FOURIER, 0, f, UINT32_MAX)));
            }
            ef_fourier_free(&fourier);
        }
}

/* Computed by a program of its own, operation by operation. */
static void normals_are_frozen(void **state) {
    (void)state;
    const ef_normal_pair pair = ef_tape_normals(SEED, EF_TAPE_FOURIER, 3, 4);
    const ef_normal_pair other = ef_tape_normals(SEED, EF_TAPE_GAUSSIAN, 3, 4);
    if (pair.first != 0x1.1e07abb037bdcp-1 || pair.second != 0x1.666a94bbd1459p-5 ||
        other.first == pair.first)
        fail_msg("normal numbers are %a and %a", pair.first, pair.second);
}

/* Sixteen rows with some columns that are no inputs. */
typedef struct scene {
    uint32_t n_columns, n_inputs;
    uint32_t inputs[130];
    float panel[200 * EF_PANEL];
} scene;

static scene make_scene(uint32_t n_inputs, double size) {
    scene s = {.n_columns = 200, .n_inputs = n_inputs};
    for (uint32_t j = 0; j < n_inputs; j++)
        s.inputs[j] = j % 2 == 0 ? j : 199 - j;
    for (size_t i = 0; i < COUNT(s.panel); i++)
        s.panel[i] = (float)(size * draw());
    return s;
}

static float feature_of(const ef_fourier *fourier, const scene *s, uint32_t f, size_t row) {
    double turns = fourier->phases[f];
    for (uint32_t j = 0; j < s->n_inputs; j++)
        turns += fourier->frequencies[f * s->n_inputs + j] *
                 (double)s->panel[s->inputs[j] * EF_PANEL + row];
    return (float)rint(0x1p23 * ef_cos_turns(turns));
}

static void features_are_what_the_definition_says(void **state) {
    (void)state;
    static const uint32_t n_inputs[] = {1, 2, 7, 31, 32, 33, 64, 65, 130};
    static const uint32_t n_features[] = {1, 5, 16, 31, 32, 33, 70};
    static const double gammas[] = {1.0, 1e-4, 1e4};
    for (size_t i = 0; i < COUNT(n_inputs); i++)
        for (size_t f = 0; f < COUNT(n_features); f++) {
            const uint32_t n = n_features[f];
            ef_fourier fourier = make(gammas[(i + f) % 3], n, n_inputs[i]);
            const scene s = make_scene(n_inputs[i], 3.0);
            float panel[71 * EF_PANEL];
            int32_t row[71];
            panel[n * EF_PANEL] = -1.0F; /* nobody writes behind the end */
            row[n] = -1;
            ef_fourier_panel(&fourier, s.panel, s.inputs, panel);
            assert_true(panel[n * EF_PANEL] == -1.0F);
            for (size_t r = 0; r < EF_PANEL; r++) {
                ef_fourier_row(&fourier, s.panel + r, EF_PANEL, s.inputs, row);
                assert_true(row[n] == -1);
                for (uint32_t k = 0; k < n; k++) {
                    const float want = feature_of(&fourier, &s, k, r);
                    assert_true(fabsf(want) <= 0x1p23F && rintf(want) == want);
                    assert_true(panel[k * EF_PANEL + r] == want && row[k] == (int32_t)want);
                }
            }
            ef_fourier_free(&fourier);
        }
}

/* With room between a row's values or none, it is the same row. */
static void stride_is_that_of_the_row(void **state) {
    (void)state;
    ef_fourier fourier = make(0.5, 40, 9);
    const scene s = make_scene(9, 1.0);
    float dense[200];
    int32_t a[40], b[40];
    for (size_t j = 0; j < 200; j++)
        dense[j] = s.panel[j * EF_PANEL + 5];
    ef_fourier_row(&fourier, s.panel + 5, EF_PANEL, s.inputs, a);
    ef_fourier_row(&fourier, dense, 1, s.inputs, b);
    assert_memory_equal(a, b, sizeof a);
    ef_fourier_free(&fourier);
}

/* The sum of products over 16,384 features, in their unit, is the kernel but for 1 / 128 or so. */
static void features_stand_for_the_kernel(void **state) {
    (void)state;
    const uint32_t n = 16384;
    static const double gammas[] = {0.05, 0.5, 2.0};
    for (size_t g = 0; g < COUNT(gammas); g++) {
        ef_fourier fourier = make(gammas[g], n, 6);
        const scene s = make_scene(6, 2.0);
        float *const features = malloc((size_t)n * EF_PANEL * sizeof *features);
        ef_fourier_panel(&fourier, s.panel, s.inputs, features);
        for (size_t a = 0; a < EF_PANEL; a++)
            for (size_t b = 0; b <= a; b++) {
                double mean = 0.0, distance = 0.0;
                for (size_t f = 0; f < n; f++)
                    mean += (double)features[f * EF_PANEL + a] * (double)features[f * EF_PANEL + b];
                mean *= ef_fourier_unit(&fourier) * ef_fourier_unit(&fourier);
                for (uint32_t j = 0; j < 6; j++) {
                    const size_t at = s.inputs[j] * (size_t)EF_PANEL;
                    const double apart = (double)s.panel[at + a] - (double)s.panel[at + b];
                    distance += apart * apart;
                }
                if (fabs(mean - exp(-gammas[g] * distance)) > 0.05)
                    fail_msg("%g instead of %g", mean, exp(-gammas[g] * distance));
            }
        free(features);
        ef_fourier_free(&fourier);
    }
}

static void huge_values_give_numbers(void **state) {
    (void)state;
    static const double gammas[] = {1.0, DBL_MAX, DBL_MIN, 5e-324};
    for (size_t g = 0; g < COUNT(gammas); g++) {
        ef_fourier fourier = make(gammas[g], 64, 130);
        scene s = make_scene(130, 1e38);
        s.panel[3] = INFINITY;
        s.panel[4] = NAN;
        s.panel[5] = -INFINITY;
        float panel[64 * EF_PANEL];
        int32_t row[64];
        ef_fourier_panel(&fourier, s.panel, s.inputs, panel);
        for (size_t r = 0; r < EF_PANEL; r++) {
            ef_fourier_row(&fourier, s.panel + r, EF_PANEL, s.inputs, row);
            for (uint32_t f = 0; f < 64; f++)
                assert_true(abs(row[f]) <= EF_GRID_MAX && panel[f * EF_PANEL + r] == (float)row[f]);
        }
        ef_fourier_free(&fourier);
    }
}

/* ------------------------------------------------------------------ bytes */

static ef_writer write_one(const ef_fourier *fourier) {
    ef_writer writer = {0};
    ef_fourier_write(&writer, fourier);
    assert_false(writer.failed);
    assert_true(writer.n_bytes ==
                8 + 8 * (size_t)fourier->n_features * (fourier->n_inputs + (size_t)1));
    return writer;
}

static void bytes_come_back(void **state) {
    (void)state;
    for (uint32_t n = 1; n < 40; n += 6) {
        ef_fourier fourier = make(0.3, n, 2 * n - 1), back = {0};
        ef_writer writer = write_one(&fourier);
        ef_decoder reader = {writer.bytes, writer.n_bytes, false};
        assert_int_equal(ef_fourier_read(&reader, 2 * n - 1, &back, NULL), EFFACE_OK);
        assert_true(reader.n_bytes == 0 && back.n_features == n && back.n_inputs == 2 * n - 1);
        assert_memory_equal(back.phases, fourier.phases, n * sizeof(double));
        assert_memory_equal(back.frequencies, fourier.frequencies,
                            (size_t)n * (2 * n - 1) * sizeof(double));
        ef_free(writer.bytes);
        ef_fourier_free(&fourier);
        ef_fourier_free(&back);
    }
}

static void refuse(const unsigned char *bytes, size_t n_bytes, uint32_t n_inputs) {
    ef_fourier out = {.n_features = 77};
    ef_decoder reader = {bytes, n_bytes, false};
    efface_error error = {0};
    assert_int_equal(ef_fourier_read(&reader, n_inputs, &out, &error), EFFACE_E_FORMAT);
    assert_true(out.n_features == 77 && out.phases == NULL && error.message[0] != '\0');
}

static void damaged_bytes_are_refused(void **state) {
    (void)state;
    ef_fourier fourier = make(0.3, 5, 3);
    ef_writer writer = write_one(&fourier);
    const long before = atomic_load(&n_blocks);
    for (size_t n = 0; n < writer.n_bytes; n++)
        refuse(writer.bytes, n, 3);
    refuse(writer.bytes, writer.n_bytes, 2);
    refuse(writer.bytes, writer.n_bytes, 4);
    static const uint32_t wrong[] = {0, 6, EFFACE_MAX_FOURIER + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        unsigned char *const bytes = malloc(writer.n_bytes);
        memcpy(bytes, writer.bytes, writer.n_bytes);
        for (size_t k = 0; k < 4; k++)
            bytes[k] = (unsigned char)(wrong[i] >> (8 * k));
        refuse(bytes, writer.n_bytes, 3);
        free(bytes);
    }
    ef_fourier many = make(0.3, EFFACE_MAX_FOURIER + 1, 1);
    ef_writer long_one = write_one(&many);
    refuse(long_one.bytes, long_one.n_bytes, 1);
    ef_free(long_one.bytes);
    ef_fourier_free(&many);
    const double never[] = {NAN, INFINITY, -INFINITY, -1.0, 1.0};
    for (size_t i = 0; i < COUNT(never); i++)
        for (size_t number = 0; number < 20; number++) {
            const bool is_phase = number < 5;
            if (!is_phase && i >= 3)
                continue; /* a good frequency */
            double *const at =
                is_phase ? &fourier.phases[number] : &fourier.frequencies[number - 5];
            const double kept = *at;
            *at = never[i];
            ef_writer bad = write_one(&fourier);
            refuse(bad.bytes, bad.n_bytes, 3);
            ef_free(bad.bytes);
            *at = kept;
        }
    assert_true(atomic_load(&n_blocks) == before);
    ef_free(writer.bytes);
    ef_fourier_free(&fourier);
}

static void copy_is_the_same(void **state) {
    (void)state;
    ef_fourier fourier = make(0.3, 21, 5), copy;
    assert_true(ef_fourier_copy(&copy, &fourier));
    ef_writer one = write_one(&fourier), other = write_one(&copy);
    ef_fourier_free(&fourier);
    assert_memory_equal(one.bytes, other.bytes, one.n_bytes);
    ef_free(one.bytes);
    ef_free(other.bytes);
    ef_fourier_free(&copy);
}

static void short_memory_is_reported(void **state) {
    (void)state;
    ef_fourier fourier = make(0.3, 5, 3);
    ef_writer writer = write_one(&fourier);
    const long before = atomic_load(&n_blocks);
    bool made = false;
    for (long n = 1; !made; n++) {
        ef_fourier other = {0};
        arm(n);
        made = ef_fourier_init(&other, SEED, 1.0, 5, 3);
        assert_true(made != disarm());
        ef_fourier_free(&other);
        assert_true(atomic_load(&n_blocks) == before);
    }
    made = false;
    for (long n = 1; !made; n++) {
        ef_fourier other = {0};
        arm(n);
        made = ef_fourier_copy(&other, &fourier);
        assert_true(made != disarm());
        ef_fourier_free(&other);
        assert_true(atomic_load(&n_blocks) == before);
    }
    efface_status status = EFFACE_E_MEMORY;
    for (long n = 1; status != EFFACE_OK; n++) {
        ef_fourier other = {0};
        ef_decoder reader = {writer.bytes, writer.n_bytes, false};
        arm(n);
        status = ef_fourier_read(&reader, 3, &other, NULL);
        assert_true((status == EFFACE_E_MEMORY) == disarm());
        ef_fourier_free(&other);
        assert_true(atomic_load(&n_blocks) == before);
    }
    ef_free(writer.bytes);
    ef_fourier_free(&fourier);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_and_phases_are_from_the_tape),
        cmocka_unit_test(normals_are_frozen),
        cmocka_unit_test(features_are_what_the_definition_says),
        cmocka_unit_test(stride_is_that_of_the_row),
        cmocka_unit_test(features_stand_for_the_kernel),
        cmocka_unit_test(huge_values_give_numbers),
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(copy_is_the_same),
        cmocka_unit_test(short_memory_is_reported),
    };
    return cmocka_run_group_tests_name("fourier", tests, NULL, NULL);
}
