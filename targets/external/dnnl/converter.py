# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function of a part as steps: values, constants, and which steps become post-ops of the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ....dialects.core.dialect import row_of
from ....dialects.core.symbols import Dim, SymExpr, product, sym
from ....dialects.relax.known_constants import STORAGE_NAME
from ....passes.partition.steps import node_names
from ....runtime.external.dnnl.description import Argument, Function, PostOp, Quantized, Size, Step, Value
from ....support.errors import RefusalError
from ..core.flatten import FlatGraph, FlatNode, Ref, numbers_in
from . import fusing
from .activations import Activation
from .quantized import dequantize
from .rules import RULES, refusal

if TYPE_CHECKING:
    from numpy import ndarray

#: How a tensor is seen: each step's kind, and its sizes or axes.
Views = Sequence[tuple[str, Sequence[Size]]]
#: What is not computed: another look at a tensor, or its elements in another type.
_CARRIED = ("view", "reorder", "slice", "concat")


class Converter:
    """Rules say `converter.step(kind, result, arguments)`; what is fused, and with what, is decided here."""

    def __init__(self, graph: FlatGraph):
        self.graph = graph
        self.values: list[Value] = []
        self.steps: list[Step] = []
        #: Whether it counts on a clip that makes 0 of NaN.
        self.drops_nan = False
        self._numbers: dict[Ref, int] = {}
        self._nodes: tuple[str, ...] = ()
        passed = [dim for ref in (*graph.inputs, *graph.outputs) for dim in ref.dims]
        symbolic = [dim for dim in dict.fromkeys(passed) if isinstance(dim, SymExpr)]
        #: As the runtime reads them: by numbers, as names may be any.
        self._symbols = {
            name: sym(f"s{i}") for i, dim in enumerate(symbolic) for name in dim.variables if dim == sym(name)
        }
        #: Sizes of what is passed, of symbols that nothing else has: they are known as a whole.
        self._wholes = {dim: f"s{i}" for i, dim in enumerate(symbolic) if not dim.variables <= self._symbols.keys()}

    def convert(self) -> Function:
        inputs = [self._number(ref) for ref in self.graph.inputs]
        for node in self.graph.nodes:
            self._convert(node)
        outputs = [self._number(ref) for ref in self.graph.outputs]
        return Function(self.graph.name, tuple(self.values), tuple(inputs), tuple(outputs), tuple(self.steps))

    def _convert(self, node: FlatNode) -> None:
        inner = () if node.whole is None else sorted(node_names(*node.whole.inner))
        self._nodes = tuple(dict.fromkeys((*inner, *node_names(node.op))))
        row = row_of(node.op)
        if isinstance(node.whole, Activation):
            self.eltwise(node.operands[0], node.result, *node.whole[:3])
            self.drops_nan |= node.whole.drops_nan
        elif row is None or row.role not in ("literal", "shape"):
            reason = refusal(node.op)
            if reason:
                raise RefusalError(reason)
            RULES[node.op.name].convert(self, node)

    @property
    def computes(self) -> bool:
        """Whether there is anything to compute."""
        return any(step.kind not in _CARRIED for step in self.steps)

    def sizes(self, dims: Sequence[Dim]) -> tuple[Size, ...]:
        """Sizes as the runtime reads them. Raises RelaxError for one that nothing passed determines."""
        return tuple(self._size(each) for each in dims)

    def _size(self, dim: Dim) -> Size:
        if not isinstance(dim, SymExpr):
            assert dim is not None
            return dim
        if dim in self._wholes:
            return self._wholes[dim]
        if not dim.variables <= self._symbols.keys():
            raise RefusalError(f"the size '{dim}' is that of no tensor that is passed")
        found = dim.substitute(self._symbols)
        return found if isinstance(found, int) else str(found)

    def count(self, dims: Sequence[Dim]) -> Size:
        """Of elements."""
        if any(dim in self._wholes for dim in dims):
            return "*".join(f"({size})" for size in self.sizes(dims))
        return self._size(product(dims))

    def argument(self, ref: Ref, *views: tuple[str, Sequence[Size]]) -> Argument:
        """A value as a step reads it; views that change nothing are left out."""
        return Argument(self._number(ref), tuple((kind, tuple(given)) for kind, given in views))

    def constant(self, array: ndarray) -> int:
        """An array of f32 or i32 as a value of the part."""
        dtype = {"float32": "f32", "int32": "i32"}[array.dtype.name]
        self.values.append(Value(tuple(array.shape), dtype, array.tobytes()))
        return len(self.values) - 1

    def number(self, value: float, like: Ref) -> Argument:
        """A number as a tensor that is broadcast over another one."""
        import numpy

        rank = len(like.dims)
        return Argument(self.constant(numpy.full((1,) * max(rank, 1), value, "float32")))

    def temporary(self, dims: Sequence[Size], dtype: str) -> Argument:
        self.values.append(Value(tuple(dims), dtype))
        return Argument(len(self.values) - 1)

    def _number(self, ref: Ref) -> int:
        """The number of a value; constants are added where they are first read, dequantized ones computed."""
        if ref not in self._numbers:
            info = ref.info
            data = _stored(ref) if ref.is_constant else None
            self._numbers[ref] = len(self.values)
            self.values.append(Value(self.sizes(info.shape or ()), info.dtype, data))
            if ref.made_by is not None and ref.made_by.name == "relax.dequantize":
                dequantize(self, ref.made_by)
        return self._numbers[ref]

    def step(
        self,
        kind: str,
        result: Ref | Argument,
        arguments: Mapping[str, Argument],
        views: Views = (),
        quantized: Mapping[str, Quantized] | None = None,
        attributes: Mapping[str, object] | None = None,
        post_ops: Sequence[PostOp] = (),
    ) -> None:
        """Adds a step. `views`: how it sees its result."""
        seen = tuple((name, tuple(given)) for name, given in views)
        stored = Argument(self._number(result), seen) if isinstance(result, Ref) else result
        details = dict(attributes or {}), tuple(post_ops), dict(quantized or {})
        self.steps.append(Step(kind, dict(arguments), stored, *details, self._nodes))

    def eltwise(self, source: Ref | Argument, result: Ref, algorithm: int, alpha: float, beta: float) -> None:
        """An elementwise function, of the step before where that can do it."""
        read = source if isinstance(source, Argument) else self.argument(source)
        post_op = PostOp("eltwise", algorithm, alpha, beta)
        if self._fuse(source, result, post_op):
            return
        attributes = {"algorithm": algorithm, "alpha": alpha, "beta": beta}
        self.step("eltwise", result, {"src": read}, attributes=attributes)

    def binary(self, one: Ref, other: Argument, other_dims: Sequence[Dim], result: Ref, algorithm: int) -> None:
        """one ∘ other, with the other one broadcast; `other_dims` are as many sizes as the result has."""
        producer = self._fusible(one, result)
        if producer is not None:
            seen = fusing.seen_as(producer.result.views, other, other_dims, result.dims)
            if seen is not None:
                bias = fusing.bias_of(producer, seen, self.values) if algorithm == fusing.ADD else None
                if bias is not None:
                    self._fused(producer, result, replace(producer, arguments={**producer.arguments, "bias": bias}))
                else:
                    added = (*producer.post_ops, PostOp("binary", algorithm, other=seen))
                    self._fused(producer, result, replace(producer, post_ops=added))
                return
        self.step("binary", result, {"src": self.argument(one), "src1": other}, attributes={"algorithm": algorithm})

    def _fuse(self, source: Ref | Argument, result: Ref, post_op: PostOp) -> bool:
        producer = self._fusible(source, result) if isinstance(source, Ref) else None
        if producer is None:
            return False
        self._fused(producer, result, replace(producer, post_ops=(*producer.post_ops, post_op)))
        return True

    def _fusible(self, source: Ref, result: Ref) -> Step | None:
        """The step that makes a value for one user only, where that may do more with it."""
        if self.graph.uses[source] != 1 or source not in self._numbers or source.info != result.info:
            return None
        number = self._numbers[source]
        step = next((each for each in reversed(self.steps) if each.result.value == number), None)
        if step is None or step.kind not in fusing.WITH_POST_OPS or "dst" in step.quantized:
            return None
        return step if len(step.post_ops) < fusing.MOST_POST_OPS else None

    def prefers(self, one: Ref, other: Ref, result: Ref) -> bool:
        """Whether the step of one value is the better one to do more: a product, or the last one."""
        return self._preference(one, result) > self._preference(other, result)

    def _preference(self, ref: Ref, result: Ref) -> tuple[bool, int]:
        step = self._fusible(ref, result)
        return (False, -1) if step is None else (step.kind in fusing.PRODUCTS, self.steps.index(step))

    def _fused(self, producer: Step, result: Ref, whole: Step) -> None:
        """The step comes where its post-op was: all that it reads is made by then."""
        self.steps.remove(producer)
        nodes = tuple(dict.fromkeys((*producer.nodes, *self._nodes)))
        self.steps.append(replace(whole, result=Argument(self._number(result), producer.result.views), nodes=nodes))

    def gives(self, source: Ref, result: Ref) -> bool:
        """Whether the product that makes a value for this alone gives it in other elements: those of halves do, of
        themselves or as f32, where the rounding between is left out.
        """
        producer = self.producer(source)
        if producer is None or producer.kind not in fusing.PRODUCTS or producer.quantized:
            return False
        multiplied = self.values[producer.arguments["src"].value].dtype
        if multiplied not in ("bf16", "f16") or result.info.dtype not in (multiplied, "f32"):
            return False
        self._fused(producer, result, producer)
        return True

    def producer(self, ref: Ref) -> Step | None:
        """The step that makes a value which has no other user."""
        number = self._numbers.get(ref)
        found = next((each for each in reversed(self.steps) if each.result.value == number), None)
        return found if self.graph.uses[ref] == 1 else None

    def replace(self, step: Step, other: Step) -> None:
        self.steps.remove(step)
        self.steps.append(other)


def _stored(ref: Ref) -> memoryview:
    array = numbers_in(ref)
    dtype = ref.info.dtype
    if array is None and dtype == "bf16":
        from ....dialects.relax.known_constants import floats_of

        floats = floats_of(ref.value)
        array = None if floats is None else (floats.view("uint32") >> 16).astype(STORAGE_NAME["bf16"])
    if array is None:
        raise RefusalError(f"a constant of {dtype} has no bytes")
    import numpy

    return numpy.ascontiguousarray(array).reshape(-1).view("uint8").data
