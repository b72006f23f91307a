"""Which runs make the paper's tables and figures.

A run is one command. All of it is timed with one thread, and one run at a time.
"""

from dataclasses import dataclass

MANY_VALUES = 10_000_000  # sets with more of them get fewer replicates where they are many

EPSILONS = [2.0**-e for e in range(1, 11)]
WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
TIMED_SET = "covtype"  # of figures 5 and 6

GROWTH_CLUSTERS, GROWTH_COLUMNS = 8, 16
GROWTH_METHODS = ("pyramid", "quantized", "tree", "lloyd")

SEEDING = ("--candidates", "1")  # plain k-means++, as in the paper

# Options of efface-bench for each column of the tables. `kmeans` is what people have today: its
# model is that of k-means after all deletions, made by forgetting them in one request, which gives
# the same bits; its time is that of retraining, which every run measures. `lloyd` is the same
# method, forgetting row by row.
METHODS = {
    "kmeans": ["--method", "lloyd"],
    "lloyd": ["--method", "lloyd"],
    "quantized": ["--method", "quantized"],
    "quantized_fresh": ["--method", "quantized", "--redraw", "fresh"],
    "tree": ["--method", "tree"],
    "tree_quantized": ["--method", "tree", "--leaf-method", "quantized"],
    "tree_weighed": ["--method", "tree", "--weigh"],
    "pyramid": ["--method", "pyramid"],
}


@dataclass(frozen=True)
class Size:
    """How much is run."""

    deletions: int
    replicates: int
    lloyd_deletions: int  # of the method that costs most; its mean stands for all
    growth: tuple  # numbers of rows
    growth_replicates: int
    baseline_seeds: int
    peer_repeats: int
    most_rows: int | None  # of a set


FULL = Size(1000, 5, 1000, (10**4, 10**5, 10**6, 10**7), 3, 20, 3, None)
QUICK = Size(100, 2, 50, (10**4, 10**5), 2, 5, 1, 5_000)


@dataclass(frozen=True)
class Run:
    group: str  # which part of the report it is for
    set: str
    method: str
    program: str  # "bench" or "peers"
    arguments: tuple
    value: float | None = None  # of the parameter that a sweep varies

    @property
    def key(self):
        words = [self.group, self.set, self.method]
        if self.value is not None:
            words.append(f"{self.value:g}")
        return "-".join(words)

    @property
    def title(self):
        return self.key.replace("-", ", ")


def options_of(data_set, labels=True):
    words = ["--data", str(data_set.x)]
    if labels:
        words += ["--labels", str(data_set.y)]
    return [*words, "-k", str(data_set.k), "--scale", data_set.scale, *SEEDING, "--threads", "1"]


def is_large(data_set):
    return data_set.n * data_set.d > MANY_VALUES


def main_runs(data_set, size):
    """Tables 1 to 4, figures 1, 2, 8 and 9."""
    many = ["--replicates", size.replicates, "--deletions", size.deletions]
    at_end = [*many, "--metrics-at-end", "--trace"]
    for method, words in METHODS.items():
        extra = [*at_end, "--skip-converged"]
        if method == "kmeans":
            extra = [*at_end, "--batch", size.deletions]
        elif method == "lloyd":
            few = max(2, size.lloyd_deletions // (5 if is_large(data_set) else 1))
            few = min(few, size.deletions)
            extra = ["--replicates", size.replicates, "--deletions", few]
            extra += ["--skip-metrics", "--trace"]
        yield online("main", data_set, method, [*words, *extra])


def online(group, data_set, method, words, value=None):
    arguments = ("online", *options_of(data_set), *map(str, words))
    return Run(group, data_set.name, method, "bench", arguments, value)


def sweeps(data_set, words, suffix):
    """Q-k-means with each lattice width, DC-k-means with each number of leaves."""
    for epsilon in EPSILONS:
        extra = ["--method", "quantized", "--epsilon", epsilon]
        yield online(f"epsilon{suffix}", data_set, "quantized", [*extra, *words], epsilon)
    for width in WIDTHS:
        extra = ["--method", "tree", "--width", width]
        yield online(f"width{suffix}", data_set, "tree", [*extra, *words], width)


def loss_sweeps(data_set, size):
    """Figures 3 and 4: losses, for which all deletions are one request."""
    replicates = min(3, size.replicates) if is_large(data_set) else size.replicates
    words = ["--replicates", replicates, "--deletions", size.deletions]
    words += ["--batch", size.deletions, "--skip-metrics", "--baseline", "0"]
    return sweeps(data_set, words, "")


def time_sweeps(data_set, size):
    """Figures 5 and 6."""
    words = ["--replicates", size.replicates, "--deletions", size.deletions, "--skip-metrics"]
    return sweeps(data_set, words, "_time")


def growth_runs(size):
    """Figure 7."""
    for n in size.growth:
        data = f"gaussian:{GROWTH_CLUSTERS},{GROWTH_COLUMNS},{n // GROWTH_CLUSTERS}"
        for method in GROWTH_METHODS:
            words = ["online", "--data", data, "-k", GROWTH_CLUSTERS, "--scale", "minmax"]
            words += [*SEEDING, "--threads", "1", *METHODS[method], "--deletions", size.deletions]
            words += ["--replicates", size.growth_replicates, "--skip-metrics", "--trace"]
            yield Run("growth", "gaussian", method, "bench", tuple(map(str, words)), n)


def baseline_runs(data_set, size):
    """k-means run to convergence, with many seeds."""
    seeds = size.baseline_seeds // (2 if is_large(data_set) else 1)
    for seed in range(seeds):
        words = ["train", *options_of(data_set), "--method", "lloyd", "--iters", "0"]
        words += ["--seed", str(seed), "--repeats", "1", "--metrics"]
        yield Run("baseline", data_set.name, "kmeans", "bench", tuple(words), seed)


def peer_runs(data_set, size):
    words = ["--data", str(data_set.x), "-k", str(data_set.k), "--scale", data_set.scale]
    yield Run("peers", data_set.name, "all", "peers",
              (*words, "--repeats", str(size.peer_repeats)))


def all_runs(sets, size, peers=True):
    """Those that say most come first."""
    runs = []
    for data_set in sets:
        runs += main_runs(data_set, size)
    if peers:
        for data_set in sets:
            runs += peer_runs(data_set, size)
    runs += growth_runs(size)
    for data_set in sets:
        if data_set.name == TIMED_SET:
            runs += time_sweeps(data_set, size)
        if data_set.kind != "stand-in":
            runs += baseline_runs(data_set, size)
    for data_set in sets:
        runs += loss_sweeps(data_set, size)
    return runs
