# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building blocks of graph patterns.

from relax_mlir.patterns import is_const, is_op, wildcard

product = is_op("relax.matmul")(wildcard().named("x"), is_const().named("w"))
pattern = product.optional(lambda y: is_op("relax.nn.relu")(y))
"""

from . import Pass as _Pass  # noqa: F401  # imports the packages below under the lock that other threads wait for
from .passes.kernels.structures.prim_funcs import KnownPrimFuncs, remembering
from .passes.kernels.structures.structure import Later, Structure, structure, structures
from .passes.patterns.call_patterns import CallTir, is_call_tir
from .passes.patterns.match import Refusal, find, match, matches_of, why_not
from .passes.patterns.matched import Match
from .passes.patterns.operator_patterns import Op, every, is_filled, is_op
from .passes.patterns.outputs import outputs
from .passes.patterns.quantized_layers import quantized_conv, quantized_linear
from .passes.patterns.rewrite import rewrite
from .passes.patterns.tree import GraphPattern, is_const, wildcard

__all__ = [
    "CallTir",
    "GraphPattern",
    "KnownPrimFuncs",
    "Later",
    "Match",
    "Op",
    "Refusal",
    "Structure",
    "every",
    "find",
    "is_call_tir",
    "is_const",
    "is_filled",
    "is_op",
    "match",
    "matches_of",
    "outputs",
    "quantized_conv",
    "quantized_linear",
    "remembering",
    "rewrite",
    "structure",
    "structures",
    "why_not",
    "wildcard",
]
