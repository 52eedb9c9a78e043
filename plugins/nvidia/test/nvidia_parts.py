# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for cuda with parts for NVIDIA's libraries, on the emulated device and libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
import relax_mlir as rx
from gpu_emulator.cublas import EmulatedCublas
from gpu_emulator.cudnn import EmulatedCudnn
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.libraries import EmulatedLibrary
from relax_mlir.runtime import Executable
from relax_mlir.runtime.cuda.driver import use_library as use_driver
from relax_mlir_nvidia.cublas_runtime import CUBLAS
from relax_mlir_nvidia.cudnn_runtime import CUDNN
from relax_mlir_nvidia.libraries import use_library

PRODUCTS: dict[type[EmulatedLibrary], Any] = {EmulatedCublas: CUBLAS, EmulatedCudnn: CUDNN}


@contextmanager
def emulated(kind: type[Any], devices: int = 1) -> Iterator[Any]:
    """Yield a library of this kind on an emulated device.

    Findings of the device and of the library are raised at the end.
    """
    driver = EmulatedCuda(devices=devices)
    library = kind(driver)
    with use_driver(driver), use_library(PRODUCTS[kind], library):
        yield library
    driver.check()
    library.check()
    assert not driver.stack()


def module_of(body: Callable[..., Any], parameters: Sequence[Any]) -> rx.Module:
    module = rx.Module()
    with module.function("main", list(parameters)) as f:
        results = body(*f)
        f.returns(*(results if isinstance(results, tuple) else (results,)))
    return module


def program(body: Callable[..., Any], parameters: Sequence[Any], codegen: str, strict: bool = True) -> Executable:
    """Compile a program, by default with an error for each operator that the codegen refuses."""
    return rx.compile(module_of(body, parameters), target="cuda", partition=[codegen], strict_partition=strict)


def parts(executable: Executable) -> int:
    """Return the number of parts that codegens made."""
    return len(executable._artifact.externals)


def floats(*shape: int, seed: int = 0, dtype: Any = "float32") -> Any:
    return (numpy.random.default_rng(seed + sum(shape)).standard_normal(shape) / 2).astype(dtype)
