"""Array types, so that a signature says what an array holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.int32]
UnsignedArray = NDArray[np.uint64]
UnsignedIndexArray = NDArray[np.uint32]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]
