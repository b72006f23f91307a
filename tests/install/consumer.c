/* Uses the installed library: the header and the library are of one version, and a fit works. */
#include <efface/efface.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    const float values[] = {0, 0, 1, 1, 10, 10, 11, 11};
    const efface_rows rows = {.n_rows = 4, .values = values};
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error = {0};
    efface_number labels[4];

    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.n_clusters = 2;

    const int works = strcmp(efface_version(), EFFACE_VERSION) == 0 &&
                      efface_data_create(2, &data, &error) == EFFACE_OK &&
                      efface_data_add(data, &rows, &error) == EFFACE_OK &&
                      efface_kmeans_fit(data, &params, &model, &error) == EFFACE_OK &&
                      efface_predictor_predict(efface_model_predictor(model), 4, values, 0, labels,
                                               &error) == EFFACE_OK &&
                      labels[0].whole == labels[1].whole && labels[2].whole == labels[3].whole &&
                      labels[0].whole != labels[2].whole;
    if (!works)
        fprintf(stderr, "the installed library does not work: %s\n", error.message);
    efface_model_free(model);
    efface_data_free(data);
    return works ? 0 : 1;
}
