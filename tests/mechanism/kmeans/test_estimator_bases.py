"""Without scikit-learn an estimator still has parameters."""

from __future__ import annotations

import builtins
import importlib
from typing import Any

import pytest

from tetraodon.errors import QueryError
from tetraodon.mechanism.kmeans import estimator


class Model(estimator.Parameters):
    def __init__(self, width: int = 1, *, height: int = 2) -> None:
        self.width, self.height = width, height


def test_parameters_are_read_and_set() -> None:
    model = Model(5)
    assert model.get_params() == {"width": 5, "height": 2}
    assert model.set_params(height=7) is model
    assert model.get_params()["height"] == 7
    with pytest.raises(QueryError, match="no parameter 'depth'"):
        model.set_params(depth=1)


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(estimator, "import_module", missing)
    assert estimator.bases() == (estimator.Parameters,)
    assert isinstance(estimator.not_fitted(), AttributeError)


def test_with_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    assert importlib.import_module("sklearn.base").BaseEstimator in estimator.bases()
    assert isinstance(estimator.not_fitted(), builtins.ValueError)
