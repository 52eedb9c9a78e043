# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that converters read: inputs as values, and errors for nodes that cannot be imported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import SymExpr
from ...emit.kernels import Kernel, call_kernel
from ...support.suggest import counted
from .scope import Scope
from .values import Array, Held, RunTimeSequence, SequenceValue, Tensor, Texts, Value

_Number = TypeVar("_Number")


class Unsupported(Exception):
    """Raised for a node that cannot be imported, with the reason. `attribute` is the attribute at fault, if any."""

    def __init__(self, reason: str, attribute: str = "", help: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.attribute = attribute
        #: Advice for the user.
        self.help = help


class Incomplete(Exception):
    """Raised if an input of a node cannot be imported or exported. The problem of the input is reported already."""


class Node:
    """One use of an operator. Subclasses of the front ends add attributes and other data of their operators."""

    #: Version of the operator, in front ends with versions.
    version: int | None = None

    def __init__(
        self, name: str, op: str, inputs: Sequence[Held | None], graph: Scope, input_names: Sequence[str] = ()
    ):
        """Create a node. `input_names` are used in messages."""
        self.name = name
        self.op = op
        self.inputs = list(inputs)
        self.input_names = input_names
        #: The graph that contains the node.
        self.graph = graph

    @property
    def operator(self) -> str:
        """Return the operator's name in reports of problems."""
        return self.op

    def fail(self, reason: str, attribute: str = "") -> Unsupported:
        """Return the exception for a node that cannot be imported: `raise node.fail("...")`."""
        return Unsupported(reason, attribute)

    # ---- inputs ----

    def has(self, index: int) -> bool:
        """Check whether an optional input is present."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """Return a required input that is a tensor."""
        if isinstance(value := self.held(index), Texts):
            raise self.fail(f"input #{index} contains strings, expected a tensor of numbers")
        if not isinstance(value, Value):
            raise self.fail(f"input #{index} is a sequence or an optional, not a tensor")
        return value

    def held(self, index: int) -> Held:
        """Return a required input: a tensor, a sequence or an optional."""
        held = self.inputs[index] if self.has(index) else None
        if held is None:
            raise self.fail(f"input #{index} is missing")
        return held

    def sequence(self, index: int) -> SequenceValue:
        """Return a required input that is a sequence of known length."""
        if not isinstance(held := self.held(index), SequenceValue):
            if isinstance(held, RunTimeSequence):
                raise self.fail(f"input #{index} is a sequence of dynamic length, expected a known length")
            raise self.fail(f"input #{index} is not a sequence")
        return held

    def described(self, index: int) -> str:
        """Return an input for messages, such as `(input 'w', f32 [1, 12, 4])`."""
        return f"(input '{self.input_names[index]}', {described(self.value(index))})"

    def tensor(self, index: int) -> Tensor:
        """Return an input as a tensor of the graph."""
        return self.value(index).ssa

    def tensors(self, count: int | None = None) -> list[Tensor]:
        """Return the first `count` inputs, or all inputs by default."""
        return [self.tensor(index) for index in range(len(self.inputs) if count is None else count)]

    def optional(self, index: int) -> Tensor | None:
        """Return an input as a tensor of the graph, or None if it is absent."""
        return self.tensor(index) if self.has(index) else None

    def rank(self, index: int) -> int:
        if (rank := self.value(index).rank) is None:
            raise self.fail(f"the rank of input #{index} is not known")
        return rank

    def constant(self, index: int) -> Array | None:
        """Return an input's elements as an array, or None if they are not known at import."""
        return self.value(index).array

    def sizes(self, index: int) -> tuple[int | SymExpr, ...] | None:
        """Return an input's elements as numbers and expressions over dimensions, or None if they are dynamic."""
        if (elements := self.value(index).elements) is None:
            return None
        return tuple(each if isinstance(each, SymExpr) else int(each) for each in elements.ravel())

    def scalar(self, index: int) -> Any:
        """Return the only element of an input, or None if it is not known at import."""
        array = self.constant(index)
        return None if array is None else self._only(index, array.ravel().tolist())

    def number(self, index: int) -> int | None:
        """Return the only element of an input as an integer, or None if it is not a known integer."""
        numbers = self.numbers(index)
        return None if numbers is None else self._only(index, numbers)

    def _only(self, index: int, numbers: Sequence[_Number]) -> _Number:
        if len(numbers) != 1:
            raise self.fail(f"input #{index} must be one number, not {len(numbers)}")
        return numbers[0]

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """Return an input's elements if all are plain integers, else None."""
        sizes = self.sizes(index)
        if sizes is None or any(isinstance(size, SymExpr) for size in sizes):
            return None
        return tuple(int(size) for size in sizes if not isinstance(size, SymExpr))

    # ---- calls ----

    def call_tir(self, kernel: Kernel, arguments: Sequence[Tensor], results: object) -> Any:
        """Call a hand-written PrimFunc.

        The kernel is a module of one PrimFunc (@T.prim_func, te.create_prim_func), MLIR text of one, or a Python
        function that writes its loops (rx.loops). The imported module receives the kernel once. `results` is the type
        of the result, such as `node.value(0).info` for the type of the first input, or a list of types. A kernel in
        Python has a memref for each argument, then for each result.
        """
        return call_kernel(kernel, arguments, results, self.graph.kernels)

    def take_table(self, what: str, *sizes: int) -> None:
        """Count the bytes of a constant that a converter creates. Raise TooLarge above the limits of the import."""
        count = 8 * math.prod(max(size, 0) for size in sizes)
        self.graph.room.take_bytes(f"node '{self.name}' ({self.op}): {what}", count)

    # ---- axes ----

    def axis_of(self, axis: int, rank: int, name: str = "axis") -> int:
        if axis is None or not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is out of range for {counted(rank, 'dimension')}", name)
        return axis % rank


def described(value: Value | TensorInfo) -> str:
    """Return a type for messages, such as `f32 [n, 4]`. An unknown size is a question mark."""
    if value.shape is None:
        return f"{value.dtype} of unknown rank"
    return f"{value.dtype} [{', '.join('?' if size is None else str(size) for size in value.shape)}]"
