# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of te tensors as linalg operations, one per computation, on tensors, or on memory if a function writes them.

A compute body was called once, when its tensor was created (tracing.py). Operation bodies replay its recording.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ...bindings.affine import identity
from ...bindings.ir import AffineExpr, AffineMap, Value
from ...bindings.mlir import ir
from ...dialects.core.symbols_expr import Size, SymExpr, terms_of
from ...support.blaming import blaming
from ...support.errors import RelaxError
from .. import linalg, loops, tensors
from ..arithmetic import element as element_type
from ..numbers import Number, as_index, constant, maximum, minimum
from ..subviews import part_of
from ..symbols import emit_size
from .dependence_graph import ordered, stages_of
from .tensors import Computation, Computed, External, Placeholder, Recurrence, Scanned, Tensor, Written
from .tracing import Asked, ElementRead, LoopAxis, Traced


class Emission:
    """Emission of a tensor graph for the given input values."""

    def __init__(self, given: Mapping[Placeholder, Value], *, on_memory: bool):
        self._values = dict[Tensor, Value]()
        self._values.update(given.items())
        self._given = given
        self._on_memory = on_memory
        self._symbols: dict[str, Number] = {}
        self._taken: list[Value] = []

    def emit(self, outputs: Sequence[Tensor], targets: Sequence[Value]) -> list[Value] | None:
        """Emit tensors into the targets and return their values, or None on memory."""
        self._targets = dict(zip(outputs, targets, strict=True))
        for tensor in ordered(outputs):
            self._make(tensor)
        for memref in self._taken:
            ir.Operation.create("memref.dealloc", operands=[memref])
        return None if self._on_memory else [self._values[output] for output in outputs]

    def value(self, tensor: Tensor) -> Value:
        return self._values[tensor]

    def _make(self, tensor: Tensor) -> None:
        if tensor in self._values:
            return
        try:
            with ir.Location.name(tensor.name, tensor.place.location):
                if isinstance(tensor, Computed):
                    self._compute(tensor.computation)
                elif isinstance(tensor, Written):
                    self._external(tensor.external)
                elif isinstance(tensor, Scanned):
                    self._scan(tensor.recurrence)
                else:
                    raise RelaxError(f"'{tensor.name}' is needed, and not given")
        except RelaxError as error:
            raise error if error.location else tensor.place.problem(error.message) from error.__cause__

    def size(self, name: str) -> Number:
        if name not in self._symbols:
            for placeholder, value in self._given.items():
                for axis, size in enumerate(placeholder.shape):
                    if str(size) == name and isinstance(size, SymExpr):
                        self._symbols[name] = self._create_at_begin(partial(linalg.size, value, axis))
                        return self._symbols[name]
            raise RelaxError(f"no tensor that is given has the size '{name}': none has it as a dimension")
        return self._symbols[name]

    @staticmethod
    def _create_at_begin(make: Callable[[], Number]) -> Number:
        """Create a value at the function's start, so that it dominates all loops and bodies."""
        block = ir.InsertionPoint.current.block
        while block.owner.operation.name != "func.func":
            block = block.owner.operation.block
        with ir.InsertionPoint.at_block_begin(block):
            return make()

    def sizes(self, shape: Sequence[Size]) -> list[Number | int]:
        return [emit_size(size, self.size) for size in shape]

    def _target(self, tensor: Tensor) -> Value:
        """Return the destination of a tensor."""
        if tensor in self._targets:
            return self._targets[tensor]
        if not self._on_memory:
            return linalg.empty(self.sizes(tensor.shape), element_type(tensor.dtype))
        return self._allocate(self.sizes(tensor.shape), tensor.dtype)

    def _allocate(self, sizes: Sequence[Number | int], dtype: str) -> Value:
        self._taken.append(loops.allocated(sizes, element_type(dtype)))
        return self._taken[-1]

    def _compute(self, computation: Computation) -> None:
        trace, results = computation.trace, computation.results
        axes, reads = trace.axes, trace.reads
        outputs = [self._target(tensor) for tensor in results]
        if trace.is_reduction:
            with ir.Location.name(f"{computation.name}_init", computation.place.location):
                outputs = self._fill(trace, outputs)
        sizes = self.sizes([axis.extent for axis in axes])
        inputs = [self._covering(read, axes, sizes) for read in reads]
        own = list(range(len(trace.spatial)))
        maps = [_map(axes, read.at) for read in reads]
        seen = {str(at) for read in reads for at in read.at} | {axis.name for axis in trace.spatial}
        unseen = [place for place, axis in enumerate(axes) if axis.name not in seen]
        if unseen:  # no operand has their sizes, so an unused operand supplies them
            shape = [sizes[place] for place in unseen]
            inputs.append(self._allocate(shape, "i8") if self._on_memory else linalg.empty(shape, element_type("f32")))
            maps.append(linalg.select_dims(len(axes), unseen))
        maps += [linalg.select_dims(len(axes), own)] * len(outputs)
        kinds = [linalg.PARALLEL] * len(own) + [linalg.REDUCTION] * len(trace.reduced)

        def body(*scalars: Value) -> list[Value]:
            filling = _Filling(self, dict(zip(reads, scalars, strict=False)), scalars[len(inputs) :])
            return trace.recording.replay(trace.results, filling)

        made = linalg.generic(inputs, outputs, maps, kinds, body)
        for tensor, value in zip(results, outputs if self._on_memory else made, strict=True):
            self._values[tensor] = value

    def _fill(self, trace: Traced, outputs: Sequence[Value]) -> list[Value]:
        """Fill outputs with the initial values of a reduction."""
        starts = trace.recording.replay(trace.starts, None, whole=False)
        if not self._on_memory:
            return [linalg.fill(start, output) for start, output in zip(starts, outputs, strict=True)]
        for start, output in zip(starts, outputs, strict=True):
            rank = output.type.rank
            maps = [linalg.select_dims(rank, []), identity(rank)]
            linalg.generic([start], [output], maps, [linalg.PARALLEL] * rank, lambda value, _: value)
        return list(outputs)

    def _covering(self, read: ElementRead, axes: Sequence[LoopAxis], sizes: Sequence[Number | int]) -> Value:
        """Return the tensor, cut to the extents of the loops that index it directly.

        linalg requires these sizes to agree.
        """
        value, places = self._values[read.tensor], {axis.name: place for place, axis in enumerate(axes)}
        loops_of = [places.get(str(at)) for at in read.at]
        pairs = zip(read.tensor.shape, loops_of, strict=True)
        if all(place is None or size == axes[place].extent for size, place in pairs):
            return value
        own = linalg.sizes(value)
        covered = [size if place is None else sizes[place] for size, place in zip(own, loops_of, strict=True)]
        if self._on_memory:
            rank = len(covered)
            return part_of(value, [0] * rank, range(rank), covered, [1] * rank)
        return tensors.slice_of(value, [0] * len(covered), covered)

    # ---- functions that write memory ----

    def _external(self, external: External) -> None:
        ins = [self.value(source) for source in external.sources]
        results = list(external.results)
        outs = [self._target(tensor) for tensor in results]
        with blaming("the function of te.extern", external.function):
            external.function(ins, outs)
        self._values.update(zip(results, outs, strict=True))

    # ---- recurrences ----

    def _scan(self, recurrence: Recurrence) -> None:
        results, stages = list(recurrence.results), stages_of(recurrence)
        states = [self._target(tensor) for tensor in results]
        first = recurrence.first
        steps = emit_size(recurrence.states[0].shape[0], self.size)
        for init, state in zip(recurrence.inits, states, strict=True):
            source = self.value(init)
            bounds = [minimum(first, steps), *loops.sizes(source)[1:]]  # there may be fewer steps
            loops.nest(bounds, lambda *at, s=source, t=state: loops.store(loops.load(s, *at), t, *at))
        self._values.update(zip(recurrence.states, states, strict=True))
        for stage in stages:
            for tensor in stage.results:
                number = [position for position, update in enumerate(recurrence.updates) if update is tensor]
                self._values[tensor] = states[number[0]] if number else self._target(tensor)

        def step(t: Number) -> None:
            for stage in stages:
                self._stage(stage, t)

        loops.for_range(first, steps, step)
        self._values.update(zip(results, states, strict=True))

    def _stage(self, stage: Computation, t: Number) -> None:
        """Emit a computation at one step of a recurrence, as loops."""
        trace = stage.trace
        targets = [self._values[tensor] for tensor in stage.results]

        def element(*inner: Number) -> None:
            at = [t, *inner]

            def write(*reduced: Number) -> None:
                before = [loops.load(target, *at) for target in targets] if trace.is_reduction else []
                made = trace.recording.replay(trace.results, _Filling(self, {}, before, [*at, *reduced]))
                for value, target in zip(made, targets, strict=True):
                    loops.store(value, target, *at)

            for start, target in zip(trace.recording.replay(trace.starts, None, whole=False), targets, strict=False):
                loops.store(start, target, *at)
            loops.nest(self.sizes([axis.extent for _, axis in trace.reduced]), write)

        loops.nest(self.sizes(stage.shape[1:]), element)


