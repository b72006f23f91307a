"""What the report says around its tables and figures: text that holds whatever was measured."""

INTRODUCTION = (
    'The paper, "Making AI Forget You: Data Deletion in Machine Learning" (Ginart, Guan, Valiant, '
    "Zou, 2019), compares ways of deleting rows from a k-means model with training it again. This "
    "page repeats its four tables and six figures with efface, with the paper's number beside each "
    "of ours, and adds four figures. *Exact* means: after the deletions the model is, byte for "
    "byte, the model that a fit of the remaining rows with the same parameters and seed gives. "
    "Every run ended with a verification of that, and one that fails ends the run without a result."
)
QUICK = (
    "**This is a short run**, with fewer deletions, replicates or sets than the paper's. It shows "
    "that everything works; its numbers are not meant for comparison."
)
HEADLINE = (
    "Speed-up over retraining k-means at each deletion, training included, and loss ratio; for "
    "k-means itself the time of retraining. ± one standard deviation: of the replicates, for a "
    "speed-up from those of its two means. Bold: the highest speed-up of all exact methods, where "
    "it is in this table."
)
DEFINITIONS = [
    "The online deletion benchmark is the paper's: train once on all rows, then delete rows chosen "
    "at random, one at a time, and have a model of the remaining rows after each.",
    "Methods: *k-means* is k-means++ and Lloyd's iterations. As in the paper it runs to "
    "convergence (which the paper does not define: here, until nothing changes) where quality is measured, and makes 10 iterations where time is. *k-means, "
    "forgetting* is k-means with 10 iterations, kept up to date by efface (method `lloyd`). "
    "*Q-k-means* is the paper's quantized k-means (method `quantized`), *exact* as efface does it. "
    "*DC-k-means* is the paper's divide-and-conquer k-means (method `tree`, one level, centroids "
    "not weighed), *exact* too. Beside each stands the same *as printed*: a program of its own, "
    "`efface-as-printed` (bench/paper), does what Algorithms 1 to 7 print, line by line, on efface's "
    "kernels and on rows that were scaled once beforehand. Q-k-means as printed is **not exact**, neither by bytes nor in distribution "
    "(docs/why/shortcuts.md); *as programmed* is the same with the reading of the print that the "
    "authors' program takes. DC-k-means as printed is exact in distribution as long as "
    "requests are chosen independently of the model. Nothing of these is verified, for their state "
    "depends on history. There are also trees with weighed centroids and with quantized leaves. "
    "*pyramid* is efface's own (docs/definition/numerics.md, section 7). All methods draw plain k-means++ "
    "seeds here, as the paper's do; by default efface tries several rows for each seed. "
    "docs/why/paper.md lists where efface departs from the paper's algorithms.",
]
TERMS = [
    "**Milestones**: quality is measured after training and after 1, 10, 100 and 1,000 deletions. "
    "A value of tables 1 to 3 is the mean of a replicate over its milestones, then of the "
    "replicates. The paper measures at the same milestones and does not say which of them its "
    "tables show.",
    "**Loss ratio**: the loss of a model, divided by the mean loss over the replicates of k-means, "
    "run to convergence on the same rows. Lower is better; below 1 is less loss than k-means has "
    "on average.",
    "**Silhouette**: of 10,000 rows, drawn again for each replicate and milestone; of all rows "
    "where there are no more.",
    "**Retraining**: k-means with 10 iterations, clocked four times in each run: on all rows before "
    "the first deletion, and on the rows that are left after the last, twice each. The time of a run "
    "is the mean of the two, so that it stands for all retrainings in between, which is what the "
    "paper's time of k-means is the mean of. That of a "
    "seed is the median over all runs of the set, that of a set the mean over the seeds. The time of a "
    "method is a single take of each replicate.",
    "**Amortized**: the time of training once and of all deletions, divided by the number of "
    "deletions.",
    "**Speed-up**: a ratio of means, as the paper's numbers are: the mean time of retraining, divided by the "
    "mean amortized time of the method.",
    "**Adjusted, repaired, refitted**: a request that only corrected sums, one that computed "
    "parts of the model again, and one that computed all of it again.",
]
QUALITY = {
    "table1_loss": (
        "Table 1: loss ratio",
        "Mean ± standard deviation of the replicates; lower is better. k-means is 1 by "
        "construction."),
    "table2_silhouette": (
        "Table 2: silhouette coefficient",
        "How much nearer rows are to their own cluster than to the next; higher is better."),
    "table3_nmi": (
        "Table 3: normalized mutual information",
        "How much the clusters tell about the true labels; higher is better."),
}
MILESTONES = "The same at each milestone: after so many deletions"
AGREEMENT = (
    "What is compared is what can differ: k-means, except for its loss, and Q-k-means and DC-k-means "
    "as printed and as programmed, on celltype, covtype, mnist and gaussian. The last set is drawn with "
    "the paper's parameters but is not the paper's file; how much two such draws differ is in no "
    "standard error. The standard error of a difference is that "
    "of both means together. With five replicates on each side about one in twelve of means with "
    "the same expectation lies farther apart than two of them (Student's t, 8 degrees of freedom)."
)
TWICE_GAUSSIAN = (
    "The paper's Table 2 lists Gaussian twice and MNIST not at all. The order of its rows speaks "
    "for reading the first of the two as MNIST, whose place it has in the other tables: that is "
    "0.036 for MNIST and 0.066 for Gaussian. The values speak for the opposite, and they decide: "
    "k-means run to convergence has a silhouette of about 0.06 on MNIST, whose data are public, "
    "and of 0.035 on Gaussian clusters with the paper's parameters, by scikit-learn as well as by "
    "efface. So the row with 0.036 is read as Gaussian here, and that with 0.066 as MNIST."
)
TIMES = (
    "Speed-up over retraining, and the amortized time behind it; for k-means, the time of "
    "retraining once. Times are mean ± standard deviation of the replicates. The deviation of a "
    "speed-up follows from those of the two times."
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
    "Q-k-means, the paper: `O(m^2 d^2.5 / eps)` for m deletions, in expectation. For a fixed epsilon "
    "that does not depend on n: these are the runs with ε = 1/16. The others have the paper's epsilon, which is halved whenever n "
    "grows tenfold, from 1/16 for 10,000 rows on, so the bound grows as n^0.30. In m the bound is coarse: with kept phases and "
    "with fresh ones the number of retrainings is about linear in m (figure 2; "
    "docs/why/shortcuts.md, section 1).",
    "DC-k-means, the paper: `O(m max(n^rho, n^(1-rho)) d)` with the width `w = n^rho`; the width "
    "here is about n^0.3, which makes it n^0.7.",
    "pyramid, which the paper does not have: a request for a row outside of the sample and the "
    "jury only corrects sums, whatever n is, unless it changes the size of the sample.",
]
EFFICIENCY = (
    "A method is α-deletion efficient if it answers m = n^α deletions in an amortized time of "
    "O(n / m) = O(n^(1-α)) each, which is the cost of training once, spread over the deletions. "
    "Corollary 4.2.1 promises it of Q-k-means with a lattice of width n^-β for α up to "
    "(1 - β) / 2, corollary 4.2.2 of DC-k-means with n^ρ leaves for α up to 1 - max(ρ, 1 - ρ). "
    "The second has < in the paper's section 4.3 and ≤ in its appendix C.2.4, and assumes training that "
    "is sequential. Here β = 1/4 and ρ = 1/2, which is α up to 3/8 and up to 1/2 (1/2 itself by the appendix only). The table has the exponents of "
    "the amortized times in n (figure 10) beside 1 - α. Training a row takes longer in a large "
    "set, which no cache holds. So the next column has the exponents of the same times divided by "
    "those of training / m, and this column decides: 0 or less is deletion efficient."
)
EFFICIENCY_NOTE = (
    "Exponents ± their standard errors, from four numbers of rows: with so few points an error is "
    "known only roughly. It holds if the exponent over training / m is at most 0, up to two "
    "standard errors. The corollaries are about the paper's own algorithms: the lines *as printed*."
)
LOSS_BOUND = (
    "Corollary 4.1.1 bounds the expected loss of Q-k-means with k-means++ seeds by "
    "8 (ln k + 2) L\\* + ε sqrt(8 n d (ln k + 2) L\\*) + ε² n d / 4, where L\\* is the least "
    "loss that k centroids can have. It is not known; the least loss that was found with any seed "
    "takes its place, which can only raise the bound. Losses are after training."
)
LOSS_BOUND_NOTE = "Losses are those of the unit cube, for mnist those of pixels from 0 to 255."

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
        "k-means, retrained, pays for training as well: after m deletions it stands at (m + 1) / m "
        "retrainings."),
    "figure2_retrains": (
        "Figure 2: retrainings",
        "How many of the first so many requests were not answered by correcting sums: the mean of "
        "the replicates. Exact Q-k-means computes parts of the model again at such a request, "
        "Q-k-means as printed all of it."),
    "figure2_stream": (
        "Figure 2, request by request: which of them cost work",
        "The stream of {deletions} requests from left to right, one thin row for each replicate of "
        "Q-k-means. A mark is a request that was not answered by correcting sums: coloured if "
        "parts of the model were computed again, black and taller if all of it was."),
    "figure3_epsilon_loss": (
        "Figure 3: loss against ε",
        "Loss ratio of exact Q-k-means against the width of its lattice, measured once, after "
        "{deletions} deletions (the paper does not say after how many its own are); bars are one standard "
        "deviation. Curves stand a little beside each other so that bars can be told apart. Where "
        "the first iteration does not lower the loss, the seeds are the model: wider lattices then "
        "change nothing. The paper's algorithm would return the mean of that iteration."),
    "figure4_width_loss": (
        "Figure 4: loss against w",
        "Loss ratio of exact DC-k-means against the number of leaves, measured after {deletions} "
        "deletions; else as figure 3."),
    "figure5_epsilon_time": (
        "Figure 5: time against ε",
        "Time per deletion with exact Q-k-means, of training once and {deletions} deletions one by "
        "one; the line is retraining k-means once."),
    "figure6_width_time": (
        "Figure 6: time against w",
        "Time per deletion with exact DC-k-means, of training once and {deletions} deletions one by "
        "one; the line is retraining k-means once."),
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
        "deviation. The axis of the loss ratio is stretched around 1. Parts of real sets are left "
        "out."),
    "figure10_efficiency": (
        "Figure 10: n^α deletions from n rows",
        "The amortized time of a deletion against the number of rows; both axes are logarithmic. "
        "The dotted line of a curve is the part of training in it, training / m. A method is "
        "α-deletion efficient if its curve stays within a fixed factor of its dotted line."),
}
