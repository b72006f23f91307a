"""Rules for the parameters of estimators, and the seeds of fits."""

import numbers
import os

import numpy as np

from . import _efface

MAX_THREADS = 1024

_SKIP = {"raise": False, "skip": True}


# A rule is a function that says whether a value is allowed, and a description of those that are.


def whole(low, high):
    """A whole number."""
    return (
        lambda v: isinstance(v, numbers.Integral)
        and not isinstance(v, (bool, np.bool_))
        and low <= v <= high,
        f"an int in the range [{low}, {high}]",
    )


def real(low, high, closed=False):
    """A number; `closed`: it may be `low`."""
    return (
        lambda v: isinstance(v, numbers.Real)
        and not isinstance(v, (bool, np.bool_))
        and (low <= v <= high if closed else low < v <= high),
        f"a float in the range {'[' if closed else '('}{low}, {high}]",
    )


def one_of(*names):
    """One of some names."""
    return (
        lambda v: isinstance(v, str) and v in names,
        f"a str among {{{', '.join(map(repr, names))}}}",
    )


def or_none(rule):
    """What a rule allows, or None."""
    return lambda v: v is None or rule[0](v), f"{rule[1]} or None"


def _is_offset(value):
    return value is None or (isinstance(value, str) and value == "auto") or np.ndim(value) == 1


COMMON_RULES = {
    "random_state": (
        lambda v: v is None
        or (isinstance(v, numbers.Integral) and 0 <= v < 2**64)
        or isinstance(v, (np.random.RandomState, np.random.Generator))
        or v is np.random,
        "an int in the range [0, 2**64), a RandomState or None",
    ),
    "offset": (_is_offset, "a number for each feature, 'auto' or None"),
    "n_jobs": (
        lambda v: v is None or (whole(-MAX_THREADS, MAX_THREADS)[0](v) and v != 0),
        f"an int of magnitude 1 to {MAX_THREADS} or None",
    ),
    "n_threads": or_none(whole(1, MAX_THREADS)),
}
"""Rules for the parameters that every estimator has."""


def check_parameters(owner, parameters, rules=COMMON_RULES):
    """Raises ValueError for the first parameter that is out of range."""
    for name, value in parameters.items():
        allowed, description = rules[name]
        try:
            good = allowed(value)
        except TypeError:
            good = False
        if not good:
            raise ValueError(
                f"The {name!r} parameter of {owner} must be {description}. Got {value!r} instead."
            )


def thread_count(parameters):
    """The number of threads as the library takes it: 0 for as many as there are processors."""
    n_jobs, n_threads = parameters["n_jobs"], parameters["n_threads"]
    if n_jobs is None:
        return int(n_threads or 0)
    if n_threads is not None:
        raise ValueError("n_threads is another name for n_jobs: give only one of them")
    if n_jobs >= -1:
        return max(int(n_jobs), 0)
    return max(1, len(os.sched_getaffinity(0)) + 1 + int(n_jobs))


def skips_missing(missing):
    """Whether to skip ids and owners that do not exist."""
    if not isinstance(missing, str) or missing not in _SKIP:
        raise ValueError(f"missing must be 'raise' or 'skip', not {missing!r}")
    return _SKIP[missing]


def draw_seed(random_state):
    """The seed of a fit: the number itself, or one drawn from a generator or the system."""
    if random_state is None:
        return int.from_bytes(os.urandom(8), "little")
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    draw = getattr(random_state, "integers", None) or random_state.randint
    return int(draw(0, 2**63 - 1, dtype=np.int64))


def run_seeds(seed, n_runs):
    """A seed for each run: that of the first is `seed` itself, the others are made from it."""
    made = (
        _efface.text_id("run", seed.to_bytes(8, "little") + run.to_bytes(8, "little"))
        for run in range(1, n_runs)
    )
    return (seed, *made)
