# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of a loop tree from IR: each linalg operation of a PrimFunc over memory becomes loops around a block.

An operation that fills a reduction's output becomes the reduction's init. Views become index arithmetic.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from ....bindings.affine import by_operators, value_of
from ....bindings.diagnostics import locate, origins
from ....bindings.ir import AffineExpr, Location, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import body_of, made_by, operations_in, operations_of, symbol_name
from ....bindings.rewriting import located_error
from ....dialects.core.ir_attributes import LOOPS
from ....dialects.core.symbols_expr import Size, make_variable
from ....dialects.tir.prim_func import ASSERT, schedule_lines
from ....emit.collapse import groups_of
from ....emit.generic import GenericOp
from ....emit.linalg import REDUCTION
from ....emit.reduction_order import order_of
from ....emit.tensors import SlicePlace, kept_axes
from ....support.replacing import replace
from .body_scalars import Compute, ConditionalScalar, Element, Expr, IterIndex, Load, Outside, attributes_of
from .checks import ALLOCATIONS, LOAD, Check, is_check, loaded_memory
from .memory_views import VIEWS, View
from .reduction_inits import with_inits, with_own_sums
from .text_loops import block_names, with_text_loops
from .tree import (
    REDUCE,
    SPATIAL,
    Access,
    Block,
    Iter,
    Node,
    SumOrder,
    Tree,
    exchange_buffers,
    iter_variable,
    nested,
    unique,
    variable,
)
from .tree_buffers import Buffer

_NO_MEMORY = frozenset({"memref.dealloc", "func.return", "memref.dim", "memref.assume_alignment"})
_ITER_NAMES = "ijklmnopqrstuvwxyz"
_NUMBER = re.compile(r"_\d+$")


class Measured(NamedTuple):
    """Size of a memref along an axis."""

    memref: Value
    axis: int


class Read(NamedTuple):
    tree: Tree
    #: Value of each symbol in sizes, and memory of each buffer.
    values: dict[str, Value | Measured]
    memory: dict[Buffer, Value]
    checks: Sequence[Check] = ()


def read_tree(function: Operation) -> Read:
    """Read a PrimFunc over memory.

    Raises RelaxError with the location of an operation that is no loops around blocks.
    """
    lines = schedule_lines(function, LOOPS) or []
    first = _TreeReader(function, {}, block_names(lines))
    read = first.read()
    # Equal sizes share one symbol.
    read = _TreeReader(function, first.same, block_names(lines)).read() if first.same else read
    place = ":".join(map(str, locate(function.location)[:3]))
    return read._replace(tree=with_text_loops(read.tree, lines, place)) if lines else read


