/*
 * What is done to the codes of a column that has codes of one width. Included by splitting.c for
 * each width, with CODE, the type of a code, COUNTER, an unsigned type of the same width, and NAME,
 * which makes a name for the type.
 */

static void NAME(gather)(const CODE *column, const uint32_t *slots, size_t n, CODE *to) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            to[i + k] = column[slots[i + k]];
    for (; i < n; i++)
        to[i] = column[slots[i]];
}

/* The same from rows. */
static void NAME(pick)(const unsigned char *const *rows, size_t offset, size_t n, CODE *to) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            memcpy(&to[i + k], rows[i + k] + offset, sizeof to[i]);
    for (; i < n; i++)
        memcpy(&to[i], rows[i] + offset, sizeof to[i]);
}

static range NAME(range_of)(const CODE *codes, size_t n) {
    CODE lo = codes[0], hi = codes[0];
    for (size_t i = 1; i < n; i++) {
        lo = codes[i] < lo ? codes[i] : lo;
        hi = codes[i] > hi ? codes[i] : hi;
    }
    return (range){lo, hi, false};
}

/* Counts so few at a time that the count of them fits the width of a code. */
static uint32_t NAME(count_up_to)(const CODE *codes, size_t n, CODE cut) {
    uint32_t count = 0;
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        COUNTER part = 0;
        for (size_t k = 0; k < 64; k++)
            part = (COUNTER)(part + (codes[i + k] <= cut));
        count += part;
    }
    for (; i < n; i++)
        count += (uint32_t)(codes[i] <= cut);
    return count;
}

static uint32_t NAME(count_equal)(const CODE *codes, size_t n, CODE code) {
    uint32_t count = 0;
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        COUNTER part = 0;
        for (size_t k = 0; k < 64; k++)
            part = (COUNTER)(part + (codes[i + k] == code));
        count += part;
    }
    for (; i < n; i++)
        count += (uint32_t)(codes[i] == code);
    return count;
}

/* Targets of those that go left. So few are added up at a time that they fit a target's width. */
static int64_t NAME(add_targets)(const CODE *codes, const int32_t *targets, size_t n, CODE cut) {
    int64_t sum = 0;
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        int32_t part = 0;
        for (size_t k = 0; k < 64; k++)
            part += codes[i + k] <= cut ? targets[i + k] : 0;
        sum += part;
    }
    for (; i < n; i++)
        sum += codes[i] <= cut ? targets[i] : 0;
    return sum;
}

/* Weights of those that go left, or, where there are targets, weighted targets. */
static int64_t NAME(weigh)(const CODE *codes, const int64_t *weights, const int32_t *targets,
                           size_t n, CODE cut) {
    int64_t sum = 0;
    if (targets == NULL)
        for (size_t i = 0; i < n; i++)
            sum += codes[i] <= cut ? weights[i] : 0;
    else if (weights == NULL)
        sum = NAME(add_targets)(codes, targets, n, cut);
    else
        for (size_t i = 0; i < n; i++)
            sum += codes[i] <= cut ? weights[i] * targets[i] : 0;
    return sum;
}

/* What goes left, of each segment, for few rows of weight 1: one count runs on through all. */
static uint32_t NAME(count_few)(const ef_bunch *b, const CODE *codes, CODE cut, int64_t *left) {
    uint32_t counts[EF_FEW_ROWS], count = 0, before = 0;
    size_t end = 0;
    for (size_t i = 0; i < b->n; i++) {
        count += (uint32_t)(codes[i] <= cut);
        counts[i] = count;
    }
    for (uint32_t i = 0; i < b->n_segments; i++) {
        end += b->segments[i].n_rows;
        left[i] = counts[end - 1] - before;
        before = counts[end - 1];
    }
    return count;
}

/* Counts what goes left: rows, and weights of segments. */
static uint32_t NAME(count_left)(const ef_bunch *b, const CODE *codes, CODE cut, int64_t *left) {
    uint32_t n_left = 0;
    size_t first = 0;
    if (b->n < EF_FEW_ROWS && b->weights == NULL && b->targets == NULL)
        return NAME(count_few)(b, codes, cut, left);
    for (uint32_t i = 0; i < b->n_segments; i++) {
        const size_t n = b->segments[i].n_rows;
        const uint32_t n_here = NAME(count_up_to)(codes + first, n, cut);
        n_left += n_here;
        left[i] = b->weights != NULL ? NAME(weigh)(codes + first, b->weights + first, NULL, n, cut)
                                     : (int64_t)n_here;
        first += n;
    }
    if (b->targets != NULL)
        left[1] = NAME(weigh)(codes, b->weights, b->targets, b->n, cut);
    return n_left;
}

/* Looks at a column of a node, and counts what goes left if it is a candidate; false if it cannot
 * divide the rows. */
static bool NAME(try_column)(const strip *s, uint64_t key, ef_split_candidate *made,
                             int64_t *left) {
    const ef_bunch *const b = s->bunch;
    CODE *const codes = s->codes;
    if (s->from_rows)
        NAME(pick)(s->c->row_at, s->format->offset, b->n, codes);
    else
        NAME(gather)((const void *)ef_input_column(s->c->rows, s->input), b->slots, b->n, codes);
    const range r = NAME(find_range)(s, codes);
    if (!divides(r))
        return false;
    make_candidate(s, key, r, made);
    if (s->c->counts_extremes && made->kind == EF_THRESHOLD) {
        made->n_lo = NAME(count_equal)(codes, b->n, (CODE)r.lo);
        made->n_hi = NAME(count_equal)(codes, b->n, (CODE)r.hi);
    }
    made->n_left = NAME(count_left)(b, codes, (CODE)NAME(put_in_line)(s, made), left);
    return true;
}
