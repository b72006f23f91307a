#!/usr/bin/env python3
"""Computes every number of docs/why/exactness.md and docs/why/shortcuts.md, in fractions.

    exactness_numbers.py            print the numbers, one sentence or table row a line
    exactness_numbers.py --check    compare them with the pages; exit with 1 if one differs

One of the pages must contain each line that is printed here (line breaks do not matter), and neither
has a fraction or decimal number that is not in one of these lines.
"""

import re
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = [HERE / "exactness.md", HERE / "shortcuts.md"]


# ---------------------------------------------------------------- tools


def total_variation(p, q):
    """Half the sum of the differences of two distributions, given as {outcome: probability}."""
    return sum(abs(p.get(x, 0) - q.get(x, 0)) for x in set(p) | set(q)) / 2


def add_to(distribution, outcome, probability):
    distribution[outcome] = distribution.get(outcome, 0) + probability


def uniform(outcomes):
    result = {}
    for outcome in outcomes:
        add_to(result, outcome, Fraction(1, len(outcomes)))
    return result


def round_half_away(value):
    size = int(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def decimal(value, digits=4):
    return f"{float(value):.{digits}f}"


def mean(rows):
    return Fraction(sum(rows), len(rows))


def loss(rows, centroid):
    return sum((row - centroid) ** 2 for row in rows)


def lattice_point(value, width, phase):
    """theta + eps round((c - theta) / eps), as docs/definition/numerics.md has it."""
    return phase + width * round_half_away(Fraction(value - phase) / width)


def kmeans_plus_plus(points, k):
    """The distribution of k-means++ seeds, as tuples in the order they are chosen."""
    seeds = {(): Fraction(1)}
    for _ in range(k):
        longer = {}
        for chosen, probability in seeds.items():
            rates = [min([(x - s) ** 2 for s in chosen], default=1) for x in points]
            for point, rate in zip(points, rates):
                if rate > 0:
                    add_to(longer, chosen + (point,), probability * Fraction(rate, sum(rates)))
        seeds = longer
    return seeds


def keep_unless_hit(points, k, gone):
    """Seeds after deleting a point, by keeping them unless it is one of them, else reseeding.

    Returns that distribution, the right one, and the chance of a hit.
    """
    before = kmeans_plus_plus(points, k)
    right = kmeans_plus_plus([x for x in points if x != gone], k)
    hit = sum(p for seeds, p in before.items() if gone in seeds)
    after = {seeds: p for seeds, p in before.items() if gone not in seeds}
    for seeds, probability in right.items():
        add_to(after, seeds, hit * probability)
    return after, right, hit


def race_without(rates, gone):
    """Who wins a race of exponentials with these rates when `gone` is taken out afterwards.

    The first is x with probability rate(x) / sum, and the second then y with probability
    rate(y) / (sum - rate(x)): exponentials have no memory. If the first is `gone`, the second wins.
    """
    result = {}
    total = sum(rates.values())
    for first, rate in rates.items():
        chance = Fraction(rate, total)
        if first != gone:
            add_to(result, first, chance)
            continue
        for second, other in rates.items():
            if second != gone:
                add_to(result, second, chance * Fraction(other, total - rate))
    return result


def race_after(points, gone):
    """Two seeds after deleting a point, with the race's numbers kept."""
    after = {}
    for first, chance in race_without({x: 1 for x in points}, gone).items():
        # The numbers of the second round are independent of those of the first, so that it does
        # not matter whether `first` won at once or as the runner-up.
        rates = {x: (x - first) ** 2 for x in points if x != first}
        for second, share in race_without(rates, gone).items():
            add_to(after, (first, second), chance * share)
    return after


def first_of(seeds):
    result = {}
    for chosen, probability in seeds.items():
        add_to(result, chosen[0], probability)
    return result


def as_sets(seeds):
    result = {}
    for chosen, probability in seeds.items():
        add_to(result, frozenset(chosen), probability)
    return result


def worst_seeding(n, k, top):
    """The largest bias over all sets of n different whole numbers from 0 to top."""
    worst = (Fraction(0), (), 0)
    for others in combinations(range(1, top + 1), n - 1):
        points = (0,) + others
        for gone in points:
            after, right, _ = keep_unless_hit(points, k, gone)
            bias = total_variation(after, right)
            if bias > worst[0]:
                worst = (bias, points, gone)
    return worst


# ---------------------------------------------------------------- the numbers


def lattice_numbers():
    width, rows, gone = 4, [0, 3, 3], 0
    rest = [3, 3]
    before, after = mean(rows), mean(rest)
    yield f"The rows are {', '.join(map(str, rows))}; their mean is {before}."
    yield f"Without the row {gone} the mean is {after}."
    old = [lattice_point(before, width, phase) for phase in range(width)]
    new = [lattice_point(after, width, phase) for phase in range(width)]
    for phase in range(width):
        verdict = "kept" if old[phase] == new[phase] else "retrained"
        yield f"| {phase} | {old[phase]} | {new[phase]} | {verdict} |"
    right = uniform(new)
    retrain = Fraction(sum(a != b for a, b in zip(old, new)), width)
    fresh = {}
    for a, b in zip(old, new):
        if a == b:
            add_to(fresh, a, Fraction(1, width))
        else:
            for outcome, probability in right.items():
                add_to(fresh, outcome, Fraction(1, width) * probability)
    for model in sorted(set(old) | set(new)):
        yield f"| {model} | {right.get(model, 0)} | {fresh.get(model, 0)} |"
    bias = total_variation(fresh, right)
    if bias != retrain * (1 - retrain):
        raise AssertionError("the total variation is not p(1 - p)")
    yield f"p = {retrain}, and the total variation distance is {bias} = p(1 - p)."
    seed = Fraction(1, len(rows))  # the chance that the deleted row is the seed: then all is right
    yield f"Of three rows the row {gone} is the seed with probability {seed},"
    whole = {}
    for outcome in set(right) | set(fresh):
        add_to(whole, outcome, seed * right.get(outcome, 0)
               + (1 - seed) * fresh.get(outcome, 0))
    yield f"off by {1 - seed} x {bias} = {total_variation(whole, right)}."
    stays = uniform([a for a, b in zip(old, new) if a == b])
    yield f"Given that, the model is 2, 3 or 4, each with {stays[2]}."
    if set(stays) != {2, 3, 4}:
        raise AssertionError("the models that are kept are others")
    if total_variation(uniform(old), right) != retrain:
        raise AssertionError("the same phase does not change the model with the least probability")
    yield f"the total variation distance of the two right distributions is {retrain} as well"


def adversary_numbers():
    """exactness.md, section 4: who asks to forget the row 0 only on seeing a certain model."""
    width = 4
    old = [lattice_point(2, width, phase) for phase in range(width)]
    new = [lattice_point(3, width, phase) for phase in range(width)]
    if len(set(old)) != width:
        raise AssertionError("the model does not tell the phase")
    right = uniform(new)
    spread = f"{', '.join(map(str, sorted(new)[:-1]))} or {max(new)}, each with {right[max(new)]}"
    yield f"A fresh run without the row 0 gives {spread}."
    for seen, kept in sorted(zip(old, new)):
        fresh = {kept: Fraction(1)} if seen == kept else right
        words = f"{kept} with certainty" if seen == kept else f"as it should be: {spread}"
        bias = total_variation({kept: Fraction(1)}, right), total_variation(fresh, right)
        yield f"| {seen} | {kept} with certainty | {bias[0]} | {words} | {bias[1]} |"


def expected_retrains(width, requests, up):
    """The expected number of retrains with fresh phases, if a mean moves by one step at each
    request: upwards with probability `up`, else downwards.

    The mean is in one of the `width` places of its cell, at first and after each retrain in all of
    them with the same probability; where it leaves the cell, there is a retrain.
    """
    places, retrains = [Fraction(1, width)] * width, Fraction(0)
    for _ in range(requests):
        moved, left = [Fraction(0)] * width, Fraction(0)
        for place, probability in enumerate(places):
            for step, chance in ((1, up), (-1, 1 - up)):
                if 0 <= place + step < width:
                    moved[place + step] += probability * chance
                else:
                    left += probability * chance
        retrains += left
        places = [probability + left / width for probability in moved]
    return retrains


def event_numbers():
    """shortcuts.md, section 1: how often kept and fresh phases retrain."""
    width, even, always = 16, Fraction(1, 2), Fraction(1)
    if expected_retrains(width, 1, even) != Fraction(1, width):
        raise AssertionError("the first request does not retrain with probability delta / eps")
    for requests in (1, 10, 100):
        kept = Fraction(requests, width)
        wanders = expected_retrains(width, requests, even)
        straight = expected_retrains(width, requests, always)
        yield f"| {requests} | {decimal(kept)} | {decimal(wanders)} | {decimal(straight)} |"

    # In the long run a retrain comes once in the mean time that it takes to leave a cell.
    def time_to_leave(place):
        return (place + 1) * (width - place)

    for place in range(width):
        if 2 * time_to_leave(place) != 2 + time_to_leave(place - 1) + time_to_leave(place + 1):
            raise AssertionError("the mean time to leave a cell is wrong")
    wanders = 1 / mean([time_to_leave(place) for place in range(width)])
    straight = 1 / mean([width - place for place in range(width)])
    yield (
        f"a kept phase retrains at {Fraction(1, width)} of the requests, fresh phases at {wanders} of "
        f"them if the mean wanders and at {straight} if it goes straight on"
    )


def seeding_numbers():
    points, gone = (0, 1, 2, 10), 10
    before = kmeans_plus_plus(points, 2)
    after, right, hit = keep_unless_hit(points, 2, gone)
    for first in (0, 1, 2):
        rates = [(x - first) ** 2 for x in points if x != first]
        kept = sum(p for s, p in before.items() if s[0] == first and gone not in s)
        near = sum(rates) - (gone - first) ** 2
        yield (
            f"| {first} | {' + '.join(map(str, rates))} | {Fraction(near, sum(rates))} | {kept} "
            f"| {decimal(kept / (1 - hit))} |"
        )
    yield f"The row {gone} is a seed with probability {hit} = {decimal(hit)}."
    for seeds in sorted(right):
        yield (
            f"| {seeds[0]}, {seeds[1]} | {right[seeds]} = {decimal(right[seeds])} "
            f"| {after[seeds]} = {decimal(after[seeds])} |"
        )
    for point in (0, 1, 2):
        alone = sum(p for seeds, p in right.items() if point in seeds)
        kept = sum(p for seeds, p in before.items() if point in seeds and gone not in seeds)
        kept /= 1 - hit
        yield f"| {point} | {alone} = {decimal(alone)} | {kept} = {decimal(kept)} |"
    bias = total_variation(after, right)
    yield f"The total variation distance is {bias} = {decimal(bias)}."
    bias_of_sets = total_variation(as_sets(after), as_sets(right))
    yield f"As sets, without their order, it is {decimal(bias_of_sets)}."
    firsts = first_of(after)
    yield "The first seed is 0, 1, 2 with " + ", ".join(decimal(firsts[x]) for x in (0, 1, 2)) + "."
    if total_variation(firsts, first_of(right)) != bias:
        raise AssertionError("the bias is not all in the first seed")
    if race_after(points, gone) != right:
        raise AssertionError("the race is not exact")
    if total_variation(before, right) != hit:
        raise AssertionError("the race changes seeds more often than it must")
    yield f"1/4 + 1/4 x 1/3 = {Fraction(1, 4) + Fraction(1, 4) * Fraction(1, 3)}"
    for n, k in ((4, 2), (5, 2), (5, 3)):
        worst, worst_points, worst_gone = worst_seeding(n, k, 12)
        yield (
            f"| {n} | {k} | {', '.join(map(str, worst_points))} | {worst_gone} | {decimal(worst)} |"
        )


def small_print_numbers():
    rows, gone = [0, 1, 2, 10], 10
    c, n = mean(rows), len(rows)
    right = (n * c - gone) / (n - 1)
    if right != mean([0, 1, 2]):
        raise AssertionError("the mean without a row is wrong")
    yield f"(4 x {c} - {gone}) / 3 = {right}"
    yield f"{c} - {gone}/4 = {c - Fraction(gone, n)}"
    yield f"4 x {c} - 3 x {right} = {n * c - (n - 1) * right}"

    gamma, k, cluster_sum, cluster_n, previous = Fraction(1, 5), 2, 11, 1, 0
    q = round_half_away(gamma * 2**16)  # the library's gamma
    yield f"Take `gamma` = {gamma}, k = {k}, and a cluster with the single row {cluster_sum}"
    for n_rows, words in ((11, "below"), (10, "not below")):
        threshold = gamma * n_rows / k
        held = cluster_n < threshold
        centroid = Fraction(cluster_sum, cluster_n)
        if held:
            centroid = (cluster_sum + (threshold - cluster_n) * previous) / threshold
        held_by_integers = cluster_n * 2**16 * k < q * n_rows
        if held != (words == "below") or held != held_by_integers:
            raise AssertionError("the balance example is wrong")
        yield f"| {n_rows} | {decimal(threshold, 1)} | {words} | {centroid} |"

    width, phase, seed = 4, 2, 3
    for rows in ([0, 3, 3], [3, 3]):
        first = lattice_point(mean(rows), width, phase)
        losses = loss(rows, seed), loss(rows, first)
        model = seed if losses[1] >= losses[0] else first
        yield (
            f"| {', '.join(map(str, rows))} | {seed} | {first} | {losses[0]} | {losses[1]} "
            f"| {model} |"
        )

    rows, seeds = [0, 1, 2, 10], [0, 1]
    levels = [[Fraction(s) for s in seeds]]
    for level in range(2):
        nearest = [min((0, 1), key=lambda i, x=x: (abs(x - levels[level][i]), i)) for x in rows]
        parts = [[x for x, i in zip(rows, nearest) if i == c] for c in (0, 1)]
        yield (
            f"| {level} | {levels[level][0]} and {levels[level][1]} "
            f"| {{{', '.join(map(str, parts[0]))}}} | {{{', '.join(map(str, parts[1]))}}} |"
        )
        levels.append([mean(part) for part in parts])
    yield f"(13 - 2) / 2 = {mean([1, 10])}"


def numbers():
    yield from adversary_numbers()
    yield from lattice_numbers()
    yield from event_numbers()
    yield from seeding_numbers()
    yield from small_print_numbers()


# ---------------------------------------------------------------- the page

NUMBER = re.compile(r"\d+/\d+|\d+\.\d+")


def plain(text):
    return " ".join(text.split())


def check(lines):
    pages = " ".join(plain(page.read_text(encoding="utf-8")) for page in PAGES)
    missing = [line for line in lines if plain(line) not in pages]
    for line in missing:
        print(f"no page says: {line}")
    known = set(NUMBER.findall(" ".join(lines)))
    unknown = sorted(set(NUMBER.findall(pages)) - known)
    for number in unknown:
        print(f"a page has a number that is not computed: {number}")
    if not missing and not unknown:
        print(f"{' and '.join(page.name for page in PAGES)}: {len(lines)} lines of numbers agree")
    return 1 if missing or unknown else 0


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    lines = list(numbers())
    if sys.argv[1:] == ["--check"]:
        return check(lines)
    for line in lines:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