class _TreeReader:
    def __init__(self, function: Operation, same: Mapping[str, str], named: Set[str]):
        self._function, self._named = function, named
        #: Symbols that equal earlier symbols: known from the first pass, and found in this pass.
        self._known, self.same = same, dict[str, str]()
        self.views: dict[Value, View] = {}
        self._sizes: dict[Value, Size] = {}
        self._numbers = itertools.count()
        self._buffers: list[Buffer] = []
        self.values: dict[str, Value | Measured] = {}
        self.memory: dict[Buffer, Value] = {}
        self._buffer_names: set[str] = set()
        self._loaded = loaded_memory(function)
        #: Checks, each with the number of blocks before it.
        self._checks: list[tuple[Operation, int]] = []

    def read(self) -> Read:
        function = self._function
        name = symbol_name(function)
        if len(function.regions[0].blocks) != 1:
            raise located_error(
                f"@{name} has branches between IR blocks, so it has no loops to schedule", function.location
            )
        block = body_of(function)
        for number, argument in enumerate(block.arguments):
            if isinstance(argument.type, ir.MemRefType):
                self._given(argument, f"arg{number}")
        nodes: list[Block] = []
        for op in operations_of(block):
            if op.name not in ALLOCATIONS and is_check(op, [operation for operation, _ in self._checks]):
                self._between(op, len(nodes))
            else:
                nodes += self._operation(op)
        blocks, ends = with_inits(nodes, self._named)
        if not (body := _in_loops(with_own_sums(self._named_after_writers(blocks), self._buffers))):
            raise located_error(f"@{name} has no linalg operation: there is nothing to schedule", function.location)
        tree = Tree(name, tuple(self._buffers), body)
        return Read(tree, self.values, self.memory, [self._check(tree, ends, *check) for check in self._checks])

    def _between(self, op: Operation, blocks: int) -> None:
        is_scalar = op.operands[0] in self.memory.values() if op.name == LOAD else op.name == ASSERT or _is_scalar(op)
        if not is_scalar:
            self._refuse(op)
        self._checks.append((op, blocks))

    def _check(self, tree: Tree, ends: Sequence[int], op: Operation, blocks: int) -> Check:
        loaded = [buffer for buffer, memory in self.memory.items() if memory in list(op.operands)]
        behind = list(tree.blocks())[sum(end < blocks for end in ends) :]
        if writers := [block for block in behind if any(map(block.writes_of, loaded))]:
            reason = f"'{writers[0].name}' writes to memory of which the function has loaded an element"
            raise located_error(f"@{symbol_name(self._function)}: {reason}: there is nothing to schedule", op.location)
        guarded = frozenset(block.name for block in behind) if op.name == ASSERT else frozenset()
        return Check(op, frozenset(buffer.name for buffer in loaded), guarded)

    def _named_after_writers(self, blocks: Sequence[Block]) -> list[Block]:
        """Rename local buffers after the first block that writes them.

        Passes may have merged their allocations or replaced them.
        """
        taken = {buffer.name for buffer in self._buffers if buffer.is_given}
        found = list(blocks)
        for number, buffer in enumerate(self._buffers):
            writer = next((block for block in found if block.writes_of(buffer)), None)
            if isinstance(self.memory[buffer], ir.BlockArgument) or writer is None:
                continue
            named = replace(buffer, name=unique(writer.name, taken))
            taken.add(named.name)
            self._buffers[number], self.memory[named] = named, self.memory.pop(buffer)
            found = [exchange_buffers(block, buffer, named) for block in found]
        return found

    def _given(self, argument: Value, otherwise: str) -> None:
        is_named = isinstance(argument.location, ir.NameLoc)
        name = self._name(argument.location if is_named else ir.Location.unknown(argument.context), otherwise)
        buffer = Buffer(name, self._shape(argument, name), argument.type.element_type, is_given=True)
        self._keep(argument, buffer)

    def _keep(self, value: Value, buffer: Buffer) -> None:
        self._buffers.append(buffer)
        self.memory[buffer] = value
        self.views[value] = View(buffer, tuple)

    def _shape(self, memref: Value, name: str) -> tuple[Size, ...]:
        sizes = enumerate(memref.type.shape)
        return tuple(self._symbol(name, memref, axis) if size == DYNAMIC else int(size) for axis, size in sizes)

    def _name(self, location: Location, otherwise: str) -> str:
        name = unique(name_of(location) or otherwise, self._buffer_names)
        self._buffer_names.add(name)
        return name

    # ---- operations ----

    def _operation(self, op: Operation) -> Iterator[Block]:
        if op.name == "linalg.generic":
            yield self._block(op)
        elif op.name in ALLOCATIONS:
            if self._loaded and is_check(op, [operation for operation, _ in self._checks]):
                raise located_error("the size of an allocation depends on values that blocks write", op.location)
            name = self._name(op.location, "buffer")
            dynamic = iter(list(op.operands))
            shape = tuple(self.size(next(dynamic)) if size == DYNAMIC else int(size) for size in op.result.type.shape)
            self._keep(op.result, Buffer(name, shape, op.result.type.element_type, is_given=op.result in self._loaded))
        elif op.name in VIEWS:
            self.views[op.result] = VIEWS[op.name](self, op)
        elif op.name not in _NO_MEMORY and not _is_scalar(op):
            self._refuse(op)

    def _refuse(self, op: Operation) -> None:
        hint = "only linalg operations, and views of their operands, can be scheduled"
        raise located_error(f"@{symbol_name(self._function)} has a '{op.name}': {hint}", op.location)

    def _block(self, op: Operation) -> Block:
        generic = GenericOp(op)
        kinds = [REDUCE if kind == REDUCTION else SPATIAL for kind in generic.kinds]
        extents = [self._extent(list(generic.axes_along(dim))) for dim in range(len(kinds))]
        names = [f"v{_ITER_NAMES[n]}" if n < len(_ITER_NAMES) else f"v{n}" for n in range(len(kinds))]
        iters = tuple(Iter(*each) for each in zip(names, kinds, extents, strict=True))
        variables = [iter_variable(iter_) for iter_ in iters]
        accesses, scalars = [], {}
        for number, (operand, map_) in enumerate(zip(generic.operands, generic.maps, strict=True)):
            if operand not in self.views:
                scalars[number] = _scalar(operand)
                continue
            view = self.views[operand]
            accesses.append(Access(view.buffer, view.place([_index(expr, variables) for expr in map_.results])))
        block = generic.block
        _check_pure(op)
        expressions: dict[Value, Expr] = {}
        position = 0
        for number, argument in enumerate(block.arguments):
            if number in scalars:
                expressions[argument] = scalars[number]
            else:
                expressions[argument] = Element(position)
                position += 1
        body = _Body(self, variables, expressions)
        results = tuple(body.of(value) for value in operations_of(block)[-1].operands)
        count = generic.input_count - sum(number < generic.input_count for number in scalars)
        name = name_of(op.location) or symbol_name(self._function)
        reads, writes = tuple(accesses[:count]), tuple(accesses[count:])
        return Block(name, iters, tuple(variables), reads, writes, results, sum_order=_sum_order(op, iters))

    def _extent(self, places: Sequence[tuple[Value, int]]) -> Size:
        extent, *others = [self.size_of(*place) for place in places]
        for size in others:
            if isinstance(size, int):
                extent = size
            else:
                self._is_same(str(size), str(extent))
        return extent

    def _is_same(self, one: str, other: str) -> None:
        """Record that two symbols are equal: later reads use the second one for the first."""
        one, other = (_last(name, self.same) for name in (one, other))
        if one != other and other in self.values and isinstance(self.values.get(one), Measured):
            self.same[one] = other

    # ---- sizes ----

    def size_of(self, memref: Value, axis: int) -> Size:
        if (size := memref.type.shape[axis]) != DYNAMIC:
            return int(size)
        if (maker := made_by(memref)) is None:
            return self._symbol(self.views[memref].buffer.name, memref, axis)
        if maker.name in ALLOCATIONS:
            dynamic = [index for index, size in enumerate(memref.type.shape) if size == DYNAMIC]
            return self.size(maker.operands[dynamic.index(axis)])
        if maker.name == "memref.cast":
            return self.size_of(maker.operands[0], axis)
        if maker.name == "memref.expand_shape":
            dynamic = [position for position, size in enumerate(memref.type.shape) if size == DYNAMIC]
            return self.size(maker.operands[1 + dynamic.index(axis)])
        if maker.name == "memref.collapse_shape":
            total: Size = 1
            for each in groups_of(maker)[axis]:
                total = total * self.size_of(maker.operands[0], each)
            return total
        assert maker.name == "memref.subview", "what else makes memory is refused"
        part = SlicePlace.of(maker).sizes[kept_axes(maker)[axis]]
        return part if isinstance(part, int) else self.size(part)

    def _symbol(self, buffer: str, memref: Value, axis: int) -> Size:
        name = _last(f"{buffer}.shape[{axis}]", self._known)
        self.values.setdefault(name, Measured(memref, axis))
        return make_variable(name)

    def size(self, value: Value) -> Size:
        """Convert an index to a size."""
        if value not in self._sizes:
            self._sizes[value] = self._size(value)
        return self._sizes[value]

    def _size(self, value: Value) -> Size:
        maker = made_by(value)
        if maker is not None and maker.name == "arith.constant":
            return int(maker.attributes["value"].value)
        if maker is not None and maker.name == "memref.dim":
            axis = self.size(maker.operands[1])
            if isinstance(axis, int) and maker.operands[0] in self.views:
                return self.size_of(maker.operands[0], axis)
        if maker is not None and maker.name in _ARITHMETIC:
            return _ARITHMETIC[maker.name](*(self.size(operand) for operand in maker.operands))
        if maker is not None and maker.name == "affine.apply":
            map_ = maker.attributes["map"].value
            values = [self.size(operand) for operand in maker.operands]
            return _index(map_.results[0], values[: map_.n_dims], values[map_.n_dims :])
        symbol = f"size_{next(self._numbers)}"
        self.values[symbol] = value
        return make_variable(symbol)


