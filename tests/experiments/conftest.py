"""What the tests of experiments share."""

from __future__ import annotations

import pytest

from coordinators import CELLS, end, outcomes, start


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    store = tmp_path_factory.mktemp("undisturbed") / "runs.db"
    process = start(store, "--workers", "2")
    said = end(process)
    assert process.returncode == 0, said
    found = outcomes(store)
    assert len(found) == CELLS
    return found
