/* Trees as canonical bytes (docs/definition/format.md, "Forests"), and back; and where bytes
 * differ, in words. */
#include "law/forest_plain.h"

#include "law/draws.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#define FORMAT 3
#define HEAD_BYTES (8 + 4 * 4 + 3 * 8 + 4 + 8)
#define TOP_DEPTH 6 /* nodes above it are the top of a tree */
#define N_BRANCHES 64
#define MOST_DEPTH 100000

/* ---------------------------------------------------------------- writing */

typedef struct sink {
    unsigned char *bytes;
    size_t n, capacity;
} sink;

static void put(sink *to, uint64_t number, int n_bytes) {
    for (int i = 0; i < n_bytes; i++) {
        if (to->n == to->capacity) {
            to->capacity = 2 * to->capacity + 1000;
            to->bytes = realloc(to->bytes, to->capacity);
            if (to->bytes == NULL)
                exit(2);
        }
        to->bytes[to->n++] = (unsigned char)(number >> (8 * i));
    }
}

static void put_short(sink *to, uint64_t number) {
    while (number >= 128) {
        put(to, number % 128 + 128, 1);
        number /= 128;
    }
    put(to, number, 1);
}

static void put_signed(sink *to, int64_t number) {
    put_short(to, number >= 0 ? 2 * (uint64_t)number : 2 * (uint64_t)-number - 1);
}

static void put_node(sink *to, const forest_node *node, bool has_target) {
    const forest_split *const split = &node->split;
    uint32_t bits;
    switch (split->kind) {
    case 1:
        memcpy(&bits, &split->threshold, sizeof bits);
        put_short(to, 1 + (split->missing_left ? 4u : 0u) + 8 * (uint64_t)split->column);
        put(to, bits, 4);
        return;
    case 2:
        put_short(to, 2 + 8 * (uint64_t)split->column);
        put(to, split->s, 4);
        return;
    default: break;
    }
    if (has_target) {
        put_short(to, 4 * (uint64_t)node->weight);
        put_signed(to, node->sum);
        return;
    }
    put_short(to, 4 * (uint64_t)node->n_classes);
    for (uint32_t c = 0; c < node->n_classes; c++) {
        put_short(to, node->classes[c]);
        put_short(to, (uint64_t)node->weights[c]);
    }
}

/* A list in preorder of a node and all below it, but for those of depth `until` and deeper. */
static void put_list(sink *to, const forest_node *node, bool has_target, uint32_t until) {
    if (node == NULL || node->depth >= until)
        return;
    put_node(to, node, has_target);
    put_list(to, node->left, has_target, until);
    put_list(to, node->right, has_target, until);
}

static void put_branches(sink *to, const forest_node *node, bool has_target) {
    if (node == NULL)
        return;
    if (node->depth == TOP_DEPTH) {
        put_list(to, node, has_target, UINT32_MAX);
        return;
    }
    put_branches(to, node->left, has_target);
    put_branches(to, node->right, has_target);
}

static sink put_head(const forest_plain *forest) {
    sink to = {.bytes = NULL};
    for (int i = 0; i < 8; i++)
        put(&to, (unsigned char)"EFFACEFO"[i], 1);
    put(&to, FORMAT, 4);
    put(&to, forest->d, 4);
    put(&to, forest->n_trees, 4);
    put(&to, forest->has_target ? 1 : 0, 4);
    put(&to, forest->n_rows, 8);
    put(&to, (uint64_t)forest->total_weight, 8);
    put(&to, forest->n_taking_part, 8);
    put(&to, (uint32_t)forest->exponent, 4);
    put(&to, forest->n_classes, 8);
    for (uint64_t c = 0; c < forest->n_classes; c++)
        put(&to, (uint64_t)forest->labels[c], 8);
    return to;
}

unsigned char *forest_write(const forest_plain *forest, size_t *n_bytes) {
    sink to = put_head(forest);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        put_list(&to, forest->trees[t], forest->has_target, TOP_DEPTH);
        put_branches(&to, forest->trees[t], forest->has_target);
    }
    *n_bytes = to.n;
    return to.bytes;
}

/* ---------------------------------------------------------------- digest */

static void put_digest(sink *to, sink *of) {
    unsigned char digest[32];
    (void)crypto_generichash(digest, sizeof digest, of->bytes, of->n, NULL, 0);
    for (size_t i = 0; i < sizeof digest; i++)
        put(to, digest[i], 1);
    free(of->bytes);
}

/* The digest of the branch at a place, from the left: 0 to 63. */
static void put_branch_digest(sink *to, const forest_node *node, unsigned place, bool has_target) {
    sink of = {.bytes = NULL};
    for (unsigned half = N_BRANCHES / 2; half != 0 && node != NULL; half /= 2) {
        node = place >= half ? node->right : node->left;
        place %= half;
    }
    put_list(&of, node, has_target, UINT32_MAX);
    put_digest(to, &of);
}

