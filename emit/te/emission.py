# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of te as operations of linalg: one for each computation, on tensors, or on memory where a function writes it.

A function of places is called twice: when the tensor is made, which tells what it reads and gives (traced), and in the
body of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...bindings.ir import AffineExpr, AffineMap, Value
from ...bindings.mlir import as_list, ir
from ...dialects.core.symbols_expr import Size, SymExpr, make_variable, terms_of
from ...support.errors import RelaxError, blaming
from .. import linalg, loops, tensors
from ..arithmetic import element as element_type
from ..numbers import Number, as_index, constant, maximum, minimum
from ..symbols import emit_size
from .scalars import ReduceAxis, Reduction
from .tensors import Computation, Computed, External, Placeholder, Recurrence, Scanned, Tensor, Written, place_of_caller
from .tracing import Axis, PlacesBody, Read, Traced, calling, given_by


class Emission:
    """Of a graph of tensors, for values of those that are given."""

    def __init__(self, given: Mapping[Placeholder, Value], *, on_memory: bool):
        self._values = dict[Tensor, Value]()
        self._values.update(given.items())
        self._given = given
        self._on_memory = on_memory
        self._symbols: dict[str, Number | int] = {}
        self._taken: list[Value] = []

    def emit(self, outputs: Sequence[Tensor], targets: Sequence[Value]) -> list[Value]:
        """The values of tensors, made in these."""
        self._targets = dict(zip(outputs, targets, strict=True))
        values = [self.value(output) for output in outputs]
        for memref in self._taken:
            ir.Operation.create("memref.dealloc", operands=[memref])
        return values

    def value(self, tensor: Tensor) -> Value:
        if tensor not in self._values:
            self._make(tensor)
        return self._values[tensor]

    def _make(self, tensor: Tensor) -> None:
        place = ir.Location.file(tensor.place.file, tensor.place.line, 1)
        with ir.Location.name(tensor.name, place):
            if isinstance(tensor, Computed):
                self._computed(tensor.computation)
            elif isinstance(tensor, Written):
                self._external(tensor.external)
            elif isinstance(tensor, Scanned):
                self._scanned(tensor.recurrence)
            else:
                raise tensor.place.problem(f"'{tensor.name}' is needed, and not given")

    def size(self, name: str) -> Number | int:
        if name not in self._symbols:
            for placeholder, value in self._given.items():
                for axis, size in enumerate(placeholder.shape):
                    if str(size) == name and isinstance(size, SymExpr):
                        self._symbols[name] = self._at_begin(partial(linalg.size, value, axis))
                        return self._symbols[name]
            raise RelaxError(f"no tensor that is given tells the size '{name}'")
        return self._symbols[name]

    @staticmethod
    def _at_begin(make: Callable[[], Number]) -> Number:
        """At the function's begin: loops and bodies that ask first are not around all others."""
        block = ir.InsertionPoint.current.block
        while block.owner.operation.name != "func.func":
            block = block.owner.operation.block
        with ir.InsertionPoint.at_block_begin(block):
            return make()

    def sizes(self, shape: Sequence[Size]) -> list[Number | int]:
        return [emit_size(size, self.size) for size in shape]

    def _target(self, tensor: Tensor) -> Value:
        """Where a tensor is made."""
        if tensor in self._targets:
            return self._targets[tensor]
        if not self._on_memory:
            return linalg.empty(self.sizes(tensor.shape), element_type(tensor.dtype))
        shape, dynamic = linalg.static_and_dynamic(self.sizes(tensor.shape))
        type_ = ir.MemRefType.get(shape, element_type(tensor.dtype))
        attributes = linalg.segments(len(dynamic), 0)
        made = ir.Operation.create("memref.alloc", results=[type_], operands=dynamic, attributes=attributes).result
        self._taken.append(made)
        return made

    def _computed(self, computation: Computation) -> None:
        trace, results = computation.trace, computation.results
        for tensor in trace.tensors:
            self.value(tensor)
        axes = trace.axes
        outputs = [self._target(tensor) for tensor in results]
        if trace.is_reduction:
            outputs = self._filled(computation, outputs)
        sizes = self.sizes([axis.extent for axis in axes])
        inputs = [self._covering(read, axes, sizes) for read in trace.reads]
        own = list(range(len(trace.spatial)))
        maps = [_map(axes, read.at) for read in trace.reads]
        seen = {str(at) for read in trace.reads for at in read.at} | {axis.name for axis in trace.spatial}
        unseen = [place for place, axis in enumerate(axes) if axis.name not in seen]
        if unseen:  # no operand tells their sizes: one that nobody reads does
            inputs.append(self._shape_of([sizes[place] for place in unseen]))
            maps.append(linalg.select_dims(len(axes), unseen))
        maps += [linalg.select_dims(len(axes), own)] * len(outputs)
        kinds = [linalg.PARALLEL] * len(own) + [linalg.REDUCTION] * len(trace.reduced)
        made = linalg.generic(inputs, outputs, maps, kinds, lambda *scalars: self._body(computation, scalars))
        for tensor, value in zip(results, outputs if self._on_memory else made, strict=True):
            self._values[tensor] = value

    def _shape_of(self, sizes: Sequence[Number | int]) -> Value:
        if not self._on_memory:
            return linalg.empty(sizes, element_type("f32"))
        shape, dynamic = linalg.static_and_dynamic(sizes)
        type_ = ir.MemRefType.get(shape, element_type("i8"))
        attributes = linalg.segments(len(dynamic), 0)
        made = ir.Operation.create("memref.alloc", results=[type_], operands=dynamic, attributes=attributes).result
        self._taken.append(made)
        return made

    def _filled(self, computation: Computation, outputs: Sequence[Value]) -> list[Value]:
        """With what a reduction starts from."""
        starts = computation.starts
        filled = []
        for output, start in zip(outputs, starts, strict=True):
            scalar = constant(start, output.type.element_type)
            if self._on_memory:
                rank = output.type.rank
                linalg.generic([scalar], [output], [linalg.select_dims(rank, []), linalg.identity(rank)],
                               [linalg.PARALLEL] * rank, lambda value, _: value)  # fmt: skip
                filled.append(output)
            else:
                filled.append(linalg.fill(scalar, output))
        return filled

    def _covering(self, read: Read, axes: Sequence[Axis], sizes: Sequence[Number | int]) -> Value:
        """The tensor as far as the loops go that its indices are alone: linalg wants these sizes to agree."""
        value, places = self._values[read.tensor], {axis.name: place for place, axis in enumerate(axes)}
        loops_of = [places.get(str(at)) for at in read.at]
        pairs = zip(read.tensor.shape, loops_of, strict=True)
        if all(place is None or size == axes[place].extent for size, place in pairs):
            return value
        own = linalg.sizes(value)
        covered = [size if place is None else sizes[place] for size, place in zip(own, loops_of, strict=True)]
        if self._on_memory:
            return _subview(value, covered)
        return tensors.slice_of(value, [0] * len(covered), covered)

    def _body(self, computation: Computation, scalars: Sequence[Any]) -> list[Number]:
        trace = computation.trace
        elements = dict(zip(trace.reads, scalars, strict=False))
        body = _Emitting(self, trace, elements)
        with calling(body), ir.InsertionPoint(ir.InsertionPoint.current.block):
            made = given_by(computation.function(*body.indices()))
            if not isinstance(made, Reduction):
                values = list(made)
            else:
                before = [
                    each.of(dtype) for each, dtype in zip(scalars[-len(trace.dtypes) :], trace.dtypes, strict=True)
                ]
                values = as_list(made.combine(before, made.values))
        _drop_unused(ir.InsertionPoint.current.block, values)
        return values

    # ---- functions that write memory ----

    def _external(self, external: External) -> None:
        ins = [self.value(source) for source in external.sources]
        results = list(external.results)
        outs = [self._target(tensor) for tensor in results]
        with blaming(f"the function of te.extern '{external.name}'"):
            external.function(ins, outs)
        self._values.update(zip(results, outs, strict=True))

    # ---- recurrences ----

    def _scanned(self, recurrence: Recurrence) -> None:
        results = list(recurrence.results)
        stages = _stages(recurrence)
        states = [self._target(tensor) for tensor in results]
        for init, state in zip(recurrence.inits, states, strict=True):
            source = self.value(init)
            loops.nest(loops.sizes(source), lambda *at, s=source, t=state: loops.store(loops.load(s, *at), t, *at))
        for placeholder, state in zip(recurrence.states, states, strict=True):
            self._values[placeholder] = state
        for stage in stages:
            for tensor in stage.trace.tensors:
                if not any(isinstance(tensor, Computed) and tensor.computation is each for each in stages):
                    self.value(tensor)
            for tensor in stage.results:
                number = [each for each, update in enumerate(recurrence.updates) if update is tensor]
                self._values[tensor] = states[number[0]] if number else self._target(tensor)
        first = int(recurrence.inits[0].shape[0])  # type: ignore[arg-type]  # checked when it was made
        steps = emit_size(recurrence.states[0].shape[0], self.size)

        def step(t: Number) -> None:
            for stage in stages:
                self._stage(stage, t)

        loops.for_range(first, steps, step)
        self._values.update(zip(results, states, strict=True))

    def _stage(self, stage: Computation, t: Number) -> None:
        """A computation at one step of a recurrence, in loops."""
        trace = stage.trace
        targets = [self._values[tensor] for tensor in stage.results]

        def element(*inner: Number) -> None:
            at = [t, *inner]
            if not trace.is_reduction:
                values = self._in_loops(stage, at, [])
                for value, target in zip(values, targets, strict=True):
                    loops.store(value, target, *at)
                return
            for start, target in zip(stage.starts, targets, strict=True):
                loops.store(start, target, *at)

            def add(*reduced: Number) -> None:
                before = [
                    loops.load(target, *at).of(dtype) for target, dtype in zip(targets, trace.dtypes, strict=True)
                ]
                made = self._in_loops(stage, at, reduced, before)
                for value, target in zip(made, targets, strict=True):
                    loops.store(value, target, *at)

            loops.nest(self.sizes([axis.extent for _, axis in trace.reduced]), add)

        loops.nest(self.sizes(stage.shape[1:]), element)

    def _in_loops(
        self, stage: Computation, at: Sequence[Number], reduced: Sequence[Number], before: Sequence[Number] = ()
    ) -> list[Number]:
        body = _Emitting(self, stage.trace, {}, [*at, *reduced])
        with calling(body):
            made = given_by(stage.function(*body.indices()))
            return as_list(made.combine(list(before), made.values)) if isinstance(made, Reduction) else list(made)


