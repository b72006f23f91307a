"""The package as a whole: what it needs, and what it says of itself."""

import inspect
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import typing

import pytest

import efface

PACKAGE = pathlib.Path(efface.__file__).parent
PROJECT = pathlib.Path(__file__).resolve().parents[2]


def run(code, blocked=()):
    """Runs code in a process in which some packages cannot be imported."""
    start = f"""
        import sys

        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {blocked!r}:
                    raise ModuleNotFoundError("No module named " + name, name=name)

        sys.meta_path.insert(0, Blocked())
    """
    command = [sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(code)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


USE = """
    import numpy as np
    import efface

    X = efface.datasets.make_gaussian(3, 4, 100)[0]
    model = efface.KMeans(3, random_state=1).fit(X, ids=range(300), sample_weight=1.0)
    model.forget(ids=[1, 2, 3])
    assert model.verify() and "n_clusters=3" in repr(model)
    print(model.digest())
    y = X @ [1.0, 2.0, 3.0, 4.0] + np.arange(300) % 3
    for regressor in (efface.Ridge(), efface.RidgeCV(), efface.SegmentedRegression(random_state=1)):
        regressor.fit(X, y, ids=range(300)).forget(ids=[1, 2])
        print(regressor.digest(), round(regressor.score(X, y, np.arange(300)), 9))
    both = np.column_stack([y, -y])
    print(round(efface.LinearRegression().fit(X, both).score(X, both), 9))
    classes = np.where(X[:, 0] > X[:, 1], "left", "right")
    for classifier in (efface.GaussianNB(), efface.LinearDiscriminantAnalysis()):
        classifier.fit(X, classes, ids=range(300)).forget(ids=[1, 2])
        print(classifier.digest(), round(classifier.score(X, classes), 9), classifier.classes_)
    print(efface.PCA(2).fit_transform(X).round(6).sum())
    holes = np.where(X > 1.5, np.nan, X)
    forests = efface.ForestClassifier(9, missing=True), efface.ForestRegressor(9, missing=True)
    for forest, answer in zip(forests, (classes, y)):
        forest.set_params(random_state=1).fit(holes, answer, ids=range(300)).forget(ids=[1, 2])
        print(forest.digest(), round(forest.score(holes, answer), 9), forest.predict(holes[:7]))
"""


def test_without_scikit_learn_and_pandas():
    bare = run(
        USE
        + """
    assert "sklearn" not in sys.modules and "pandas" not in sys.modules
    assert model.fit_transform(X).shape == (300, 3) and model.fit_predict(X).shape == (300,)
    assert model.get_params()["method"] == "pyramid"
    assert model.set_params(n_clusters=2).fit(X).cluster_centers_.shape == (2, 4)
    assert list(model.get_feature_names_out()) == ["kmeans0", "kmeans1"]
    for y, message in [
        (None, "requires y to be passed"),
        ([np.nan] * 300, "Input y contains NaN"),
        ([1j] * 300, "Complex data not supported"),
        (np.ones((300, 1, 1)), "1d or 2d array"),
    ]:
        try:
            efface.Ridge().fit(X, y)
        except ValueError as error:
            assert message in str(error), error
        else:
            raise AssertionError(message)

    for wrong, message in [
        (np.full((5, 2), np.nan), "Input X contains NaN."),
        (np.full((5, 2), np.inf), "Input X contains infinity"),
        (np.ones(5), "Expected 2D array, got 1D array instead"),
        (np.ones((5, 2, 2)), "Found array with dim 3. KMeans expected <= 2."),
        (np.ones((0, 2)), "0 sample(s)"),
        (np.ones((5, 0)), "0 feature(s)"),
        (np.ones((5, 2), complex), "Complex data not supported"),
    ]:
        try:
            model.fit(wrong)
        except (ValueError, TypeError) as error:
            assert message in str(error), error
        else:
            raise AssertionError(message)
    try:
        model.set_params(tol=1)
    except ValueError as error:
        assert "Invalid parameter 'tol'" in str(error)
    try:
        efface.KMeans().predict(X)
    except AttributeError as error:
        assert "not fitted yet" in str(error)
    """,
        blocked=("sklearn", "pandas", "scipy"),
    )
    assert bare == run(USE)


def test_import_is_quiet_and_versioned():
    assert run("import efface; print(efface.__version__)").strip() == efface.__version__
    header = (PROJECT / "include" / "efface" / "efface.h").read_text(encoding="utf-8")
    assert f'#define EFFACE_VERSION "{efface.__version__}"' in header


# ------------------------------------------------------------------ documentation and types


ESTIMATORS = [
    value
    for value in vars(efface).values()
    if inspect.isclass(value) and issubclass(value, efface.Estimator) and value._family is not None
]


def public(module):
    return [(name, getattr(module, name)) for name in module.__all__]


def members(cls):
    """The public methods and properties that a class defines itself."""
    for name, member in vars(cls).items():
        callable_or_property = inspect.isfunction(member) or isinstance(member, property)
        if callable_or_property and not name.startswith("_"):
            yield name, member


@pytest.mark.parametrize("module", [efface, efface.metrics, efface.datasets], ids=repr)
def test_everything_has_a_docstring(module):
    assert inspect.getdoc(module)
    for name, value in public(module):
        assert inspect.getdoc(value), name
        if inspect.isclass(value) and value is not efface.KMeans:
            for member, function in members(value):
                assert inspect.getdoc(function), f"{name}.{member}"
    for member, function in members(efface.KMeans):
        described = isinstance(function, property) and f"{member} :" in efface.KMeans.__doc__
        assert inspect.getdoc(function) or described, member


def unwrapped(member):
    """The function of a method or property."""
    member = member.fget if isinstance(member, property) else member
    return inspect.unwrap(getattr(member, "__func__", member))


def results(cls):
    """The results that an estimator has of its Model: their types stand beside them."""
    return {name for name in vars(cls).get("__annotations__", {}) if name.endswith("_")}


@pytest.mark.parametrize("module", [efface, efface.metrics, efface.datasets], ids=repr)
def test_everything_has_types(module):
    """All that is public, inherited or not: arguments and what comes back."""
    for name, value in public(module):
        named = {name: value} if inspect.isfunction(value) else {}
        for cls in inspect.getmro(value) if inspect.isclass(value) else ():
            if cls.__module__.startswith("efface."):
                typing.get_type_hints(cls)  # they name what there is
                named.update((f"{cls.__name__}.{n}", m) for n, m in vars(cls).items()
                             if not n.startswith("_") and n not in results(cls))
                if issubclass(cls, efface.Estimator) and "__init__" in vars(cls):
                    named[f"{cls.__name__}.__init__"] = cls.__init__
        for where, member in named.items():
            function = unwrapped(member)
            if inspect.isfunction(function):
                hints, asked = typing.get_type_hints(function), inspect.signature(function)
                assert set(hints) == {*asked.parameters, "return"} - {"self"}, where


def test_typed_marker():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_described(estimator):
    text = estimator.__doc__
    for name in estimator().get_params():
        assert re.search(rf"^    (\w+, )*{name}(, \w+)* :", text, re.MULTILINE), name


def test_parameters_are_on_the_page():
    page = (PROJECT / "docs" / "use" / "python.md").read_text(encoding="utf-8")
    for name in efface.KMeans().get_params():
        assert f"`{name}" in page, name


def test_docstring_examples():
    import doctest

    modules = {estimator.__module__ for estimator in ESTIMATORS}
    assert len(modules) == 8
    for module in modules:
        assert doctest.testmod(sys.modules[module]).failed == 0, module


@pytest.mark.parametrize(
    "name, said", [("forget_a_person", "byte for byte"), ("hospital", '"forgotten":3')]
)
def test_tutorial(name, said):
    environment = dict(os.environ, PYTHONWARNINGS="error::UserWarning")
    script = PROJECT / "examples" / f"{name}.py"
    result = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == "" and said in result.stdout
