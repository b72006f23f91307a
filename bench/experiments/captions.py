"""What the report says around its tables and figures: text that holds whatever was measured."""

INTRODUCTION = (
    'The paper, "Making AI Forget You: Data Deletion in Machine Learning" (Ginart, Guan, Valiant, '
    "Zou, 2019), compares ways of deleting rows from a k-means model with training it again. This "
    "page repeats its four tables and six figures with efface, with the paper's number beside each "
    "of ours, and adds three figures. *Exact* means: after the deletions the model is, byte for "
    "byte, the model that a fit of the remaining rows with the same parameters and seed gives. "
    "Every run ended with a verification of that, and one that fails ends the run without a result."
)
QUICK = (
    "**This is a short run**, with fewer deletions, replicates or sets than the paper's. It shows "
    "that everything works; its numbers are not meant for comparison."
)
HEADLINE = (
    "Speed-up over retraining k-means at each deletion, training included, and loss ratio; for "
    "k-means itself the time that retraining takes. Mean ± one standard deviation of the "
    "replicates. Bold: the highest speed-up of all exact methods, where it is in this table."
)
DEFINITIONS = [
    "The online deletion benchmark is the paper's: train once on all rows, then delete rows chosen "
    "at random, one at a time, and have a model of the remaining rows after each.",
    "Methods: *k-means* is k-means++ and Lloyd's iterations, trained again at each deletion. "
    "*k-means, forgetting* is the same model, kept up to date by efface (method `lloyd`). "
    "*Q-k-means* is the paper's quantized k-means (method `quantized`): *exact* as efface does it, "
    "and *paper-literal* with fresh randomness at each retraining, as in the paper, which is **not "
    "exact** (docs/exactness.md, section 6); it is here for comparison only, and its verification "
    "is against the last draw. *DC-k-means* is the paper's divide-and-conquer k-means (method "
    "`tree`), also with quantized leaves and with weighed centroids. *pyramid* is efface's own "
    "(docs/numerics.md, section 7).",
]
TERMS = [
    "**Loss ratio**: the loss of the last model, divided by the mean loss of k-means on the same "
    "rows over the replicates, as in the paper. Lower is better; below 1 is less loss than k-means "
    "has on average.",
    "**Speed-up**: the time of retraining k-means at each deletion, divided by the time of "
    "training the method once and then deleting. Training is included, as the paper counts.",
    "**Amortized**: the time of training once and of all deletions, divided by the number of "
    "deletions.",
    "**Untouched, repaired, refitted**: a request that only corrected sums, one that computed "
    "parts of the model again, and one that computed all of it again.",
]
QUALITY = {
    "table1_loss": (
        "Table 1: loss ratio",
        "Mean ± standard deviation of the replicates after all deletions; lower is better."),
    "table2_silhouette": (
        "Table 2: silhouette coefficient",
        "How much nearer rows are to their own cluster than to the next; higher is better."),
    "table3_nmi": (
        "Table 3: normalized mutual information",
        "How much the clusters tell about the true labels; higher is better. All models make 10 "
        "iterations; what k-means comes to when it runs to convergence is in the section on the "
        "baseline."),
}
CONVERGED = "The same losses, divided by that of k-means run to convergence with the same seed"
TWICE_GAUSSIAN = (
    "The paper's Table 2 lists Gaussian twice and MNIST not at all. Its row with 0.036 is read as "
    "Gaussian and the one with 0.066 as MNIST; recomputed with scikit-learn they are 0.035 and "
    "0.06."
)
TIMES = (
    "Speed-up over retraining, and the amortized time behind it: training once and all deletions, "
    "divided by the number of deletions; for k-means, retraining once. Mean ± standard deviation "
    "of the replicates."
)
BEST = "Bold: the highest speed-up of the exact methods on the set."
XEON = (
    "The paper's times are those of its own program on one core of a Xeon processor, and are given "
    "for reference only. Both sides of our speed-ups are efface's, on one machine; the paper's "
    "speed-ups are of its program over its own k-means."
)
PEERS = (
    "Programs that cannot forget have to train again at each deletion. These are the times of one "
    "fit on the same machine, and what 1,000 deletions would take at that rate (extrapolated, not "
    "run), beside pyramid."
)
PEER_CELLS = (
    "1,000 deletions by retraining; one fit; how many times as long as pyramid, its training "
    "included."
)
THEORY = (
    "The paper bounds the time of m deletions for n rows of d columns. A line through the "
    "logarithms of what was measured gives the exponents below: the time of a request grows like "
    "a power of n, the total of m requests like a power of m. The first two requests of a run are "
    "left out: they also pay for what is made once, the index of ids and the margins that k-means, "
    "forgetting, keeps from then on."
)
BOUNDS = [
    "Q-k-means, the paper: `O(m^2 d^2.5 / eps)` for m deletions, in expectation, whatever n is.",
    "DC-k-means, the paper: `O(m max(n^rho, n^(1-rho)) d)` with the width `w = n^rho`.",
    "Q-k-means, exact: the expected number of retrains is linear in m, if the phase is kept "
    "(docs/exactness.md, section 6).",
    "pyramid, which the paper does not have: a request for a row outside of the sample and the "
    "jury only corrects sums, whatever n is, unless it changes the size of the sample.",
]
VARIABLES = {"n": "of a request, in n", "m": "of m requests, in m"}
EXPONENTS = "Exponent ± its standard error."
SANITY = (
    "Before anything is compared with it, the baseline has to be right: k-means of efface, run to "
    "convergence, beside values that scikit-learn gives on the same files, and that agree with the "
    "paper."
)
REPEAT = [
    "Everything is in the folder of this page: each CSV file begins with the commands behind it, "
    "and the figures and this page can be made again from the files without measuring. Losses, "
    "silhouettes, mutual information and the counts of requests come out the same each time; times "
    "do not.",
]

