# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes to the signature of a graph function, made in a copy that replaces the function if it is valid."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate

from ....bindings.ir import Block, BlockArgument, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, functions_in, has_body, last_of, operations_in, symbol_name
from ....bindings.rewriting import located_error
from ....dialects.core.call_graph import references_of
from ....dialects.core.dialect import row_of
from ....dialects.core.ir_attributes import ARGUMENT_NAME, INPUT_GROUPS, RESULT_GROUPS, RESULT_NAMES, STRUCTURE
from ....dialects.core.substitute import substitute, symbols_of_operation
from ....dialects.core.symbols import Dim
from ....dialects.relax.function_attributes import LIST, VALUE, Group, argument_names, decode_groups, encode_groups
from ....dialects.tir.prim_func import is_prim_func
from ....dialects.verification import verify_ir
from ....support.errors import OptionError
from ....support.suggest import counted, suggest

#: Attribute of a function: number of leading parameters that are known only when it is called. TVM uses the same name.
NUM_INPUT = "num_input"

# Operations of these dialects state sizes only in types and attributes. Others have operands for sizes.
_SIZED_BY_TYPES = ("scf", "func", "arith")


def graph_function(module: Operation, name: str, what: str) -> Operation:
    """Return the graph function of this name. Raise RelaxError if there is none, or the module calls it."""
    graphs = {
        symbol_name(function): function
        for function in functions_in(module)
        if has_body(function) and not is_prim_func(function)
    }
    if name not in graphs:
        known = ", ".join(f"@{graph}" for graph in graphs) or "none"
        hint = suggest(name, graphs)
        raise OptionError(f"{what}: there is no graph function @{name} with a body; there are: {known}{hint}")
    for op in operations_in(module):
        if name in references_of(op):
            raise located_error(
                f"{what}: @{name} is called here with its present parameters: inline it first (relax-inline)",
                op.location,
            )
    return graphs[name]


@contextmanager
def changing_copy(function: Operation, what: str, *, retypes: bool = True) -> Iterator[Operation]:
    """Yield a copy that replaces the function afterwards. After an exception the module is unchanged.

    `retypes`: types of values change in the copy, so that it is verified.
    """
    with function.context, function.location:
        copy = function.clone(ip=ir.InsertionPoint(function)).operation
        # Two functions of one name would confuse symbol lookups.
        function.detach_from_parent()
        try:
            yield copy
            state_type(copy)
            if retypes:
                verify_ir(copy, f"{what}: @{symbol_name(copy)} would be invalid")
        except BaseException:
            ir.InsertionPoint(copy).insert(function)
            copy.erase()
            raise
        function.erase()


def state_type(function: Operation) -> None:
    """Set the function's type to the types of its parameters and returned values."""
    body = body_of(function)
    types = [value.type for value in last_of(body).operands]
    type_ = ir.FunctionType.get([argument.type for argument in body.arguments], types)
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def bind_sizes(function: Operation, sizes: Mapping[str, Dim], what: str) -> None:
    """Replace symbols by numbers. Raise RelaxError if that is impossible. The function is then partly changed."""
    if not sizes:
        return
    for op in operations_in(function):
        by_operands = op.name.partition(".")[0] not in _SIZED_BY_TYPES and row_of(op) is None
        if (op.name == "func.call" or by_operands) and not symbols_of_operation(op).isdisjoint(sizes):
            help_ = "inline it first (relax-inline)" if op.name == "func.call" else "bind sizes before it is lowered"
            names = ", ".join(sorted(symbols_of_operation(op) & sizes.keys()))
            raise located_error(f"{what}: '{op.name}' states {names} by operands: {help_}", op.location)
    substitute(function, sizes)


def check_removable(function: Operation, places: Collection[int], what: str) -> None:
    """Raise RelaxError if parameters cannot be removed individually."""
    for group, gone in _groups_and_gone(function, places):
        if gone and (group.is_optional or group.has_rest):
            raise OptionError(
                f"{what}: parameter '{group.name}' is optional or variadic, and consists of several arguments"
            )


def remove_arguments(function: Operation, places: Collection[int]) -> None:
    """Remove unused parameters."""
    gone = set(places)
    body, attributes = body_of(function), function.attributes
    if INPUT_GROUPS in attributes:
        kept_groups = [
            group._replace(size=group.size - taken)
            for group, taken in _groups_and_gone(function, gone)
            if group.kind == LIST or not taken
        ]
        attributes[INPUT_GROUPS] = encode_groups(kept_groups)
    forget_structure(function)
    if "arg_attrs" in attributes:
        kept = [each for place, each in enumerate(attributes["arg_attrs"]) if place not in gone]
        attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
    _close_gaps(body, gone)


