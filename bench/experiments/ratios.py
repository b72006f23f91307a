"""Ratios as the paper counts them: a mean divided by a mean."""

import math
import statistics

from .theory import mean


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def of_means(above, below):
    """mean(above) / mean(below) and its standard deviation, by the delta method from the relative
    deviations of both, as if they were independent."""
    ratio = mean(above) / mean(below)
    return ratio, ratio * math.hypot(*(spread(values) / mean(values) for values in (above, below)))


def amortized(line):
    """Seconds a request of a run: training once and all requests, divided by their number."""
    return (line["train_seconds"] + line["delete_seconds_total"]) / line["requests"]
