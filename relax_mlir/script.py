# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vocabularies of TVMScript: `from relax_mlir.script import ir as I, relax as R, tir as T`."""

from . import Module as _Module  # noqa: F401  # imports the packages below under the lock that other threads wait for
from .frontends.vocabularies import __getattr__ as __getattr__
from .frontends.vocabularies import ir as ir
from .frontends.vocabularies import relax as relax
from .frontends.vocabularies import tir as tir
