"""Maps of RockSample that results are reported on: name -> keyword arguments of `rocksample`.

CRS maps carry the paper's names and have costs. The paper's "CRS(4,4)" is a 5x5 map with 3 rocks: its 201
states are 5 · 5 · 2³ + 1. Its layouts of the other three are not published; these are drawn from the one seed
in its authors' public script, so results compare in kind, not digit by digit.

RS maps are the classic ones that other solvers report on, without costs and from the middle of the west edge.
"""

from __future__ import annotations

from typing import Any

LAYOUTS: dict[str, dict[str, Any]] = {
    "crs-4-4": {"n": 5, "rocks": ((1, 1), (3, 3), (4, 4))},
    "sample-return": {"n": 5, "rocks": ((1, 1), (3, 3), (4, 4)), "separate": True, "budget": (2.0, 0.5)},
    "crs-5-7": {"n": 5, "rocks": ((5, 2), (3, 3), (1, 3), (1, 2), (5, 5), (2, 3), (2, 4))},
    "crs-7-8": {"n": 7, "rocks": ((3, 5), (3, 2), (6, 2), (4, 2), (6, 1), (2, 5), (5, 2), (7, 7))},
    "crs-11-11": {
        "n": 11,
        "rocks": (
            *((9, 3), (3, 6), (10, 1), (11, 7), (11, 1), (6, 1)),
            *((6, 9), (4, 7), (2, 6), (10, 7), (5, 5)),
        ),
    },
    "rs-5-7": {
        "n": 5,
        "rocks": ((2, 1), (3, 2), (2, 3), (3, 3), (5, 3), (1, 4), (4, 5)),
        "start": (1, 3),
        "costs": False,
        "budget": None,
    },
    "rs-7-8": {
        "n": 7,
        "rocks": ((3, 1), (1, 2), (4, 2), (7, 4), (3, 5), (4, 5), (6, 6), (2, 7)),
        "start": (1, 4),
        "costs": False,
        "budget": None,
    },
    "rs-11-11": {
        "n": 11,
        "rocks": (
            *((1, 4), (1, 8), (2, 9), (3, 5), (4, 4), (4, 9)),
            *((5, 4), (6, 9), (7, 2), (10, 4), (10, 10)),
        ),
        "start": (1, 6),
        "costs": False,
        "budget": None,
    },
}
