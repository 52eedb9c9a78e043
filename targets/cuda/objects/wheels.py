# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths of tools and libraries in NVIDIA's wheels or a CUDA toolkit, found without loading them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from ....support.errors import RelaxError

INSTALL = "pip install relax-mlir[cuda]"
# Locations in wheels, by generation, and in toolkits.
_LIBDEVICE = ("cu*/nvvm/libdevice/libdevice.10.bc", "cuda_nvcc/nvvm/libdevice/libdevice.10.bc")
_NVJITLINK = ("cu*/lib/libnvJitLink.so.*", "nvjitlink/lib/libnvJitLink.so.*")
_PTXAS = ("cu*/bin/ptxas", "cuda_nvcc/bin/ptxas")
_SANITIZER = ("cu*/bin/compute-sanitizer",)
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH")


def libdevice_path(needed_by: str) -> Path:
    """Return the path of libdevice, NVIDIA's library of functions as LLVM bitcode.

    Raises RelaxError that names `needed_by`.
    """
    if (found := _first(_LIBDEVICE, "nvvm/libdevice/libdevice.10.bc")) is None:
        raise RelaxError(f"'{needed_by}' is a function of NVIDIA's libdevice, which is not installed: {INSTALL}")
    return found


def nvjitlink_path() -> Path | None:
    """Return the path of NVIDIA's linker, which compiles PTX to machine code, or None if it is missing."""
    return _first(_NVJITLINK, "lib64/libnvJitLink.so.*")


def ptxas_path() -> Path | None:
    """Return the path of NVIDIA's assembler, used by tests and tables, or None if it is missing."""
    return _first(_PTXAS, "bin/ptxas")


def sanitizer_path() -> Path | None:
    """Return the path of NVIDIA's run-time checker of kernels, used by `make gpu`, or None if it is missing."""
    return _first(_SANITIZER, "bin/compute-sanitizer")


def _first(of_wheels: tuple[str, ...], of_toolkit: str) -> Path | None:
    return next(_yield_files(of_wheels, of_toolkit), None)


def _yield_files(of_wheels: tuple[str, ...], of_toolkit: str) -> Iterator[Path]:
    """Yield the files, newer ones first. Wheels of later generations sort after earlier ones."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for pattern in of_wheels:
            yield from sorted(Path(folder).glob(pattern), reverse=True)
    for variable in _TOOLKITS:
        if os.environ.get(variable):
            yield from sorted(Path(os.environ[variable]).glob(of_toolkit), reverse=True)
