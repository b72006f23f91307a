/*
 * A group for an engine of one's own: the six functions of efface_group, here for threads that
 * share memory. Three of them fit one model, each with its part of the rows, and forget a row. The
 * digest is that of all rows in one set.
 *
 *     build/examples/group_of_threads
 */
#include <efface/efface.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_RANKS 3
#define N_ROWS 3000
#define N_COLUMNS 4

/* ---------------------------------------------------------------- where ranks meet */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    unsigned n_here;
    unsigned long turn;
    const void *given[N_RANKS]; /* what each rank brings to an operation */
} place = {.lock = PTHREAD_MUTEX_INITIALIZER, .all_here = PTHREAD_COND_INITIALIZER};

/* Waits until all ranks are here. */
static void meet(void) {
    pthread_mutex_lock(&place.lock);
    const unsigned long turn = place.turn;
    if (++place.n_here == N_RANKS) {
        place.n_here = 0;
        place.turn++;
        pthread_cond_broadcast(&place.all_here);
    }
    while (turn == place.turn)
        pthread_cond_wait(&place.all_here, &place.lock);
    pthread_mutex_unlock(&place.lock);
}

/* The context of a group is its rank's number. */
static void bring(const void *context, const void *given) {
    place.given[*(const uint32_t *)context] = given;
    meet();
}

/* ---------------------------------------------------------------- the six functions */

/* Combines what one more rank has, n items of `width` numbers, with what was found so far. */
typedef void combine(uint64_t *found, const uint64_t *more, size_t n, size_t width);

/* Nobody writes a result where others may still read. */
static int reduce(void *context, uint64_t *numbers, size_t n, size_t width, combine *with) {
    const size_t n_bytes = n * width * sizeof *numbers;
    uint64_t *const found = malloc(n_bytes + 1);
    bring(context, numbers);
    for (int r = 0; found != NULL && r < N_RANKS; r++) {
        if (r == 0)
            memcpy(found, place.given[r], n_bytes);
        else
            with(found, place.given[r], n, width);
    }
    meet();
    if (found == NULL)
        return 1;
    memcpy(numbers, found, n_bytes);
    free(found);
    return 0;
}

static void add(uint64_t *found, const uint64_t *more, size_t n, size_t width) {
    (void)width;
    for (size_t i = 0; i < n; i++)
        found[i] += more[i];
}

static void add_halves(uint64_t *found, const uint64_t *more, size_t n, size_t width) {
    for (size_t i = 0; i < n * width; i += 2) {
        found[i] += more[i];
        found[i + 1] += more[i + 1] + (found[i] < more[i] ? 1 : 0);
    }
}

static void take_smaller(uint64_t *found, const uint64_t *more, size_t n, size_t width) {
    for (size_t i = 0; i < n * width; i += width) {
        size_t j = 0;
        while (j + 1 < width && more[i + j] == found[i + j])
            j++;
        if (more[i + j] < found[i + j])
            memcpy(found + i, more + i, width * sizeof *found);
    }
}

static int sum_64(void *context, uint64_t *numbers, size_t n) {
    return reduce(context, numbers, n, 1, add);
}

static int sum_128(void *context, uint64_t *halves, size_t n) {
    return reduce(context, halves, n, 2, add_halves);
}

static int minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    return reduce(context, tuples, n, width, take_smaller);
}

static int agree(void *context, uint64_t *number) {
    return minimum(context, number, 1, 1);
}

static int gather(void *context, const void *bytes, const size_t *sizes, uint32_t root, void *all) {
    (void)root; /* `all` is there where the bytes are wanted */
    unsigned char *to = all;
    bring(context, bytes);
    for (int r = 0; to != NULL && r < N_RANKS; r++) {
        if (sizes[r] != 0)
            memcpy(to, place.given[r], sizes[r]);
        to += sizes[r];
    }
    meet();
    return 0;
}

static int broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    bring(context, bytes);
    if (*(const uint32_t *)context != root)
        memcpy(bytes, place.given[root], n_bytes);
    meet();
    return 0;
}

/* ---------------------------------------------------------------- the same on all ranks */

/* Some rows of the set, with their numbers as ids: from the first on, every `step`-th. */
static efface_status make_rows(size_t first, size_t step, efface_data **out, efface_error *error) {
    efface_status status = efface_data_create(N_COLUMNS, out, error);
    for (uint64_t id = first; status == EFFACE_OK && id < N_ROWS; id += step) {
        float values[N_COLUMNS];
        for (size_t j = 0; j < N_COLUMNS; j++)
            values[j] = (float)(id % 5 * 100 + id * (7 + j) % 31);
        const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
        status = efface_data_add(*out, &row, error);
    }
    return status;
}

/* A model of the rows without row 17. */
static efface_status fit_and_forget(efface_data *data, unsigned char *digest, efface_error *error) {
    const uint64_t id = 17;
    const efface_request request = {.ids = &id, .n_ids = 1};
    efface_model *model = NULL;
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.n_clusters = 5;
    params.method = EFFACE_METHOD_LLOYD;
    efface_status status = efface_kmeans_fit(data, &params, &model, error);
    if (status == EFFACE_OK)
        status = efface_model_forget(model, data, &request, NULL, error);
    if (status == EFFACE_OK)
        status = efface_model_digest(model, digest, error);
    efface_model_free(model);
    return status;
}

/* ---------------------------------------------------------------- ranks */

typedef struct rank {
    uint32_t number;
    efface_status status;
    efface_error error;
    unsigned char digest[EFFACE_DIGEST_BYTES];
} rank;

static void *run_rank(void *context) {
    rank *const r = context;
    const efface_group group = {.rank = r->number,
                                .size = N_RANKS,
                                .context = &r->number,
                                .sum_64 = sum_64,
                                .sum_128 = sum_128,
                                .minimum = minimum,
                                .gather = gather,
                                .broadcast = broadcast,
                                .agree = agree};
    efface_data *data = NULL;
    r->status = make_rows(r->number, N_RANKS, &data, &r->error);
    if (r->status == EFFACE_OK)
        r->status = efface_data_join(data, &group, &r->error);
    if (r->status == EFFACE_OK)
        r->status = fit_and_forget(data, r->digest, &r->error);
    efface_data_free(data);
    return NULL;
}

int main(void) {
    rank ranks[N_RANKS] = {{0}}, alone = {0};
    pthread_t threads[N_RANKS];
    efface_data *data = NULL;
    for (uint32_t r = 0; r < N_RANKS; r++) {
        ranks[r].number = r;
        if (pthread_create(&threads[r], NULL, run_rank, &ranks[r]) != 0) {
            fputs("a thread cannot be started\n", stderr);
            exit(EXIT_FAILURE); /* the others would wait for it */
        }
    }
    for (int r = 0; r < N_RANKS; r++)
        pthread_join(threads[r], NULL);

    alone.status = make_rows(0, 1, &data, &alone.error);
    if (alone.status == EFFACE_OK)
        alone.status = fit_and_forget(data, alone.digest, &alone.error);
    efface_data_free(data);

    int result = alone.status == EFFACE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    for (int r = 0; r < N_RANKS; r++) {
        if (ranks[r].status != EFFACE_OK)
            fprintf(stderr, "rank %d: %s\n", r, ranks[r].error.message);
        if (ranks[r].status != EFFACE_OK ||
            memcmp(ranks[r].digest, alone.digest, sizeof alone.digest) != 0)
            result = EXIT_FAILURE;
    }
    puts(result == EXIT_SUCCESS ? "three ranks and one process have the same digest"
                                : "the digests differ, or a rank failed");
    return result;
}
