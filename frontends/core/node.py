# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a converter sees of a node: its inputs as values, and what to say when it cannot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import SymExpr
from ...emit.kernels import Kernel, call_kernel
from ...support.suggest import counted
from .scope import Scope
from .values import Array, Held, RunTimeSequence, SequenceValue, Tensor, Texts, Value


class Unsupported(Exception):
    """A node that cannot be imported, and why; `attribute` is the one at fault, where it is one."""

    def __init__(self, reason: str, attribute: str = "", help: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.attribute = attribute
        #: What would make it one that can.
        self.help = help


class Incomplete(Exception):
    """What a node or an operation needs cannot be imported or exported; why has been noted."""


class Node:
    """One use of an operator; a front end's own adds what its operators have besides inputs."""

    #: The version of the operator, where a front end has versions.
    version: int | None = None

    def __init__(
        self, name: str, op: str, inputs: Sequence[Held | None], graph: Scope, input_names: Sequence[str] = ()
    ):
        """`input_names` are for messages."""
        self.name = name
        self.op = op
        self.inputs = list(inputs)
        self.input_names = input_names
        #: The graph around.
        self.graph = graph

    @property
    def operator(self) -> str:
        """The operator as problems list it."""
        return self.op

    def fail(self, reason: str, attribute: str = "") -> Unsupported:
        """`raise node.fail("...")`: it cannot be imported."""
        return Unsupported(reason, attribute)

    # ---- inputs ----

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """An input that must be there."""
        value = self.held(index)
        if isinstance(value, Texts):
            raise self.fail(f"input #{index} holds strings, of which it takes none that can be compiled")
        if not isinstance(value, Value):
            raise self.fail(f"input #{index} is a sequence or an optional, not a tensor")
        return value

    def held(self, index: int) -> Held:
        """An input that must be there, whether it is a tensor, a sequence or an optional."""
        held = self.inputs[index] if self.has(index) else None
        if held is None:
            raise self.fail(f"input #{index} is missing")
        return held

    def sequence(self, index: int) -> SequenceValue:
        """An input that must be a sequence."""
        held = self.held(index)
        if not isinstance(held, SequenceValue):
            if isinstance(held, RunTimeSequence):
                raise self.fail(f"input #{index} is a sequence of dynamic length: it must be known here")
            raise self.fail(f"input #{index} is not a sequence")
        return held

    def described(self, index: int) -> str:
        """An input for messages: `(input 'w', f32 [1, 12, 4])`."""
        return f"(input '{self.input_names[index]}', {described(self.value(index))})"

    def tensor(self, index: int) -> Tensor:
        """An input as a tensor of the graph."""
        return self.value(index).ssa

    def tensors(self, count: int | None = None) -> list[Tensor]:
        """The first inputs, all without a number."""
        return [self.tensor(index) for index in range(len(self.inputs) if count is None else count)]

    def optional(self, index: int) -> Tensor | None:
        """An input as a tensor of the graph, or None."""
        return self.tensor(index) if self.has(index) else None

    def rank(self, index: int) -> int:
        rank = self.value(index).rank
        if rank is None:
            raise self.fail(f"the rank of input #{index} is not known")
        return rank

    def constant(self, index: int) -> Array | None:
        """An input's elements, an array; None where they are not known before the model runs."""
        return self.value(index).array

    def sizes(self, index: int) -> tuple[int | SymExpr, ...] | None:
        """An input's elements as numbers and expressions over dimensions; None where they are dynamic."""
        elements = self.value(index).elements
        if elements is None:
            return None
        return tuple(each if isinstance(each, SymExpr) else int(each) for each in elements.ravel())

    def scalar(self, index: int) -> Any:
        """The only element of an input that is one number; None where it is not known before the model runs."""
        array = self.constant(index)
        return None if array is None else self._only(index, array.ravel().tolist())

    def number(self, index: int) -> int | None:
        """The same, where it may be computed from dimensions, but must be a plain integer then."""
        numbers = self.numbers(index)
        return None if numbers is None else self._only(index, numbers)

    def _only(self, index: int, numbers: Sequence[object]) -> Any:
        if len(numbers) != 1:
            raise self.fail(f"input #{index} must be one number, not {len(numbers)}")
        return numbers[0]

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """An input's elements where all are plain integers, else None."""
        sizes = self.sizes(index)
        if sizes is None or any(isinstance(size, SymExpr) for size in sizes):
            return None
        return tuple(int(size) for size in sizes if not isinstance(size, SymExpr))

    # ---- calls ----

    def call_tir(self, kernel: Kernel, arguments: Sequence[Tensor], results: object) -> Any:
        """Calls a hand-written PrimFunc: a module of one (@T.prim_func, te.create_prim_func), MLIR text of one, or a
        Python function that writes its loops (rx.loops).

        The module gets it once. `results` is the type of the result, `node.value(0).info` for that of the first
        input, or a list of several's; a kernel in Python has a memref for each argument, then for each result.
        """
        return call_kernel(kernel, arguments, results, self.graph.kernels)

    def take_table(self, what: str, *sizes: int) -> None:
        """Raises TooLarge where the limits of the import have no room for a constant that a converter makes."""
        count = 8 * math.prod(max(size, 0) for size in sizes)
        self.graph.room.take_bytes(f"node '{self.name}' ({self.op}): {what}", count)

    # ---- axes ----

    def axis_of(self, axis: int, rank: int, name: str = "axis") -> int:
        if axis is None or not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is out of range for {counted(rank, 'dimension')}", name)
        return axis % rank


def described(value: Value | TensorInfo) -> str:
    """`f32 [n, 4]`, for messages; an unknown size is a question mark."""
    if value.shape is None:
        return f"{value.dtype} of unknown rank"
    return f"{value.dtype} [{', '.join('?' if size is None else str(size) for size in value.shape)}]"
