# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vocabularies of TVMScript: `from relax_mlir.script import ir as I, relax as R, tir as T`."""

from . import Module as _Module  # noqa: F401  # no other thread imports the packages below meanwhile
from .frontends.vocabularies import __getattr__ as __getattr__
from .frontends.vocabularies import ir as ir
from .frontends.vocabularies import relax as relax
from .frontends.vocabularies import tir as tir
