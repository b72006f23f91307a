#!/usr/bin/env python3
"""The numbers of test_forest_dare.c, computed from docs/definition/forest.md and nothing else.

Prints the tables of that file. Python's floats are doubles, and its whole numbers are exact; float32
is made by struct. Run it again only if the definition changes."""

import math
import struct
from fractions import Fraction

MASK = 0xFFFFFFFF
FREE_BITS, STEP = 8, 2  # of margins


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def words(key, purpose, index, step):
    return philox([index & MASK, index >> 32, step, purpose], [key & MASK, key >> 32])


def tape(seed, purpose, index, step):
    w = words(seed, purpose, index, step)
    return w[0] + (w[1] << 32)


M64 = 2**64 - 1
G = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def number(key, purpose, index, step):
    return mix((mix((key + G * (purpose + 8 * step)) & M64) + G * (index + 1)) & M64)


def bits_of(x):
    return 0x7FC00000 if x is None else struct.unpack("<I", struct.pack("<f", x))[0]


def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def f32(x):
    """The nearest float32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def down(y):
    """The largest float32 that is not above y and counts."""
    if 0 <= y < 2.0**-100:
        return 0.0
    if -(2.0**-100) < y < 0:
        return -(2.0**-100)
    x = f32(y)
    if x > y:
        bits = bits_of(x)
        x = float_of(bits - 1) if x > 0 else float_of(bits + 1)
    return x


def counts_as(x):
    return x if x is None or abs(x) >= 2.0**-100 else 0.0


# ------------------------------------------------------------------ rows of trees


def one_over_e(n_terms=60):
    return sum(Fraction((-1) ** i, math.factorial(i)) for i in range(n_terms))


def poisson_bound(j):
    return math.floor(2**64 * one_over_e() * sum(Fraction(1, math.factorial(i)) for i in range(j + 1)))


BOUNDS = [poisson_bound(j) for j in range(20)]


def multiplicity(seed, ident, tree):
    r = tape(seed, 13, ident, tree)
    return sum(b <= r for b in BOUNDS)


def shuffled(n, k, draw):
    order = list(range(n))
    for i in range(k):
        other = i + draw(i) * (n - i) // 2**32
        order[i], order[other] = order[other], order[i]
    return order


def trees_of(seed, ident, n_trees, k):
    k = min(k, n_trees)
    return shuffled(n_trees, k, lambda i: words(seed, 14, ident, i // 4)[i % 4])[:k]


# ------------------------------------------------------------------ splits


def box_above(lo, hi):
    e = math.frexp(hi)[1]  # 2^(e-1) <= hi < 2^e
    if lo < 2.0 ** (e - 1):
        return 0.0, 2.0**e
    a, b = bits_of(lo), bits_of(hi)
    bit = (a ^ b).bit_length() - 1
    begin = a & ~((1 << (bit + 1)) - 1)
    return float_of(begin), float_of(begin + (1 << (bit + 1)))


def box(lo, hi):
    if lo < 0 <= hi:
        r = 2.0**-100
        while not (-r <= lo and hi <= r):
            r *= 2
        return -r, r
    if hi < 0:
        left, right = box_above(-hi, -lo)
        return -right, -left
    return box_above(lo, hi)


def next_below(x):
    """The largest number that counts and is below x."""
    if x == 0:
        return -(2.0**-100)
    if x == 2.0**-100:
        return 0.0
    return float_of(bits_of(x) - 1) if x > 0 else float_of(bits_of(x) + 1)


def unit_of(values):
    """The exponent of the unit of a column, or None."""
    sizes = [next(e for e in range(-98, 127, 4) if abs(x) <= 2.0**e) for x in values if x]
    if not sizes:
        return None
    within = lambda part: next(e for e in range(-98, 127, 4)
                               if 16 * sum(s <= e for s in sizes) >= part * len(sizes))
    return within(1) if max(sizes) - within(11) >= 8 else None


def key_of(x):
    return -bits_of(-x) if x < 0 else bits_of(x)


def place_of(u, x):
    if x < 0:
        return -place_of(u, -x)
    first = 2**23 * (u + 127)
    if key_of(x) >= first:
        return 2**40 + 2**17 * (key_of(x) - first)
    return math.floor(Fraction(x) * Fraction(2) ** (40 - u))


def key_of_place(u, p):
    if p < 0:
        return -key_of_place(u, -p)
    if p < 2**40:
        return key_of(down(p * 2.0 ** (u - 40)))
    return min(2**23 * (u + 127) + (p - 2**40) // 2**17, 0x7F7FFFFF)


def scaled_threshold(key, column, u, lo, hi):
    a, b = place_of(u, lo) + 2**50, place_of(u, hi) + 2**50
    if a == b:
        return None
    w = (a ^ b).bit_length()
    left = a >> w << w
    right = left + 2**w
    i = 0
    while left < right:
        p = left + number(key, 3, column, i) * (right - left) // 2**64
        k = key_of_place(u, p - 2**50)
        if k < key_of(lo):
            left = p + 1
        elif k >= key_of(hi):
            right = p
        else:
            return -float_of(-k) if k < 0 else float_of(k)
        i += 1
    return None


def threshold(key, column, lo, hi, unit=None):
    if unit is not None:
        t = scaled_threshold(key, column, unit, lo, hi)
        if t is not None:
            return t
    h = next_below(hi)
    if h == lo:
        return lo
    left, right = box(lo, h)
    i = 0
    while True:
        r = number(key, 3, column, i)
        v = ((r >> 12) + 0.5) * 2.0**-52
        y = left + v * (right - left)
        if y < lo:
            left = y
        elif y >= hi:
            right = y
        else:
            return down(y)
        i += 1


def mixed_left(s, x):
    h = (s + bits_of(x)) & MASK
    h ^= h >> 16
    h = h * 0x7FEB352D & MASK
    h ^= h >> 15
    h = h * 0x846CA68B & MASK
    h ^= h >> 16
    return h & 1 == 1


def category_salt(key, column, values):
    i = 0
    while True:
        s = number(key, 5, column, i) & MASK
        if len({mixed_left(s, x) for x in values}) == 2:
            return s
        i += 1


def input_order(key, n_inputs):
    return shuffled(n_inputs, n_inputs, lambda i: number(key, 2, i // 2, 0) >> 32 * (i % 2) & MASK)


def root_key(seed, tree):
    return tape(seed, 12, tree, 0)


def child_keys(key):
    return number(key, 1, 0, 0), number(key, 1, 1, 0)


# ------------------------------------------------------------------ a whole forest, of a few rows


def log(x):
    m, e = math.frexp(x)
    if m < float.fromhex("0x1.6a09e667f3bcdp-1"):
        m, e = m * 2, e - 1
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 1.0 / 21.0
    for o in range(19, 2, -2):
        p = p * z + 1.0 / o
    q = 2.0 * s + (2.0 * s) * (z * p)
    return e * float.fromhex("0x1.62e42feep-1") + (e * float.fromhex("0x1.a39ef35793c76p-33") + q)


class Forest:
    """rows: (id, weight, label or None, [values, None if missing])."""

    def __init__(self, rows, seed=0, trees=1, target=None, bound=0.0, candidates=0, depth=0,
                 min_split=2, min_leaf=1, how="all", some=10, entropy=False, missing=False,
                 categories=()):
        self.seed, self.target, self.entropy, self.missing = seed, target, entropy, missing
        self.depth, self.min_split, self.min_leaf = depth, min_split, min_leaf
        self.categories = categories
        d = len(rows[0][3]) if rows else 0
        self.inputs = [j for j in range(d) if j != target]
        f = len(self.inputs)
        self.candidates = min(candidates, f) if candidates else max(
            2 * math.isqrt(f) // 3 if target is None else f // 3, min(f, 5))
        taking_part = [r for r in rows if (r[2] if target is None else r[3][target]) is not None]
        self.classes = sorted({r[2] for r in taking_part}) if target is None else []
        if target is not None:
            most = bound or max((abs(r[3][target]) for r in taking_part), default=0.0)
            self.exponent = -100
            while 2.0**self.exponent < most:
                self.exponent += 1
        self.units = [unit_of([counts_as(r[3][j]) for r in taking_part]) for j in range(d)]
        self.trees = []
        for t in range(trees):
            members = []
            for ident, weight, label, values in taking_part:
                m = (1 if how == "all" else multiplicity(seed, ident, t) if how == "poisson"
                     else int(t in trees_of(seed, ident, trees, some)))
                if m:
                    what = (self.classes.index(label) if target is None else
                            round(Fraction(counts_as(values[target])) * Fraction(2) ** (23 - self.exponent)))
                    members.append((m * weight, what, [counts_as(x) for x in values]))
            self.trees.append(self.grow(members, root_key(seed, t), 0))

    def candidate(self, members, key, j):
        values = [x[j] for _, _, x in members]
        there = [x for x in values if x is not None]
        if j in self.categories:
            if len({bits_of(x) for x in values}) < 2:
                return None
            s = category_salt(key, j, values)
            return ("categories", j, s), lambda x: mixed_left(s, x)
        if not there or (min(there) == max(there) and len(there) == len(values)):
            return None
        if min(there) == max(there):
            return ("threshold", j, math.inf, False), lambda x: x is not None
        t = threshold(key, j, min(there), max(there), self.units[j])
        left = self.missing and number(key, 4, j, 0) & 1 == 1
        return ("threshold", j, t, left), lambda x: left if x is None else x <= t

    def score(self, left, right):
        n_left, n_right = sum(m[0] for m in left), sum(m[0] for m in right)
        if self.target is not None:
            s_left, s_right = (sum(m[0] * m[1] for m in side) for side in (left, right))
            diff = float((n_left + n_right) * s_left - n_left * (s_left + s_right))
            return (diff / n_left) * (diff / n_right)
        of = [[sum(m[0] for m in side if m[1] == c) for c in range(len(self.classes))]
              for side in (left, right)]
        if not self.entropy:
            return float(sum(x * x for x in of[0])) / n_left + float(sum(x * x for x in of[1])) / n_right
        x = lambda n: n * log(float(n)) if n else 0.0
        total = 0.0
        for a, b in zip(*of):
            total = total + x(a)
            total = total + x(b)
        return total - x(n_left) - x(n_right)

    def margin(self, members):
        steps = len(members).bit_length() - 1 - FREE_BITS
        if steps <= 0:
            return 0.0
        n = sum(m[0] for m in members)
        if self.target is not None:
            s, q = (sum(m[0] * m[1] ** k for m in members) for k in (1, 2))
            gain = float(n * q - s * s)
        else:
            of = [sum(m[0] for m in members if m[1] == c) for c in range(len(self.classes))]
            if self.entropy:
                x = lambda n: n * log(float(n)) if n else 0.0
                total = 0.0
                for w in of:
                    total = total + x(w)
                gain = min(x(n) - total, 0.5 * n)
            else:
                score = float(sum(w * w for w in of)) / n
                gain = min(n - score, score)
        return float(STEP * steps) * gain / len(members)

    def grow(self, members, key, depth):
        if not ((self.depth and depth == self.depth) or len(members) < self.min_split
                or len({m[1] for m in members}) < 2):
            order = input_order(key, len(self.inputs))
            best, n_candidates, margin = None, 0, self.margin(members)
            for i in order:
                if n_candidates == self.candidates:
                    break
                made = self.candidate(members, key, self.inputs[i])
                if made is None:
                    continue
                n_candidates += 1
                split, goes_left = made
                left = [m for m in members if goes_left(m[2][split[1]])]
                right = [m for m in members if not goes_left(m[2][split[1]])]
                if min(len(left), len(right)) < self.min_leaf:
                    continue
                score = self.score(left, right)
                if best is None or score > best[0] + margin:
                    best = score, split, left, right
            if best is not None:
                keys = child_keys(key)
                return best[1], self.grow(best[2], keys[0], depth + 1), self.grow(best[3], keys[1], depth + 1)
        if self.target is not None:
            return sum(m[0] for m in members), sum(m[0] * m[1] for m in members)
        leaf = {}
        for weight, what, _ in members:
            leaf[what] = leaf.get(what, 0) + weight
        return leaf


# ------------------------------------------------------------------ tables


PAIRS = [
    (1.0, 2.0), (3.0, 1000.0), (0.0, 1.0), (0.0, 2.0**-100), (5.0, 5.25), (1.0, float_of(0x3F800001)),
    (-2.0, -1.0), (-1000.0, -3.0), (-5.25, -5.0), (-1.0, 0.0), (-1.0, 1.0), (-0.001, 5000.0),
    (-5000.0, 0.001), (-(2.0**-100), 0.0), (-(2.0**-100), 2.0**-100), (2.0**-100, 2.0**-99),
    (2.0**125, 2.0**126), (-(2.0**126), 2.0**126), (f32(0.1), f32(0.10000001)), (1024.0, 1025.0),
    (float_of(0x7E7FFFFF), 2.0**126), (-(2.0**126), -float_of(0x7E7FFFFF)), (4096.0, 8191.5),
]


TAILS = [
    (1.0, 1e6), (-1.0, 1e6), (1.0, -1e6), (-1.0, -1e6), (0.75, 2.0**126), (2.0**-100, 1.0),
    (-(2.0**-100), 2.0**126), (f32(0.1), f32(1234.5)), (3.0, f32(1e5)),
]
TAILS = [(f32(a), f32(b)) for a, b in TAILS]


def main():
    seed = 20191105
    key = root_key(seed, 0)
    print("/* key of the root of tree 0 and of its children */")
    print("  ", ", ".join(f"UINT64_C(0x{k:016x})" for k in (key, *child_keys(key))))
    print("/* lo, hi, L, R (those of lo and hi), threshold of column 0 */")
    for lo, hi in PAIRS:
        left, right = box(lo, hi)
        print("    {%s, %s, %s, %s, 0x%08x}," % (
            *(f"UINT32_C(0x{bits_of(x):08x})" for x in (lo, hi)), left.hex(), right.hex(),
            bits_of(threshold(key, 0, lo, hi))))
    print("/* order of 7 inputs at the root */")
    print("  ", ", ".join(map(str, input_order(key, 7))))
    print("/* numbers of the shuffle */")
    print("  ", ", ".join(f"UINT64_C(0x{number(key, 2, i, 0):016x})" for i in range(4)))
    print("/* floor(2^64 P_j) */")
    print("  ", ", ".join(f"UINT64_C(0x{b:016x})" for b in BOUNDS))
    idents = [0, 1, 7, 2**40 + 3, 2**64 - 1]
    print("/* multiplicities of ids in trees 0 to 7 */")
    for ident in idents:
        print("    {", ", ".join(str(multiplicity(seed, ident, t)) for t in range(8)), "},")
    print("/* 3 of 10 trees, as bits */")
    print("  ", ", ".join(f"0x{sum(1 << t for t in trees_of(seed, i, 10, 3)):03x}" for i in idents))
    print("/* salt of column 0 for values 1, 2; for 1 and missing */")
    print("   UINT32_C(0x%08x), UINT32_C(0x%08x)" % (
        category_salt(key, 0, [1.0, 2.0]), category_salt(key, 0, [1.0, None])))
    print("/* sides of the first salt for 0, 1, 2, missing */")
    s = number(key, 5, 0, 0) & MASK
    print("  ", hex(s), [int(mixed_left(s, x)) for x in (0.0, 1.0, 2.0, None)])
    print("/* where missing values go at the root, columns 0 to 7 */")
    print("  ", [number(key, 4, j, 0) & 1 for j in range(8)])
    print("/* columns with long tails: small, times 12, and large; unit, threshold */")
    for small, large in TAILS:
        unit = unit_of([small] * 12 + [large])
        print("    {UINT32_C(0x%08x), UINT32_C(0x%08x), %d, 0x%08x}," % (
            bits_of(small), bits_of(large), unit,
            bits_of(threshold(key, 0, min(small, large), max(small, large), unit))))
    three = [(0, 1, 0, [0.0]), (1, 1, 0, [1.0]), (2, 1, 1, [10.0])]
    print("/* trees of the three points, before and after the second leaves */")
    for rows in (three, [three[0], three[2]]):
        print("  ", Forest(rows, seed=seed, trees=2).trees)


if __name__ == "__main__":
    main()