def _stages(recurrence: Recurrence) -> list[Computation]:
    """The computations between the states and the updates, in their order."""
    found: list[Computation] = []

    def visit(tensor: Tensor) -> bool:
        if tensor in recurrence.states:
            return True
        if not isinstance(tensor, Computed):
            return False
        depends = [visit(each) for each in tensor.computation.trace.tensors]
        if any(depends) and tensor.computation not in found:
            found.append(tensor.computation)
        return any(depends)

    for update in recurrence.updates:
        if not visit(update) and isinstance(update, Computed):
            found.append(update.computation)
    return found


class _Emitting(PlacesBody):
    """In the body of an operation, or of loops whose variables are `given`."""

    def __init__(
        self, emission: Emission, trace: Traced, elements: Mapping[Read, Number], given: Sequence[Number] | None = None
    ):
        super().__init__(trace.spatial)
        self.reduced = dict(trace.reduced)
        self._emission, self._elements, self._loops = emission, elements, given

    def index(self, place: int) -> Number:
        return linalg.index(place) if self._loops is None else self._loops[place]

    def size(self, name: str) -> Number | int:
        return self._emission.size(name)

    def element(self, tensor: Tensor, at: Sequence[Any]) -> Number:
        read = self.read_of(tensor, at)
        if read is not None and read in self._elements:
            return self._elements[read].of(tensor.dtype)
        value = self._emission.value(tensor)
        places = [self._place(index) for index in at]
        for axis in self.axes_to_check(tensor, at):  # what is outside must not be used by who asks
            places[axis] = _clamped(places[axis], linalg.size(value, axis))
        return loops.load(value, *places).of(tensor.dtype)

    def _place(self, index: Any) -> Number:
        if isinstance(index, ReduceAxis):
            return index.index
        if isinstance(index, SymExpr):
            return self.symbol(index)
        return as_index(index)