def _sum_order(op: Operation, iters: Sequence[Iter]) -> SumOrder:
    """Return the stated order of an operation's reduction. Without one it is the order of the iters."""
    if (order := order_of(op)) is None:
        return SumOrder(tuple(iter_.name for iter_ in iters if iter_.kind == REDUCE))
    return SumOrder(tuple(iters[dim].name for dim in order.flat), str(order) if order.lanes > 1 else "")


def _last(name: str, names: Mapping[str, str]) -> str:
    while name in names:
        name = names[name]
    return name


class _Body:
    """Conversion of an operation's body to expressions."""

    def __init__(self, reader: _TreeReader, variables: Sequence[Size], known: dict[Value, Expr]):
        self._reader, self._variables, self._known = reader, variables, known

    def of(self, value: Value) -> Expr:
        if value not in self._known:
            self._known[value] = self._made(value)
        return self._known[value]

    def _made(self, value: Value) -> Expr:
        op = made_by(value)
        if op is None or (_is_outside(op) and op.name != "arith.constant"):
            return Outside(value)
        if op.name == "linalg.index":
            return IterIndex(self._variables[op.attributes["dim"].value])
        if op.name == LOAD:
            return self._load(op)
        if op.name == "memref.dim" and op.operands[0] in self._reader.views:
            return IterIndex(self._reader.size(value))
        if op.name == "scf.if" and len(op.results) == 1:
            yes, no = (operations_of(region.blocks[0])[-1].operands[0] for region in op.regions)
            return ConditionalScalar(self.of(op.operands[0]), self.of(yes), self.of(no), value.type)
        if len(op.regions) or len(op.results) != 1:
            raise located_error(f"the body of a block has a '{op.name}', which no schedule can move", op.location)
        return Compute(op.name, tuple(self.of(operand) for operand in op.operands), attributes_of(op), value.type)

    def _load(self, op: Operation) -> Expr:
        memref, *indices = op.operands
        if memref not in self._reader.views:
            raise located_error("a body reads an element of memory that is no parameter", op.location)
        view = self._reader.views[memref]
        if made_by(memref) is not None and made_by(memref).name != "memref.alloc":  # type: ignore[union-attr]
            raise located_error("a body reads an element of a view at a computed index", op.location)
        return Load(view.buffer, tuple(self.of(index) for index in indices))


