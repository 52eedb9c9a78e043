# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of relax graphs from the blocks of a StableHLO module."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from relax_mlir.bindings.ir import Block, Operation, Type
from relax_mlir.bindings.ir import Value as IRValue
from relax_mlir.dialects.core.infos import TensorInfo, is_float
from relax_mlir.dialects.core.known import folding_by
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core.complex_numbers import of_pairs
from relax_mlir.frontends.core.dialect_graph import DialectGraph, complete
from relax_mlir.frontends.core.dialect_node import DialectNode
from relax_mlir.frontends.core.folding import folding_where_known
from relax_mlir.frontends.core.limits import Room
from relax_mlir.frontends.core.problems import Problems
from relax_mlir.frontends.core.sizes import is_known, of_scalar
from relax_mlir.frontends.core.values import ComplexValue, Held, Tensor, Value, known

from .dimensions import DIVISIONS
from .hlo_node import HloNode
from .hlo_scope import HloScope
from .hlo_types import info_of, is_complex, is_tensor
from .registry import CONVERTERS

_CONTROL_FLOW = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case", "chlo.scan"})


class HloGraph(DialectGraph, HloScope):
    """Block of a StableHLO module during import."""

    node_class = HloNode
    converters = CONVERTERS
    terminators = ("func.return", "stablehlo.return", "sdy.return")

    def __init__(
        self,
        functions: dict[str, Operation],
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        outer: HloGraph | None = None,
        region_of: Operation | None = None,
    ):
        super().__init__(functions, problems, symbols, room, outer, region_of)
        #: True while a scalar block is built on tensors: its results have the tensors' shapes.
        self.is_widened: bool = outer is not None and outer.is_widened

    def argument(self, tensor: Tensor, type_: Type) -> Held:
        return of_pairs(tensor) if is_complex(type_) else super().argument(tensor, type_)

    def add_widened(self, block: Block, operands: Sequence[Held | None]) -> list[Any]:
        return complete(self._widen().add_block(block, operands))

    def values_in(self, block: Block, operands: Sequence[Held | None], ir_values: Sequence[IRValue]) -> list[Any]:
        inner = self._widen()
        inner.add_block(block, operands)
        return complete([inner.held(ir_value) for ir_value in ir_values])

    def _widen(self) -> HloGraph:
        inner = self.inner()
        inner.is_widened = True
        return inner

    def is_known(self, node: DialectNode) -> bool:
        return node.operation.name == "stablehlo.composite" or super().is_known(node)

    def without_converter(self, node: DialectNode) -> list[Held | None]:
        if node.operation.name == "stablehlo.composite":
            return self.call(node, node.attr("decomposition"))
        return super().without_converter(node)

    def call(self, node: DialectNode, name: str) -> list[Held | None]:
        division = _divided_sizes(name, node.inputs)
        return super().call(node, name) if division is None else [division]

    def settled(self, held: Any, type_: Type) -> Any:
        if isinstance(held, ComplexValue):
            return ComplexValue(self.settled(held.real, type_), self.settled(held.imag, type_))
        return super().settled(held, type_)

    def expected(self, value: Value, type_: Type) -> TensorInfo:
        info = super().expected(value, type_)
        return info.with_shape(value.shape) if self.is_widened else info

    def folding(self, node: DialectNode) -> AbstractContextManager[None]:
        """Fold integer arithmetic on sizes at import. Floats and control flow stay in the program."""
        if node.op in _CONTROL_FLOW:
            return folding_by(None)
        is_data = any(not isinstance(input_, Value) or is_float(input_.dtype) for input_ in node.inputs)
        results = [info_of(type_) for type_ in node.result_types if is_tensor(type_)]
        if is_data or not node.inputs or any(is_float(result.dtype) for result in results):
            return nullcontext()
        return folding_where_known(node.inputs)


def _divided_sizes(name: str, operands: Sequence[Any]) -> Value | None:
    """Return the result of jax's division functions on sizes. jax writes these functions for negative numbers too."""
    divide = DIVISIONS.get(name.rstrip("0123456789").rstrip("_"))
    if (
        divide is None
        or len(operands) < 2
        or any(not isinstance(operand, Value) or operand.rank for operand in operands)
    ):
        return None
    pair = [of_scalar(operand) for operand in operands[-2:]]
    if not is_known(*pair) or all(isinstance(size, int) for size in pair):
        return None
    return known(divide(*pair), operands[-1].dtype)
