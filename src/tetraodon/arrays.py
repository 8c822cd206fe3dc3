"""Names for the types of arrays, the same everywhere: what is counted is `Ints`, what is estimated is `Floats`."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
SmallInts: TypeAlias = NDArray[np.int16]
