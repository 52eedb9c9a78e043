# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of nests on tensors: each nest is a linalg.generic that gives its outputs anew."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from ...bindings.ir import AffineMap, Value
from ...bindings.mlir import ir
from ...dialects.tir.prim_func import OpPattern
from ...emit import linalg, tensors
from ...emit.arithmetic import element
from ...emit.numbers import Number, Size, as_index
from .names import TIR
from .nests import Domain, Nest, affine_index
from .program import Allocate, Buffer, Let, Statement, Store
from .scalars import Scalars


class Read(NamedTuple):
    """An element that each point of a nest reads: the same buffer at the same places is one operand."""

    buffer: Buffer
    map: Any
    key: tuple[int, str]


class TensorProgram:
    """Emits nests in their order; `state` is what each buffer holds at the moment."""

    def __init__(self, scalars: Scalars, state: dict[Buffer, Value]):
        self.scalars, self.state = scalars, state
        scalars.memory = self
        self.pattern = OpPattern.OPAQUE
        self._elements: dict[tuple[int, str], Number] = {}
        self._dims: dict[str, int] = {}
        self._written: dict[int, Number] = {}

    def emit(self, steps: Sequence[Nest | Allocate]) -> None:
        nests = [step for step in steps if isinstance(step, Nest)]
        for step in steps:
            with self.scalars.source.location(step.node):
                if isinstance(step, Allocate):
                    sizes = [self.scalars.index(size) for size in step.buffer.sizes]
                    self.state[step.buffer] = linalg.empty(sizes, element(step.buffer.dtype))
                else:
                    self._nest(step, is_alone=len(nests) == 1)

    # ---- one nest ----

    def _nest(self, nest: Nest, is_alone: bool) -> None:
        if nest.init:
            kept = [domain for domain in nest.domains if not domain.is_reduction]
            self._generic(nest, kept, nest.init)
        pattern = self._generic(nest, nest.domains, nest.body)
        self.pattern = pattern if is_alone else OpPattern.OPAQUE

    def _generic(self, nest: Nest, domains: Sequence[Domain], statements: Sequence[Statement]) -> OpPattern:
        sizes: list[Size] = [self.scalars.index(domain.size) for domain in domains]
        for domain, size in zip(domains, sizes, strict=True):
            if isinstance(size, int) and not 0 <= size < 1 << 62:
                raise self.scalars.source.problem(domain.size, f"a loop does not go {size} times")
        self._dims = {domain.name: position for position, domain in enumerate(domains)}
        stores = [each for each in statements if isinstance(each, Store)]
        outputs = list(dict.fromkeys(store.buffer for store in stores))
        reads = self._reads(statements, outputs)
        places = {store.buffer: self._place(store) for store in stores}
        before = dict(self.state)
        maps, offsets = zip(*(places[buffer] for buffer in outputs), strict=True)
        targets = [
            self._part(self.state[buffer], own, offset, sizes)
            for buffer, own, offset in zip(outputs, maps, offsets, strict=True)
        ]
        inputs = [self._covering(read, sizes) for read in reads]
        unseen = self._unseen(domains, [*(read.map for read in reads), *maps])
        if unseen:
            shape = linalg.empty([sizes[dim] for dim in unseen], element("f32"))
            unseen_map = [linalg.select_dims(len(domains), unseen)]
        results = linalg.generic(
            [*inputs, *([shape] if unseen else [])],
            targets,
            [*(read.map for read in reads), *(unseen_map if unseen else []), *maps],
            [linalg.REDUCTION if domain.is_reduction else linalg.PARALLEL for domain in domains],
            lambda *elements: self._body(statements, reads, outputs, elements),
        )
        for buffer, result, own, offset in zip(outputs, results, maps, offsets, strict=True):
            self.state[buffer] = self._put_back(result, self.state[buffer], own, offset, sizes)
        is_whole = all(target is before[buffer] for buffer, target in zip(outputs, targets, strict=True))
        return _pattern_of(nest, reads, maps, is_whole)

    def _reads(self, statements: Sequence[Statement], outputs: Sequence[Buffer]) -> list[Read]:
        """What is read at affine places wherever the point: operands. What only one branch reads is read there."""
        found: dict[tuple[int, str], Read] = {}
        names = {name: held for name, held in self.scalars.env.items() if isinstance(held, Buffer)}
        for statement in statements:
            assert isinstance(statement, (Store, Let))
            for node in _always(self.scalars, statement.value):
                buffer = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
                if buffer is None or buffer in outputs:
                    continue
                map_ = self._map(_indices(node))
                if map_ is not None:
                    key = (id(buffer), str(map_))
                    found.setdefault(key, Read(buffer, map_, key))
        return list(found.values())

    def _map(self, indices: Sequence[ast.expr]) -> AffineMap | None:
        results = [affine_index(self.scalars.names, index, self._dims) for index in indices]
        return None if any(each is None for each in results) else ir.AffineMap.get(len(self._dims), 0, results)

    def _place(self, store: Store) -> tuple[AffineMap, list[int]]:
        """Where an output is written: plain variables, and what is added to each."""
        dims, offsets = [], []
        for index in store.indices:
            if isinstance(index, ast.BinOp):
                is_left = isinstance(index.left, ast.Name) and index.left.id in self._dims
                variable, offset = (index.left, index.right) if is_left else (index.right, index.left)
                offsets.append(self.scalars.names.constant(offset))
                index = variable
            else:
                offsets.append(0)
            assert isinstance(index, ast.Name)
            dims.append(self._dims[index.id])
        return linalg.select_dims(len(self._dims), dims), offsets

    def _part(self, tensor: Value, map_: AffineMap, offsets: Sequence[int], sizes: Sequence[Size]) -> Value:
        """The part of an output that the nest writes; all of it as it is."""
        covered = [sizes[_dim(result)] for result in map_.results]
        if not any(offsets) and self._is_whole(tensor, covered):
            return tensor
        return tensors.slice_of(tensor, list(offsets), covered)

    def _put_back(
        self, result: Value, tensor: Value, map_: AffineMap, offsets: Sequence[int], sizes: Sequence[Size]
    ) -> Value:
        covered = [sizes[_dim(each)] for each in map_.results]
        if not any(offsets) and self._is_whole(tensor, covered):
            return result
        return tensors.put_slice(result, tensor, list(offsets), sizes=covered)

    @staticmethod
    def _is_whole(tensor: Value, sizes: Sequence[Size]) -> bool:
        """Whether sizes are those of a tensor; of such that only the run tells it is taken for granted."""
        dynamic = ir.ShapedType.get_dynamic_size()
        return all(
            size == known if isinstance(size, int) else known == dynamic
            for size, known in zip(sizes, tensor.type.shape, strict=True)
        )

    def _covering(self, read: Read, sizes: Sequence[Size]) -> Value:
        """The buffer as far as the nest's plain variables go: linalg wants these sizes to agree."""
        tensor = self.state[read.buffer]
        plain = [_dim(result) if _is_dim(result) else None for result in read.map.results]
        wanted = [None if dim is None else sizes[dim] for dim in plain]
        own = linalg.sizes(tensor)
        covered = [each if size is None else size for each, size in zip(own, wanted, strict=True)]
        if all(
            size is None or (size == each if isinstance(size, int) and isinstance(each, int) else not isinstance(size, int))
            for each, size in zip(own, wanted, strict=True)
        ):
            return tensor
        return tensors.slice_of(tensor, [0] * len(covered), covered)

    def _unseen(self, domains: Sequence[Domain], maps: Sequence[AffineMap]) -> list[int]:
        """Variables that are no operand's index alone: an operand that nobody reads tells their sizes."""
        seen = {_dim(result) for map_ in maps for result in map_.results if _is_dim(result)}
        return [position for position in range(len(domains)) if position not in seen]

    # ---- the body ----

    def _body(
        self, statements: Sequence[Statement], reads: Sequence[Read], outputs: Sequence[Buffer], elements: Sequence[Any]
    ) -> list[Number]:
        scalars, outer = self.scalars, self.scalars.env
        block = ir.InsertionPoint.current.block

        @cache
        def index(dim: int) -> Number:
            """At the body's begin: upstream has it outside of branches only."""
            with ir.InsertionPoint.at_block_begin(block):
                return linalg.index(dim)

        scalars.env = {**outer, **{name: partial(index, place) for name, place in self._dims.items()}}
        self._elements = {read.key: each.of(read.buffer.dtype) for read, each in zip(reads, elements, strict=False)}
        last = elements[len(elements) - len(outputs) :]
        self._written = {id(buffer): each.of(buffer.dtype) for buffer, each in zip(outputs, last, strict=True)}
        for statement in statements:
            assert isinstance(statement, (Store, Let))
            with scalars.source.location(statement.node):
                if isinstance(statement, Store):
                    self._written[id(statement.buffer)] = scalars.number(statement.value, statement.buffer.dtype)
                else:
                    scalars.define(statement)
        scalars.env = outer
        return [self._written[id(buffer)] for buffer in outputs]

    def load(self, scalars: Scalars, node: ast.expr, buffer: Buffer, indices: tuple[ast.expr, ...]) -> Number:
        """An element of an operand where it is one, else one that is taken out of the tensor."""
        if id(buffer) in self._written:
            return self._written[id(buffer)]
        map_ = self._map(indices)
        known = None if map_ is None else self._elements.get((id(buffer), str(map_)))
        if known is not None:
            return known
        if buffer not in self.state:
            raise scalars.source.problem(node, f"buffer '{buffer.name}' is read before it is there")
        places = [as_index(scalars.index(index)) for index in indices]
        return linalg.extract(self.state[buffer], places).of(buffer.dtype)

    def memory(self, scalars: Scalars, node: ast.expr, buffer: Buffer) -> Value:
        raise scalars.source.problem(node, f"'{buffer.name}' is a tensor here, which has no address")


