"""Tests of small matrices: more than one thread for them only costs time."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported, which comes later
