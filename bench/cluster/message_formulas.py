"""What ranks say to each other, as formulas (docs/measured/cluster_messages.md): operations and bytes of a fit and of
a request by method. Every operation takes two rounds: an agreement of 8 bytes, and itself.

A Talk counts operations by kind and the bytes that a rank gets by them, as group-speed does.
"""

import itertools

EXPONENTS = 227  # a set counts its rows by their largest exponent
NEEDS = 65       # pyramid counts rows by what it takes for them to be in the sample
LIMBS = 4        # a sum of squares is added up in so many numbers
ROW = 48         # bytes of a row that changes, without its values,
MEMBER = 24      # and of one in the jury
KINDS = ("sum_64", "sum_128", "minimum", "gather", "broadcast", "agree")


class Talk:
    def __init__(self):
        self.counts = {kind: [0, 0] for kind in KINDS}

    def agree(self):
        self.counts["agree"][0] += 1
        self.counts["agree"][1] += 8

    def add(self, kind, n_bytes, times=1):
        """An operation, some times, with an agreement before it."""
        for _ in range(times):
            self.agree()
            self.counts[kind][0] += 1
            self.counts[kind][1] += n_bytes
        return self

    def gather(self, n_ranks, n_bytes):
        """The ranks first tell each other how many bytes each has."""
        return self.add("sum_64", 8 * n_ranks).add("gather", n_bytes)

    def end(self):
        self.agree()
        return self

    def rounds(self):
        return sum(n for n, _ in self.counts.values())

    def got(self):
        return sum(n_bytes for _, n_bytes in self.counts.values())


# ------------------------------------------------------------------ steps

