# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor expressions: `from relax_mlir import te`."""

from . import Module as _Module  # noqa: F401  # imports the packages below under the lock that other threads wait for
from .frontends.te import *  # noqa: F403
from .frontends.te import __all__ as __all__
from .frontends.te import __getattr__ as __getattr__
