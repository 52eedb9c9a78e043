# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic branches: one of two computations, in an scf.if: what both give, or one of both.

A tensor that has one rank here and another there is passed on as one of several. A node that gets such a tensor becomes
a node for each of them; where only one of them can be its input, that one, and the run checks that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....dialects import relax
from ....emit.loops import with_results
from ....support.errors import RelaxError
from ..limits import TooLarge
from ..node import Incomplete, Node, Unsupported
from ..tensors import const
from ..values import Held, OneOf, Tensor, Value, known
from .flattening import Form, all_tensors, common_form, form_of, of_all
from .scf_regions import as_info, common_info, info_of, known_truth, scalar_of, type_of

#: `make(operation)`: what a branch gives, built in a region of the operation.
Make = Callable[[Operation], Sequence[Held]]


def build_branches(node: Node, condition: Value, makers: Sequence[Make], place: Value | None = None) -> list[Any]:
    """What the first maker gives where the condition, one element, holds, else the second.

    `place` is 0 where the condition holds and 1 elsewhere, if there is such a tensor.
    """
    # In an operation without results first: only what the branches give has its types.
    sketch = ir.Operation.create("scf.if", operands=[scalar_of(node, condition)], regions=2)
    known_symbols = len(node.graph.symbols.given)
    try:
        outputs = []
        for make, region in zip(makers, sketch.regions, strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                outputs.append(list(make(sketch)))
        pairs = list(zip(*outputs, strict=True))
        are_new = [isinstance(one, Value) and isinstance(other, Value) and _differ(one, other) for one, other in pairs]
        for side, (held, region) in enumerate(zip(outputs, sketch.regions, strict=True)):
            with ir.InsertionPoint(region.blocks[0]):
                held[:] = [_as_one_of(pair, side) if _differ(*pair) else pair[side] for pair in pairs]
        forms = [common_form(node, one, other) for one, other in zip(*outputs, strict=True)]
        results = _yielded(node, sketch, forms, outputs, node.graph.symbols.given[known_symbols:])
    finally:
        sketch.erase()
    made = of_all(forms, [Value(ssa=result) for result in results])
    for held, is_new in zip(made, are_new, strict=True):
        if is_new and place is None:
            holds = condition.ssa if condition.rank == 0 else relax.reshape(condition.ssa, ())
            place = Value(ssa=relax.where(holds, const(0, "i64"), const(1, "i64")))
        if is_new:
            held.place = place
    return made


def run_either(node: Node, condition: Value, run: Callable[[int, Operation | None], Sequence[Held]]) -> Sequence[Held]:
    """What `run(0, operation)` gives where the condition holds, else `run(1, operation)`: the one where that is known,
    without an operation then.
    """
    holds = known_truth(condition)
    if holds is not None:
        return run(0 if holds else 1, None)
    return build_branches(node, condition, [partial(run, place) for place in (0, 1)])


def _yielded(
    node: Node, sketch: Operation, forms: Sequence[Form], outputs: Sequence[Sequence[Held]], inner: Collection[str]
) -> list[Tensor]:
    """The results of an operation with the sketch's regions, which yield the tensors of the outputs.

    `inner` are the symbols that the regions define.
    """
    tensors = []
    for region, held in zip(sketch.regions, outputs, strict=True):
        with ir.InsertionPoint(region.blocks[0]):
            tensors.append(all_tensors(forms, held))
    both = [[info_of(node, tensor, inner) for tensor in side] for side in tensors]
    infos = [
        common_info(node, one, other, f"output #{index} is {{}} in one branch, {{}} in the other")
        for index, (one, other) in enumerate(zip(*both, strict=True))
    ]
    for region, held in zip(sketch.regions, tensors, strict=True):
        with ir.InsertionPoint(region.blocks[0]):
            values = [as_info(value.ssa, info) for value, info in zip(held, infos, strict=True)]
            ir.Operation.create("scf.yield", operands=values)
    types = [type_of(info) for info in infos]
    return list(with_results(sketch, types).results)


# ---- tensors of several ranks ----


def _differ(one: Held, other: Held) -> bool:
    """Whether the rank of a tensor that is one of both is dynamic, though each of them has a known one."""
    if not isinstance(one, (Value, OneOf)) or not isinstance(other, (Value, OneOf)) or one.dtype != other.dtype:
        return False
    if isinstance(one, OneOf) and form_of(one) == form_of(other):
        return False
    ranks = {tensor.rank for tensor in (*_tensors(one), *_tensors(other))}
    return len(ranks) > 1 and None not in ranks


def _tensors(held: Value | OneOf) -> list[Value]:
    return held.tensors if isinstance(held, OneOf) else [held]


def _as_one_of(pair: Sequence[Value | OneOf], side: int) -> OneOf:
    """One of a pair, of which the first has the first places."""
    own, others = pair[side], _tensors(pair[1 - side])
    empty = [Value(ssa=relax.zeros((0,) * (tensor.rank or 0), dtype=tensor.dtype)) for tensor in others]
    place = own.place if isinstance(own, OneOf) else known(0)
    if side == 0:
        return OneOf(place, [*_tensors(own), *empty])
    return OneOf(Value(ssa=relax.add(place.ssa, const(len(others), "i64"))), [*empty, *_tensors(own)])


def convert_each(
    node: Node, held: OneOf, convert: Callable[[Sequence[Held | None], Operation | None], Sequence[Held]]
) -> list[Held]:
    """The outputs of a node with a tensor that is one of several: the node with each of them, of which one runs.

    `convert(inputs, operation)` builds the node in a region of the operation, if there is one. All tensors that the
    same place decides about are chosen together.
    """
    fitting = [index for index in range(len(held.tensors)) if _fits(node, held, index, convert)]
    if len(fitting) == 1:
        inputs = _chosen(node, held, fitting[0])
        checked(held, fitting[0], f"{node.op} takes {{}} dimensions, its input has others")
        return list(convert(inputs, None))
    is_last = len(held.tensors) == 2
    later = None if is_last else Value(ssa=relax.subtract(held.place.ssa, const(1, "i64")))

    def chosen(each: Held | None, is_first: bool) -> Held | None:
        if not isinstance(each, OneOf) or each.place.ssa != held.place.ssa:
            return each
        if is_first or later is None:
            return each.tensors[0 if is_first else 1]
        return OneOf(later, each.tensors[1:])

    def maker(is_first: bool) -> Make:
        inputs = [chosen(each, is_first) for each in node.inputs]
        return lambda operation: convert(inputs, operation)

    condition = Value(ssa=relax.equal(held.place.ssa, const(0, "i64")))
    return build_branches(node, condition, [maker(True), maker(False)], held.place if is_last else None)


def _chosen(node: Node, held: OneOf, index: int) -> list[Held | None]:
    """A node's inputs where the tensor is the one with this number."""
    are_chosen = [isinstance(each, OneOf) and each.place.ssa == held.place.ssa for each in node.inputs]
    return [
        each.tensors[index] if is_chosen and isinstance(each, OneOf) else each
        for each, is_chosen in zip(node.inputs, are_chosen, strict=True)
    ]


def _fits(
    node: Node, held: OneOf, index: int, convert: Callable[[Sequence[Held | None], Operation | None], Sequence[Held]]
) -> bool:
    """Whether a node can be imported with that tensor: it is built where it is thrown away."""
    condition = relax.equal(held.place.ssa, const(index, "i64"))
    sketch = ir.Operation.create("scf.if", operands=[scalar_of(node, Value(ssa=condition))], regions=2)
    noted = node.graph.problems.found
    before = len(noted)
    try:
        with ir.InsertionPoint(sketch.regions[0].blocks.append()):
            convert(_chosen(node, held, index), sketch)
        return len(noted) == before
    except TooLarge:
        raise
    except (Unsupported, Incomplete, RelaxError):
        return False
    finally:
        sketch.erase()
        del noted[before:]


def checked(held: OneOf, index: int, message: str) -> Value:
    """One of several tensors; the run stops where it is another. `{}` in the message is how many dimensions it has."""
    tensor = held.tensors[index]
    is_it = relax.equal(held.place.ssa, const(index, "i64"))
    relax.assert_op(is_it, format=message.format(tensor.rank))
    return tensor
