"""Several takes of one run: the same command again, which does the same work at another time.

All numbers of a take but its times are those of every other. A time is the median of the takes, for
each request where its time was printed: what disturbs one take does not count.
"""

import statistics

from . import Failure

SAME = ("seed", "requests", "adjusted", "repairs", "refits", "loss", "rows_visited_mean")
TIMES = ("baseline_seconds", "train_seconds", "delete_seconds_total", "delete_us_mean",
         "delete_us_median", "delete_us_p99", "delete_us_max")


def of_requests(request_us):
    """The times of a replicate from those of its requests, as efface-bench has them."""
    ordered = sorted(request_us)
    n = len(ordered)
    return {"request_us": request_us, "delete_seconds_total": 1e-6 * sum(ordered),
            "delete_us_mean": sum(ordered) / n, "delete_us_median": statistics.median(ordered),
            "delete_us_p99": ordered[(99 * n + 99) // 100 - 1], "delete_us_max": ordered[-1]}


def merge_replicate(lines, what):
    first = lines[0]
    for line in lines[1:]:
        if any(line[field] != first[field] for field in SAME):
            raise Failure(f"{what}: takes are not the same")
    merged = dict(first, verified=all(line["verified"] for line in lines))
    for field in TIMES:
        values = [line[field] for line in lines]
        merged[field] = None if None in values else statistics.median(values)
    if len(lines) > 1 and "request_us" in first:
        merged.update(of_requests([statistics.median(times) for times in
                                   zip(*(line["request_us"] for line in lines))]))
    return merged


def merge(takes, what):
    """The lines of one run from those of its takes, replicate by replicate."""
    return [merge_replicate(lines, what) for lines in zip(*takes, strict=True)]
