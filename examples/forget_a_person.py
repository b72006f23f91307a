# %% [markdown]
# # A model that can forget
#
# A plain script with cells: run it with `python3 examples/forget_a_person.py`, or open it as a
# notebook. It fits a model, looks at it, lets a person be forgotten, checks that this is exact, and
# compares the result with scikit-learn's. The tests run it.

# %%
import tempfile
import time

import numpy as np

import efface

# %% [markdown]
# ## Fit
#
# 20,000 visits of 500 people: how old they are, how many minutes they stay, how many pages they
# read. Every visit has an id, and an owner, the person.

# %%
rng = np.random.default_rng(3)
kind = rng.integers(0, 3, size=20_000)
X = np.column_stack(
    [
        20 + 20 * kind + rng.normal(0, 4, size=20_000),
        10 * (kind * 2 % 3) + rng.uniform(0, 8, size=20_000),
        3 * kind + rng.uniform(0, 5, size=20_000),
    ]
).astype(np.float32)
visits = np.arange(20_000)
people = [f"person {i}" for i in rng.integers(0, 500, size=20_000)]

model = efface.KMeans(n_clusters=3, scale="minmax", random_state=7)
model.fit(X, ids=visits, owners=people)

# %% [markdown]
# ## Look
#
# Everything that scikit-learn's users know is there.

# %%
print("centroids:")
print(model.cluster_centers_.round(1))
print("visits in each cluster:", np.bincount(model.labels_))
print("inertia:", round(model.inertia_, 3))
print("silhouette:", round(efface.metrics.silhouette_score(model, max_rows=2_000), 3))
assert (model.predict(X) == model.labels_).all()

# %% [markdown]
# ## Forget a person
#
# Person 123 writes: stop using my data. What would that take? Then do it. Reports print well here
# and, as tables, in a notebook.

# %%
print(model.preview(owners="person 123"))
print(model.forget(owners="person 123"))

# %% [markdown]
# ## Verify
#
# `verify` fits a model to the visits that are left, with the same seed, and compares byte by byte.
# Whoever does not trust it makes that model themselves.

# %%
print(model.verify())
left = np.array([person != "person 123" for person in people])
never_had = efface.KMeans(n_clusters=3, scale="minmax", random_state=7)
never_had.fit(X[left], ids=visits[left])
assert model.digest() == never_had.digest()
print("digest:", model.digest()[:16], "... and the model that never had them:", end=" ")
print(never_had.digest()[:16], "...")

# %% [markdown]
# ## A thousand single visits
#
# Most visits are in no sample that centroids were made from: forgetting them corrects a few sums.

# %%
begin = time.perf_counter()
reports = [model.forget(ids=visit) for visit in model.ids_[:1000]]
seconds = time.perf_counter() - begin
actions = [report.action for report in reports]
print(f"1,000 visits forgotten in {seconds:.3f} s:", {a: actions.count(a) for a in set(actions)})
assert model.verify()

# %% [markdown]
# ## Compare with scikit-learn
#
# The same data, scaled in the same way. The two agree on the clusters; but scikit-learn has to fit
# anew for every person who leaves.

# %%
try:
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import MinMaxScaler
except ImportError:
    print("scikit-learn is not installed: nothing to compare with")
else:
    scaled = MinMaxScaler().fit_transform(X)
    theirs = KMeans(n_clusters=3, n_init=1, random_state=0).fit(scaled)
    agreement = efface.metrics.adjusted_rand_score(theirs.labels_, model.predict(X))
    print("agreement with scikit-learn (adjusted Rand index):", round(agreement, 3))
    print("inertia per visit, ours and theirs:", end=" ")
    print(round(model.inertia_ / len(model.ids_), 4), round(theirs.inertia_ / len(X), 4))

# %% [markdown]
# ## Keep it
#
# A store is a file with rows, models and receipts; a request is one transaction over all of them.
# Person 42 first wants to see what there is, then to have it gone. The receipt says that it is, and
# to whoever knows a visit's id, that it was among the forgotten ones.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/visits.store"
    with efface.create(path, X, ids=visits, owners=people, keep_texts=True) as store:
        store.fit("habits", efface.KMeans(n_clusters=3, scale="minmax", n_init=3))
        store.fit("ages", efface.KMeans(n_clusters=5), columns=[0])
        seen = store.find(owners="person 42")
        print(len(seen), "visits of person 42")
        report = store.forget(owners="person 42")
        print(report)
        assert store.verify() and "person 42" not in store.owners()
        receipt = store.receipts[-1]
        assert efface.receipt_root(report.row_hashes) == receipt["rows"]["root"]

    # A model that leaves the store can go on forgetting.
    with efface.open(path, write=False) as store:
        habits = store.load("habits")
    print(habits.forget(owners="person 7"))
    assert habits.verify()
