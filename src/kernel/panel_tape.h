/*
 * The tape (base/tape.h) for the rows of a panel, for any number of lanes; part of panel_kernels.h.
 *
 * Counters have lanes of 64 bits, of which only the lower half counts: so a product's halves need
 * not be put together again. Two vectors at a time, so that one need not wait for the other.
 */
typedef struct counters {
    vw c0[2], c1[2], c2[2], c3[2];
} counters;

/* Rounds number `first` to the last; c1 of what comes out is the upper half of the tape number. */
LANE_OP void run_rounds(counters *c, uint64_t seed, int first) {
    const vw m0 = vw_set1(EF_PHILOX_M0), m1 = vw_set1(EF_PHILOX_M1);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < EF_PHILOX_ROUNDS; round++) {
        for (unsigned i = 0; i < 2 && round >= first; i++) {
            const vw p0 = vw_multiply(c->c0[i], m0), p1 = vw_multiply(c->c2[i], m1);
            c->c0[i] = vw_xor(vw_upper(p1), c->c1[i], vw_set1(k0));
            c->c1[i] = p1;
            c->c2[i] = vw_xor(vw_upper(p0), c->c3[i], vw_set1(k1));
            c->c3[i] = p0;
        }
        k0 += EF_PHILOX_W0;
        k1 += EF_PHILOX_W1;
    }
}

LANE_OP counters begin_rounds(const uint64_t *ids, uint32_t purpose_and_sub, uint32_t step) {
    counters c;
    for (unsigned i = 0; i < 2; i++) {
        c.c0[i] = vw_load(ids + i * WORDS);
        c.c1[i] = vw_upper(c.c0[i]);
        c.c2[i] = vw_set1(step);
        c.c3[i] = vw_set1(purpose_and_sub);
    }
    return c;
}

static void tape_high(uint64_t seed, uint32_t purpose_and_sub, const uint64_t ids[EF_PANEL],
                      uint32_t step, uint32_t out[EF_PANEL]) {
    for (unsigned at = 0; at < EF_PANEL; at += 2 * WORDS) {
        counters c = begin_rounds(ids + at, purpose_and_sub, step);
        run_rounds(&c, seed, 0);
        for (unsigned i = 0; i < 2; i++)
            vw_store_lower(out + at + i * WORDS, c.c1[i]);
    }
}

static void tape_least(uint64_t seed, uint32_t purpose, uint32_t n_subs,
                       const uint64_t ids[EF_PANEL], uint32_t step, uint32_t *out) {
    for (uint32_t s = 0; s < n_subs; s++) {
        uint32_t high[EF_PANEL], least = UINT32_MAX;
        tape_high(seed, purpose + (s << 8), ids, step, high);
        for (unsigned i = 0; i < EF_PANEL; i++)
            least = high[i] < least ? high[i] : least;
        out[s] = least;
    }
}
