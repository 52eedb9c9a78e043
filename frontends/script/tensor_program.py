# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Program of nests on tensors: each nest is a linalg.generic that returns its outputs as new tensors."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ...bindings.ir import AffineMap, Value
from ...bindings.mlir import ir
from ...dialects.core.infos import bit_width
from ...dialects.core.symbols import Dim, equal
from ...dialects.script.syntax import buffer_name, parts_of, parts_within
from ...emit import linalg, numbers, tensors
from ...emit.arithmetic import element
from ...emit.loops import when
from ...emit.numbers import Number, Size, as_index
from .affine_indices import AffineIndex, Variables
from .effects import outside
from .names import TIR, Names
from .nest_reader import Domain, Nest
from .program import Allocate, Buffer, Let, Statement, Store, element_of
from .scalar_types import typed
from .scalars import Scalars


class NestRead(NamedTuple):
    """Element that each point of a nest reads. Equal indices of the same buffer are one operand."""

    buffer: Buffer
    indices: Sequence[AffineIndex]
    map: AffineMap

    @property
    def dims(self) -> list[int | None]:
        """Return the variable that each index equals, or None."""
        return [index.dim for index in self.indices]


class _Place(NamedTuple):
    """Position of a nest's store: in each dimension a variable and its offset.

    A dimension of size 1 has the variable None.
    """

    dims: list[int | None]
    offsets: list[int]

    @property
    def variables(self) -> list[int]:
        return [dim for dim in self.dims if dim is not None]

    @property
    def joined(self) -> list[int]:
        """Return the number of dimensions per variable. A dimension of size 1 goes with the next variable."""
        counts = [0]
        for dim in self.dims:
            counts[-1] += 1
            if dim is not None:
                counts.append(0)
        rest = counts.pop()
        return [*counts[:-1], counts[-1] + rest]


class _OutputPart(NamedTuple):
    """Part of an output that a nest writes: all of it, or as far as its variables reach."""

    place: _Place
    is_whole: bool
    sizes: Sequence[Size]

    def of(self, tensor: Value) -> Value:
        part = tensor if self.is_whole else tensors.slice_of(tensor, self.place.offsets, self._covered)
        return part if None not in self.place.dims else tensors.merge_all(part, self.place.joined)

    def put_back(self, result: Value, tensor: Value) -> Value:
        if None in self.place.dims:
            covered = iter(linalg.sizes(tensor) if self.is_whole else self._covered)
            parts = [[next(covered) for _ in range(count)] for count in self.place.joined]
            result = tensors.split_all(result, parts)
        return result if self.is_whole else tensors.put_slice(result, tensor, self.place.offsets, sizes=self._covered)

    @property
    def _covered(self) -> list[Size]:
        return [1 if dim is None else self.sizes[dim] for dim in self.place.dims]


class Tensors:
    """Current tensor of each buffer, and the reads and writes of the nest that is being emitted."""

    def __init__(self, names: Names, state: dict[Buffer, Value]):
        self.state = state
        self.begin(Variables(names, []))

    def begin(self, variables: Variables) -> None:
        """Start another nest."""
        self.variables = variables
        self.elements: dict[tuple[Buffer, AffineMap], Number] = {}
        self.written: dict[int, Number] = {}
        #: Operand of each element that an expression reads; None if its index is not affine.
        self._read_at: dict[ast.expr, NestRead | None] = {}

    def read(self, node: ast.expr, buffer: Buffer, indices: Sequence[ast.expr]) -> NestRead | None:
        if node not in self._read_at:
            affine = self.variables.indices(indices)
            self._read_at[node] = None if affine is None else NestRead(buffer, affine, self.variables.map(affine))
        return self._read_at[node]

    def _is_inside(self, read: NestRead) -> bool:
        """Check whether the indices are proven in bounds, by the extents of variables or by their ranges."""
        return all(map(self._stays, read.indices, read.buffer.dims))

    def _stays(self, index: AffineIndex, dim: Dim) -> bool:
        _, variable, low, high = index
        is_in_range = low is not None and low >= 0 and isinstance(dim, int) and high is not None and high < dim
        return is_in_range or (variable is not None and equal(self.variables.sizes[variable], dim) is True)

    def load(self, scalars: Scalars, node: ast.expr, buffer: Buffer, indices: tuple[ast.expr, ...]) -> Number:
        """Return an element: of an operand if possible, otherwise extracted from the tensor."""
        if id(buffer) in self.written:
            return self.written[id(buffer)]
        read = self.read(node, buffer, indices)
        known = None if read is None else self.elements.get((buffer, read.map))
        if known is not None:
            return known
        if buffer not in self.state:
            raise scalars.source.problem(node, f"buffer '{buffer.name}' is read before it is written")
        values, tensor, guards = [scalars.index(index) for index in indices], self.state[buffer], list[Number]()
        if node not in scalars.inside:
            # A nest cannot stop with an error. An element out of bounds is the nearest element, or 0 if there is none.
            sizes = linalg.sizes(tensor)
            for axis, (index, dim) in enumerate(zip(indices, buffer.dims, strict=True)):
                affine = self.variables.indices([index])
                if affine is None or not self._stays(affine[0], dim):
                    values[axis] = _nearest(scalars.value(index), sizes[axis])
                    guards += [] if isinstance(sizes[axis], int) else [as_index(sizes[axis]) > 0]
        type_ = tensor.type.element_type

        def read_it() -> Number:
            return linalg.extract(tensor, [as_index(value) for value in values])

        if not guards:
            return typed(read_it(), buffer.dtype)
        is_there = functools.reduce(operator.and_, guards)
        return typed(when(is_there, read_it, lambda: numbers.constant(0, type_), [type_])[0], buffer.dtype)

    def is_safe(self, scalars: Scalars, node: ast.expr) -> bool:
        for expr in parts_within(node):
            buffer = scalars.env.get(buffer_name(expr))
            if isinstance(expr, ast.Subscript) and isinstance(buffer, Buffer) and id(buffer) not in self.written:
                read = self.read(expr, *element_of(scalars.source, expr, scalars.env))
                if read is None or not self._is_inside(read):
                    return False
        return True

    def memory(self, scalars: Scalars, node: ast.expr, buffer: Buffer) -> Value:
        raise scalars.source.problem(node, f"'{buffer.name}' is a tensor here, which has no address")


