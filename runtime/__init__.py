# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading and running of compiled modules. tvm-ffi and its loader are enough: neither MLIR nor the compiler is
needed."""

from __future__ import annotations

from typing import Any

from ..support.external_bytes import Data as Data
from ..support.external_bytes import PartFunction as PartFunction
from ..support.external_bytes import packed as packed
from ..support.external_bytes import unpacked as unpacked
from ..support.wheel_folders import wheel_folders as wheel_folders
from .arrays import tensor as tensor
from .arrays import to_numpy as to_numpy
from .artifact import Artifact as Artifact
from .artifact import Constant as Constant
from .artifact import read_artifact as read_artifact
from .artifact import write_artifact as write_artifact
from .errors import ArtifactError as ArtifactError
from .errors import UnknownFunction as UnknownFunction
from .errors import UnsupportedArray as UnsupportedArray
from .executable import Executable as Executable
from .executable import load as load
from .foreign_types import Array as Array
from .foreign_types import ArrayOrTensor as ArrayOrTensor
from .foreign_types import CFunction as CFunction
from .foreign_types import Tensor as Tensor
from .function import Function as Function
from .native_calls import Call as Call
from .native_calls import CallArgument as CallArgument
from .native_calls import CallList as CallList
from .native_calls import Given as Given
from .native_calls import NativeFunction as NativeFunction
from .native_calls import Passed as Passed
from .native_calls import cuda_function_address as cuda_function_address
from .part_steps import StepReporter as StepReporter
from .part_steps import step_reporter as step_reporter
from .signing import sign as sign


def connect(scheduler: str) -> Any:
    """Return the workers of a Dask scheduler (`tcp://host:8786`) by name and tag, to run programs there.

    `rx.runtime.connect(scheduler)["a53"].load("model.rxa")` is a program on the board a53. This needs the package
    distributed (`relax-mlir[dask]`). The board needs relax-mlir, numpy and distributed, but no compiler.
    """
    from .connections import CONNECTIONS  # few programs run on other machines

    return CONNECTIONS.get("dask")(scheduler)
