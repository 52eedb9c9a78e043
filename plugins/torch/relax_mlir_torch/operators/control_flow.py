# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators with subgraphs: cond, while_loop, scan, map, and subgraphs that are inlined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.dialects.core.symbols import SymExpr
from relax_mlir.dialects.relax.infer.slices import OPEN
from relax_mlir.frontends.core.complex_numbers import in_pairs, of_pairs
from relax_mlir.frontends.core.control.scf_branches import build_branches
from relax_mlir.frontends.core.control.scf_loops import LoopSpec, Turn, build_loop, of_length
from relax_mlir.frontends.core.control.scf_regions import known_truth, scalar_of
from relax_mlir.frontends.core.sizes import element, shape_tensor
from relax_mlir.frontends.core.values import ComplexValue, Held, as_values

from ..dtypes import dtype_of
from ..fx_operators import listed, name_of
from ..inner_node import InnerNode
from ..prelude import (
    Convert,
    Outputs,
    Tensor,
    TorchNode,
    Value,
    cast,
    const,
    part,
    register_rows,
    register_torch,
    relax,
    sizes,
)  # fmt: skip
from ..registry import converted, register_complex

if TYPE_CHECKING:
    from torch.fx import GraphModule

    import torch


def as_value(each: object) -> Value:
    """Return a value as a tensor for region borders. Numbers and sizes become 0-D, complex numbers pairs."""
    if isinstance(each, Value):
        return each
    if isinstance(each, ComplexValue):
        return Value(ssa=in_pairs(each))
    dtype = "i1" if isinstance(each, bool) else "f64" if isinstance(each, float) else "i64"
    return Value(ssa=sizes.as_scalar(each, dtype))


def _as_before(values: Sequence[Value], like: Sequence[object]) -> list[Held]:
    """Convert pairs from regions back to complex numbers, according to the values in `like`."""
    are_complex = [isinstance(each, ComplexValue) or bool(getattr(each, "is_complex", bool)()) for each in like]
    return [of_pairs(value.ssa) if is_complex else value for value, is_complex in zip(values, are_complex, strict=True)]


