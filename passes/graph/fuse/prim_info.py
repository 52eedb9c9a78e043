# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Summary of a PrimFunc body for fusion: access patterns of the parameters and cost per element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....bindings.ir import AffineMap, Block, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    body_of,
    constant_of,
    function_type_of,
    made_by,
    operations_in,
    operations_of,
    symbol_name,
    text_in,
    use_count,
    users_of,
)
from ....dialects.core.dialect import row_of
from ....dialects.core.facts import OpPattern
from ....dialects.core.ir_attributes import LOOPS, MAIN_OPERATOR, NOALIAS, OP_PATTERN, OPERATOR, PRIM_FUNC, TIR_TARGET
from ....dialects.tir.prim_func import is_prim_func, is_without_loops, op_pattern
from ....emit.generic import GenericOp
from ...kernels.intrinsics.registry import is_intrinsic

# Any other attribute asks for something of this function in particular.
_KNOWN_ATTRIBUTES = frozenset({
    "sym_name", "sym_visibility", "function_type", PRIM_FUNC, OP_PATTERN, NOALIAS, TIR_TARGET, OPERATOR, MAIN_OPERATOR,
})  # fmt: skip
_GENERIC_ATTRIBUTES = frozenset({"indexing_maps", "iterator_types", "operandSegmentSizes"})
_PURE_DIALECTS = frozenset({"arith", "index", "linalg", "math", "scf", "tensor"})
#: Operations allowed outside of the loops of an elementwise function.
AROUND = frozenset({"tensor.dim", "tensor.extract", "tensor.extract_slice"})
# Operations of negligible cost, in any number.
_FREE = frozenset({"arith.constant", "arith.extf", "arith.index_cast", "linalg.index", "linalg.yield"})
_CHEAP = frozenset(
    f"arith.{name}"
    for name in "addf subf mulf negf maximumf minimumf maxnumf minnumf addi subi muli andi ori xori cmpf cmpi select "
    "truncf sitofp uitofp extsi extui trunci bitcast maxsi minsi maxui minui".split()
)
#: Most operations that may be repeated for each row instead of stored.
_MOST_REPEATED = 2


@dataclass(frozen=True)
class ParameterRead:
    """Read of a parameter by one linalg.generic at the points of its loops. The body may also ask for sizes of axes."""

    generic: int
    maps: tuple[AffineMap, ...]


@dataclass(frozen=True)
class PrimInfo:
    """A PrimFunc that fusion may take part in."""

    function: Operation
    name: str
    pattern: OpPattern
    target: str
    parameters: tuple[Type, ...]
    input_count: int
    reads: dict[int, ParameterRead]
    #: (parameter, axis) pairs for the sizes that the body asks for.
    asked: tuple[tuple[int, int], ...]
    #: Place of the elementwise operation in the body, if it computes each element of the only output.
    pointwise: int | None = None
    #: Map from that operation's loops to the output.
    out_map: Any = None
    sizes: dict[int, tuple[int | None, ...]] = field(default_factory=dict)
    #: True if an element may be computed several times.
    is_cheap: bool = False
    #: For pure movement: the map from the loops to the operand, which is a parameter or a slice of one.
    moved_from: Any = None
    #: True if an element takes a function such as exp.
    is_heavy: bool = False
    #: The module's function, if `function` is a copy of it.
    original: Operation | None = None

    @property
    def operator(self) -> str:
        """Return the name of the computed operator for messages."""
        return text_in(self.function, OPERATOR, f"@{self.name}")

    @property
    def main_operator(self) -> str:
        """Return the operator that dominates the time of a fused function."""
        return text_in(self.function, MAIN_OPERATOR, self.operator)

    @property
    def outputs(self) -> tuple[Type, ...]:
        return self.parameters[self.input_count :]

    def generic(self, position: int) -> Operation:
        return body_of(self.function).operations[position].operation

    def begun_in(self, value: Value) -> int | None:
        """Return the parameter in which a tensor is computed in place, or None for a temporary."""
        while not isinstance(value.owner, Block):
            op = value.owner.operation
            if op.name not in ("linalg.generic", "linalg.fill") or len(op.results) != 1:
                return None
            value = op.operands[len(op.operands) - 1]
        return value.arg_number


def prim_info(function: Operation) -> PrimInfo | None:
    """Return the summary of a function, or None if fusion cannot analyse it."""
    known = _KNOWN_ATTRIBUTES | {LOOPS} if is_without_loops(function) else _KNOWN_ATTRIBUTES
    if not is_prim_func(function) or not known.issuperset(function.attributes):
        return None
    type_ = function_type_of(function)
    pattern = op_pattern(function)
    blocks = list(function.regions[0].blocks)
    if pattern is None or pattern > OpPattern.OUT_EWISE_FUSABLE or len(blocks) != 1 or not is_pure(function):
        return None
    if not all(isinstance(result, ir.RankedTensorType) for result in type_.results) or not len(type_.results):
        return None
    operations = operations_of(blocks[0])
    reads, asked = _parameter_uses(blocks[0], operations)
    info = PrimInfo(
        function,
        symbol_name(function),
        pattern,
        text_in(function, TIR_TARGET),
        tuple(type_.inputs),
        len(type_.inputs) - len(type_.results),
        reads,
        asked,
        sizes={place: GenericOp(op).known_sizes for place, op in enumerate(operations) if is_plain_generic(op)},
    )
    return _with_pointwise(info, blocks[0], operations)