class TensorProgram:
    """Emission of nests in order."""

    def __init__(self, scalars: Scalars, tensors: Tensors):
        self.scalars, self.tensors, self.state = scalars, tensors, tensors.state

    def emit(self, steps: Sequence[Nest | Allocate]) -> None:
        for step in steps:
            with self.scalars.source.location(step.node, step.name if isinstance(step, Nest) else step.buffer.name):
                if isinstance(step, Allocate):
                    sizes = [self.scalars.index(size) for size in step.buffer.sizes]
                    self.state[step.buffer] = linalg.empty(sizes, element(step.buffer.dtype))
                    self.scalars.env[step.buffer.name] = step.buffer
                else:
                    self._nest(step)

    # ---- one nest ----

    def _nest(self, nest: Nest) -> None:
        if nest.init:
            self._generic([domain for domain in nest.domains if not domain.is_reduction], nest.init)
        self._generic(nest.domains, nest.body)

    def _generic(self, domains: Sequence[Domain], statements: Sequence[Statement]) -> None:
        sizes: list[Size] = [self.scalars.index(domain.size) for domain in domains]
        for domain, size in zip(domains, sizes, strict=True):
            if isinstance(size, int) and size >= 1 << 62:
                raise self.scalars.source.problem(domain.size, f"a loop cannot run {size} times")
        self.tensors.begin(Variables(self.scalars.names, [(domain.name, domain.dim) for domain in domains]))
        stores = [statement for statement in statements if isinstance(statement, Store)]
        outputs = list(dict.fromkeys(store.buffer for store in stores))
        reads = self._reads(statements, outputs)
        at = {store.buffer: _place(self.tensors.variables.positions, self.scalars, store) for store in stores}
        for store in stores:
            indices = self.tensors.variables.indices(store.indices)
            if indices is None:  # a store with a non-affine index would have made the program loops
                raise self.scalars.source.problem(store.node, f"an index of '{store.buffer.name}' is too large")
            self._check_range(store.node, store.buffer, indices)
        places = [at[buffer] for buffer in outputs]
        are_whole = [self._is_written_whole(output, domains, at[output]) for output in outputs]
        parts = [_OutputPart(place, is_whole, sizes) for place, is_whole in zip(places, are_whole, strict=True)]
        maps = [linalg.select_dims(len(domains), place.variables) for place in places]
        targets = [part.of(self.state[buffer]) for buffer, part in zip(outputs, parts, strict=True)]
        inputs = [self._covering(read, domains, sizes) for read in reads]
        seen = {dim for read in reads for dim in read.dims}.union(*[place.variables for place in places])
        unseen = [position for position in range(len(domains)) if position not in seen]
        if unseen:  # no operand determines these sizes, so an unused operand does
            shape = linalg.empty([sizes[dim] for dim in unseen], element("f32"))
            unseen_map = [linalg.select_dims(len(domains), unseen)]
        results = linalg.generic(
            [*inputs, *([shape] if unseen else [])],
            targets,
            [*(read.map for read in reads), *(unseen_map if unseen else []), *maps],
            [linalg.REDUCTION if domain.is_reduction else linalg.PARALLEL for domain in domains],
            lambda *elements: self._body(statements, reads, outputs, elements),
        )
        for buffer, result, part in zip(outputs, results, parts, strict=True):
            self.state[buffer] = part.put_back(result, self.state[buffer])

    def _is_written_whole(self, buffer: Buffer, domains: Sequence[Domain], place: _Place) -> bool:
        return not any(place.offsets) and self._is_whole(buffer, domains, place.dims)

    def _reads(self, statements: Sequence[Statement], outputs: Sequence[Buffer]) -> list[NestRead]:
        """Return the operands: elements read unconditionally at affine indices.

        Conditional reads stay in their branch.
        """
        nest_reads: dict[tuple[Buffer, AffineMap], NestRead] = {}
        for statement in statements:
            assert isinstance(statement, (Store, Let))
            for node in self._always(statement.value):
                held = self.scalars.env.get(buffer_name(node))
                if not isinstance(held, Buffer) or held in outputs:
                    continue
                read = self.tensors.read(node, *element_of(self.scalars.source, node, self.scalars.env))
                if read is not None and (read.buffer, read.map) not in nest_reads:
                    self._check_range(node, read.buffer, read.indices)
                    nest_reads[read.buffer, read.map] = read
        return list(nest_reads.values())

    def _always(self, node: ast.expr) -> Iterator[ast.Subscript]:
        """Yield the elements that an expression reads under all conditions."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if not (parts := parts_of(node)):
                continue
            if isinstance(node, ast.Subscript):
                yield node
            elif (choice := self.scalars.names.choice(node)) is not None:
                is_select = self.scalars.names.word(node) == (TIR, "Select")
                if not (is_select and all(self.tensors.is_safe(self.scalars, each) for each in choice[1:])):
                    parts = choice[:1]  # a branch may only be read under its condition
            waiting += parts[::-1]

    def _check_range(self, node: ast.AST, buffer: Buffer, indices: Sequence[AffineIndex]) -> None:
        """Refuse indices that are known to be out of bounds."""
        for axis, ((_, _, low, high), dim) in enumerate(zip(indices, buffer.dims, strict=True)):
            if (low is not None and low < 0) or (isinstance(dim, int) and high is not None and high >= dim):
                raise self.scalars.source.problem(node, outside(buffer, axis, low, high))

    def _is_whole(self, buffer: Buffer, domains: Sequence[Domain], dims: Sequence[int | None]) -> bool:
        """Check whether a buffer has the extents of the variables that index it. None means another index."""
        pairs = zip(buffer.dims, dims, strict=True)
        return all(dim is None or equal(size, domains[dim].dim) is True for size, dim in pairs)

    def _covering(self, read: NestRead, domains: Sequence[Domain], sizes: Sequence[Size]) -> Value:
        """Return the part of a buffer that the nest's plain variables cover. linalg requires equal sizes."""
        tensor = self.state[read.buffer]
        dims = read.dims
        if self._is_whole(read.buffer, domains, dims):
            return tensor
        own = linalg.sizes(tensor)
        covered = [each if dim is None else sizes[dim] for each, dim in zip(own, dims, strict=True)]
        return tensors.slice_of(tensor, [0] * len(covered), covered)

    # ---- the body ----

    def _body(
        self,
        statements: Sequence[Statement],
        reads: Sequence[NestRead],
        outputs: Sequence[Buffer],
        elements: Sequence[Number],
    ) -> list[Number]:
        scalars, tensors, outer = self.scalars, self.tensors, self.scalars.env
        block = ir.InsertionPoint.current.block

        made: dict[int, Number] = {}

        def index(dim: int) -> Number:
            """Return a loop index, built at the body's begin: upstream allows linalg.index only outside of branches."""
            if dim not in made:
                with ir.InsertionPoint.at_block_begin(block):
                    made[dim] = linalg.index(dim)
            return made[dim]

        scalars.env = {**outer, **{name: partial(index, place) for name, place in tensors.variables.positions.items()}}
        tensors.elements = {
            (read.buffer, read.map): typed(number, read.buffer.dtype)
            for read, number in zip(reads, elements, strict=False)
        }
        last = elements[len(elements) - len(outputs) :]
        tensors.written = {
            id(buffer): typed(number, buffer.dtype) for buffer, number in zip(outputs, last, strict=True)
        }
        for statement in statements:
            assert isinstance(statement, (Store, Let))
            with scalars.source.location(statement.node):
                if isinstance(statement, Store):
                    tensors.written[id(statement.buffer)] = scalars.number(statement.value, statement.buffer.dtype)
                else:
                    scalars.define(statement)
        scalars.env = outer
        return [tensors.written[id(buffer)] for buffer in outputs]


def _nearest(index: object, size: Size) -> Size:
    """Return the index clamped to `size`, in its own type if that type represents both bounds."""
    assert isinstance(index, (Number, int)), "an index was made of it before"
    if isinstance(index, Number) and isinstance(size, int) and bit_width(index.dtype) >= 32 and not index.is_unsigned:
        return numbers.maximum(numbers.minimum(index, size - 1), 0)
    return numbers.maximum(numbers.minimum(as_index(index), as_index(size) - 1), 0)


def _place(dims: Mapping[str, int], scalars: Scalars, store: Store) -> _Place:
    place = _Place([], [])
    for index in store.indices:
        variable: ast.expr = index
        offset: object = 0
        if scalars.names.found(index) == 0:
            place.dims.append(None)
            place.offsets.append(0)
            continue
        if isinstance(index, ast.BinOp):
            is_left = isinstance(index.left, ast.Name) and index.left.id in dims
            variable, other = (index.left, index.right) if is_left else (index.right, index.left)
            offset = scalars.names.constant(other)
        assert isinstance(variable, ast.Name) and isinstance(offset, int)
        place.dims.append(dims[variable.id])
        place.offsets.append(offset)
    return place
