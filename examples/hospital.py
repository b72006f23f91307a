# %% [markdown]
# # A patient withdraws
#
# A hospital predicts what a stay costs. A plain script with cells: run it with
# `python3 examples/hospital.py`, or open it as a notebook. `examples/hospital.c` does the same in C.
# The tests run both.

# %%
import tempfile

import numpy as np

import efface

# %% [markdown]
# ## The table
#
# Three stays of each of 200 patients, made by a fixed formula. A stay has an id, and an owner, the
# patient.

# %%
NAMES = ["age", "pressure", "smoker", "days"]
stays = np.arange(600)
patients = stays % 200
X = np.column_stack(
    [
        20 + patients * 37 % 61,
        100 + (patients * 13 + stays * 7) % 61,
        patients % 4 == 1,
        1 + (stays * stays + patients * 5) % 14,
    ]
).astype(np.float32)
chance = stays * 7919 % 401 - 200
cost = 500 + X @ np.array([12, 4, 650, 900]) + chance


def show(model):
    print(f"{len(model.ids_)} stays, R^2 = {model.r2_:.4f}")
    print(f"  {'intercept':9} {model.intercept_:10.4f}  (standard error {model.intercept_std_:.4f})")
    for name, coefficient, error in zip(NAMES, model.coef_, model.coef_std_):
        print(f"  {name:9} {coefficient:10.4f}  (standard error {error:.4f})")


# %% [markdown]
# ## In memory
#
# Patient 17 withdraws. The coefficients are then those of a model that never saw a stay of
# patient 17: the same bits, not nearly the same numbers.

# %%
model = efface.LinearRegression().fit(X, cost, ids=stays, owners=patients)
show(model)
print(model.forget(owners=17))
show(model)

others = patients != 17
never_had = efface.LinearRegression().fit(X[others], cost[others], ids=stays[others])
assert (model.coef_ == never_had.coef_).all() and model.intercept_ == never_had.intercept_
assert model.digest() == never_had.digest() and model.verify()

# %% [markdown]
# ## In a store
#
# A store has the rows too, the cost among their columns. A request is one transaction over rows and
# models, and leaves a receipt, which has no values and no ids.

# %%
with tempfile.TemporaryDirectory() as folder:
    table = np.column_stack([X, cost])
    path = f"{folder}/stays.store"
    with efface.create(path, table, ids=stays, owners=patients) as store:
        store.fit("cost", efface.LinearRegression(), targets=4)
        report = store.forget(owners=17)
        stored = store.load("cost")
        assert (stored.coef_ == never_had.coef_).all()
        assert stored.intercept_ == never_had.intercept_
        assert store.verify("cost")
        print(store.receipt(report.receipt))
