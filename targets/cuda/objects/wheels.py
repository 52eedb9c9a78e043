# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NVIDIA's wheels bring, or a CUDA toolkit: found without loading any of it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from ....support.errors import RelaxError

INSTALL = "pip install relax-mlir[cuda]"
# Where wheels put it, by their generations, and toolkits.
_LIBDEVICE = ("cu*/nvvm/libdevice/libdevice.10.bc", "cuda_nvcc/nvvm/libdevice/libdevice.10.bc")
_NVJITLINK = ("cu*/lib/libnvJitLink.so.*", "nvjitlink/lib/libnvJitLink.so.*")
_PTXAS = ("cu*/bin/ptxas", "cuda_nvcc/bin/ptxas")
_SANITIZER = ("cu*/bin/compute-sanitizer",)
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH")


def libdevice_path(needed_by: str) -> Path:
    """NVIDIA's library of functions of numbers, as LLVM's bitcode. Raises RelaxError that names who needs it."""
    found = _first(_LIBDEVICE, "nvvm/libdevice/libdevice.10.bc")
    if found is None:
        raise RelaxError(f"'{needed_by}' is a function of NVIDIA's libdevice, which is not installed: {INSTALL}")
    return found


def nvjitlink_path() -> Path | None:
    """NVIDIA's linker, which makes machine code of PTX; None where it is missing."""
    return _first(_NVJITLINK, "lib64/libnvJitLink.so.*")


def ptxas_path() -> Path | None:
    """NVIDIA's assembler, which tests and tables ask; None where it is missing."""
    return _first(_PTXAS, "bin/ptxas")


def sanitizer_path() -> Path | None:
    """NVIDIA's checks of kernels while they run, which `make gpu` asks for; None where they are missing."""
    return _first(_SANITIZER, "bin/compute-sanitizer")


def _first(of_wheels: tuple[str, ...], of_toolkit: str) -> Path | None:
    return next(_found(of_wheels, of_toolkit), None)


def _found(of_wheels: tuple[str, ...], of_toolkit: str) -> Iterator[Path]:
    """Newer ones first: later generations' wheels sort behind earlier ones."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for pattern in of_wheels:
            yield from sorted(Path(folder).glob(pattern), reverse=True)
    for variable in _TOOLKITS:
        if os.environ.get(variable):
            yield from sorted(Path(os.environ[variable]).glob(of_toolkit), reverse=True)