def by_name(node: TorchNode) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of an operator without a schema, by position and by name."""
    places = [argument for key, argument in node.arguments.items() if key.isdigit()]
    return places, {key: argument for key, argument in node.arguments.items() if not key.isdigit()}


def _add_inner(
    node: TorchNode, graph: GraphModule, operands: Sequence[object], operation: Operation | None = None
) -> list[Any]:
    return node.graph.add_inner(graph, operands, operation)


@register_torch("higher_order::cond")
@register_complex("higher_order::cond")
def cond(node: TorchNode) -> Outputs:
    condition, on_true, on_false, operands = (node.get(index) for index in range(4))
    holds = condition if isinstance(condition, (bool, int)) else known_truth(node.value(0))
    if holds is not None:
        return _add_inner(node, on_true if holds else on_false, operands)

    def make(graph: GraphModule, operation: Operation) -> Sequence[Held]:
        return [as_value(each) for each in _add_inner(node, graph, operands, operation)]

    branches = build_branches(node, node.value(0), [partial(make, on_true), partial(make, on_false)])
    return _as_before(branches, listed(node.fx.meta["val"]))


@register_torch("higher_order::while_loop")
@register_complex("higher_order::while_loop")
def while_loop(node: TorchNode) -> Outputs:
    after, _ = _while(node, has_rows=False)
    return _as_before(after, node.get(2))


@register_torch("higher_order::while_loop_stack_output")
@register_complex("higher_order::while_loop_stack_output")
def while_loop_stack_output(node: TorchNode) -> Outputs:
    """Convert while_loop_stack_output: the states after each iteration, or the initial states without iterations."""
    states = node.get(2)
    _, rows = _while(node, has_rows=True)
    return _as_before([_or_first(row, as_value(first)) for row, first in zip(rows, states, strict=True)], states)


def _while(node: TorchNode, has_rows: bool) -> tuple[list[Value], list[Value]]:
    """Build a while loop. The condition is evaluated before every iteration."""
    condition, body, states, others = (node.get(index) for index in range(4))

    def goes_on(held: Sequence[object], operation: Operation | None) -> Value:
        return as_value(_add_inner(node, condition, [*held, *others], operation)[0])

    def step(operation: Operation, index: Value, held: list[Any]) -> Turn:
        after = _add_inner(node, body, [*_as_before(held, states), *others], operation)
        values = [as_value(each) for each in after]
        return Turn(values, values if has_rows else [], goes_on(after, operation))

    starts = scalar_of(node, goes_on(states, None))
    return build_loop(LoopSpec(node, step, None, starts, is_open=True), [as_value(state) for state in states])


def _or_first(rows: Value, first: Value) -> Value:
    """Return the rows, or the first state as the only row if there are none."""
    both = _prepend(first, rows)
    start = sizes.smaller(sizes.size_of(rows.ssa, 0), 1)
    return Value(ssa=sizes.sliced(Value(ssa=both), {0: (start, OPEN, 1)}))


def _prepend(first: Value, rows: Value) -> Tensor:
    """Return the rows with another row in front."""
    return relax.concat([relax.expand_dims(first.ssa, axis=[0]), rows.ssa], axis=0)


@register_torch("higher_order::scan")
@register_complex("higher_order::scan")
def scan(node: TorchNode) -> Outputs:
    """Convert scan: a loop over the first dimension. The results are the carried values, then the rows."""
    body, initial, scanned, others = (node.get(index) for index in range(4))
    return _build_scan(node, body, initial, scanned, others)


@register_torch("higher_order::map_impl", "higher_order::map")
@register_complex("higher_order::map_impl", "higher_order::map")
def map_(node: TorchNode) -> Outputs:
    body, scanned, others = (node.get(index) for index in range(3))
    return _build_scan(node, body, [], scanned, others)


def _build_scan(
    node: TorchNode, body: GraphModule, initial: Sequence[object], scanned: Sequence[Any], others: Sequence[object]
) -> list[Held]:
    states, sources = ([as_value(each) for each in held] for held in (initial, scanned))
    first = scanned[0].shape
    count = first[0] if first else None

    def step(operation: Operation, index: Value, held: list[Any]) -> Turn:
        rows = [Value(ssa=relax.take(source.ssa, index.ssa, axis=0)) for source in sources]
        given = [*_as_before(held, initial), *_as_before(rows, scanned), *others]
        outputs = [as_value(each) for each in _add_inner(node, body, given, operation)]
        return Turn(outputs[: len(states)], outputs[len(states) :])

    turns = scalar_of(node, Value(ssa=element(shape_tensor(sources[0].ssa), 0)))
    after, gathered = build_loop(LoopSpec(node, step, turns), states)
    values = [*after, *of_length(gathered, count if isinstance(count, (int, SymExpr)) else None)]
    return _as_before(values, listed(node.fx.meta["val"]))


@register_torch("higher_order::associative_scan")
@register_complex("higher_order::associative_scan")
def associative_scan(node: TorchNode) -> Outputs:
    """Convert associative_scan: a loop over the first dimension. The first row is the first result."""
    body, scanned, others = (node.get(index) for index in range(3))
    sources = [as_value(each) for each in scanned]
    firsts = [Value(ssa=part(source.ssa, 0, 0, 1, drop=True)) for source in sources]

    def step(operation: Operation, index: Value, held: list[Any]) -> Turn:
        place = relax.add(index.ssa, const(1, index.dtype))
        rows = [Value(ssa=relax.take(source.ssa, place, axis=0)) for source in sources]
        given = [*_as_before(held, scanned), *_as_before(rows, scanned), *others]
        after = [as_value(each) for each in _add_inner(node, body, given, operation)]
        return Turn(after, after)

    count = element(shape_tensor(sources[0].ssa), 0)
    _, rows = build_loop(
        LoopSpec(node, step, scalar_of(node, Value(ssa=relax.subtract(count, const(1, "i64"))))), firsts
    )
    made = [_prepend(first, row) for first, row in zip(firsts, rows, strict=True)]
    return _as_before([Value(ssa=each) for each in made], scanned)


@register_torch("higher_order::invoke_subgraph")
@register_complex("higher_order::invoke_subgraph")
def invoke_subgraph(node: TorchNode) -> Outputs:
    """Convert invoke_subgraph. The arguments are a graph, its name, and the graph's operands."""
    return _add_inner(node, node.get(0), node.inputs[2:])


