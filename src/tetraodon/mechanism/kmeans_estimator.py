"""What makes an object an estimator: scikit-learn's own base where it is installed, and the least of it where not.

Private k-means needs no scikit-learn. With it, estimators clone, print, search and stand in pipelines as usual.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from tetraodon.errors import QueryError


class Parameters:
    """The parameters of a constructor, to read and to set, where scikit-learn is not installed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Parameters:
        for name, value in params.items():
            if name not in self.get_params():
                raise QueryError(f"there is no parameter {name!r}", fix="use a parameter of the constructor")
            setattr(self, name, value)
        return self


def bases() -> tuple[type, ...]:
    """The classes to inherit from."""
    try:
        base = import_module("sklearn.base")
    except ImportError:
        return (Parameters,)
    return (base.TransformerMixin, base.ClusterMixin, base.BaseEstimator)


def not_fitted() -> Exception:
    """The error for a model that has no centres yet: scikit-learn's own where there is one."""
    what = "the centres are not known yet. Fix: call fit first."
    try:
        kind = import_module("sklearn.exceptions").NotFittedError
    except ImportError:
        return AttributeError(what)
    error = kind(what)
    assert isinstance(error, Exception)
    return error


Estimator = type("Estimator", bases(), {"__doc__": "An estimator.", "__module__": __name__})
