"""The parameters of an estimator: their allowed values, and their names in the library."""

import numbers
import os

import numpy as np

from . import _efface

METHODS = ("pyramid", "lloyd", "quantized", "tree")
MAX_CLUSTERS = 2**24
MAX_THREADS = 1024

_SKIP = {"raise": False, "skip": True}


def _whole(low, high):
    return (
        lambda v: isinstance(v, numbers.Integral)
        and not isinstance(v, (bool, np.bool_))
        and low <= v <= high,
        f"an int in the range [{low}, {high}]",
    )


def _real(low, high, closed=False):
    return (
        lambda v: isinstance(v, numbers.Real)
        and not isinstance(v, (bool, np.bool_))
        and (low <= v <= high if closed else low < v <= high),
        f"a float in the range {'[' if closed else '('}{low}, {high}]",
    )


def _one_of(*names):
    return (
        lambda v: isinstance(v, str) and v in names,
        f"a str among {{{', '.join(map(repr, names))}}}",
    )


def _or_none(rule):
    return lambda v: v is None or rule[0](v), f"{rule[1]} or None"


def _is_offset(value):
    return value is None or (isinstance(value, str) and value == "auto") or np.ndim(value) == 1


def _is_range(value):
    return isinstance(value, (tuple, list)) and len(value) == 2


RULES = {
    "n_clusters": _whole(1, MAX_CLUSTERS),
    "method": _one_of(*METHODS),
    "n_init": _whole(1, 1000),
    "max_iter": _or_none(_whole(1, 1000)),
    "random_state": (
        lambda v: v is None
        or (isinstance(v, numbers.Integral) and 0 <= v < 2**64)
        or isinstance(v, (np.random.RandomState, np.random.Generator))
        or v is np.random,
        "an int in the range [0, 2**64), a RandomState or None",
    ),
    "scale": _or_none(_one_of("minmax")),
    "bound": _or_none(_real(0.0, 2.0**126)),
    "column_range": (
        lambda v: v is None or _is_range(v),
        "a tuple of the lowest and the highest value of each feature, or None",
    ),
    "offset": (_is_offset, "a number for each feature, 'auto' or None"),
    "empty": _one_of("reseed", "keep"),
    "candidates": _or_none(_whole(1, 64)),
    "epsilon": _or_none(_real(0.0, 1.0)),
    "gamma": _real(0.0, 1.0, closed=True),
    "rate": _or_none(_real(0.0, 1.0)),
    "passes": _whole(1, 10),
    "n_starts": _whole(1, 100),
    "height": _whole(0, 8),
    "width": _or_none(_whole(1, 2**20)),
    "leaf_method": _one_of("lloyd", "quantized", "pyramid"),
    "node_method": _one_of("lloyd", "quantized", "pyramid"),
    "depth_clusters": (
        lambda v: v is None or len(v) >= 0 and all(_whole(1, MAX_CLUSTERS)[0](k) for k in v),
        "a sequence of ints or None",
    ),
    "weigh_centroids": (lambda v: isinstance(v, (bool, np.bool_)), "a bool"),
    "n_threads": _or_none(_whole(1, MAX_THREADS)),
}


def parameters_of(estimator):
    """Parameters by name. A subclass may take others as well, or fewer."""
    return {name: getattr(estimator, name) for name in RULES}


def check_parameters(owner, parameters):
    """Raises ValueError for the first parameter that is out of range."""
    for name, value in parameters.items():
        allowed, description = RULES[name]
        try:
            good = allowed(value)
        except TypeError:
            good = False
        if not good:
            raise ValueError(
                f"The {name!r} parameter of {owner} must be {description}. Got {value!r} instead."
            )


def skips_missing(missing):
    """Whether to skip ids and owners that do not exist."""
    if not isinstance(missing, str) or missing not in _SKIP:
        raise ValueError(f"missing must be 'raise' or 'skip', not {missing!r}")
    return _SKIP[missing]


def _bounds(values, offsets):
    """Bounds of features, minus the offsets."""
    if values is None:
        return None
    if offsets is not None and np.shape(values) == offsets.shape:
        values = np.asarray(values, dtype=np.float64) - offsets
    return np.ascontiguousarray(values, dtype=np.float32)


def library_parameters(parameters, offsets=None):
    """The dictionary that the extension takes, without the seed."""
    p = parameters
    low, high = p["column_range"] or (None, None)
    depths = p["depth_clusters"]
    return {
        "method": p["method"],
        "n_clusters": int(p["n_clusters"]),
        "iterations": int(p["max_iter"] or 0),
        "scale": p["scale"] or "none",
        "bound": float(p["bound"] or 0.0),
        "column_min": _bounds(low, offsets),
        "column_max": _bounds(high, offsets),
        "empty": p["empty"],
        "candidates": int(p["candidates"] or 0),
        "epsilon": float(p["epsilon"] or 0.0),
        "gamma": float(p["gamma"]),
        "rate": float(p["rate"] or 0.0),
        "passes": int(p["passes"]),
        "starts": int(p["n_starts"]),
        "height": int(p["height"]),
        "width": int(p["width"] or 0),
        "leaf_method": p["leaf_method"],
        "node_method": p["node_method"],
        "depth_clusters": None if depths is None else np.array(depths, dtype=np.uint32),
        "weigh_centroids": bool(p["weigh_centroids"]),
        "n_threads": int(p["n_threads"] or 0),
    }


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