def _clamped(place: Number, size: Number) -> Number:
    return Number(maximum(minimum(Number(place), size - 1), 0))


def _map(axes: Sequence[Axis], at: Sequence[Size]) -> AffineMap:
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


def _subview(memref: Value, sizes: Sequence[Number | int]) -> Value:
    """Its begin, as far as these sizes go."""
    rank = len(sizes)
    shape, dynamic = linalg.static_and_dynamic(sizes)
    strides, offset = memref.type.get_strides_and_offset()
    type_ = ir.MemRefType.get(shape, memref.type.element_type, layout=ir.StridedLayoutAttr.get(offset, strides))
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get([0] * rank),
        "static_sizes": ir.DenseI64ArrayAttr.get(shape),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * rank),
        **linalg.segments(1, 0, len(dynamic), 0),
    }
    return ir.Operation.create(
        "memref.subview", results=[type_], operands=[memref, *dynamic], attributes=attributes
    ).result


def _drop_unused(block: Any, kept: Sequence[Value]) -> None:
    """Indices are made whether a body needs them or not."""
    wanted = {ir.Value(value) for value in kept}
    for view in reversed(list(block.operations)):
        op = view.operation
        is_plain = op.name.partition(".")[0] in ("arith", "linalg", "math") and not len(op.regions)
        if is_plain and all(result not in wanted and next(iter(result.uses), None) is None for result in op.results):
            op.erase()


