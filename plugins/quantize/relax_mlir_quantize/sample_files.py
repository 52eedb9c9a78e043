# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples in files: a .npz file, a folder with an array per input, or a folder with a .npz file per sample."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_mlir.support.errors import ModelError

if TYPE_CHECKING:
    from numpy import ndarray


class SampleFile(Mapping[str, Any]):
    """Sample in a .npz file, read when it is used: a long calibration does not keep its samples."""

    def __init__(self, path: Path):
        self._path = path
        self._names = list(_read_names(path))

    def __getitem__(self, name: str) -> ndarray:
        if name not in self._names:
            raise KeyError(name)
        return read_arrays(self._path, name)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_samples(path: Path) -> Mapping[str, Any] | list[SampleFile]:
    """Return arrays by name with a sample per row, or a list of samples. Raises ModelError."""
    if not path.is_dir():
        return read_arrays(path)
    arrays, files = sorted(path.glob("*.npy")), sorted(path.glob("*.npz"))
    if arrays and files:
        raise ModelError(
            f"{path}: has .npy files and .npz files",
            notes=["write a .npy file per input with a sample per row, or a .npz file per sample"],
        )
    if not arrays and not files:
        raise ModelError(f"{path}: the folder has no .npy or .npz file")
    return {array.stem: _read_array(array) for array in arrays} if arrays else [SampleFile(file) for file in files]


def read_arrays(path: Path, *names: str) -> dict[str, Any]:
    """Return the arrays of a .npz file, or only the named arrays. Raises ModelError."""
    import numpy

    try:
        if not isinstance(opened := numpy.load(path, allow_pickle=False), numpy.lib.npyio.NpzFile):
            raise ModelError(f"{path}: expected a .npz file with an array per input, or a folder")
        with opened as file:
            return {name: file[name] for name in names or file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelError(f"cannot read {path}: {_short(error)}") from None


def _read_names(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as file:
            return [name.removesuffix(".npy") for name in file.namelist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise ModelError(f"cannot read {path}: {_short(error)}") from None


def _read_array(path: Path) -> Any:
    import numpy

    try:
        return numpy.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelError(f"cannot read {path}: {_short(error)}") from None


def _short(error: Exception) -> str:
    """Return why a file cannot be read. numpy takes files of unknown content for pickled objects."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    return "it is no file of numpy arrays" if "pickle" in text or isinstance(error, EOFError) else text