def _check_pure(op: Operation) -> None:
    """Refuse operations with effects besides their results: the effects would be lost."""
    for operation in operations_in(op):
        if not len(operation.results) and operation.name not in ("linalg.yield", "scf.yield", "scf.if"):
            raise located_error(
                f"the body of a block has a '{operation.name}', which no schedule can move", operation.location
            )


def _scalar(value: Value) -> Expr:
    """Return the expression of a value from outside of the operation."""
    maker = made_by(value)
    if maker is None or maker.name != "arith.constant":
        return Outside(value)
    return Compute(maker.name, (), attributes_of(maker), value.type)


def _is_outside(op: Operation) -> bool:
    """Return True if an operation is directly in the function."""
    parent = op.parent
    return parent is not None and parent.operation.name == "func.func"


def _is_scalar(op: Operation) -> bool:
    """Return True if an operation is scalar arithmetic before the blocks."""
    is_arithmetic = op.name.partition(".")[0] in ("arith", "math", "affine", "index")
    return (
        is_arithmetic
        and not len(op.regions)
        and not any(isinstance(operand.type, ir.MemRefType) for operand in op.operands)
    )


def name_of(location: Location) -> str:
    """Return the last name in a location, which names the operation's final result.

    Return "" if no name is a Python identifier.
    """
    names = _names_of(location)
    return names[-1] if names else ""


def _names_of(location: Location) -> list[str]:
    return [origin.name for origin in origins(location) if origin.name.isidentifier()]


def may_have_block(function: Operation, name: str) -> bool:
    """Return True if an unread PrimFunc may have a block with this name.

    Blocks are named after locations in the PrimFunc or after the PrimFunc, with a number if several share a name.
    """
    places = [function.location, *(op.location for op in operations_in(function))]
    names = {symbol_name(function), *(text for place in places for text in _names_of(place))}
    return not names.isdisjoint((name, _NUMBER.sub("", name)))


def _index(expr: AffineExpr, dims: Sequence[Size], symbols: Sequence[Size] = ()) -> Size:
    return value_of(expr, dims.__getitem__, by_operators, symbol=symbols.__getitem__)


_ARITHMETIC: dict[str, Callable[..., Size]] = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.index_cast": lambda x: x,
    "arith.divui": lambda x, y: x // y,
    "arith.floordivsi": lambda x, y: x // y,
    "arith.ceildivsi": lambda x, y: -(-x // y),
}


# ---- the tree ----


def _in_loops(blocks: Sequence[Block]) -> tuple[Node, ...]:
    """Wrap each block in one loop per iter, named after it, with unique names of loops and blocks."""
    names: set[str] = set()
    nodes: list[Node] = []
    named = []
    for block in blocks:
        named.append(replace(block, name=unique(block.name, names)))
        names.add(named[-1].name)
    for block in named:
        loops = []
        for iter_ in block.iters:
            loops.append((unique(iter_.name[1:], names), iter_.extent))
            names.add(loops[-1][0])
        nodes += nested(loops, replace(block, bindings=tuple(variable(*loop) for loop in loops)))
    return tuple(nodes)
