"""Numbers of others that the report sets beside ours.

The paper is "Making AI Forget You: Data Deletion in Machine Learning" (Ginart, Guan, Valiant, Zou,
NeurIPS 2019). Means and standard deviations over its 5 replicates. Its Table 2 lists Gaussian twice
and MNIST not at all: the row with 0.036 is read as Gaussian, that with 0.066 as MNIST
(captions.TWICE_GAUSSIAN says why).
"""

import math

REPLICATES = 5
METHODS = ("kmeans", "quantized", "tree")  # its k-means, Q-k-means and DC-k-means

# Algorithms 4 and 5, and 2 and 6, as printed; and the reading of the first two that the authors' program
# takes (bench/paper/as_printed.h).
LITERAL = {"quantized_printed": "quantized", "quantized_program": "quantized", "tree_printed": "tree"}

# Table 1: loss divided by the mean loss of k-means.
LOSS = {
    "celltype": ((1.0, 0.0), (1.158, 0.099), (1.439, 0.157)),
    "covtype": ((1.0, 0.029), (1.033, 0.017), (1.017, 0.031)),
    "mnist": ((1.0, 0.002), (1.11, 0.004), (1.014, 0.003)),
    "postures": ((1.0, 0.004), (1.014, 0.015), (1.034, 0.017)),
    "gaussian": ((1.0, 0.014), (1.019, 0.019), (1.003, 0.014)),
    "botnet": ((1.0, 0.126), (1.018, 0.014), (1.118, 0.102)),
}

# Table 2.
SILHOUETTE = {
    "celltype": ((0.384, 0.001), (0.367, 0.048), (0.422, 0.057)),
    "covtype": ((0.238, 0.027), (0.203, 0.026), (0.222, 0.017)),
    "mnist": ((0.066, 0.007), (0.053, 0.003), (0.071, 0.004)),
    "postures": ((0.107, 0.003), (0.107, 0.004), (0.109, 0.005)),
    "gaussian": ((0.036, 0.002), (0.031, 0.002), (0.035, 0.001)),
    "botnet": ((0.583, 0.042), (0.639, 0.028), (0.627, 0.046)),
}

# Table 3.
NMI = {
    "celltype": ((0.36, 0.0), (0.336, 0.032), (0.294, 0.067)),
    "covtype": ((0.311, 0.009), (0.332, 0.024), (0.335, 0.02)),
    "mnist": ((0.494, 0.006), (0.459, 0.011), (0.494, 0.004)),
    "postures": ((0.163, 0.018), (0.169, 0.012), (0.173, 0.011)),
    "gaussian": ((0.319, 0.024), (0.245, 0.024), (0.318, 0.024)),
    "botnet": ((0.708, 0.048), (0.73, 0.015), (0.705, 0.039)),
}

# Table 4: amortized seconds a deletion (training once and 1,000 deletions) on one core of a Xeon.
SECONDS = {
    "celltype": ((4.241, 0.248), (0.026, 0.011), (0.272, 0.007)),
    "covtype": ((6.114, 0.216), (0.454, 0.276), (0.469, 0.021)),
    "mnist": ((65.038, 1.528), (29.386, 0.728), (2.562, 0.056)),
    "postures": ((26.616, 1.222), (0.413, 0.305), (1.17, 0.398)),
    "gaussian": ((206.631, 67.285), (0.393, 0.104), (5.992, 0.269)),
    "botnet": ((607.784, 64.687), (1.04, 0.368), (8.568, 0.652)),
}

# Its speed-ups, as printed there.
SPEEDUP = {
    "celltype": (1.0, 163.286, 15.6),
    "covtype": (1.0, 13.464, 13.048),
    "mnist": (1.0, 2.213, 25.381),
    "postures": (1.0, 64.441, 22.757),
    "gaussian": (1.0, 525.63, 34.483),
    "botnet": (1.0, 584.416, 70.939),
}

# Theorems of the paper, in its notation: n rows, d columns, m deletions, lattice width epsilon,
# a tree of width n^rho.
BOUNDS = {
    ("quantized", "m"): "O(m^2 d^2.5 / epsilon)",
    ("quantized", "n"): "O(1 / epsilon)",
    ("quantized_fixed", "m"): "O(m^2 d^2.5 / epsilon)",
    ("quantized_fixed", "n"): "O(1)",
    ("tree", "m"): "O(m)",
    ("tree", "n"): "O(max(n^rho, n^(1-rho)) d)",
}

# The exponents of these bounds in n and in m. The runs over n have the paper's epsilon, which is halved
# whenever n grows tenfold, or a fixed one; and its width, about n^0.3.
EXPONENTS = {
    ("quantized", "m"): 2.0,
    ("quantized", "n"): math.log10(2),
    ("quantized_fixed", "m"): 2.0,
    ("quantized_fixed", "n"): 0.0,
    ("tree", "m"): 1.0,
    ("tree", "n"): 0.7,
}

# k-means run to convergence, as scikit-learn found it on the same files; the loss is the least one
# over seeds. `within` is how far a mean over seeds may lie off.
BASELINE = {
    "celltype": {"loss": (188.08, 0.01), "nmi": (0.36, 0.02), "silhouette": (0.38, 0.02)},
    "covtype": {"nmi": (0.32, 0.025), "silhouette": (0.23, 0.02)},
    "mnist": {"nmi": (0.49, 0.02), "silhouette": (0.06, 0.015)},
    "gaussian": {"nmi": (0.31, 0.03), "silhouette": (0.035, 0.005)},
}


def loss_bound(least_loss, n, d, k, epsilon):
    """Corollary 4.1.1: a bound on the expected loss of Q-k-means with k-means++ seeds, of rows in
    the unit cube or in any units that the loss and epsilon share."""
    seeded = 8 * (math.log(k) + 2) * least_loss
    return seeded + epsilon * math.sqrt(n * d * seeded) + epsilon**2 * n * d / 4


def stability_loss(n, d, k, epsilon, iterations=10, gamma=0.2):
    """Lemma C.3 for one deletion: no centroid changes with a probability greater than 1 less this."""
    return 2 * iterations * k * d**1.5 / (epsilon * gamma * n)


def largest_alpha(method, beta, rho):
    """Corollaries 4.2.1 and 4.2.2: up to which alpha a method is alpha-deletion efficient."""
    paper_method = LITERAL.get(method, method)
    return (1 - beta) / 2 if paper_method == "quantized" else 1 - max(1 - rho, rho)


def of(table, name, method):
    """The paper's value for a set and a method of ours, or None."""
    paper_method = LITERAL.get(method, method)
    if name not in table or paper_method not in METHODS:
        return None
    return table[name][METHODS.index(paper_method)]
