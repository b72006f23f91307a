"""The texts of owners beside a model, whose rows have their numbers."""

import numpy as np

from ._arrays import NO_OWNER


class OwnerTexts:
    """The texts of owners that rows have, each with the number of these rows: a text goes with the
    last of them.

    Should a change end without its rows being counted, they are all counted before the next."""

    __slots__ = ("_is_right", "_known")

    def __init__(self, known=None):
        self._known = {} if known is None else {n: list(entry) for n, entry in known.items()}
        self._is_right = True

    def __reduce__(self):
        return OwnerTexts, (self._known,)

    def copy(self):
        """Another, which changes by itself."""
        return OwnerTexts(self._known)

    def shown(self, numbers):
        """Owners as a masked array: texts where they are known. Should its mask get lost, nobody is
        named by mistake."""
        owners = numbers
        if self._known:
            found, places = np.unique(numbers, return_inverse=True)
            texts = [self._known.get(n, [n])[0] for n in found.tolist()]
            owners = np.array([*texts, None], dtype=object)[places]
        return np.ma.MaskedArray(owners, mask=numbers == NO_OWNER, fill_value=np.uint64(NO_OWNER))

    def add(self, models, owners, numbers=None):
        """Counts rows of the models that came with these owners, which are as the user gave them."""
        if not self._known and not _have_texts(owners):
            return
        numbers = models.owner_numbers(owners) if numbers is None else numbers
        for owner, number in zip(_as_list(owners), numbers):
            if number in self._known:
                self._known[number][1] += 1
            elif isinstance(owner, str):
                self._known[number] = [str(owner), 1]

    def _take(self, numbers):
        for number in numbers:
            entry = self._known.get(number)
            if entry is not None:
                entry[1] -= 1
                if entry[1] <= 0:
                    del self._known[number]

    def _count(self, model):
        found, counts = np.unique(model._column(3, np.uint64), return_counts=True)
        counts = dict(zip(found.tolist(), counts.tolist()))
        self._known = {n: [t, counts[n]] for n, (t, _) in self._known.items() if n in counts}

    def change(self, model, make, ids, owners, what):
        """What `make` gives, which changes the model: it forgets rows, learns or updates them."""
        models = model._models
        if not self._is_right:
            self._count(model)
        if not self._known and (what == "forget" or not _have_texts(owners)):
            return make()
        leaving = [] if what == "learn" or ids is None else models.owners_of(ids)
        asked = models.owner_numbers(owners) if what == "forget" and owners is not None else []
        self._is_right = False
        try:
            result = make()
        except (LookupError, TypeError, ValueError):  # nothing was changed
            self._is_right = True
            raise
        if what == "learn":
            self.add(models, owners)
        elif what == "update":
            now = models.owners_of(ids)
            self.add(models, [None] * len(now) if owners is None else owners, now)
        self._take(leaving)
        for number in asked:
            self._known.pop(number, None)
        self._is_right = True
        return result


def _as_list(owners):
    if owners is None:
        return []
    if isinstance(owners, str) or not hasattr(owners, "__iter__"):
        return [owners]
    return owners


def _have_texts(owners):
    if getattr(getattr(owners, "dtype", None), "kind", "O") in "iuf":
        return False
    return any(isinstance(owner, str) for owner in _as_list(owners))
