/* Random Fourier features: drawn, computed, written and read. */
#include "model/sums/coordinates/fourier.h"

#include "base/memory/memory.h"
#include "base/numbers/elementary.h"
#include "base/numbers/grid.h"
#include "base/numbers/pairs.h"
#include "base/random/normals.h"

#include <math.h>
#include <string.h>

#define SCALE 0x1.ccf6429be6621p-3 /* 1 / (pi sqrt(2)) */
#define CHUNK 32

static bool take_features(ef_fourier *fourier, uint32_t n_features, uint32_t n_inputs) {
    *fourier = (ef_fourier){.n_features = n_features, .n_inputs = n_inputs};
    size_t n_frequencies;
    if (!ef_mul_size(n_features, n_inputs, &n_frequencies))
        return false;
    fourier->frequencies = ef_alloc(n_frequencies, sizeof *fourier->frequencies);
    fourier->phases = ef_alloc(n_features, sizeof *fourier->phases);
    if (fourier->frequencies != NULL && fourier->phases != NULL)
        return true;
    ef_fourier_free(fourier);
    return false;
}

bool ef_fourier_init(ef_fourier *fourier, uint64_t seed, double gamma, uint32_t n_features,
                     uint32_t n_inputs) {
    if (!take_features(fourier, n_features, n_inputs))
        return false;
    const double scale = sqrt(gamma) * SCALE;
    for (uint32_t f = 0; f < n_features; f++) {
        double *const frequencies = fourier->frequencies + (size_t)f * n_inputs;
        for (uint32_t j = 0; j < n_inputs; j += 2) {
            const ef_normal_pair normals = ef_tape_normals(seed, EF_TAPE_FOURIER, f, j);
            frequencies[j] = scale * normals.first;
            if (j + 1 < n_inputs)
                frequencies[j + 1] = scale * normals.second;
        }
        fourier->phases[f] = ef_tape_unit(ef_tape(seed, EF_TAPE_FOURIER, 0, f, UINT32_MAX));
    }
    return true;
}

bool ef_fourier_copy(ef_fourier *to, const ef_fourier *from) {
    if (!take_features(to, from->n_features, from->n_inputs))
        return false;
    memcpy(to->frequencies, from->frequencies,
           (size_t)from->n_features * from->n_inputs * sizeof *to->frequencies);
    memcpy(to->phases, from->phases, from->n_features * sizeof *to->phases);
    return true;
}

double ef_fourier_unit(const ef_fourier *fourier) {
    return sqrt(2.0 / fourier->n_features) / EF_GRID_MAX;
}

void ef_fourier_free(ef_fourier *fourier) {
    ef_free(fourier->frequencies);
    ef_free(fourier->phases);
    *fourier = (ef_fourier){0};
}

/* Sixteen angles become whole numbers. Adding and subtracting the constant rounds to an integer. */
static void features_of(const double turns[EF_PANEL], float features[EF_PANEL]) {
    double cosines[EF_PANEL];
    ef_cos_turns_16(turns, cosines);
    for (int i = 0; i < EF_PANEL; i++)
        features[i] = (float)((cosines[i] * (double)EF_GRID_MAX + 0x1.8p52) - 0x1.8p52);
}

/* Values of a panel as doubles: CHUNK inputs of it. */
static void convert_features(const float *panel, const uint32_t *inputs, size_t n, double *values) {
    for (size_t j = 0; j < n; j++)
        for (int i = 0; i < EF_PANEL; i++)
            values[j * EF_PANEL + (size_t)i] =
                (double)panel[inputs[j] * (size_t)EF_PANEL + (size_t)i];
}

/* Adds n products to each of sixteen angles, eight at a time. */
static void add_products(const double *frequencies, const double *values, size_t n, double *turns) {
    for (size_t i = 0; i < EF_PANEL; i += 8) {
        ef_pair sum0 = ef_pair_load(turns + i), sum2 = ef_pair_load(turns + i + 2);
        ef_pair sum4 = ef_pair_load(turns + i + 4), sum6 = ef_pair_load(turns + i + 6);
        for (size_t j = 0; j < n; j++) {
            const ef_pair frequency = ef_pair_of(frequencies[j]);
            const double *const some = values + j * EF_PANEL + i;
            sum0 += frequency * ef_pair_load(some);
            sum2 += frequency * ef_pair_load(some + 2);
            sum4 += frequency * ef_pair_load(some + 4);
            sum6 += frequency * ef_pair_load(some + 6);
        }
        ef_pair_store(turns + i, sum0);
        ef_pair_store(turns + i + 2, sum2);
        ef_pair_store(turns + i + 4, sum4);
        ef_pair_store(turns + i + 6, sum6);
    }
}

