# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with the model's signature: tensors in tuples, lists and dictionaries, and numbers.

A structure is JSON. "*" is a tensor; "int", "float" or "bool" is a number that is passed as a 0-D tensor; {"const": 3}
is a fixed value. {"tuple": [...]}, {"list": [...]} and {"dict": [["key", ...], ...]} are containers. In place of a
dictionary, callers may pass an object with these attributes, such as a named tuple. "complex" lists the positions of
the program's inputs and outputs that are pairs for complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from operator import index, itemgetter
from typing import Any

from ..support.suggest import counted
from .complex_arrays import in_pairs, of_pairs
from .errors import ArtifactError
from .foreign_types import PackedFunction
from .function import Function
from .manifest import Signature

_TENSOR = "*"
_NUMBERS = {"int": int, "float": float, "bool": bool}


class StructuredFunction(Function):
    """Function with the arguments and results of the model: `function(x, {"mask": m}, scale=s)`.

    Buffers that a call changes are passed by name or after the model's arguments, and returned after its result. `flat`
    is the function of individual tensors.
    """

    def __init__(self, packed: PackedFunction, signature: Signature) -> None:
        super().__init__(packed, signature)
        #: Function of individual tensors.
        self.flat = Function(packed, signature)
        structure = signature.structure or {}
        check_structure(structure, len(signature.inputs), len(signature.outputs))
        self._args = structure["args"]
        #: Keyword arguments in the order in which the program takes them.
        self._kwargs: dict[str, Any] = dict(structure["kwargs"])
        self._names: list[str] = structure["names"]
        self._result = structure["result"]
        in_complex, out_complex = _complex_places(structure)
        #: Positions of inputs of complex numbers, with the element types of their parts, and their names.
        self._complex_inputs = [
            (place, signature.inputs[place].dtype, f"{signature.name}: argument '{signature.inputs[place].name}'")
            for place in in_complex
        ]
        self._complex_results = out_complex
        own = [*self._args, *self._kwargs.values()]
        self.own_inputs = sum(map(_count, own))
        self.own_results = _count(self._result)
        self._give = _giving(self._result, count())
        states = {input_.name: _TENSOR for input_ in signature.inputs[self.own_inputs :]}
        #: Keyword arguments if all arguments are tensors and fixed values, else None.
        is_simple = all(arg == _TENSOR for arg in self._args) and all(map(_is_simple, self._kwargs.values()))
        self._by_name = {**self._kwargs, **states} if is_simple else None

    def __call__(self, *arguments: object, **named: object) -> Any:
        results = self.flat(*self._pair(self._simple(arguments, named) or self._collect(arguments, named)))
        several = results if isinstance(results, tuple) else (results,) if len(self._described.outputs) else ()
        if self._complex_results:
            several = tuple(map(self._complex_result, range(len(several)), several))
        own, rest = self._give(several), several[self.own_results :]
        return (own, *rest) if rest else own

    def _complex_result(self, place: int, given: object) -> object:
        return of_pairs(given) if place in self._complex_results else given

    def _simple(self, arguments: tuple[object, ...], named: Mapping[str, object]) -> list[object] | None:
        """Return the tensors in order if no argument is a container.

        None for other calls, or if the caller needs a warning.
        """
        if self._by_name is None or len(arguments) != len(self._args) or len(named) != len(self._by_name):
            return None
        found = list(arguments)
        for name, tree in self._by_name.items():
            value = named.get(name, self)
            if tree == _TENSOR:
                found.append(value)
            elif value is not tree["const"]:
                return None
        return None if any(each is self for each in found) else found

    def prepared(self, *arguments: object, **named: object) -> list[object]:
        """Return the program's arguments. tvm-ffi tensors one by one, as in relax-run, are accepted as well."""
        from .ffi import tvm_ffi

        is_flat = not named and len(arguments) == len(self._described.inputs)
        if is_flat and all(isinstance(argument, tvm_ffi.Tensor) for argument in arguments):
            return self.flat.prepared(*arguments)
        return self.flat.prepared(*self._pair(self._collect(arguments, named)))

    def _pair(self, found: list[object]) -> list[object]:
        for place, dtype, where in self._complex_inputs:
            found[place] = in_pairs(found[place], dtype, where)
        return found

    def _collect(self, arguments: Sequence[object], named: Mapping[str, object]) -> list[object]:
        found: list[object] = []
        rest = dict(named)
        own, states = arguments[: len(self._args)], list(arguments[len(self._args) :])
        if states:
            self._check_keywords(arguments, named)
        for place, tree in enumerate(self._args):
            name = self._names[place]
            value = own[place] if place < len(own) else self._take_named(rest, name, tree)
            _flatten(tree, value, f"{self.__name__}: argument '{name}'", found)
        for name, tree in self._kwargs.items():
            _flatten(tree, self._take_named(rest, name, tree), f"{self.__name__}: argument '{name}'", found)
        for input_ in self._described.inputs[len(found) :]:
            if states:
                found.append(states.pop(0))
            elif input_.name in rest:
                found.append(rest.pop(input_.name))
            else:
                raise TypeError(f"{self.__name__}: missing argument {input_.name}, which a call changes")
        if states or rest:
            most = len(self._args) + len(self._described.inputs) - self.own_inputs
            what = f"no argument '{next(iter(rest))}'" if rest else f"takes {most} arguments, got {len(arguments)}"
            raise TypeError(f"{self.__name__}: {what}; there are {', '.join(self._all_names())}")
        return found

    def _check_keywords(self, arguments: Sequence[object], named: Mapping[str, object]) -> None:
        """Refuse arguments by position in place of the model's keywords."""
        taken = [name for name, tree in self._kwargs.items() if not (isinstance(tree, dict) and "const" in tree)]
        if not taken or set(taken) <= set(named):
            return
        given = f"{counted(len(self._args), 'argument')} by position and " if self._args else ""
        raise TypeError(
            f"{self.__name__}: takes {given}keywords: {', '.join(taken)}; got {len(arguments)} by position: "
            f"{self.__name__}({', '.join(f'{name}=...' for name in taken)})"
        )

    def _take_named(self, rest: dict[str, object], name: str, tree: Any) -> object:
        if name in rest:
            return rest.pop(name)
        if isinstance(tree, dict) and "const" in tree:
            return tree["const"]
        raise TypeError(f"{self.__name__}: missing argument {name}")

    def _all_names(self) -> list[str]:
        states = [input_.name for input_ in self._described.inputs[self.own_inputs :]]
        return [*self._names[: len(self._args)], *self._kwargs, *states]