def _indices(node: ast.Subscript) -> list[ast.expr]:
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [] if len(items) == 1 and isinstance(items[0], ast.Constant) and items[0].value == () else list(items)


def _dim(expression: Any) -> int:
    position: int = ir.AffineDimExpr(expression).position
    return position


def _is_dim(expression: Any) -> bool:
    return isinstance(expression.maybe_downcast(), ir.AffineDimExpr)


def _always(scalars: Scalars, node: ast.AST) -> Iterator[ast.Subscript]:
    """The elements that an expression reads whatever its conditions are."""
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.IfExp):
        children = [node.test]
    elif isinstance(node, ast.Call) and scalars.names.word(node.func) == (TIR, "if_then_else"):
        children = node.args[:1]
    elif isinstance(node, ast.Subscript):
        yield node
    for child in children:
        yield from _always(scalars, child)


def _pattern_of(nest: Nest, reads: Sequence[Read], outputs: Sequence[AffineMap], is_whole: bool) -> OpPattern:
    """How a function that is this nest alone can be fused."""
    if len(outputs) != 1 or not is_whole:
        return OpPattern.OPAQUE
    if any(domain.is_reduction for domain in nest.domains):
        return OpPattern.OUT_EWISE_FUSABLE if len(reads) > 1 else OpPattern.COMM_REDUCE
    if all(read.map == outputs[0] for read in reads):
        return OpPattern.ELEMWISE
    dims = [[_dim(each) if _is_dim(each) else -1 for each in read.map.results] for read in reads]
    is_broadcast = all(each == sorted(each) and -1 not in each for each in dims)
    return OpPattern.BROADCAST if is_broadcast and outputs[0].is_permutation else OpPattern.INJECTIVE