class _Filling:
    """Replay of a trace, in the body of an operation, or in loops with the given variables."""

    def __init__(
        self,
        emission: Emission,
        elements: Mapping[ElementRead | None, Value],
        before: Sequence[Value],
        variables: Sequence[Number] | None = None,
    ):
        self._emission, self._elements, self._before, self._variables = emission, elements, before, variables

    def index(self, place: int) -> Number:
        return linalg.index(place) if self._variables is None else self._variables[place]

    def size(self, name: str) -> Number:
        return as_index(self._emission.size(name))

    def before(self, number: int) -> Value:
        return self._before[number]

    def has(self, asked: Asked) -> bool:
        return asked.read in self._elements

    def element(self, asked: Asked, places: Sequence[Value]) -> Value:
        if asked.read in self._elements:
            return self._elements[asked.read]
        value, inside = self._emission.value(asked.tensor), list(places)
        if any(asked.tensor.shape[axis] == 0 for axis in asked.unsure):
            return constant(0, value.type.element_type)
        for axis in asked.unsure:  # the reader must not use elements out of bounds
            last = linalg.size(value, axis) - 1
            inside[axis] = Number(maximum(minimum(Number(places[axis]), last), 0))
        return loops.load(value, *inside)


def _map(axes: Sequence[LoopAxis], at: Sequence[Size]) -> AffineMap:
    dims = {axis.name: place for place, axis in enumerate(axes)}
    return ir.AffineMap.get(len(axes), 0, [_expression(place, dims) for place in at])


def _expression(place: Size, dims: Mapping[str, int]) -> AffineExpr:
    total = ir.AffineExpr.get_constant(0)
    for monomial, factor in terms_of(place).items():
        term = ir.AffineExpr.get_constant(1)
        for atom in monomial:
            if atom.kind == "variable":
                term = ir.AffineExpr.get_dim(dims[str(atom)])
            else:
                sign = ir.AffineExpr.get_floor_div if atom.kind == "//" else ir.AffineExpr.get_mod
                term = sign(_expression(atom.args[0], dims), ir.AffineExpr.get_constant(atom.args[1]))
        total = ir.AffineExpr.get_add(total, ir.AffineExpr.get_mul(term, ir.AffineExpr.get_constant(factor)))
    return total