void forest_digest(const forest_plain *forest, unsigned char digest[32]) {
    sink to = put_head(forest);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        sink top = {.bytes = NULL};
        put_list(&top, forest->trees[t], forest->has_target, TOP_DEPTH);
        put_digest(&to, &top);
        for (unsigned b = 0; b < N_BRANCHES; b++)
            put_branch_digest(&to, forest->trees[t], b, forest->has_target);
    }
    (void)crypto_generichash(digest, 32, to.bytes, to.n, NULL, 0);
    free(to.bytes);
}

/* ---------------------------------------------------------------- reading */

typedef struct source {
    const unsigned char *bytes;
    size_t n, at;
    bool failed;
} source;

static uint64_t take(source *from, int n_bytes) {
    uint64_t number = 0;
    if (from->n - from->at < (size_t)n_bytes) {
        from->failed = true;
        return 0;
    }
    for (int i = 0; i < n_bytes; i++)
        number |= (uint64_t)from->bytes[from->at++] << (8 * i);
    return number;
}

static uint64_t take_short(source *from) {
    uint64_t number = 0, times = 1;
    for (int n = 1; !from->failed; n++) {
        const uint64_t byte = take(from, 1);
        from->failed |= (n == 10 && byte > 1) || (n > 1 && byte == 0);
        number += byte % 128 * times;
        times *= 128;
        if (byte < 128)
            break;
    }
    return number;
}

static int64_t take_signed(source *from) {
    const uint64_t number = take_short(from);
    return number % 2 == 0 ? (int64_t)(number / 2) : -(int64_t)(number / 2) - 1;
}

static void take_leaf(source *from, const forest_plain *forest, forest_node *node, uint64_t head) {
    if (forest->has_target) {
        node->weight = (int64_t)(head / 4);
        node->sum = take_signed(from);
        return;
    }
    if (head / 4 > (from->n - from->at) / 2) {
        from->failed = true;
        return;
    }
    const uint32_t n = (uint32_t)(head / 4);
    node->n_classes = n;
    node->classes = make(n, sizeof *node->classes);
    node->weights = make(n, sizeof *node->weights);
    for (uint32_t c = 0; c < n; c++) {
        const uint64_t number = take_short(from);
        node->classes[c] = (uint32_t)number;
        node->weights[c] = (int64_t)take_short(from);
        node->weight += node->weights[c];
        from->failed |= number >= forest->n_classes || node->weights[c] < 1 ||
                        (c > 0 && node->classes[c] <= node->classes[c - 1]);
    }
}

/* One node and all below it that is in the same list. */
static forest_node *take_list(source *from, const forest_plain *forest, uint32_t depth,
                              uint32_t until) {
    if (from->failed || depth == until || depth > MOST_DEPTH)
        return NULL;
    forest_node *const node = make(1, sizeof *node);
    const uint64_t head = take_short(from);
    const unsigned word = head % 4;
    node->depth = depth;
    node->split.kind = word;
    from->failed |= word == 3;
    if (word == 0) {
        take_leaf(from, forest, node, head);
        return node;
    }
    node->split.column = (uint32_t)(head / 8);
    node->split.missing_left = head / 4 % 2 != 0;
    from->failed |= head / 8 >= forest->d || (word == 2 && node->split.missing_left);
    const uint32_t bits = (uint32_t)take(from, 4);
    if (word == 1)
        memcpy(&node->split.threshold, &bits, sizeof bits);
    else
        node->split.s = bits;
    node->left = take_list(from, forest, depth + 1, until);
    node->right = take_list(from, forest, depth + 1, until);
    return node;
}

static void take_branches(source *from, const forest_plain *forest, forest_node *node) {
    if (from->failed || node == NULL || node->split.kind == 0)
        return;
    if (node->depth + 1 < TOP_DEPTH) {
        take_branches(from, forest, node->left);
        take_branches(from, forest, node->right);
        return;
    }
    node->left = take_list(from, forest, TOP_DEPTH, UINT32_MAX);
    node->right = take_list(from, forest, TOP_DEPTH, UINT32_MAX);
}

static void number_nodes(forest_node *node, uint32_t *next_number) {
    if (node == NULL)
        return;
    node->number = (*next_number)++;
    number_nodes(node->left, next_number);
    number_nodes(node->right, next_number);
}

forest_plain *forest_read(const unsigned char *bytes, size_t n_bytes) {
    source from = {bytes, n_bytes, 8, n_bytes < HEAD_BYTES || memcmp(bytes, "EFFACEFO", 8) != 0};
    forest_plain *const forest = make(1, sizeof *forest);
    if (!from.failed) {
        from.failed = take(&from, 4) != FORMAT;
        forest->d = (uint32_t)take(&from, 4);
        forest->n_trees = (uint32_t)take(&from, 4);
        forest->has_target = take(&from, 4) == 1;
        forest->n_rows = take(&from, 8);
        forest->total_weight = (int64_t)take(&from, 8);
        forest->n_taking_part = take(&from, 8);
        forest->exponent = (int32_t)(uint32_t)take(&from, 4);
        forest->n_classes = take(&from, 8);
        from.failed |= forest->n_classes > n_bytes / 8 || forest->n_trees > n_bytes;
    }
    if (!from.failed) {
        forest->labels = make(forest->n_classes, sizeof *forest->labels);
        for (uint64_t c = 0; c < forest->n_classes; c++)
            forest->labels[c] = (int64_t)take(&from, 8);
        forest->trees = make(forest->n_trees, sizeof *forest->trees);
        for (uint32_t t = 0; t < forest->n_trees; t++) {
            uint32_t n = 0;
            forest->trees[t] = take_list(&from, forest, 0, TOP_DEPTH);
            take_branches(&from, forest, forest->trees[t]);
            number_nodes(forest->trees[t], &n);
        }
    }
    if (!from.failed && from.at == from.n)
        return forest;
    forest_free(forest);
    return NULL;
}

