"""What a record can be: attributes, their values, and products of them."""

from tetraodon.domain.domain import Attribute, Domain
from tetraodon.domain.values import Booleans, Categories, Dates, Grid, Integers, Value, Values

__all__ = ["Attribute", "Booleans", "Categories", "Dates", "Domain", "Grid", "Integers", "Value", "Values"]