def check_structure(structure: Mapping[str, Any], inputs: int, outputs: int) -> None:
    """Raise ArtifactError for an invalid structure, or one with more tensors than inputs or outputs."""
    try:
        taken = sum(map(_count, (*structure["args"], *dict(structure["kwargs"]).values())))
        is_right = taken <= inputs and _count(structure["result"]) <= outputs
        is_right = is_right and len(structure["names"]) >= len(structure["args"])
        places, most = _complex_places(structure), (inputs, outputs)
        is_right = is_right and all(0 <= each < end for own, end in zip(places, most, strict=True) for each in own)
    except (AttributeError, KeyError, TypeError, ValueError):
        is_right = False
    if not is_right:
        raise ArtifactError("damaged: what its manifest says of how the model is called")


def _complex_places(structure: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the positions of inputs and of outputs of complex numbers."""
    found = structure.get("complex", {"inputs": [], "outputs": []})
    return [*map(index, found["inputs"])], [*map(index, found["outputs"])]


def _children(tree: Any) -> tuple[str, Sequence[Any]]:
    ((kind, held),) = tree.items()
    if kind not in ("const", "tuple", "list", "dict"):
        raise ValueError(kind)
    return kind, held


def _count(tree: Any) -> int:
    """Count the tensors in a tree."""
    if isinstance(tree, str):
        return int(tree == _TENSOR or tree in _NUMBERS) or _no_leaf(tree)
    kind, held = _children(tree)
    if kind == "const":
        return 0
    return sum(_count(each[1] if kind == "dict" else each) for each in held)


def _no_leaf(tree: str) -> int:
    raise ValueError(tree)


def _flatten(tree: Any, value: Any, where: str, found: list[object]) -> None:
    if isinstance(tree, str):
        found.append(value)
        return
    kind, held = _children(tree)
    if kind == "const":
        if value != held:
            raise TypeError(f"{where} is {held!r} in this program, which is compiled for that alone, got {value!r}")
    elif kind == "dict":
        for (key, inner), of_path in zip(held, _select_keys([key for key, _ in held], value, where), strict=True):
            _flatten(inner, of_path, f"{where}[{key!r}]", found)
    else:
        if not isinstance(value, (tuple, list)) or len(value) != len(held):
            got = f"{len(value)}" if isinstance(value, (tuple, list)) else type(value).__name__
            raise TypeError(f"{where} must be a {kind} of {len(held)}, got {got}")
        for index, (inner, each) in enumerate(zip(held, value, strict=True)):
            _flatten(inner, each, f"{where}[{index}]", found)


def _select_keys(keys: Sequence[str | int], value: Any, where: str) -> list[Any]:
    if isinstance(value, Mapping):
        if set(value) != set(keys):
            raise TypeError(
                f"{where} must have the keys {', '.join(map(str, keys))}, got {', '.join(map(str, value)) or 'none'}"
            )
        return [value[key] for key in keys]
    if all(isinstance(key, str) and hasattr(value, key) for key in keys):
        return [getattr(value, str(key)) for key in keys]
    raise TypeError(
        f"{where} must be a dictionary with the keys {', '.join(map(str, keys))}, got {type(value).__name__}"
    )


def _is_simple(tree: Any) -> bool:
    return tree == _TENSOR or (isinstance(tree, dict) and "const" in tree)


def _giving(tree: Any, places: Iterator[int]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that builds a result from its tensors."""
    if isinstance(tree, str):
        place, number = next(places), _NUMBERS.get(tree)
        if number is None:
            return itemgetter(place)
        return lambda values: number(values[place].item() if hasattr(values[place], "item") else values[place])
    kind, held = _children(tree)
    if kind == "const":
        return lambda values: held
    if kind == "dict":
        pairs = [(key, _giving(inner, places)) for key, inner in held]
        return lambda values: {key: give(values) for key, give in pairs}
    items = [_giving(each, places) for each in held]
    if kind == "tuple":
        return lambda values: tuple([give(values) for give in items])
    return lambda values: [give(values) for give in items]