_WRAPPERS = [
    f"higher_order::{name}"
    for name in "wrap wrap_with_set_grad_enabled wrap_with_autocast tag_activation_checkpoint "
    "wrap_activation_checkpoint invoke_quant invoke_quant_packed foreach_map".split()
]


@register_torch(*_WRAPPERS)
@register_complex(*_WRAPPERS)
def wrapped(node: TorchNode) -> Outputs:
    """Inline a wrapped graph. torch has applied the wrapper's settings for gradients and casts already."""
    places, _ = by_name(node)
    place = next(index for index, each in enumerate(places) if hasattr(each, "graph"))
    return _add_inner(node, places[place], places[place + 1 :])


@register_torch("torch._higher_order_ops._invoke_quant::InvokeQuant")
def quantization_options(node: TorchNode) -> Outputs:
    """Return a placeholder for the options of a graph to quantize, which do not affect the computation."""
    return const([], "f32")


@register_torch("higher_order::strict_mode", "higher_order::hints_wrapper")
def called(node: TorchNode) -> Outputs:
    """Convert a call with a graph and a tuple of arguments."""
    return _add_inner(node, node.get(0), node.get(1))


@register_torch("higher_order::out_dtype")
def out_dtype(node: TorchNode) -> Outputs:
    """Convert out_dtype: an operator with a result that is converted to a type.

    Like torch, compute in the type to which the operands and the result promote: a real factor of integers stays real.
    """
    (operator, _, *given), _ = by_name(node)
    if operator._schema.name == "aten::mm":
        return relax.matmul(given[0].ssa, given[1].ssa, out_dtype=node.dtype)
    names = [argument.name for argument in operator._schema.arguments]
    result = node.fx.meta["val"]
    metas = dict(zip(names, list(node.metas.values())[2:], strict=False))
    common = _promote_type(result, metas.values())
    wide = dtype_of(common)
    arguments = {argument.name: argument.default_value for argument in operator._schema.arguments}
    arguments.update(
        (name, Value(ssa=cast(each.ssa, wide)) if isinstance(each, Value) else each)
        for name, each in zip(names, given, strict=False)
    )
    metas = {name: meta.to(common) if hasattr(meta, "dtype") else meta for name, meta in metas.items()}
    made = converted(InnerNode(node, name_of(operator), arguments, [result.to(common)], metas), operator)
    return [cast(value.ssa, node.dtype) for value in as_values(made) if isinstance(value, Value)]


def _promote_type(result: torch.Tensor, operands: Iterable[object]) -> torch.dtype:
    """Return the type to which torch promotes operands and a tensor of one dimension with the result's type."""
    import torch

    tensors = [operand for operand in operands if isinstance(operand, torch.Tensor)]
    dtype = result.dtype
    for tensor in sorted(tensors, key=lambda each: -each.dim()):
        dtype = torch.result_type(torch.empty(1, dtype=dtype, device="meta"), tensor.to("meta"))
    return dtype


# ---- functions without a graph ----

_OPAQUE = {
    "triton_kernel_wrapper_functional triton_kernel_wrapper_mutation": "a kernel in Triton, which GPUs run: make it an "
    "operator by torch.library.custom_op, and register its converter by rx.register_torch",
    "flat_apply invoke_leaf_function": "a Python function that torch has not traced",
    "call_torchbind": "a method of a C++ object, which programs cannot have",
    "executorch_call_delegate aoti_call_delegate": "code of another compiler: import the model before that compilation",
    "inline_asm_elementwise": "assembly code for a GPU",
}  # fmt: skip


def _refusing(reason: str) -> Convert:
    def refuse(node: TorchNode) -> Outputs:
        raise node.fail(reason)

    return refuse


register_rows(
    {
        " ".join(f"higher_order::{name}" for name in names.split()): _refusing(reason)
        for names, reason in _OPAQUE.items()
    }
)