def is_pure(function: Operation) -> bool:
    for op in operations_in(function):
        name = op.name
        if name.partition(".")[0] in _PURE_DIALECTS or name == "func.return":
            continue
        row = row_of(op)
        # A C call has no vector form, so whatever is fused with it would lose its own.
        if row is None or row.role or not row.pure or not is_intrinsic(op):
            return False
    return True


def is_plain_generic(op: Operation) -> bool:
    if op.name != "linalg.generic" or not all(name in _GENERIC_ATTRIBUTES for name in op.attributes):
        return False
    return all(map_.n_symbols == 0 for map_ in GenericOp(op).maps)


def _parameter_uses(
    block: Block, operations: Sequence[Operation]
) -> tuple[dict[int, ParameterRead], tuple[tuple[int, int], ...]]:
    places = {op: place for place, op in enumerate(operations)}
    reads: dict[int, ParameterRead] = {}
    asked: list[tuple[int, int]] = []
    for position, parameter in enumerate(block.arguments):
        affine_maps: dict[int, list[AffineMap]] = {}
        is_readable = True
        for use in parameter.uses:
            op = use.owner.operation
            if (axis := _asked_axis(op)) is not None:
                asked.append((position, axis))
            elif op in places and is_plain_generic(op) and use.operand_number < (loops := GenericOp(op)).input_count:
                affine_maps.setdefault(places[op], []).append(loops.maps[use.operand_number])
            else:
                is_readable = False
        if is_readable and len(affine_maps) == 1:
            ((generic, maps),) = affine_maps.items()
            reads[position] = ParameterRead(generic, tuple(maps))
    return reads, tuple(asked)


def _asked_axis(op: Operation) -> int | None:
    """Return the constant axis of a tensor.dim, or None."""
    return constant_of(op.operands[1]) if op.name == "tensor.dim" else None


def _with_pointwise(info: PrimInfo, block: Block, operations: Sequence[Operation]) -> PrimInfo:
    if (place := _pointwise_place(info, block, operations)) is None:
        return info
    generic, maps = operations[place], GenericOp(operations[place]).maps
    costs = [op for op in operations_of(body_of(generic)) if op.name not in _FREE]
    if any(len(op.regions) for op in costs):
        costs = [op for op in operations_in(generic) if op.name not in _FREE]
    return replace(
        info,
        pointwise=place,
        out_map=maps[-1],
        is_cheap=len(costs) <= _MOST_REPEATED and all(op.name in _CHEAP for op in costs),
        moved_from=maps[0] if _is_movement(generic) else None,
        is_heavy=any(op.name not in _CHEAP and (row := row_of(op)) is not None and not row.short for op in costs),
    )


def _pointwise_place(info: PrimInfo, block: Block, operations: Sequence[Operation]) -> int | None:
    if info.pattern > OpPattern.INJECTIVE or len(info.outputs) != 1:
        return None
    places = [place for place, op in enumerate(operations) if op.name == "linalg.generic"]
    around = [op for op in operations[:-1] if op.name != "linalg.generic"]
    if len(places) != 1 or places[0] not in info.sizes:
        return None
    if any(op.name.partition(".")[0] not in ("arith", "index") and op.name not in AROUND for op in around):
        return None
    generic, end = operations[places[0]], operations[-1]
    return places[0] if writes_each(generic, block, end) else None


def writes_each(generic: Operation, block: Block, end: Operation) -> bool:
    """Check whether the function returns this operation's result, with each element computed from inputs only."""
    output = block.arguments[len(block.arguments) - 1]
    if len(generic.results) != 1 or end.operands[0] != generic.results[0]:
        return False
    if generic.operands[len(generic.operands) - 1] != output:
        return False
    others = [user for user in users_of(output) if user != generic]
    if len(others) != use_count(output) - 1 or any(_asked_axis(op) is None for op in others):
        return False
    loops = GenericOp(generic)
    is_parallel = len(loops.parallels) == len(loops.kinds)
    return is_parallel and not loops.is_read(loops.input_count) and loops.maps[-1].is_permutation


def _is_movement(generic: Operation) -> bool:
    """Check whether each output element is a parameter's element at an index computed from the loops."""
    *scalars, _ = body_of(generic).arguments
    end, *others = reversed(operations_of(body_of(generic)))
    if others or len(scalars) != 1 or end.operands[0] != scalars[0]:
        return False
    source = generic.operands[0]
    cut = made_by(source, "tensor.extract_slice")
    if cut is not None and set(cut.attributes["static_strides"]) <= {1}:
        source = cut.operands[0]
    # A tensor that the function itself creates is no parameter.
    return isinstance(source.owner, ir.Block)
