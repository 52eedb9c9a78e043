# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a part's function to steps: values, constants, and the fusion of steps as post-ops of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from relax_mlir import RefusalError
from relax_mlir.codegens import node_names
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.symbols import Dim, SymExpr, product, sym
from relax_mlir.dialects.relax.known_constants import STORAGE_NAME
from relax_mlir.passes.graph.parts.flat_graph import FlatGraph, FlatNode, Ref, numbers_in

from . import fusing
from .fused_activation import Activation
from .rules import RULES, refusal
from .runtime.description import Argument, DnnlFunction, PostOp, PrimitiveStep, QuantizedArgument, Size, Value

if TYPE_CHECKING:
    from numpy import ndarray

#: Views of a tensor, one after the other: "permute" with axes, "reshape" with sizes.
Views = Sequence[tuple[str, Sequence[Size]]]
#: Kinds of steps that compute nothing: views, copies, and conversions of the element type.
_CARRIED = ("view", "reorder", "slice", "concat")


class Converter:
    """Converter of one function to steps.

    Conversion rules add steps with `step`, `eltwise` and `binary`. The converter decides which steps are fused.
    """

    def __init__(self, graph: FlatGraph, dequantize: Callable[[Converter, FlatNode], None]):
        """Create a converter. `dequantize` adds the step of a dequantization, at the first use of its result."""
        self.graph = graph
        self._dequantize = dequantize
        self.values: list[Value] = []
        self.steps: list[PrimitiveStep] = []
        #: True if a step relies on a clip that replaces NaN by 0.
        self.drops_nan = False
        self._numbers: dict[Ref, int] = {}
        self._nodes: tuple[str, ...] = ()
        dims = [dim for ref in (*graph.inputs, *graph.outputs) for dim in ref.dims]
        symbolic = [dim for dim in dict.fromkeys(dims) if isinstance(dim, SymExpr)]
        #: Symbols of the runtime, s0, s1, ..., by the model's names, which may be no identifiers.
        self._symbols = {
            name: sym(f"s{i}") for i, dim in enumerate(symbolic) for name in dim.variables if dim == sym(name)
        }
        #: Sizes of inputs and outputs, such as n * m, with symbols that are no size by themselves. Each such expression
        #: gets one symbol of the runtime, because only its value is known.
        self._wholes = {dim: f"s{i}" for i, dim in enumerate(symbolic) if not dim.variables <= self._symbols.keys()}

    def convert(self) -> DnnlFunction:
        inputs = [self._number(ref) for ref in self.graph.inputs]
        for node in self.graph.nodes:
            self._convert(node)
        outputs = [self._number(ref) for ref in self.graph.outputs]
        return DnnlFunction(self.graph.name, tuple(self.values), tuple(inputs), tuple(outputs), tuple(self.steps))

    def _convert(self, node: FlatNode) -> None:
        inner = () if node.whole is None else sorted(node_names(*node.whole.inner))
        self._nodes = tuple(dict.fromkeys((*inner, *node_names(node.op))))
        row = row_of(node.op)
        if isinstance(node.whole, Activation):
            self.eltwise(node.operands[0], node.result, *node.whole[:3])
            self.drops_nan |= node.whole.drops_nan
        elif row is None or row.role not in ("literal", "shape"):
            if reason := refusal(node.op):
                raise RefusalError(reason)
            RULES[node.op.name].convert(self, node)

    @property
    def computes(self) -> bool:
        """Return True if a step does more than view, copy or convert elements."""
        return any(step.kind not in _CARRIED for step in self.steps)

    def sizes(self, dims: Sequence[Dim]) -> tuple[Size, ...]:
        """Return sizes in the runtime's form. Raise RelaxError for a size that no input or output determines."""
        return tuple(self._size(dim) for dim in dims)

    def _size(self, dim: Dim) -> Size:
        if not isinstance(dim, SymExpr):
            assert dim is not None
            return dim
        if dim in self._wholes:
            return self._wholes[dim]
        if not dim.variables <= self._symbols.keys():
            raise RefusalError(f"no input or output of the part has the size '{dim}', so its value is unknown")
        found = dim.substitute(self._symbols)
        return found if isinstance(found, int) else str(found)

    def count(self, dims: Sequence[Dim]) -> Size:
        """Return the number of elements of a shape."""
        if any(dim in self._wholes for dim in dims):
            return "*".join(f"({size})" for size in self.sizes(dims))
        return self._size(product(dims))

    def argument(self, ref: Ref, *views: tuple[str, Sequence[Size]]) -> Argument:
        """Return a tensor as the argument of a step, seen through views."""
        return Argument(self._number(ref), tuple((kind, tuple(parameters)) for kind, parameters in views))

    def constant(self, array: ndarray) -> int:
        """Add an array of f32 or i32 as a constant, and return the number of its value."""
        dtype = {"float32": "f32", "int32": "i32"}[array.dtype.name]
        self.values.append(Value(tuple(array.shape), dtype, array.tobytes()))
        return len(self.values) - 1

    def number(self, value: float, like: Ref) -> Argument:
        """Return a constant of one element that can be broadcast over the tensor `like`."""
        import numpy

        return Argument(self.constant(numpy.full((1,) * max(len(like.dims), 1), value, "float32")))

    def temporary(self, dims: Sequence[Size], dtype: str) -> Argument:
        self.values.append(Value(tuple(dims), dtype))
        return Argument(len(self.values) - 1)

    def _number(self, ref: Ref) -> int:
        """Return the number of a tensor's value. The first call adds the value, and the step of a dequantization."""
        if ref not in self._numbers:
            info = ref.info
            data = _constant_bytes(ref) if ref.is_constant else None
            self._numbers[ref] = len(self.values)
            self.values.append(Value(self.sizes(info.shape or ()), info.dtype, data))
            if ref.made_by is not None and ref.made_by.name == "relax.dequantize":
                self._dequantize(self, ref.made_by)
        return self._numbers[ref]

    def step(
        self,
        kind: str,
        result: Ref | Argument,
        arguments: Mapping[str, Argument],
        views: Views = (),
        quantized: Mapping[str, QuantizedArgument] | None = None,
        attributes: Mapping[str, object] | None = None,
        post_ops: Sequence[PostOp] = (),
    ) -> None:
        """Add a step, which sees its result through `views`."""
        frozen = tuple((name, tuple(parameters)) for name, parameters in views)
        target = Argument(self._number(result), frozen) if isinstance(result, Ref) else result
        details = dict(attributes or {}), tuple(post_ops), dict(quantized or {})
        self.steps.append(PrimitiveStep(kind, dict(arguments), target, *details, self._nodes))

    def eltwise(self, source: Ref | Argument, result: Ref, algorithm: int, alpha: float, beta: float) -> None:
        """Add an elementwise function, as a post-op of its operand's step if that step allows it."""
        read = source if isinstance(source, Argument) else self.argument(source)
        if self._fuse(source, result, PostOp("eltwise", algorithm, alpha, beta)):
            return
        attributes = {"algorithm": algorithm, "alpha": alpha, "beta": beta}
        self.step("eltwise", result, {"src": read}, attributes=attributes)

    def binary(self, one: Ref, other: Argument, other_dims: Sequence[Dim], result: Ref, algorithm: int) -> None:
        """Add `one ∘ other` with `other` broadcast. The sizes `other_dims` have the rank of the result."""
        if (producer := self._fusible_producer(one, result)) is not None:
            operand = fusing.view_operand(producer.result.views, other, other_dims, result.dims)
            if operand is not None:
                bias = fusing.bias_of(producer, operand, self.values) if algorithm == fusing.ADD else None
                if bias is not None:
                    self._replace_by_fused(
                        producer, result, replace(producer, arguments={**producer.arguments, "bias": bias})
                    )
                else:
                    added = (*producer.post_ops, PostOp("binary", algorithm, other=operand))
                    self._replace_by_fused(producer, result, replace(producer, post_ops=added))
                return
        self.step("binary", result, {"src": self.argument(one), "src1": other}, attributes={"algorithm": algorithm})

    def _fuse(self, source: Ref | Argument, result: Ref, post_op: PostOp) -> bool:
        producer = self._fusible_producer(source, result) if isinstance(source, Ref) else None
        if producer is None:
            return False
        self._replace_by_fused(producer, result, replace(producer, post_ops=(*producer.post_ops, post_op)))
        return True

    def _fusible_producer(self, source: Ref, result: Ref) -> PrimitiveStep | None:
        """Return the step that computes a value, or None if it cannot take a post-op or the value has other users."""
        if self.graph.uses[source] != 1 or source not in self._numbers or source.info != result.info:
            return None
        number = self._numbers[source]
        step = next((each for each in reversed(self.steps) if each.result.value == number), None)
        if step is None or step.kind not in fusing.WITH_POST_OPS or "dst" in step.quantized:
            return None
        return step if len(step.post_ops) < fusing.MOST_POST_OPS else None

    def prefers(self, one: Ref, other: Ref, result: Ref) -> bool:
        """Check whether a post-op suits the step of `one` better than that of `other`: a product or a later step."""
        return self._preference(one, result) > self._preference(other, result)

    def _preference(self, ref: Ref, result: Ref) -> tuple[bool, int]:
        step = self._fusible_producer(ref, result)
        return (False, -1) if step is None else (step.kind in fusing.PRODUCTS, self.steps.index(step))

    def _replace_by_fused(self, producer: PrimitiveStep, result: Ref, whole: PrimitiveStep) -> None:
        """Replace a step by its fused form, at the end of the list.

        All operands of the post-op are computed before that position.
        """
        self.steps.remove(producer)
        nodes = tuple(dict.fromkeys((*producer.nodes, *self._nodes)))
        self.steps.append(replace(whole, result=Argument(self._number(result), producer.result.views), nodes=nodes))

    def write_by_product(self, source: Ref, result: Ref) -> bool:
        """Let the product that computes `source` write the element type of `result`. Return False if it cannot.

        Products of bf16 or f16 tensors can write their own type or f32, without the rounding in between. The value
        must have no other user.
        """
        producer = self.producer(source)
        if producer is None or producer.kind not in fusing.PRODUCTS or producer.quantized:
            return False
        multiplied = self.values[producer.arguments["src"].value].dtype
        if multiplied not in ("bf16", "f16") or result.info.dtype not in (multiplied, "f32"):
            return False
        self._replace_by_fused(producer, result, producer)
        return True

    def producer(self, ref: Ref) -> PrimitiveStep | None:
        """Return the step that computes a value with one user, or None."""
        number = self._numbers.get(ref)
        found = next((each for each in reversed(self.steps) if each.result.value == number), None)
        return found if self.graph.uses[ref] == 1 else None

    def replace(self, step: PrimitiveStep, other: PrimitiveStep) -> None:
        self.steps.remove(step)
        self.steps.append(other)


def _constant_bytes(ref: Ref) -> memoryview:
    array = numbers_in(ref)
    dtype = ref.info.dtype
    if array is None and dtype == "bf16":
        from relax_mlir.dialects.relax.known_constants import floats_of

        floats = floats_of(ref.value)
        array = None if floats is None else (floats.view("uint32") >> 16).astype(STORAGE_NAME["bf16"])
    if array is None:
        raise RefusalError(f"the elements of a constant of type {dtype} are unknown")
    import numpy

    return numpy.ascontiguousarray(array).reshape(-1).view("uint8").data