/* CHUNK inputs are converted once for CHUNK features. */
void ef_fourier_panel(const ef_fourier *fourier, const float *panel, const uint32_t *inputs,
                      float *features) {
    const size_t n = fourier->n_inputs;
    for (size_t first = 0; first < fourier->n_features; first += CHUNK) {
        const size_t left = fourier->n_features - first;
        const size_t n_features = left < CHUNK ? left : CHUNK;
        double turns[CHUNK * EF_PANEL], values[CHUNK * EF_PANEL];
        for (size_t f = 0; f < n_features; f++)
            for (size_t i = 0; i < EF_PANEL; i++)
                turns[f * EF_PANEL + i] = fourier->phases[first + f];
        for (size_t begin = 0; begin < n; begin += CHUNK) {
            const size_t n_values = n - begin < CHUNK ? n - begin : CHUNK;
            convert_features(panel, inputs + begin, n_values, values);
            for (size_t f = 0; f < n_features; f++)
                add_products(fourier->frequencies + (first + f) * n + begin, values, n_values,
                             turns + f * EF_PANEL);
        }
        for (size_t f = 0; f < n_features; f++)
            features_of(turns + f * EF_PANEL, features + (first + f) * EF_PANEL);
    }
}

/* Sixteen features at a time, so that additions do not wait for each other. */
void ef_fourier_row(const ef_fourier *fourier, const float *row, size_t stride,
                    const uint32_t *inputs, int32_t *features) {
    const size_t n = fourier->n_inputs;
    for (size_t first = 0; first < fourier->n_features; first += EF_PANEL) {
        const size_t left = fourier->n_features - first;
        const size_t width = left < EF_PANEL ? left : EF_PANEL;
        const double *const frequencies = fourier->frequencies + first * n;
        double turns[EF_PANEL] = {0};
        for (size_t i = 0; i < width; i++)
            turns[i] = fourier->phases[first + i];
        for (size_t j = 0; j < n; j++) {
            const double value = (double)row[inputs[j] * stride];
            for (size_t i = 0; i < width; i++)
                turns[i] += frequencies[i * n + j] * value;
        }
        float some[EF_PANEL];
        features_of(turns, some);
        for (size_t i = 0; i < width; i++)
            features[first + i] = (int32_t)some[i];
    }
}

void ef_fourier_write(ef_writer *writer, const ef_fourier *fourier) {
    ef_write_u32(writer, fourier->n_features);
    ef_write_u32(writer, fourier->n_inputs);
    for (size_t f = 0; f < fourier->n_features; f++)
        ef_write_f64(writer, fourier->phases[f]);
    for (size_t i = 0; i < (size_t)fourier->n_features * fourier->n_inputs; i++)
        ef_write_f64(writer, fourier->frequencies[i]);
}

static bool read_numbers(ef_decoder *reader, ef_fourier *fourier) {
    bool sound = true;
    for (size_t f = 0; f < fourier->n_features; f++) {
        const double phase = ef_read_f64(reader);
        fourier->phases[f] = phase;
        sound = sound && phase >= 0.0 && phase < 1.0;
    }
    for (size_t i = 0; i < (size_t)fourier->n_features * fourier->n_inputs; i++) {
        const double frequency = ef_read_f64(reader);
        fourier->frequencies[i] = frequency;
        sound = sound && frequency - frequency == 0.0; /* finite */
    }
    return sound;
}

efface_status ef_fourier_read(ef_decoder *reader, uint32_t n_inputs, ef_fourier *out,
                              efface_error *error) {
    const uint32_t n_features = ef_read_u32(reader);
    if (ef_read_u32(reader) != n_inputs || reader->failed || n_features == 0 ||
        n_features > EFFACE_MAX_FOURIER ||
        !ef_decoder_has(reader, (size_t)n_features * ((size_t)n_inputs + 1), sizeof(double)))
        return ef_fail_published(error, "its Fourier features");
    ef_fourier read;
    if (!take_features(&read, n_features, n_inputs))
        return ef_fail_memory(error);
    if (!read_numbers(reader, &read)) {
        ef_fourier_free(&read);
        return ef_fail_published(error, "its Fourier features");
    }
    *out = read;
    return EFFACE_OK;
}
