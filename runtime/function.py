# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Function of a compiled program for Python callers. Results have the framework of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..support.ending import ending, refuse_at_end
from ..support.suggest import suggest
from .arguments import are_passed_as_they_are, prepared
from .arrays import has_negated_views
from .display import documentation, python_signature, signature_text
from .foreign_types import PackedFunction
from .gradients import warn_of_gradients
from .manifest import Signature
from .results import Give, giver

# Maximum number of cached conversions by argument types. Programs pass few different types.
_REMEMBERED = 64
_UNKNOWN: tuple[Give | None, tuple[int, ...]] = None, ()
#: Exceptions of the entry and of memory exporters for arguments that may be passed as copies.
REFUSALS = (BufferError, RuntimeError, TypeError, ValueError)


class Function:
    """Function such as `function(x, y)` or `function(x, b=y)`. Results are arrays of the first argument's framework.

    Arguments are arrays of any framework that supports DLPack. Contiguous and aligned memory is not copied. Numbers and
    lists of numbers become arrays of the input's element type. Several results are a tuple. `packed` is the tvm-ffi
    function below. It is faster, takes tensors and returns tvm-ffi's tensors, and copies or converts nothing.
    """

    def __init__(self, packed: PackedFunction, signature: Signature) -> None:
        self.packed = packed
        self.__name__ = self.__qualname__ = signature.name
        self.__doc__ = documentation(signature)
        self._described = signature
        #: Number of the model's own arguments and results. Buffers that a call changes follow.
        self.own_inputs, self.own_results = len(signature.inputs), len(signature.outputs)
        #: Result conversion by argument types, and the positions of arrays that may be negated views. Each call checks
        #: these arrays.
        self._givers: dict[tuple[type, ...], tuple[Give | None, tuple[int, ...]]] = {}
        #: True if callers are warned that results have no gradients: once, and not if the caller computes gradients.
        self.warns_of_gradients = True
        #: Function and arguments with which pickle restores this object. The program sets it.
        self.again: tuple[Callable[..., Function], tuple[object, ...]] | None = None

    def __call__(self, *arguments: object, **named: object) -> Any:
        if ending.has_begun:
            refuse_at_end(f"a call of {self.__name__}")
        if named:
            arguments = self._in_order(arguments, named)
        give, asked = self._givers.get(tuple(map(type, arguments)), _UNKNOWN)
        for place in asked:
            if arguments[place].is_neg():  # type: ignore[attr-defined]
                give = None
            if self.warns_of_gradients and arguments[place].requires_grad:  # type: ignore[attr-defined]
                self._warn(arguments)
        if give is None:
            give, arguments = self._looked_at(arguments)
        refusal = None
        try:
            result = self.packed(*arguments)
        except REFUSALS as error:
            refusal = error
        if refusal is not None:
            try:
                result = self.call_again(arguments, refusal)
            finally:
                refusal = None  # its traceback references this frame, which references the arguments
        return give(result)

    def prepared(self, *arguments: object, **named: object) -> list[object]:
        """Return the arguments for `packed`: the same objects, or copies if needed."""
        return prepared(self._described, self._in_order(arguments, named) if named else arguments)

    def _looked_at(self, arguments: tuple[Any, ...]) -> tuple[Give, tuple[object, ...]]:
        """Return the result conversion for these argument types, and the arguments in a form that can be passed."""
        types = tuple(map(type, arguments))
        give, asked = self._givers.get(types, _UNKNOWN)
        if give is None:
            if self.warns_of_gradients:
                self._warn(arguments)
            if not are_passed_as_they_are(self._described, arguments):
                others = tuple(prepared(self._described, arguments))
                return giver(self._described, arguments), others
            give, asked = giver(self._described, arguments), _that_can_be_negated(types)
            if len(self._givers) >= _REMEMBERED:
                self._givers.clear()
            self._givers[types] = give, asked
        if any(arguments[place].is_neg() for place in asked):
            return give, tuple(prepared(self._described, arguments))
        return give, arguments

    def _warn(self, arguments: Iterable[object]) -> None:
        names = [input_.name for input_ in self._described.inputs]
        self.warns_of_gradients = not warn_of_gradients(self.__name__, names, arguments)

    def call_again(self, arguments: Sequence[object], refusal: Exception) -> object:
        """Call with copies of arguments.

        The entry refuses arguments before anything runs, so nothing is computed twice.
        """
        others = prepared(self._described, arguments)
        if all(one is other for one, other in zip(arguments, others, strict=True)):
            try:
                raise refusal
            finally:
                del refusal
        return self.packed(*others)

    def _in_order(self, arguments: Sequence[object], named: Mapping[str, object]) -> tuple[object, ...]:
        """Return all arguments by position."""
        names = [input_.name for input_ in self._described.inputs]
        for name in named:
            if name not in names:
                there = f"there are {', '.join(names) or 'none'}{suggest(name, names)}"
                raise TypeError(f"{self.__name__}: no argument {name!r}; {there}")
            if name in names[: len(arguments)]:
                raise TypeError(f"{self.__name__}: argument '{name}' is given twice, by its place and by its name")
        rest = names[len(arguments) :]
        if missing := [name for name in rest if name not in named]:
            noun = "argument" if len(missing) == 1 else "arguments"
            raise TypeError(f"{self.__name__}: missing {noun} {', '.join(missing)}")
        return (*arguments, *(named[name] for name in rest))

    def __getattr__(self, name: str) -> object:
        if name != "__signature__":
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        return python_signature(self._described)

    def __reduce__(self) -> tuple[Callable[..., Function], tuple[object, ...]]:
        """Pickle with the whole program, which is loaded when it is unpickled."""
        if self.again is None:
            raise TypeError(f"{self!r} is of no program that could be pickled with it: pickle the executable")
        return self.again

    def __copy__(self) -> Function:
        """Return the function itself: Python's functions are not copied either."""
        return self

    def __deepcopy__(self, memo: object) -> Function:
        return self

    def __tvm_ffi_object__(self) -> PackedFunction:
        """Return the object for tvm-ffi's functions, which may keep or call it."""
        return self.packed

    def __repr__(self) -> str:
        return f"<function {signature_text(self._described)}>"


def _that_can_be_negated(types: Sequence[type]) -> tuple[int, ...]:
    return tuple(place for place, cls in enumerate(types) if has_negated_views(cls))
