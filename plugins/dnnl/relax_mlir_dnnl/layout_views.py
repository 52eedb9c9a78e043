# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rules for reshaped and permuted tensors: views, unless no layout describes the result."""

from __future__ import annotations

from relax_mlir.passes.graph.parts.flat_graph import FlatNode
from relax_mlir.passes.graph.parts.operator_checks import permuted_order

from .converter import Converter
from .rules import converts

_ALL = ("f32", "bf16", "f16", "i8", "ui8", "i32")
RESHAPING = ("reshape", "flatten", "expand_dims", "squeeze", "nn.batch_flatten")


@converts(*RESHAPING, dtypes=_ALL)
def reshape(converter: Converter, node: FlatNode) -> None:
    source = node.operands[0]
    sizes = converter.sizes(node.result.dims)
    converter.step("view", node.result, {"src": converter.argument(source, ("reshape", sizes))})


@converts("permute_dims", dtypes=_ALL)
def permute(converter: Converter, node: FlatNode) -> None:
    source = node.operands[0]
    converter.step("view", node.result, {"src": converter.argument(source, ("permute", permuted_order(node.call)))})
