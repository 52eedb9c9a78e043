# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part of a program as a list of primitives: what the compiler writes and the runtime reads.

Which layouts values have, and which kernels run, is not in it: that is for the machine to say where it is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....support.external_bytes import Data

#: Sizes are numbers or expressions over symbols.
Size = int | str


@dataclass(frozen=True)
class Value:
    """A tensor."""

    dims: tuple[Size, ...]
    dtype: str
    #: Of a constant, row-major.
    data: Data | None = None


@dataclass(frozen=True)
class Argument:
    """A value as a primitive sees it: views are ("permute", axes) and ("reshape", sizes), one after the other."""

    value: int
    views: tuple[tuple[str, tuple[Size, ...]], ...] = ()


@dataclass(frozen=True)
class PostOp:
    """What a primitive does with its result: "eltwise" with its numbers, "binary" with another value."""

    kind: str
    algorithm: int
    alpha: float = 0.0
    beta: float = 0.0
    other: Argument | None = None


@dataclass(frozen=True)
class Quantized:
    """Constants: an argument's scales, for all of it or along the dimensions of the mask, and its one zero point."""

    scale: int
    zero_point: int | None = None
    mask: int = 0


@dataclass(frozen=True)
class Step:
    """One primitive. `kind` "view" is none: its result are the elements of "src"."""

    kind: str
    arguments: dict[str, Argument]
    result: Argument
    attributes: dict[str, Any] = field(default_factory=dict)
    post_ops: tuple[PostOp, ...] = ()
    quantized: dict[str, Quantized] = field(default_factory=dict)
    #: The model's nodes that it computes, for profiles.
    nodes: tuple[str, ...] = ()

    def reads(self) -> list[Argument]:
        return [*self.arguments.values(), *(each.other for each in self.post_ops if each.other is not None)]


@dataclass(frozen=True)
class Function:
    """A function of the part: it is called with its inputs, then with its outputs."""

    name: str
    values: tuple[Value, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Part:
    functions: tuple[Function, ...]
    threads: int = 1
    #: The instruction sets that its element types need; one of them.
    needs: tuple[str, ...] = ()
    #: Whether a clip has to make 0 of NaN.
    drops_nan: bool = False
