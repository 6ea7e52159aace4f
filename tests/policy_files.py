"""Policy files with something changed."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np


def rewritten(path: Path, **changes: Any) -> Path:
    """The file again, with parts of its header or whole entries changed."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    compression = changes.pop("compression", zipfile.ZIP_STORED)
    entries |= changes.pop("entries", {})
    header = json.loads(entries["policy.json"]) | changes
    entries["policy.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in entries.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()
