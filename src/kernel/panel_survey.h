/*
 * The kernels of margins that are kept (model/kmeans/kept/level_margins.h), for any number of
 * lanes: what there is to know of a row, and which rows of a border need to be known better.
 * Included by panel_kernels.h.
 */
static unsigned survey(const ef_centers *centers, const ef_map *map, const float *values,
                       unsigned n_rows, float *panel, ef_survey *found) {
    const source fresh = {values, map->low, map->step, centers->origin, panel, values};
    const source kept = {.values = panel};
    float norm2[EF_PANEL];
    vf best[GROUPS], second[GROUPS], third[GROUPS];
    vu label[GROUPS], runner[GROUPS];
    for (unsigned g = 0; g < GROUPS; g++) {
        best[g] = second[g] = third[g] = vf_set1(0x1p100F); /* above every score */
        label[g] = runner[g] = vu_set1(0);
    }
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        float scores[TILE * EF_PANEL];
        scores_of(centers, first, width, first == 0 ? &fresh : &kept, first == 0 ? SNAPPED : KEPT,
                  scores, norm2);
        for (uint32_t c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++) {
                const vf score = vf_load(scores + c * EF_PANEL + g * LANES);
                const vm is_best = vf_less(score, best[g]), is_second = vf_less(score, second[g]);
                const vf worse = vf_max(score, best[g]);
                runner[g] = vu_pick(is_second, vu_set1(first + c), runner[g]);
                runner[g] = vu_pick(is_best, label[g], runner[g]);
                label[g] = vu_pick(is_best, vu_set1(first + c), label[g]);
                third[g] = vf_min(third[g], vf_max(worse, second[g]));
                second[g] = vf_min(second[g], worse);
                best[g] = vf_min(best[g], score);
            }
    }
    const float norm_error = 1.1F * (float)(centers->n_columns + 2) * 0x1p-24F;
    unsigned open = 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf square = vf_load(norm2 + g * LANES);
        const vf error =
            vf_muladd(vf_sqrt(square), vf_set1(centers->error_norm), vf_set1(centers->error_bias));
        const vf most = vf_add(best[g], vf_add(error, error));
        open |= vm_bits(vf_at_most(second[g], most)) << (g * LANES);
        vu_store(found->nearest + g * LANES, label[g]);
        vu_store(found->second + g * LANES, runner[g]);
        /* |y|^2 and the score are off by this; and two additions, of which one is rounded here. */
        const vf sum = vf_add(best[g], square);
        const vf off = vf_muladd(vf_add(square, sum), vf_set1(norm_error + 0x1p-22F),
                                 vf_mul(error, vf_set1(1.0F + 0x1p-20F)));
        vf_store(found->least + g * LANES, vf_sub(sum, off));
        vf_store(found->most + g * LANES, vf_add(sum, off));
        vf_store(found->gap + g * LANES, vf_sub(second[g], most));
        vf_store(found->margin + g * LANES, margin_of(second[g], most, square, error, norm_error));
        vf_store(found->beyond + g * LANES, margin_of(third[g], most, square, error, norm_error));
    }
    snap(map, values, n_rows, panel);
    open &= (1u << n_rows) - 1;
    for (unsigned rest = open; rest != 0; rest &= rest - 1)
        ef_centers_survey(centers, panel, (unsigned)__builtin_ctz(rest), found);
    return (unsigned)__builtin_popcount(open);
}

static void gaps(const ef_map *map, const float *values, unsigned n_rows, const int32_t *own,
                 const int32_t *other, int64_t out[EF_PANEL]) {
    (void)n_rows; /* for other rows anything may come out */
    const float *const low = map->low, *const step = map->step;
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum = vq_zero();
        for (size_t j = 0; j < map->n_columns; j++) {
            const vf x = vf_load(values + j * EF_PANEL + g * LANES);
            const vu point = vf_whole(on_grid(x, low[j], step[j]));
            /* (g - b)^2 - (g - a)^2 = (2 g - a - b) (a - b) */
            const vu away = vu_add(vu_add(point, point), vu_set1((uint32_t)(-own[j] - other[j])));
            sum = vq_add_product(sum, away, vu_set1((uint32_t)(own[j] - other[j])));
        }
        vq_store(out + g * LANES, sum);
    }
}

#define CHAINS 4 /* additions that need not wait for each other */

static size_t sift(const int8_t *bytes, size_t n_rows, uint32_t n_columns, const float *slopes,
                   const float *gaps, float least, float most, uint32_t *found) {
    size_t n_found = 0;
    for (size_t first = 0; first < n_rows; first += EF_PANEL) {
        const int8_t *const panel = bytes + first * n_columns;
        unsigned bits = 0;
        for (unsigned g = 0; g < GROUPS; g++) {
            const int8_t *const from = panel + g * LANES;
            vf sum[CHAINS];
            for (unsigned c = 0; c < CHAINS; c++)
                sum[c] = vf_set1(0.0F);
            uint32_t j = 0;
            for (; j + CHAINS <= n_columns; j += CHAINS)
                for (unsigned c = 0; c < CHAINS; c++)
                    sum[c] = vf_muladd(vf_load_bytes(from + (size_t)(j + c) * EF_PANEL),
                                       vf_set1(slopes[j + c]), sum[c]);
            for (; j < n_columns; j++)
                sum[0] = vf_muladd(vf_load_bytes(from + (size_t)j * EF_PANEL), vf_set1(slopes[j]),
                                   sum[0]);
            const vf change = vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3]));
            const vf gap = vf_add(vf_load(gaps + first + g * LANES), change);
            bits |=
                (vm_bits(vf_at_most(gap, vf_set1(least))) | vm_bits(vf_at_most(vf_set1(most), gap)))
                << (g * LANES);
        }
        if (n_rows - first < EF_PANEL)
            bits &= (1u << (n_rows - first)) - 1;
        for (; bits != 0; bits &= bits - 1)
            found[n_found++] = (uint32_t)first + (uint32_t)__builtin_ctz(bits);
    }
    return n_found;
}
