"""Which runs make the paper's tables and figures.

A run is one command. All of it is timed with one thread, and one run at a time.
"""

from dataclasses import dataclass

MANY_VALUES = 10_000_000  # in a large set

EPSILONS = [2.0**-e for e in range(11)]
WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
TIMED_SET = "covtype"  # of figures 5 and 6

GROWTH_CLUSTERS, GROWTH_COLUMNS = 8, 16
GROWTH_METHODS = ("pyramid", "quantized", "quantized_fixed", "tree", "lloyd")
FIXED_EPSILON = 1 / 16  # that of 10,000 rows; for others the paper's is narrower

# The corollaries of the paper: n rows, n^alpha deletions; a lattice of width n^-beta, a tree of n^rho
# leaves. Numbers of rows are powers of 4, so that n^rho is a power of two.
EFFICIENCY_BETA, EFFICIENCY_RHO = 1 / 4, 1 / 2
EFFICIENCY_ALPHAS = (1 / 4, 3 / 8, 1 / 2, 5 / 8)
MOST_ROWS_PRINTED = 4**9
EFFICIENCY_METHODS = ("quantized", "quantized_printed", "tree", "tree_printed")

SEEDING = ("--candidates", "1")  # plain k-means++, as in the paper

# Options of efface-bench for each column of the tables. `kmeans` is what people have today: run to
# convergence where its quality is measured, as in the paper, and trained again with ten iterations
# where its time is, which every timed run does. `lloyd` is k-means with ten iterations, forgetting
# row by row. Those of PRINTED are run by efface-as-printed, which does what the paper prints.
METHODS = {
    "kmeans": ["--method", "lloyd", "--iters", "0"],
    "lloyd": ["--method", "lloyd"],
    "quantized": ["--method", "quantized"],
    "quantized_printed": ["--method", "quantized"],
    "quantized_program": ["--method", "quantized", "--reading", "program"],
    "tree": ["--method", "tree"],
    "tree_printed": ["--method", "tree"],
    "tree_quantized": ["--method", "tree", "--leaf-method", "quantized"],
    "tree_weighed": ["--method", "tree", "--weigh"],
    "pyramid": ["--method", "pyramid"],
}
OPTIONS = METHODS | {"quantized_fixed": ["--method", "quantized", "--epsilon", FIXED_EPSILON]}
PRINTED = ("quantized_printed", "quantized_program", "tree_printed")


@dataclass(frozen=True)
class Size:
    """How much is run."""

    deletions: int
    replicates: int
    growth: tuple  # numbers of rows
    efficiency: tuple  # the same for the corollaries
    baseline_seeds: int
    peer_repeats: int
    most_rows: int | None  # of a set


FULL = Size(1000, 5, (10**4, 10**5, 10**6, 10**7), (4**7, 4**8, 4**9, 4**10), 20, 3, None)
QUICK = Size(100, 2, (10**4, 10**5), (4**5, 4**6), 5, 1, 5_000)


@dataclass(frozen=True)
class Run:
    group: str  # which part of the report it is for
    set: str
    method: str
    program: str  # "bench", "printed" or "peers"
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


def replayed(size):
    return ["--replicates", size.replicates, "--deletions", size.deletions]


def main_runs(data_set, size):
    """Table 4, figures 1, 2, 8 and 9: requests one by one, each of them clocked."""
    for method, words in METHODS.items():
        if method != "kmeans":
            extra = [*replayed(size), "--skip-metrics", "--trace"]
            yield online("main", data_set, method, [*words, *extra])


def quality_runs(data_set, size):
    """Tables 1 to 3: models after training and at milestones. Nothing is clocked. What is exact
    forgets all rows up to a milestone in one request, which gives the same bits."""
    for method, words in METHODS.items():
        extra = replayed(size)
        if method not in PRINTED:
            extra += ["--skip-converged", "--baseline", "0", "--batch", size.deletions]
        yield online("quality", data_set, method, [*words, *extra])


def online(group, data_set, method, words, value=None):
    return online_run(group, data_set.name, method, [*options_of(data_set), *words], value)


def online_run(group, name, method, words, value):
    words = tuple(map(str, words))
    if method in PRINTED:
        return Run(group, name, method, "printed", words, value)
    return Run(group, name, method, "bench", ("online", *words), value)


def sweeps(data_set, words, suffix):
    """Q-k-means with each lattice width, DC-k-means with each number of leaves."""
    for epsilon in EPSILONS:
        extra = ["--method", "quantized", "--epsilon", epsilon]
        yield online(f"epsilon{suffix}", data_set, "quantized", [*extra, *words], epsilon)
    for width in WIDTHS:
        extra = ["--method", "tree", "--width", width]
        yield online(f"width{suffix}", data_set, "tree", [*extra, *words], width)


def loss_sweeps(data_set, size):
    """Figures 3 and 4: losses after all deletions, which are one request."""
    words = [*replayed(size), "--batch", size.deletions, "--skip-metrics", "--baseline", "0"]
    return sweeps(data_set, words, "")


def time_sweeps(data_set, size):
    """Figures 5 and 6."""
    return sweeps(data_set, [*replayed(size), "--skip-metrics"], "_time")


def generated_run(group, method, n, words):
    data = f"gaussian:{GROWTH_CLUSTERS},{GROWTH_COLUMNS},{n // GROWTH_CLUSTERS}"
    first = ["--data", data, "-k", GROWTH_CLUSTERS, "--scale", "minmax", *SEEDING, "--threads", "1",
             *OPTIONS[method]]
    return online_run(group, "gaussian", method, [*first, *words, "--skip-metrics", "--trace"], n)


def growth_runs(size):
    """Figure 7."""
    for n in size.growth:
        for method in GROWTH_METHODS:
            yield generated_run("growth", method, n, replayed(size))


def efficiency_runs(size):
    """Figure 10. One run has the deletions of all alphas: the first n^alpha of it. What is printed
    would take more than an hour on the most rows."""
    for n in size.efficiency:
        for method in EFFICIENCY_METHODS:
            if method in PRINTED and n > MOST_ROWS_PRINTED:
                continue
            words = ["--replicates", size.replicates, "--baseline", "0",
                     "--deletions", round(n ** max(EFFICIENCY_ALPHAS))]
            if method.startswith("tree"):
                words += ["--width", round(n**EFFICIENCY_RHO)]
            else:
                words += ["--epsilon", n**-EFFICIENCY_BETA]
            yield generated_run("efficiency", method, n, words)


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


CLOCKED = ("main", "peers", "growth", "efficiency", "epsilon_time", "width_time")


def all_runs(sets, size, peers=True):
    """Those that say most come first; those that are clocked are together."""
    runs = []
    for data_set in sets:
        runs += main_runs(data_set, size)
    if peers:
        for data_set in sets:
            runs += peer_runs(data_set, size)
    runs += growth_runs(size)
    runs += efficiency_runs(size)
    for data_set in sets:
        if data_set.name == TIMED_SET:
            runs += time_sweeps(data_set, size)
    for data_set in sets:
        runs += quality_runs(data_set, size)
        runs += loss_sweeps(data_set, size)
        if data_set.kind in ("real", "generated"):
            runs += baseline_runs(data_set, size)
    return runs
