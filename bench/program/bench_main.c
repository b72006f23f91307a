/* efface-bench: the command table. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    bench_command run;
    const char *summary;
} commands[] = {
    {"train", bench_train, "time the training of a model on a data set"},
    {"online", bench_online, "forget rows, one request after the other, and time each request"},
    {"roofline", bench_roofline, "compare a pass over the rows with the limits of the machine"},
    {"data", bench_data, "write a generated data set to a file"},
    {"demo", bench_demo, "forget a thousand rows and prove it"},
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void print_usage(FILE *out) {
    fputs("usage: efface-bench COMMAND [OPTIONS]\n\n", out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs(
        "\n"
        "  efface-bench train --data DATA -k K [--method M] [--json]\n"
        "      M: lloyd, quantized, pyramid or tree\n"
        "      [--scale none|minmax|standard] [--iters T] [--seed S] [--threads N] [--repeats R]\n"
        "      [--metrics] [--labels FILE]\n"
        "      [--candidates C] [--epsilon E] [--gamma G] [--rate R] [--passes P] [--starts S]\n"
        "      [--height H] [--width W] [--leaf-method M] [--node-method M] [--weigh]\n"
        "  efface-bench online --data DATA [--labels FILE] -k K [--method M]\n"
        "      online --help lists the options and says what is reported\n"
        "  efface-bench online --family F --data DATA [--labels FILE]\n"
        "      F: sums, linear, ridge, bayes, discriminant, quadratic, components, fourier,\n"
        "      segmented, forest, logistic or svm;\n"
        "      online --family linear --help lists the options\n"
        "  efface-bench roofline [--shapes 'N,D,K;N,D,K'] [--seconds S] [--quick] [--json]\n"
        "      roofline --help says what is measured\n"
        "  efface-bench data SET --out FILE.npy [--labels FILE.npy] [--clusters K]\n"
        "      [--columns D] [--rows ROWS] [--seed S]\n"
        "  efface-bench demo\n\n"
        "DATA is a FILE, a SET, or SET:K,D,ROWS. FILE is .npy, CSV or IDX, plain or gzipped.\n"
        "SET is a generated set. gaussian has K clusters of ROWS rows and D columns. The\n"
        "others have ROWS rows in all: scales (rare clusters far out), tails (rare large\n"
        "values, zeros) and duplicates (copies of few rows).\n"
        "--gamma is for quantized; --rate, --passes and --starts are for pyramid; --height\n"
        "and the options after it are for tree.\n",
        out);
}

int main(int n_arguments, char **arguments) {
    if (n_arguments < 2) {
        print_usage(stderr);
        return BENCH_USAGE;
    }
    if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0) {
        print_usage(stdout);
        return BENCH_DONE;
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(arguments[1], commands[i].name) == 0)
            return commands[i].run(n_arguments - 2, arguments + 2);
    fprintf(stderr, "efface-bench: there is no command '%s'\n\n", arguments[1]);
    print_usage(stderr);
    return BENCH_USAGE;
}
