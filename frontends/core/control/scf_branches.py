# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic branches: an scf.if runs one of two computations.

A tensor with different ranks in the branches becomes a OneOf of several tensors. A node with such an input is
converted once for each tensor. If only one tensor is a valid input, the node is converted for that tensor only. The
program then checks at run time that the tensor is the right one.
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

#: `make(operation)` builds a branch in a region of the operation, and returns its outputs.
Make = Callable[[Operation], Sequence[Held]]


def build_branches(node: Node, condition: Value, makers: Sequence[Make], place: Value | None = None) -> list[Any]:
    """Return the outputs of the first maker if the condition, one element, is true, else the outputs of the second.

    `place` is an optional tensor that is 0 if the condition is true, and 1 otherwise.
    """
    # The first scf.if has no results: the result types are known only after both branches are built.
    sketch = ir.Operation.create("scf.if", operands=[scalar_of(node, condition)], regions=2)
    known_symbols = len(node.graph.symbols.given)
    try:
        outputs = []
        for make, region in zip(makers, sketch.regions, strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                outputs.append(list(make(sketch)))
        pairs = list(zip(*outputs, strict=True))
        are_new = [isinstance(one, Value) and isinstance(other, Value) and _differ(one, other) for one, other in pairs]
        for side, (output, region) in enumerate(zip(outputs, sketch.regions, strict=True)):
            with ir.InsertionPoint(region.blocks[0]):
                output[:] = [_as_one_of(pair, side) if _differ(*pair) else pair[side] for pair in pairs]
        forms = [common_form(node, one, other) for one, other in zip(*outputs, strict=True)]
        results = _yield_outputs(node, sketch, forms, outputs, node.graph.symbols.given[known_symbols:])
    finally:
        sketch.erase()
    branches = of_all(forms, [Value(ssa=result) for result in results])
    for branch, is_new in zip(branches, are_new, strict=True):
        if is_new and place is None:
            holds = condition.ssa if condition.rank == 0 else relax.reshape(condition.ssa, ())
            place = Value(ssa=relax.where(holds, const(0, "i64"), const(1, "i64")))
        if is_new:
            branch.place = place
    return branches


def run_either(node: Node, condition: Value, run: Callable[[int, Operation | None], Sequence[Held]]) -> Sequence[Held]:
    """Return `run(0, operation)` if the condition is true, else `run(1, operation)`.

    If the condition is known at import, only the one side runs, with `operation=None`.
    """
    if (holds := known_truth(condition)) is not None:
        return run(0 if holds else 1, None)
    return build_branches(node, condition, [partial(run, place) for place in (0, 1)])


def _yield_outputs(
    node: Node, sketch: Operation, forms: Sequence[Form], outputs: Sequence[Sequence[Held]], inner: Collection[str]
) -> list[Tensor]:
    """Return the results of an operation with the sketch's regions, which yield the tensors of the outputs.

    `inner` are the symbols that the regions define.
    """
    tensors = []
    for region, output in zip(sketch.regions, outputs, strict=True):
        with ir.InsertionPoint(region.blocks[0]):
            tensors.append(all_tensors(forms, output))
    both = [[info_of(node, tensor, inner) for tensor in side] for side in tensors]
    infos = [
        common_info(node, one, other, f"output #{index} is {{}} in one branch, {{}} in the other")
        for index, (one, other) in enumerate(zip(*both, strict=True))
    ]
    for region, held in zip(sketch.regions, tensors, strict=True):
        with ir.InsertionPoint(region.blocks[0]):
            values = [as_info(value.ssa, info) for value, info in zip(held, infos, strict=True)]
            ir.Operation.create("scf.yield", operands=values)
    return list(with_results(sketch, [type_of(info) for info in infos]).results)


# ---- tensors of several ranks ----


def _differ(one: Held, other: Held) -> bool:
    """Return True if two tensors of one dtype have known ranks that differ."""
    if not isinstance(one, (Value, OneOf)) or not isinstance(other, (Value, OneOf)) or one.dtype != other.dtype:
        return False
    if isinstance(one, OneOf) and form_of(one) == form_of(other):
        return False
    ranks = {tensor.rank for tensor in (*_tensors(one), *_tensors(other))}
    return len(ranks) > 1 and None not in ranks


def _tensors(held: Value | OneOf) -> list[Value]:
    return held.tensors if isinstance(held, OneOf) else [held]


def _as_one_of(pair: Sequence[Value | OneOf], side: int) -> OneOf:
    """Return one side of a pair as a OneOf. The tensors of the first side come first."""
    own, others = pair[side], _tensors(pair[1 - side])
    empty = [Value(ssa=relax.zeros((0,) * (tensor.rank or 0), dtype=tensor.dtype)) for tensor in others]
    place = own.place if isinstance(own, OneOf) else known(0)
    if side == 0:
        return OneOf(place, [*_tensors(own), *empty])
    return OneOf(Value(ssa=relax.add(place.ssa, const(len(others), "i64"))), [*empty, *_tensors(own)])


def convert_each(
    node: Node, choice: OneOf, convert: Callable[[Sequence[Held | None], Operation | None], Sequence[Held]]
) -> list[Held]:
    """Convert a node for each of several possible input tensors, and return the outputs. One of them runs.

    `convert(inputs, operation)` builds the node in a region of the operation, if there is one. All inputs that depend
    on the same index are chosen together.
    """
    fitting = [index for index in range(len(choice.tensors)) if _fits(node, choice, index, convert)]
    if len(fitting) == 1:
        inputs = _choose(node, choice, fitting[0])
        checked(choice, fitting[0], f"{node.op} takes an input of {{}} dimensions, but the input has another rank")
        return list(convert(inputs, None))
    is_last = len(choice.tensors) == 2
    later = None if is_last else Value(ssa=relax.subtract(choice.place.ssa, const(1, "i64")))

    def chosen(each: Held | None, is_first: bool) -> Held | None:
        if not isinstance(each, OneOf) or each.place.ssa != choice.place.ssa:
            return each
        if is_first or later is None:
            return each.tensors[0 if is_first else 1]
        return OneOf(later, each.tensors[1:])

    def maker(is_first: bool) -> Make:
        inputs = [chosen(input_, is_first) for input_ in node.inputs]
        return lambda operation: convert(inputs, operation)

    condition = Value(ssa=relax.equal(choice.place.ssa, const(0, "i64")))
    return build_branches(node, condition, [maker(True), maker(False)], choice.place if is_last else None)


def _choose(node: Node, choice: OneOf, index: int) -> list[Held | None]:
    """Return a node's inputs with the tensor of this number chosen."""
    are_chosen = [isinstance(input_, OneOf) and input_.place.ssa == choice.place.ssa for input_ in node.inputs]
    return [
        input_.tensors[index] if is_chosen and isinstance(input_, OneOf) else input_
        for input_, is_chosen in zip(node.inputs, are_chosen, strict=True)
    ]


def _fits(
    node: Node, choice: OneOf, index: int, convert: Callable[[Sequence[Held | None], Operation | None], Sequence[Held]]
) -> bool:
    """Check whether a node can be converted with the tensor. The node is built in a region that is erased."""
    condition = relax.equal(choice.place.ssa, const(index, "i64"))
    sketch = ir.Operation.create("scf.if", operands=[scalar_of(node, Value(ssa=condition))], regions=2)
    noted = node.graph.problems.found
    before = len(noted)
    try:
        with ir.InsertionPoint(sketch.regions[0].blocks.append()):
            convert(_choose(node, choice, index), sketch)
        return len(noted) == before
    except TooLarge:
        raise
    except (Unsupported, Incomplete, RelaxError):
        return False
    finally:
        sketch.erase()
        del noted[before:]


def checked(choice: OneOf, index: int, message: str) -> Value:
    """Return one of several tensors, and stop the program if another is chosen. `{}` in the message is the rank."""
    tensor = choice.tensors[index]
    is_it = relax.equal(choice.place.ssa, const(index, "i64"))
    relax.assert_op(is_it, format=message.format(tensor.rank))
    return tensor