# ---- graphs ----


def needed_by(tensor: Tensor) -> Sequence[Tensor]:
    """What has to be there before a tensor can be computed."""
    if isinstance(tensor, Computed):
        return tensor.computation.trace.tensors
    if isinstance(tensor, Written):
        return tensor.external.sources
    if isinstance(tensor, Scanned):
        recurrence = tensor.recurrence
        return (*recurrence.inits, *recurrence.updates)
    return ()


def graph_of(outputs: Sequence[Tensor]) -> list[Tensor]:
    """All that tensors are made of, and these."""
    found: dict[Tensor, None] = {}
    waiting = list(outputs)
    while waiting:
        tensor = waiting.pop()
        if tensor not in found:
            found[tensor] = None
            waiting += needed_by(tensor)
    return list(found)


def placeholder_of(shape: Sequence[Any], dtype: str, number: int) -> Placeholder:
    """For a value of such a type; sizes that are neither numbers nor symbols get a symbol."""
    name = f"arg{number}"
    known = tuple(
        size if isinstance(size, int) or (size is not None and size.variables == {str(size)}) else
        make_variable(f"{name}.{axis}")
        for axis, size in enumerate(shape)
    )  # fmt: skip
    return Placeholder(known, name, place_of_caller(3), dtype)


def needs_memory(outputs: Sequence[Tensor]) -> bool:
    """Whether a function writes one of their tensors itself, or steps follow one another."""
    return any(isinstance(tensor, (Written, Scanned)) for tensor in graph_of(outputs))


def placeholders_of(outputs: Sequence[Tensor]) -> list[Placeholder]:
    """Those that have to be given: the states of recurrences are not."""
    graph = graph_of(outputs)
    states = {state for tensor in graph if isinstance(tensor, Scanned) for state in tensor.recurrence.states}
    return [tensor for tensor in graph if isinstance(tensor, Placeholder) and tensor not in states]
