/*
 * The tape (base/tape.h) for the rows of a panel, for any number of lanes; part of panel_kernels.h.
 *
 * Counters have lanes of 64 bits, of which only the lower half counts: so a product's halves need
 * not be put together again. Two vectors at a time, so that one need not wait for the other.
 */
typedef struct counters {
    vw c0, c1, c2, c3;
} counters;

/* Keys of all rounds: two for each. */
typedef struct round_keys {
    uint64_t k0[EF_PHILOX_ROUNDS], k1[EF_PHILOX_ROUNDS];
} round_keys;

LANE_OP round_keys keys_of(uint64_t seed) {
    round_keys keys;
    for (uint32_t r = 0; r < EF_PHILOX_ROUNDS; r++) {
        keys.k0[r] = (uint32_t)seed + r * EF_PHILOX_W0;
        keys.k1[r] = (uint32_t)(seed >> 32) + r * EF_PHILOX_W1;
    }
    return keys;
}

LANE_OP counters one_round(counters c, const round_keys *keys, unsigned r) {
    const vw p0 = vw_multiply(c.c0, vw_set1(EF_PHILOX_M0));
    const vw p1 = vw_multiply(c.c2, vw_set1(EF_PHILOX_M1));
    return (counters){vw_xor(vw_upper(p1), c.c1, vw_set1(keys->k0[r])), p1,
                      vw_xor(vw_upper(p0), c.c3, vw_set1(keys->k1[r])), p0};
}

/* Rounds from number `first` on; c1 of what comes out is the upper half of the tape number. */
LANE_OP void run_rounds(counters c[2], const round_keys *keys, unsigned first) {
    for (unsigned r = first; r < EF_PHILOX_ROUNDS; r++) {
        c[0] = one_round(c[0], keys, r);
        c[1] = one_round(c[1], keys, r);
    }
}

LANE_OP counters begin_rounds(const uint64_t *ids, uint32_t purpose_and_sub, uint32_t step) {
    const vw id = vw_load(ids);
    return (counters){id, vw_upper(id), vw_set1(step), vw_set1(purpose_and_sub)};
}

static void tape_high(uint64_t seed, uint32_t purpose_and_sub, const uint64_t ids[EF_PANEL],
                      uint32_t step, uint32_t out[EF_PANEL]) {
    const round_keys keys = keys_of(seed);
    for (unsigned at = 0; at < EF_PANEL; at += 2 * WORDS) {
        counters c[2] = {begin_rounds(ids + at, purpose_and_sub, step),
                         begin_rounds(ids + at + WORDS, purpose_and_sub, step)};
        run_rounds(c, &keys, 0);
        vw_store_lower(out + at, c[0].c1);
        vw_store_lower(out + at + WORDS, c[1].c1);
    }
}

/* After two rounds `sub` has reached c0 and c1 only: what it does not reach is the same for all. A
 * word that `sub` is exclusive-or'ed to passes the first round as it is, in c2. */
LANE_OP counters with_sub(const counters *one, const counters *two, const round_keys *keys,
                          uint32_t sub) {
    const vw c2 = vw_xor(one->c2, vw_set1((uint64_t)sub << 8), vw_set1(0));
    const vw p1 = vw_multiply(c2, vw_set1(EF_PHILOX_M1));
    return (counters){vw_xor(vw_upper(p1), one->c1, vw_set1(keys->k0[1])), p1, two->c2, two->c3};
}

LANE_OP uint64_t panel_within(const round_keys *keys, uint32_t purpose, uint32_t n_subs,
                              const uint64_t ids[EF_PANEL], uint32_t step, const uint32_t *limits) {
    uint64_t bits = 0;
    for (unsigned at = 0; at < EF_PANEL; at += 2 * WORDS) {
        counters one[2], two[2];
        for (unsigned i = 0; i < 2; i++) {
            one[i] = one_round(begin_rounds(ids + at + i * WORDS, purpose, step), keys, 0);
            two[i] = one_round(one[i], keys, 1);
        }
        for (uint32_t s = 0; s < n_subs; s++) {
            counters c[2] = {with_sub(&one[0], &two[0], keys, s),
                             with_sub(&one[1], &two[1], keys, s)};
            run_rounds(c, keys, 2);
            const unsigned within = vw_within(c[0].c1, limits[s]) | vw_within(c[1].c1, limits[s]);
            bits |= (uint64_t)(within != 0) << s;
        }
    }
    return bits;
}

static void tape_within(uint64_t seed, uint32_t purpose, uint32_t n_subs, const uint64_t *ids,
                        size_t n_panels, uint32_t step, const uint32_t *limits, uint64_t *bits) {
    const round_keys keys = keys_of(seed);
    for (size_t p = 0; p < n_panels; p++)
        bits[p] =
            panel_within(&keys, purpose, n_subs, ids + p * EF_PANEL, step, limits + p * n_subs);
}
