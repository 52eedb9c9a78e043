# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structure of a model's arguments and results: tuples, lists and dictionaries of tensors.

Programs pass the tensors one by one. The structure has the JSON form that runtime/call_structure.py reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .fx_operators import is_scalar

if TYPE_CHECKING:
    from torch.export import ExportedProgram

TENSOR = "*"


class TreeSpec(Protocol):
    """torch's description of a tree: the container of a node with its children, or a leaf."""

    @property
    def type(self) -> Callable[..., object]: ...

    @property
    def context(self) -> object: ...

    def is_leaf(self) -> bool: ...

    def children(self) -> list[TreeSpec]: ...


def structure_of(program: ExportedProgram) -> dict[str, Any] | None:
    """Return the structure of a program's arguments and results.

    Return None if they are tensors one by one, and the model has no changed buffers among them.
    """
    signature = program.graph_signature
    placeholders = {node.name: node for node in program.graph_module.graph.find_nodes(op="placeholder")}
    inputs = (
        _input_leaf(placeholders, input_spec.arg)
        for input_spec in signature.input_specs
        if input_spec.kind.name == "USER_INPUT"
    )
    results = iter(
        [
            _result_leaf(output_spec.arg)
            for output_spec in signature.output_specs
            if output_spec.kind.name in ("USER_OUTPUT", "LOSS_OUTPUT")
        ]
    )
    spec = program.call_spec
    positional, named = (_tree(child, inputs) for child in spec.in_spec.children())
    names = program.module_call_graph[0].signature.forward_arg_names if program.module_call_graph else None
    found = {
        "names": list(names or [f"arg{index}" for index in range(len(positional["tuple"]))]),
        "args": positional["tuple"],
        "kwargs": named["dict"],
        "result": _tree(spec.out_spec, results),
    }
    changes = any(output_spec.kind.name == "BUFFER_MUTATION" for output_spec in signature.output_specs)
    return None if _is_plain(found) and not changes else found


def plain_structure(names: Sequence[str], results: int) -> dict[str, Any]:
    """Return the structure of arguments and results that are tensors one by one."""
    result = TENSOR if results == 1 else {"tuple": [TENSOR] * results}
    return {"names": [*names], "args": [TENSOR] * len(names), "kwargs": [], "result": result}


def _is_plain(found: dict[str, Any]) -> bool:
    """Check whether the arguments are tensors, and the result is a tensor or a tuple of several tensors."""
    result = found["result"]
    several = result.get("tuple", ()) if isinstance(result, dict) else ()
    has_plain_result = result == TENSOR or (len(several) > 1 and all(each == TENSOR for each in several))
    return has_plain_result and not found["kwargs"] and all(each == TENSOR for each in found["args"])


def _input_leaf(placeholders: dict[str, Any], argument: Any) -> Any:
    if type(argument).__name__ == "ConstantArgument":
        return {"const": _constant(argument.value)}
    value = placeholders[argument.name].meta.get("val")
    return _number(value) if is_scalar(value) else TENSOR


def _result_leaf(argument: Any) -> Any:
    if (kind := type(argument).__name__) == "ConstantArgument":
        return {"const": _constant(argument.value)}
    return {"SymIntArgument": "int", "SymFloatArgument": "float", "SymBoolArgument": "bool"}.get(kind, TENSOR)


def _number(value: object) -> str:
    return {"SymFloat": "float", "SymBool": "bool"}.get(type(value).__name__, "int")


def _constant(value: object) -> bool | float | str | None:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _tree(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    if spec.is_leaf():
        return next(leaves)
    children = [_tree(child, leaves) for child in spec.children()]
    return _node(spec.type, spec.context, children)


def _node(kind: Callable[..., object], context: object, children: list[Any]) -> dict[str, Any]:
    if kind in (tuple, list):
        return {kind.__name__: children}
    if (keys := _keys(context, len(children))) is not None:
        return {"dict": [list(each) for each in zip(keys, children, strict=True)]}
    return {"tuple": children}


def _keys(context: object, count: int) -> list[str | int] | None:
    """Return the keys of a dictionary, a named tuple or an object, or None if it has none."""
    if (fields := getattr(context, "_fields", None)) is not None:
        return list(fields)
    for keys in (context, context[0] if isinstance(context, (list, tuple)) and context else None):
        if isinstance(keys, (list, tuple)) and len(keys) == count and all(isinstance(key, (str, int)) for key in keys):
            return list(keys)
    return None
