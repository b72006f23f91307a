/*
 * Fits k-means to the benchmark set of Gaussian clusters and prints what came out: the size of each
 * cluster and the digest of the model. The digest is the same on every machine, with any number of
 * threads, and for the rows in any order.
 *
 *     build/examples/fit_gaussian
 */
#include <efface/efface.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define N_CLUSTERS 5
#define N_COLUMNS 25
#define ROWS_PER_CLUSTER 2000

/* Counts the rows that are nearest to each centroid. */
static efface_status count_rows(const efface_model *model, const efface_data *data,
                                size_t counts[N_CLUSTERS], efface_error *error) {
    float row[N_COLUMNS];
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        efface_number cluster;
        efface_data_values(data, i, row);
        const efface_status status =
            efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &cluster, error);
        if (status != EFFACE_OK)
            return status;
        counts[cluster.whole]++;
    }
    return EFFACE_OK;
}

int main(void) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error;
    size_t counts[N_CLUSTERS] = {0};
    unsigned char digest[EFFACE_DIGEST_BYTES];
    int result = EXIT_FAILURE;

    /* Parameters are filled with defaults first; then we change what differs. */
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.n_clusters = N_CLUSTERS;
    params.scale = EFFACE_SCALE_MINMAX;
    params.common.seed = 1;

    /* Every call that can fail returns a status and explains itself in `error`. */
    if (efface_data_make_gaussian(N_CLUSTERS, N_COLUMNS, ROWS_PER_CLUSTER, 1, &data, &error) ||
        efface_kmeans_fit(data, &params, &model, &error) ||
        count_rows(model, data, counts, &error) || efface_model_digest(model, digest, &error)) {
        fprintf(stderr, "%s\n", error.message);
        goto out;
    }

    const efface_kmeans_info info = efface_kmeans_get_info(model);
    printf("%" PRIu64 " rows, %" PRIu64 " of them in the sample, %" PRIu32 " clusters\n",
           info.n_rows, info.n_sampled, info.n_clusters);
    for (uint32_t c = 0; c < info.n_clusters; c++)
        printf("cluster %" PRIu32 "  %zu rows\n", c, counts[c]);
    printf("digest ");
    for (size_t i = 0; i < sizeof digest; i++)
        printf("%02x", digest[i]);
    printf("\n");
    result = EXIT_SUCCESS;

out:
    efface_model_free(model);
    efface_data_free(data);
    return result;
}
