# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading and running compiled modules. Needs neither MLIR nor the compiler: tvm-ffi and its loader are enough."""

from __future__ import annotations

from .arrays import tensor as tensor
from .arrays import to_numpy as to_numpy
from .artifact import Artifact as Artifact
from .artifact import Constant as Constant
from .errors import ArtifactError as ArtifactError
from .errors import UnknownFunction as UnknownFunction
from .errors import UnsupportedArray as UnsupportedArray
from .executable import Executable as Executable
from .executable import load as load
from .function import Function as Function
from .native_calls import Call as Call
from .native_calls import CallList as CallList
from .native_calls import Given as Given
from .native_calls import NativeFunction as NativeFunction
from .native_calls import Passed as Passed
from .part_steps import StepReporter as StepReporter
from .part_steps import step_reporter as step_reporter
from .signing import sign as sign
