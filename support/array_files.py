# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays as files in NumPy's formats."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .files import write_whole

if TYPE_CHECKING:
    from numpy import ndarray

# Time stamp of archive members: the earliest time that zip can store, so that equal arrays give equal bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def write_npz(path: str, arrays: Mapping[str, ndarray]) -> None:
    """Write the arrays to one file by name, as numpy.savez does. Raise RelaxError if writing fails."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _NO_TIME), npy_bytes(array))
    write_whole(path, buffer.getvalue())


def npy_bytes(array: ndarray) -> bytes:
    """Return the bytes that numpy.save writes."""
    import numpy

    buffer = io.BytesIO()
    numpy.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()