def _close_gaps(body: Block, gone: Collection[int]) -> None:
    """Move arguments to the front and erase the last ones.

    Erasing an earlier one would move all later ones each time.
    """
    arguments = list(body.arguments)
    kept = [argument for place, argument in enumerate(arguments) if place not in gone]
    for free, argument in zip(arguments, kept, strict=False):
        if free != argument:
            free.set_type(argument.type)
            BlockArgument(free).set_location(argument.location)
            argument.replace_all_uses_with(free)
    for place in reversed(range(len(kept), len(arguments))):
        body.erase_argument(place)


def add_arguments(function: Operation, names: Sequence[str], types: Sequence[Type]) -> list[Value]:
    """Append parameters."""
    body, attributes = body_of(function), function.attributes
    if INPUT_GROUPS in attributes:
        groups = decode_groups(attributes[INPUT_GROUPS], len(body.arguments))
        attributes[INPUT_GROUPS] = encode_groups([*groups, *(Group(VALUE, 1, name) for name in names)])
    own = attributes["arg_attrs"] if "arg_attrs" in attributes else [ir.DictAttr.get({}) for _ in body.arguments]
    named = [ir.DictAttr.get({ARGUMENT_NAME: ir.StringAttr.get(name)}) for name in names]
    attributes["arg_attrs"] = ir.ArrayAttr.get([*own, *named])
    return [body.add_argument(type_, function.location) for type_ in types]


def _groups_and_gone(function: Operation, places: Collection[int]) -> Iterator[tuple[Group, int]]:
    """Yield the groups of parameters, and the number of removed parameters in each."""
    if INPUT_GROUPS not in function.attributes:
        return
    start, given = 0, set(places)
    for group in decode_groups(function.attributes[INPUT_GROUPS], len(body_of(function).arguments)):
        yield group, sum(place in given for place in range(start, start + group.size))
        start += group.size


def input_count(function: Operation, inputs: int | None, what: str) -> int:
    """Return the number of leading parameters that are no weights: as stated, or by the function's attribute."""
    if inputs is None and NUM_INPUT not in function.attributes:
        raise OptionError(
            f"{what}: it is unknown which parameters of @{symbol_name(function)} are weights: pass inputs=N, the "
            f"number of parameters before the weights, or set the function's attribute {NUM_INPUT}"
        )
    count = ir.IntegerAttr(function.attributes[NUM_INPUT]).value if inputs is None else inputs
    if not 0 <= count <= len(body_of(function).arguments):
        has = counted(len(body_of(function).arguments), "parameter")
        raise OptionError(f"{what}: inputs={count}: @{symbol_name(function)} has {has}")
    return count


def bundle_arguments(function: Operation, first: int, name: str, what: str) -> None:
    """Bundle the parameters from a position on into one list for callers."""
    names = argument_names(function)
    if name in names[:first]:
        raise OptionError(f"{what}: @{symbol_name(function)} has a parameter '{name}' already: give params=NAME")
    groups = _bundle(_groups(function, INPUT_GROUPS, names), first, name, what)
    function.attributes[INPUT_GROUPS] = encode_groups(groups)


def bundle_results(function: Operation, name: str, what: str) -> None:
    """Bundle the results into one list."""
    names = [""] * len(last_of(body_of(function)).operands)
    function.attributes[RESULT_GROUPS] = encode_groups(_bundle(_groups(function, RESULT_GROUPS, names), 0, name, what))
    function.attributes[RESULT_NAMES] = ir.ArrayAttr.get([ir.StringAttr.get(name)])
    forget_structure(function)


def forget_structure(function: Operation) -> None:
    """Drop the model's call structure, which does not fit other parameters and results.

    Tensors are passed one by one.
    """
    if STRUCTURE in function.attributes:
        del function.attributes[STRUCTURE]


def _groups(function: Operation, attribute: str, names: Sequence[str]) -> list[Group]:
    if attribute in function.attributes:
        return decode_groups(function.attributes[attribute], len(names))
    return [Group(VALUE, 1, name) for name in names]


def _bundle(groups: Sequence[Group], first: int, name: str, what: str) -> list[Group]:
    """Bundle the single values from a position on into one list."""
    starts = list(accumulate((group.size for group in groups), initial=0))
    if first not in starts:
        raise OptionError(f"{what}: the parameters before #{first} end in the middle of a list")
    place = starts.index(first)
    for group in groups[place:]:
        if group != Group(VALUE, 1, group.name):
            raise OptionError(f"{what}: '{group.name}' is a list or optional, and cannot be an element of a list")
    return [*groups[:place], Group(LIST, starts[-1] - first, name)]