FIGURES = {
    "figure1_runtime": (
        "Figure 1: time per deletion",
        "The time per deletion after so many deletions, training included, both axes logarithmic. "
        "The horizontal line is retraining k-means."),
    "figure2_retrains": (
        "Figure 2: which requests cost work",
        "The stream of {deletions} requests from left to right, one thin row for each replicate of "
        "Q-k-means. A mark is a request that was not answered by correcting sums: coloured if "
        "parts of the model were computed again, black and taller if all of it was."),
    "figure3_epsilon_loss": (
        "Figure 3: loss against ε",
        "Loss ratio of Q-k-means against the width of its lattice; bars are one standard "
        "deviation. Curves stand a little beside each other so that bars can be told apart."),
    "figure4_width_loss": (
        "Figure 4: loss against w",
        "Loss ratio of DC-k-means against the number of leaves; bars as in figure 3."),
    "figure5_epsilon_time": (
        "Figure 5: time against ε",
        "Time per deletion with Q-k-means, training once and {deletions} deletions; the line is "
        "retraining k-means."),
    "figure6_width_time": (
        "Figure 6: time against w",
        "Time per deletion with DC-k-means, training once and {deletions} deletions; the line is "
        "retraining k-means."),
    "figure7_growth": (
        "Figure 7: the time of a request as the data grow",
        "Median (solid) and mean (dashed) time of a request against the number of rows, both axes "
        "logarithmic. A flat line means that a request costs the same however many rows there "
        "are. The first two requests, which also pay for what is made once, are left out of the "
        "mean; the CSV file has their time as first_us."),
    "figure8_latency": (
        "Figure 8: how long single requests take",
        "Histograms of the times of single requests on a logarithmic axis, each as high as its "
        "highest bin."),
    "figure9_tradeoff": (
        "Figure 9: speed-up against loss",
        "Each point is a method on a set; up is faster, left is lower loss. Bars are one standard "
        "deviation. The axis of the loss ratio is stretched around 1."),
}
