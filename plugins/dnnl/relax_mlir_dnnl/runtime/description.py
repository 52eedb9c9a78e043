# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Description of a part as lists of primitives, which the compiler writes and the runtime reads.

It does not state the layouts of values or the kernels: both are chosen on the machine that loads the part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.runtime import Data

#: Number, or expression over symbols.
Size = int | str


@dataclass(frozen=True)
class Value:
    """Tensor of a function."""

    dims: tuple[Size, ...]
    dtype: str
    #: Row-major bytes of a constant.
    data: Data | None = None


@dataclass(frozen=True)
class Argument:
    """Value that a primitive sees through views, in order: ("permute", axes) and ("reshape", sizes)."""

    value: int
    views: tuple[tuple[str, tuple[Size, ...]], ...] = ()


@dataclass(frozen=True)
class PostOp:
    """Operation that a primitive applies to its result: "eltwise" with numbers, or "binary" with another value."""

    kind: str
    algorithm: int
    alpha: float = 0.0
    beta: float = 0.0
    other: Argument | None = None


@dataclass(frozen=True)
class QuantizedArgument:
    """Quantization of an argument: the values of its scales and of its only zero point.

    The mask has a bit for each dimension along which the scales differ.
    """

    scale: int
    zero_point: int | None = None
    mask: int = 0


@dataclass(frozen=True)
class PrimitiveStep:
    """Primitive with its arguments. The kind "view" needs no primitive: its result has the elements of "src"."""

    kind: str
    arguments: dict[str, Argument]
    result: Argument
    attributes: dict[str, Any] = field(default_factory=dict)
    post_ops: tuple[PostOp, ...] = ()
    quantized: dict[str, QuantizedArgument] = field(default_factory=dict)
    #: Model nodes that the step computes, for profiles.
    nodes: tuple[str, ...] = ()

    def reads(self) -> list[Argument]:
        return [*self.arguments.values(), *(op.other for op in self.post_ops if op.other is not None)]


@dataclass(frozen=True)
class DnnlFunction:
    """Function of the part. Its arguments are the inputs, then the outputs."""

    name: str
    values: tuple[Value, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[PrimitiveStep, ...]


@dataclass(frozen=True)
class DnnlPart:
    functions: tuple[DnnlFunction, ...]
    threads: int = 1
    #: Instruction sets that support the part's element types. The machine needs one of them.
    needs: tuple[str, ...] = ()
    #: True if the part relies on a clip that replaces NaN by 0.
    drops_nan: bool = False
