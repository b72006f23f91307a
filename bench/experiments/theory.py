"""What the paper proves, beside what was measured: how times grow, alpha-deletion efficiency, and the
bound on the loss of Q-k-means."""

import math
import statistics

from . import plan, published


def mean(values):
    return statistics.fmean(values)


def settled(line):
    """The requests of a run without the first two, which also pay for what is made once: the index
    of ids, and the margins that `lloyd` keeps from then on."""
    return line["request_us"][2:]


def amortized(line, deletions):
    """Seconds a deletion: training once and the first so many deletions."""
    return (line["train_seconds"] + 1e-6 * sum(line["request_us"][:deletions])) / deletions


def slope(points):
    """The exponent of a power law through points, by least squares of logarithms, and its standard
    error (None for two points)."""
    xs = [math.log(x) for x, _ in points]
    ys = [math.log(y) for _, y in points]
    x_mean, y_mean = mean(xs), mean(ys)
    square = sum((x - x_mean) ** 2 for x in xs)
    exponent = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / square
    if len(points) < 3:
        return exponent, None
    rest = sum((y - y_mean - exponent * (x - x_mean)) ** 2 for x, y in zip(xs, ys))
    return exponent, math.sqrt(rest / (len(points) - 2) / square)


def exponents(results, growth_rows, counts):
    """How the time of a request grows with n, and that of m requests with m."""
    for method in plan.GROWTH_METHODS:
        points = [(row["n"], row["request_us"]) for row in growth_rows if row["method"] == method]
        if len(points) >= 2:
            yield exponent_row(method, "n", points)
    largest = max((row["n"] for row in growth_rows), default=None)
    for method in plan.GROWTH_METHODS:
        lines = results.get("growth", "gaussian", method, largest)
        points = [(m, mean([sum(settled(line)[:m]) for line in lines]))
                  for m in counts if m >= 10 and lines]
        if len(points) >= 2:
            yield exponent_row(method, "m", points)


def exponent_row(method, variable, points):
    exponent, error = slope(points)
    return {"method": method, "variable": variable, "exponent": exponent,
            "standard_error": error, "low": points[0][0], "high": points[-1][0]}


# ---------------------------------------------------------------- corollaries 4.2.1 and 4.2.2


def efficiency(results):
    """Amortized times of n^alpha deletions from n rows; `training` is the part that training has in
    it: the n / m of the paper, in seconds."""
    for method in plan.EFFICIENCY_METHODS:
        for alpha in plan.EFFICIENCY_ALPHAS:
            for n in results.values("efficiency", "gaussian", method):
                m = round(n**alpha)
                lines = results.get("efficiency", "gaussian", method, n)
                seconds = [amortized(line, m) for line in lines]
                deviation = statistics.stdev(seconds) if len(seconds) > 1 else 0.0
                yield {"method": method, "alpha": alpha, "n": n, "m": m, "seconds": mean(seconds),
                       "sd": deviation,
                       "training": mean([line["train_seconds"] for line in lines]) / m}


def corollaries(rows):
    """The exponents of those times in n, beside 1 - alpha, that of n / m; and of the times divided
    by training / m. The time of training a row is not the same for all n, because of caches, so it
    is the second that decides: a method is alpha-deletion efficient if all deletions together cost
    no more than a multiple of training. The paper promises it of its own algorithms up to some
    alpha."""
    for method in plan.EFFICIENCY_METHODS:
        most = published.largest_alpha(method, plan.EFFICIENCY_BETA, plan.EFFICIENCY_RHO)
        for alpha in plan.EFFICIENCY_ALPHAS:
            own = [row for row in rows if (row["method"], row["alpha"]) == (method, alpha)]
            if len(own) < 2:
                continue
            exponent, error = slope([(row["n"], row["seconds"]) for row in own])
            relative, relative_error = slope(
                [(row["n"], row["seconds"] / row["training"]) for row in own])
            yield {"method": method, "alpha": alpha,
                   "promised": int(method in published.LITERAL and alpha <= most),
                   "bound": 1 - alpha, "exponent": exponent, "standard_error": error,
                   "relative": relative, "relative_error": relative_error,
                   "within": int(relative - 2 * (relative_error or 0) <= 0)}


# ---------------------------------------------------------------- corollary 4.1.1

UNSCALED_DOMAIN = {"mnist": 256.0}  # the power of two that holds the values of an unscaled set


def loss_bounds(results):
    """The bound of the paper beside the loss of Q-k-means after training. Its L*, the least loss
    there is, nobody knows: the least that was found takes its place, which can only raise it."""
    for name in results.sets:
        least, lines = results.least_loss(name), results.get("quality", name, "quantized")
        if least is None or not lines:
            continue
        shape = results.shape(name)
        losses = [line["losses"][0] for line in lines]
        deviation = statistics.stdev(losses) if len(losses) > 1 else 0.0
        epsilon = lines[0]["epsilon"]
        width = epsilon * UNSCALED_DOMAIN.get(name, 1.0)
        yield {**shape, "epsilon": epsilon, "least_loss": least, "loss": mean(losses),
               "loss_sd": deviation,
               "bound": published.loss_bound(least, shape["n"], shape["d"], shape["k"], width)}
