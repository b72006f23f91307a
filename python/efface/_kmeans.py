"""k-means as a scikit-learn estimator that can forget."""

import warnings

import numpy as np

from . import _efface
from ._arrays import WEIGHT_UNIT, check_weights, keep_present, unmasked
from ._bases import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    NotFittedError,
    TransformerMixin,
)
from ._model import Model
from ._parameters import (
    check_parameters,
    draw_seed,
    library_parameters,
    parameters_of,
    run_seeds,
)
from ._rounding import Tails, choose_offsets, find_rounding, warn_rounding, warn_tails
from ._rows import check_rows, feature_names, plain_rows
from ._texts import name_texts

_NO_KEY = bytes(16)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """k-means clustering from which rows can be removed exactly.

    After any sequence of `forget`, `learn` and `update` the state is byte for byte that of a fit
    to the rows that are there, with the same parameters and the same seed.

    Parameters
    ----------
    n_clusters : int, default=8
    method : {'pyramid', 'lloyd', 'quantized', 'tree'}, default='pyramid'
        'lloyd' is what scikit-learn does: k-means++ and Lloyd's iterations. 'pyramid' iterates on
        a small sample and finishes with a pass over all rows; most rows are then forgotten in
        microseconds. 'quantized' and 'tree' are the methods of the paper.
    n_init : int, default=1
        Runs with different seeds. All runs are kept and change together. Results come from the run
        with the least loss.
    max_iter : int or None, default=10
        Iterations at most; None: until nothing changes.
    random_state : int, RandomState or None, default=None
        The seed. None: a random seed that nobody knows. Use None if people may look at the model
        before they ask to be forgotten.
    scale : {'minmax'} or None, default=None
        'minmax' maps each feature from its smallest and largest value to [0, 1].
    bound : float or None, default=None
        The largest allowed magnitude of a value. None: derived from the rows.
    column_range : tuple of two arrays or None, default=None
        For scale 'minmax', the lowest and highest value of each feature.
    offset : array-like of shape (n_features,), 'auto' or None, default=None
        A number to subtract from each feature in float64, before the rounding to float32. float32
        keeps 24 bits: without an offset, seconds since 1970 would become multiples of 128. 'auto'
        chooses round numbers from X for the features that need an offset. Results are in the units
        of X. Later rows get the same offsets. `bound` is for values after the subtraction.
    empty : {'reseed', 'keep'}, default='reseed'
        What to do with a cluster without rows.
    candidates : int or None, default=None
        How many rows to try for each seed; the best row becomes the seed. None: as in scikit-learn,
        2 + log(n_clusters); 1 is plain k-means++.
    epsilon : float or None, default=None
        'quantized': width of the lattice as a part of the domain. 'pyramid': the same for the
        centroids that leave the sample; None: no lattice.
    gamma : float, default=0.2
        'quantized': clusters below gamma * n / k stay closer to their previous centroid.
    rate : float or None, default=None
        'pyramid': the part of the rows that is in the sample.
    passes : int, default=1
        'pyramid': passes over all rows.
    n_starts : int, default=4
        'pyramid': seedings tried on the sample.
    height, width : int, default=1 and None
        'tree': levels of nodes above the leaves, and children of a node.
    leaf_method, node_method : str, default='lloyd'
        'tree': the methods of leaves and of other nodes.
    depth_clusters : sequence of int or None, default=None
        'tree': clusters of the nodes at depth 1, ..., height.
    weigh_centroids : bool, default=True
        'tree': whether centroids count with the weight of their rows. False is the paper's tree.
    n_threads : int or None, default=None
        None: as many as there are processors. No result depends on it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the units of the data; fewer than n_clusters if there are fewer rows.
    labels_ : ndarray of shape (n_rows,)
        The cluster of each row, in the order in which rows came.
    ids_ : ndarray of shape (n_rows,)
        The ids of the rows in the same order.
    owners_ : masked array of shape (n_rows,)
        The owners of the rows in the same order; a row without an owner is masked.
    offset_ : ndarray of shape (n_features,) or None
        The offsets in use. They are public, and stay when rows are forgotten.
    inertia_ : float
        Sum of weighted squared distances to the nearest centroid (of scaled values, if scaled).
    n_iter_ : int
    method_ : str
        The method in use: `method`, or 'lloyd' for 'pyramid' with too few rows for a sample.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X had names.

    Notes
    -----
    A pickle holds the rows and the seed: it is as confidential as they are, and rows that are
    forgotten later remain in it.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = efface.KMeans(n_clusters=2, random_state=0).fit(X, ids=range(6))
    >>> report = model.forget(ids=[5])
    >>> bool(model.verify())
    True
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        method="pyramid",
        n_init=1,
        max_iter=10,
        random_state=None,
        scale=None,
        bound=None,
        column_range=None,
        offset=None,
        empty="reseed",
        candidates=None,
        epsilon=None,
        gamma=0.2,
        rate=None,
        passes=1,
        n_starts=4,
        height=1,
        width=None,
        leaf_method="lloyd",
        node_method="lloyd",
        depth_clusters=None,
        weigh_centroids=True,
        n_threads=None,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.scale = scale
        self.bound = bound
        self.column_range = column_range
        self.offset = offset
        self.empty = empty
        self.candidates = candidates
        self.epsilon = epsilon
        self.gamma = gamma
        self.rate = rate
        self.passes = passes
        self.n_starts = n_starts
        self.height = height
        self.width = width
        self.leaf_method = leaf_method
        self.node_method = node_method
        self.depth_clusters = depth_clusters
        self.weigh_centroids = weigh_centroids
        self.n_threads = n_threads

    # -------------------------------------------------------------- fitting

    def fit(self, X, y=None, sample_weight=None, *, ids=None, owners=None):
        """Fits to the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any numbers; they are rounded to float32 (see `offset`).
        y : ignored
        sample_weight : array-like of shape (n_samples,), float or None
            Rounded to multiples of 1/1024; a row of weight 0 is absent.
        ids : array-like of int or str, optional
            The names of the rows in later requests. Texts are hashed. Without ids, the id of a row
            is a hash of its content (see `ids_`), so the order of rows does not matter.
        owners : array-like of int, str or None, optional
            The owners of the rows. None, NaN and masked elements mean no owner: a request for an
            owner never finds these rows.

        Returns
        -------
        KMeans
            The estimator itself.
        """
        parameters = parameters_of(self)
        check_parameters(type(self).__name__, parameters)
        names = feature_names(X)
        with plain_rows(X, self) as rows:
            offsets = choose_offsets(self.offset, rows.array)
            findings = find_rounding(rows.array, offsets)
            model = self._fit_rows(rows, parameters, offsets, sample_weight, ids, owners)
        # Only now, so that a fit which fails leaves the estimator as it was.
        self._model, self.n_features_in_ = model, model.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        warn_few_rows(self.n_clusters, model.shape[0], stacklevel=2)
        warn_coarse(model._models.coarse_columns(0), self.scale, stacklevel=2)
        warn_rounding(findings, names, stacklevel=2)
        tails = Tails(*model._models.tails())
        warn_tails(tails, model.shape[0], self.scale, names, stacklevel=2)
        return self

    def _fit_rows(self, rows, parameters, offsets, sample_weight, ids, owners):
        """A Model of Rows. Those of weight 0 are absent from it, but have answers at first."""
        weights = check_weights(sample_weight, len(rows))
        present, all_ids = None, None
        if weights is not None and not weights.all():
            present = weights > 0
            if not present.any():
                raise ValueError(f"n_samples=0: all {len(rows)} sample weights are zero")
            all_ids = _all_ids(rows.array, weights, ids, offsets)
            ids, weights = all_ids[present], weights[present]
        params = library_parameters(parameters, offsets)
        seeds = run_seeds(draw_seed(self.random_state), self.n_init)
        owned = keep_present(owners, present, "owners")
        with rows.where(present) as some:
            try:
                models = _efface.fit(
                    some.array,
                    unmasked(ids),
                    weights,
                    unmasked(owned),
                    WEIGHT_UNIT,
                    params,
                    seeds,
                    None,
                    None,
                    offsets,
                )
            except (LookupError, ValueError) as error:
                raise name_texts(error, _text_id, ids, owners) from None
        model = Model(models, params=params, weighting="none" if weights is None else "parts")
        if present is not None:
            model._keep_absent(rows.array, all_ids)
        return model

    def fit_predict(self, X, y=None, sample_weight=None, *, ids=None, owners=None):
        """Fits to X and gives the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight, ids=ids, owners=owners).labels_

    def _fitted(self):
        try:
            return self._model
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            ) from None

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    # -------------------------------------------------------------- asking

    @property
    def cluster_centers_(self):
        """The centroids in the units of the data."""
        return self._fitted().cluster_centers_

    @property
    def labels_(self):
        """The cluster of each row, in the order in which rows came."""
        return self._fitted().labels_

    @property
    def ids_(self):
        """The ids of the rows, in the order in which rows came."""
        return self._fitted().ids_

    @property
    def owners_(self):
        """The owners of the rows in the same order; a row without an owner is masked."""
        return self._fitted().owners_

    @property
    def offset_(self):
        """The offsets of the features; None if they have none."""
        return self._fitted().offset_

    @property
    def inertia_(self):
        """The sum of weighted squared distances of the rows to their centroids."""
        return self._fitted().inertia_

    @property
    def n_iter_(self):
        """The iterations of the fit."""
        # A fit whose seeds are its centroids still passed over the rows once.
        return max(1, self._fitted().info.iterations)

    @property
    def method_(self):
        """The method in use."""
        return self._fitted().info.method

    @property
    def _n_features_out(self):
        return self._fitted().info.n_clusters

    def predict(self, X):
        """The nearest centroid of each row of X."""
        model = self._fitted()
        with check_rows(self, X) as rows:
            return model._predict_array(rows.array)

    def transform(self, X):
        """The distance of each row of X to each centroid (of scaled values, if scaled)."""
        model = self._fitted()
        with check_rows(self, X) as rows:
            return model._transform_array(rows.array)

    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of weighted squared distances of the rows of X to their centroids."""
        model = self._fitted()
        with check_rows(self, X) as rows:
            return model._score_rows(rows, sample_weight)

    def verify(self):
        """Fits the current rows again and compares the states byte by byte.

        Returns
        -------
        Difference
            True if the states of all runs are identical.
        """
        return self._fitted().verify()

    def digest(self):
        """The BLAKE2b-256 digest of the canonical bytes of the state, in hexadecimal digits."""
        return self._fitted().digest()

    def encode(self):
        """The canonical bytes of the state (docs/format.md)."""
        return self._fitted().encode()

    # -------------------------------------------------------------- changing

    def forget(self, ids=None, *, owners=None, missing="raise"):
        """Removes rows: afterwards, the model is as if it had never seen them.

        Parameters
        ----------
        ids : int, str or a collection of them, optional
        owners : int, str or a collection of them, optional
            All rows of these owners.
        missing : {'raise', 'skip'}, default='raise'
            What to do if an id or an owner does not exist. 'raise' raises NotFoundError and changes
            nothing.

        Returns
        -------
        Report
        """
        return self._fitted().forget(ids, owners=owners, missing=missing)

    def preview(self, ids=None, *, owners=None, missing="raise"):
        """Reports what `forget` would do, and changes nothing; `rows_visited` is an upper bound."""
        return self._fitted().preview(ids, owners=owners, missing=missing)

    def learn(self, X, *, sample_weight=None, ids=None, owners=None):
        """Adds rows, as if they had been there all the time; arguments as in `fit`.

        Without sample_weight, the rows have weight 1. Without owners, they have no owner.

        Returns
        -------
        Report
        """
        model = self._fitted()
        with check_rows(self, X) as rows:
            return model._learn(rows, sample_weight, ids, owners)

    def update(self, X, *, sample_weight=None, ids, owners=None):
        """Replaces the values of the rows with these ids, and their weights and owners if given.

        Returns
        -------
        Report
        """
        model = self._fitted()
        with check_rows(self, X) as rows:
            return model._update(rows, sample_weight, ids, owners)

    def rekey(self, random_state=None):
        """Fits again with another seed. Nothing of the old randomness remains.

        Do this if people may have looked at the model before they asked to be forgotten.

        Returns
        -------
        Report
        """
        return self._fitted().rekey(random_state)


def warn_few_rows(n_clusters, n_rows, stacklevel):
    """Warns if there are fewer rows, and so fewer centroids, than n_clusters."""
    if n_rows < n_clusters:
        warnings.warn(
            f"n_samples={n_rows} should be >= n_clusters={n_clusters}: the model has {n_rows} "
            f"centroid{'' if n_rows == 1 else 's'}, one for each row",
            stacklevel=stacklevel + 1,
        )


def warn_coarse(columns, scale, stacklevel):
    """Warns about features that lose too much on the grid."""
    if columns:
        some = ", ".join(map(str, columns[:5])) + (", ..." if columns[5:] else "")
        advice = "use scale='minmax'" if scale is None else "multiply them by a power of ten"
        warnings.warn(
            f"features {some} vary so little compared to the largest value that less than 8 "
            f"bits of them are kept: {advice}",
            stacklevel=stacklevel + 1,
        )


def _text_id(text):
    return _efface.text_id(text, _NO_KEY)


def _all_ids(X, weights, ids, offsets):
    """The ids of all rows, also of absent ones."""
    out = np.empty(X.shape[0], dtype=np.uint64)
    if ids is None:
        _efface.row_ids(X, weights, WEIGHT_UNIT, out, offsets)
    else:
        _efface.read_ids(unmasked(ids), out)
    return out