def point_bytes(d):
    """A row that runs in a race: its key, its id, and its place on the grid."""
    return 8 * (2 + (d + 1) // 2)


def level_bytes(k, d):
    return 8 * k * (d + 1)


def add_count(talk, d):
    """Counts all rows: the ends of columns, then how many rows are there."""
    talk.add("minimum", 16 * d).add("sum_64", 8 * (2 + 2 * d + EXPONENTS))


def add_seeding(talk, k, d, candidates=1):
    talk.add("minimum", point_bytes(d))
    if candidates == 1:
        talk.add("minimum", point_bytes(d), k - 1)
        return
    talk.add("sum_128", 16)
    talk.add("minimum", candidates * point_bytes(d), k - 1)
    talk.add("sum_128", candidates * 16, k - 1)


def add_levels(talk, k, d, n, squares=True):
    talk.add("sum_64", level_bytes(k, d), n)
    if squares:
        talk.counts["sum_64"][1] += 8 * LIMBS


def add_starts(talk, k, d, n_starts, n_ranks, jury_bytes):
    talk.gather(n_ranks, jury_bytes)
    talk.add("sum_64", 8 * n_starts * k * d).add("sum_128", 16 * n_starts)


def add_marks(talk, k):
    talk.add("sum_64", 8 * k).add("sum_128", 16).add("sum_64", 8 * NEEDS)


def add_leaves(talk, k, d, width, candidates):
    """All leaves of a tree of height 1 but for their levels. What is above the leaves, every rank
    does by itself."""
    talk.add("sum_64", 8 * width)
    for _ in range(width):
        add_count(talk, d)
        add_seeding(talk, k, d, candidates)
        add_levels(talk, k, d, 0)


def add_moments(talk, n_groups, d, n_products):
    talk.add("sum_64", 8 * n_groups * (2 + d))
    if n_products:
        talk.add("sum_128", 16 * n_groups * n_products)


# ------------------------------------------------------------------ joining and fits

def join(n_ranks, n_own, d, apart):
    """`n_own`: rows whose ids this rank looks after, if the ranks' ids do not lie apart. As rank 0
    sees it: it gives the broadcast."""
    talk = Talk().add("broadcast", 0).gather(n_ranks, 16 * n_ranks)
    if not apart:
        talk.gather(n_ranks, 8 * n_own)
        for _ in range(n_ranks - 1):
            talk.gather(n_ranks, 0)
    add_count(talk, d)
    return talk.end()


def partitions(run):
    """How many partitions the fit of a k-means model has made."""
    if run["method"] == "pyramid":
        return run["iterations"] if not run["stable"] else run["iterations"] + 1
    if run["method"] == "quantized" and not run["stable"] and run["iterations"] < run["passes"]:
        return run["iterations"] + 2
    ends_open = run["method"] == "lloyd" and not run["stable"]
    return run["iterations"] + (0 if ends_open else 1)


def fit_kmeans(run, jury_bytes, n_leaf_levels, n_starts=4, n_levels=None):
    """jury_bytes: of all rows of the jury, for pyramid. n_leaf_levels: partitions of all leaves
    together, for tree. Both are what the rows make them."""
    k, d, p = run["clusters"], run["columns"], run["ranks"]
    talk = Talk()
    if run["method"] == "tree":
        add_leaves(talk, k, d, run["width"], run["candidates"])
        add_levels(talk, k, d, n_leaf_levels, squares=False)
        return talk.end()
    if run["method"] == "pyramid":
        add_seeding(talk, k, d)
        add_marks(talk, k)
        add_starts(talk, k, d, n_starts, p, jury_bytes)
    else:
        add_seeding(talk, k, d, run["candidates"])
    add_levels(talk, k, d, partitions(run) if n_levels is None else n_levels)
    return talk.end()


def fit(run, n_classes=8):
    """What a fit should have taken."""
    measured = run["fit"]["by_operation"]
    d, k, p = run["columns"], run["clusters"], run["ranks"]
    if run["family"] == "sums":
        talk = Talk()
        add_moments(talk, 1, d, d * (d + 1) // 2)
        return talk.end()
    if run["family"] == "bayes":
        talk = Talk().gather(p, 8 * n_classes * p)
        add_moments(talk, 1, d, 0)
        add_moments(talk, n_classes, d, d)
        return talk.end()
    if run["family"] == "segmented":  # pyramid, and a regression in each cluster
        talk = fit_kmeans({**run, "method": "pyramid"}, measured["gather"][1], 0, n_levels=1)
        add_moments(talk, k, d, d * (d + 1) // 2)
        return talk
    leaf_levels = measured["sum_64"][0] - 1 - run["width"] if run["method"] == "tree" else 0
    return fit_kmeans(run, measured["gather"][1], leaf_levels)


# ------------------------------------------------------------------ requests

def adjusted(n_ranks, d):
    """A request for one row that changes nothing else."""
    return Talk().gather(n_ranks, ROW + 4 * d).end()


def compose(run, steps, request):
    """A request for one row made of steps: how often each was taken."""
    k, d, p = run["clusters"], run["columns"], run["ranks"]
    talk = Talk().gather(p, ROW + 4 * d)
    jury_bytes = request["gather"][1] - (1 + steps["leaf"]) * (ROW + 4 * d)
    if steps["leaf"]:
        talk.gather(p, ROW + 4 * d)
    for _ in range(steps["count"]):
        add_count(talk, d)
    if steps["tree"]:
        add_leaves(talk, k, d, run["width"], run["candidates"])
    if steps["marks"]:
        add_marks(talk, k)
    if steps["starts"]:
        add_starts(talk, k, d, 4, p, jury_bytes)
    if steps["tries"] or steps["measures"]:
        talk.add("sum_128", 16, steps["measures"])
        talk.add("minimum", run["candidates"] * point_bytes(d), steps["tries"])
        talk.add("sum_128", run["candidates"] * 16, steps["tries"])
    talk.add("minimum", point_bytes(d), steps["race"])
    add_levels(talk, k, d, steps["level"], steps["squares"])
    talk.add("minimum", 8, steps["question"])
    if steps["moments"]:
        groups, products = {"sums": (1, d * (d + 1) // 2), "segmented": (k, d * (d + 1) // 2),
                            "bayes": (8, d)}[run["family"]]
        if run["family"] == "bayes":
            talk.gather(p, 8 * 8 * p)
            add_moments(talk, 1, d, 0)
        add_moments(talk, groups, d, products)
    if steps["visits"]:
        talk.add("sum_64", 8)
    return talk.end()


def choices(run):
    """Which steps a request may take, beside levels, races and questions."""
    kmeans = run["family"] == "kmeans"
    pyramid = run["method"] == "pyramid" or run["family"] == "segmented"
    greedy = kmeans and run["candidates"] > 1
    yes_or_no = (0, 1)
    return {"visits": yes_or_no, "count": (0, 1, 2), "squares": yes_or_no,
            "leaf": yes_or_no if run["method"] == "tree" else (0,),
            "tree": yes_or_no if run["method"] == "tree" else (0,),
            "starts": yes_or_no if pyramid else (0,), "marks": yes_or_no if pyramid else (0,),
            "moments": (0,) if kmeans else yes_or_no,
            "measures": yes_or_no if greedy else (0,),
            "tries": range(run["clusters"] + 1) if greedy else (0,)}


def explain(run, request):
    """The steps that make up what was counted of a request, or None if there are none such: then
    the formulas are wrong."""
    options = choices(run)
    measured = {kind: request[kind] for kind in KINDS}
    d, k = run["columns"], run["clusters"]
    for values in itertools.product(*options.values()):
        steps = {**dict(zip(options, values)), "race": 0, "level": 0, "question": 0}
        rest = compose(run, steps, request).counts
        missing = measured["minimum"][0] - rest["minimum"][0]
        n_bytes = measured["minimum"][1] - rest["minimum"][1]
        steps["race"] = (n_bytes - 8 * missing) // (point_bytes(d) - 8)
        steps["question"] = missing - steps["race"]
        steps["level"] = measured["sum_64"][0] - rest["sum_64"][0]
        if min(steps.values()) < 0 or steps["level"] > 10 * k and run["family"] != "kmeans":
            continue
        if compose(run, steps, request).counts == measured:
            return steps
    return None