/* ---------------------------------------------------------------- where bytes differ */

static void describe(const forest_plain *forest, const forest_node *node, char text[120]) {
    const forest_split *const s = &node->split;
    if (s->kind == 1)
        (void)snprintf(text, 120, "column %" PRIu32 " <= %.9g%s", s->column, (double)s->threshold,
                       s->missing_left ? ", missing left" : "");
    else if (s->kind == 2)
        (void)snprintf(text, 120, "categories of column %" PRIu32 ", s %08" PRIx32, s->column,
                       s->s);
    else if (forest->has_target)
        (void)snprintf(text, 120, "leaf, W %" PRId64 ", S %" PRId64, node->weight, node->sum);
    else
        (void)snprintf(text, 120, "leaf of %" PRIu32 " classes, first %" PRIu32 " with %" PRId64,
                       node->n_classes, node->n_classes != 0 ? node->classes[0] : 0,
                       node->n_classes != 0 ? node->weights[0] : 0);
}

static bool same_node(const forest_node *a, const forest_node *b) {
    if (!forest_same_split(&a->split, &b->split))
        return false;
    if (a->split.kind != 0)
        return true;
    return a->weight == b->weight && a->sum == b->sum && a->n_classes == b->n_classes &&
           memcmp(a->classes != NULL ? a->classes : (uint32_t[]){0},
                  b->classes != NULL ? b->classes : (uint32_t[]){0},
                  a->n_classes * sizeof *a->classes) == 0 &&
           memcmp(a->weights != NULL ? a->weights : (int64_t[]){0},
                  b->weights != NULL ? b->weights : (int64_t[]){0},
                  a->n_classes * sizeof *a->weights) == 0;
}

/* The first pair of nodes at the same place that differ, in preorder. */
static bool find_difference(const forest_node **a, const forest_node **b) {
    const forest_node *const x = *a, *const y = *b;
    if (!same_node(x, y))
        return true;
    if (x->split.kind == 0)
        return false;
    *a = x->left;
    *b = y->left;
    if (find_difference(a, b))
        return true;
    *a = x->right;
    *b = y->right;
    return find_difference(a, b);
}

static bool same_heads(const forest_plain *a, const forest_plain *b) {
    return a->d == b->d && a->n_trees == b->n_trees && a->has_target == b->has_target &&
           a->n_rows == b->n_rows && a->total_weight == b->total_weight &&
           a->n_taking_part == b->n_taking_part && a->exponent == b->exponent &&
           a->n_classes == b->n_classes &&
           memcmp(a->labels, b->labels, a->n_classes * sizeof *a->labels) == 0;
}

void forest_differ(const law_params *params, const unsigned char *a, size_t n_a,
                   const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]) {
    const efface_forest_params *const p = forest_of(params);
    forest_plain *const x = forest_read(a, n_a), *const y = forest_read(b, n_b);
    size_t at = 0;
    while (at < n_a && at < n_b && a[at] == b[at])
        at++;
    int used = snprintf(text, LAW_TEXT_BYTES,
                        "byte %zu of %zu and %zu (target %d, trees %u, rows %d, candidates %u, "
                        "depth %u, min %u/%u, criterion %d, %u categories, missing %d, lazy %d): ",
                        at, n_a, n_b, p->target == EFFACE_NO_COLUMN ? -1 : (int)p->target,
                        (unsigned)p->n_trees, (int)p->rows, (unsigned)p->n_candidates,
                        (unsigned)p->max_depth, (unsigned)p->min_split, (unsigned)p->min_leaf,
                        (int)p->criterion, (unsigned)p->n_categories, p->missing, p->lazy);
    char *const to = text + used;
    const size_t room = LAW_TEXT_BYTES - (size_t)used;
    if (x == NULL || y == NULL)
        (void)snprintf(to, room, "the %s bytes are not well formed",
                       x == NULL ? "first" : "second");
    else if (!same_heads(x, y))
        (void)snprintf(to, room, "heads");
    else
        for (uint32_t t = 0; t < x->n_trees; t++) {
            const forest_node *m = x->trees[t], *n = y->trees[t];
            char one[120], two[120];
            if (!find_difference(&m, &n))
                continue;
            describe(x, m, one);
            describe(y, n, two);
            (void)snprintf(to, room, "tree %u, node %u, depth %u: %.90s; %.90s", (unsigned)t,
                           (unsigned)m->number, (unsigned)m->depth, one, two);
            break;
        }
    forest_free(x);
    forest_free(y);
}
