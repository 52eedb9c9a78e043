# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part of a program as a list of primitives: what the compiler writes and the runtime reads.

Which layouts values have, and which kernels run, is not in it: that is for the machine to say where it is loaded.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ....support.errors import RelaxError

MAGIC = b"relax-dnnl\n"
VERSION = "1"
_ALIGNMENT = 64
_HEADER = struct.Struct("<11s5xQQ")  # the magic, the bytes of the text, those of all

#: Sizes are numbers or expressions over symbols.
Size = int | str


@dataclass(frozen=True)
class Value:
    """A tensor. Constants say where their bytes are."""

    dims: tuple[Size, ...]
    dtype: str
    offset: int | None = None


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


class Blobs:
    """The constants' bytes, each on a boundary of its own."""

    def __init__(self) -> None:
        self._pieces: list[bytes | memoryview] = []
        self._end = 0

    def add(self, data: bytes | memoryview) -> int:
        """Where it is, from the first one on."""
        place = self._end
        self._pieces += [data, bytes(-len(data) % _ALIGNMENT)]
        self._end += len(data) + -len(data) % _ALIGNMENT
        return place

    def behind(self, head: Callable[[int], bytes]) -> bytes:
        """All of them behind what `head` says of their size."""
        return b"".join([head(self._end), *self._pieces])


def to_bytes(part: Part, blobs: Blobs) -> bytes:
    text = json.dumps({"version": VERSION, **asdict(part)}, separators=(",", ":")).encode()
    text += b" " * (-(_HEADER.size + len(text)) % _ALIGNMENT)
    before = _HEADER.size + len(text)
    return blobs.behind(lambda size: _HEADER.pack(MAGIC, len(text), before + size) + text)


def from_bytes(data: memoryview) -> tuple[Part, memoryview]:
    """The part, and the bytes of its constants. Raises RelaxError for what is none."""
    if len(data) < _HEADER.size or bytes(data[: len(MAGIC)]) != MAGIC:
        raise RelaxError("these are no bytes of codegen 'dnnl'")
    _, length, total = _HEADER.unpack(data[: _HEADER.size])
    start = _HEADER.size + length
    if len(data) != total or start > total:
        raise RelaxError(f"the bytes of codegen 'dnnl' are cut: {len(data)} of {total}")
    try:
        stated = json.loads(bytes(data[_HEADER.size : start]))
        if stated["version"] == VERSION:
            return _part(stated), data[start:]
    except (ValueError, KeyError, TypeError) as error:
        raise RelaxError(f"the bytes of codegen 'dnnl' are damaged: {error}") from None
    raise RelaxError(f"the bytes are of version {stated['version']} of codegen 'dnnl', this is version {VERSION}")


def _part(stated: Mapping[str, Any]) -> Part:
    functions = tuple(
        Function(
            each["name"],
            tuple(Value(tuple(value["dims"]), value["dtype"], value["offset"]) for value in each["values"]),
            tuple(each["inputs"]),
            tuple(each["outputs"]),
            tuple(map(_step, each["steps"])),
        )
        for each in stated["functions"]
    )
    return Part(functions, stated["threads"], tuple(stated["needs"]), stated["drops_nan"])


def _step(stated: Mapping[str, Any]) -> Step:
    return Step(
        stated["kind"],
        {name: _argument(each) for name, each in stated["arguments"].items()},
        _argument(stated["result"]),
        stated["attributes"],
        tuple(map(_post_op, stated["post_ops"])),
        {name: Quantized(**each) for name, each in stated["quantized"].items()},
    )


def _post_op(stated: Mapping[str, Any]) -> PostOp:
    other = stated["other"]
    return PostOp(**{**stated, "other": None if other is None else _argument(other)})


def _argument(stated: Mapping[str, Any]) -> Argument:
    return Argument(stated["value"], tuple((kind, tuple(given)) for kind, given in stated["views"]))
