# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What external codegens hand to their runtimes: a dataclass, as bytes and back.

The arrays and bytes in it stand behind its text, each at a multiple of 64, and are used where they are.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from .errors import RelaxError

P = TypeVar("P")
S = TypeVar("S")

#: What stands behind the text as it is.
Data = bytes | memoryview

_MAGIC, _ALIGNMENT = b"rx-part\0", 64
_HEADER = struct.Struct("<8sQQ")  # the magic, the bytes of the text, those of all
#: In the text, where an array or bytes begin behind it, and how many bytes they are.
_PLACE = "$place"


@dataclasses.dataclass(frozen=True)
class Function(Generic[S]):
    """A function of a part, as `Codegen.steps` reads it: values have numbers."""

    inputs: Sequence[int]
    #: Arrays of numpy.
    constants: Mapping[int, Any]
    steps: Sequence[S]
    outputs: Sequence[int]


def packed(codegen: str, part: object) -> bytes:
    """A dataclass, or several by names, of what JSON has, arrays and bytes."""
    pieces: list[Data] = []
    end = 0

    def stated(thing: Any) -> object:
        nonlocal end
        if dataclasses.is_dataclass(thing):
            return vars(thing)
        array = {} if isinstance(thing, Data) else {"dtype": thing.dtype.name, "shape": thing.shape}
        data: Data = thing.tobytes() if array else thing
        pieces.extend((data, bytes(-len(data) % _ALIGNMENT)))
        place, end = end, end + len(data) + len(pieces[-1])
        return {_PLACE: (place, len(data)), **array}

    text = json.dumps({"codegen": codegen, "part": part}, default=stated, separators=(",", ":")).encode()
    text += b" " * (-(_HEADER.size + len(text)) % _ALIGNMENT)
    return b"".join([_HEADER.pack(_MAGIC, len(text), _HEADER.size + len(text) + end), text, *pieces])


def unpacked(codegen: str, data: memoryview, kind: type[P]) -> P:
    """What was packed; arrays and bytes stay where they are. Raises RelaxError for other bytes, and where some are
    missing.
    """
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        raise RelaxError(f"these are no bytes of the codegen '{codegen}'")
    try:
        _, length, total = _HEADER.unpack(data[: _HEADER.size])
        if len(data) != total:
            raise RelaxError(f"its bytes are cut short: {len(data)} of {total}")
        begin = _HEADER.size + length
        stated = json.loads(bytes(data[_HEADER.size : begin]), object_hook=lambda each: _placed(each, data[begin:]))
        if stated["codegen"] != codegen:
            raise RelaxError(f"these are no bytes of the codegen '{codegen}', but of '{stated['codegen']}'")
        return _read(kind, stated["part"])
    # SyntaxError: numpy reads names of types as Python.
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, SyntaxError):
        raise RelaxError("its bytes are cut short, or damaged at their beginning") from None


def _placed(stated: Mapping[str, Any], pieces: memoryview) -> object:
    """What is behind the text in place of what says so."""
    if _PLACE not in stated:
        return stated
    place, size = stated[_PLACE]
    data = pieces[place : place + size]
    if "dtype" not in stated:
        return data
    import numpy

    # Of nothing at all numpy makes no array.
    flat = numpy.frombuffer(data, stated["dtype"]) if size else numpy.empty(0, stated["dtype"])
    return flat.reshape(stated["shape"])


def _read(kind: Any, stated: Any) -> Any:
    """What JSON has of a type: dataclasses are mappings there, tuples lists, and keys text."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if isinstance(origin, type) and dataclasses.is_dataclass(origin):
        hints = get_type_hints(origin)
        if parts:
            hints = {name: hint[parts] if getattr(hint, "__parameters__", ()) else hint for name, hint in hints.items()}
        return origin(**{name: _read(hints[name], each) for name, each in stated.items()})
    if origin is UnionType:
        some = [each for each in parts if each is not NoneType]
        return stated if stated is None or len(some) > 1 else _read(some[0], stated)
    if origin is tuple:
        each_kind = parts[:1] * len(stated) if parts[-1] is ... else parts
        return tuple(map(_read, each_kind, stated))
    if origin is Sequence:
        return [_read(parts[0], each) for each in stated]
    if origin in (dict, Mapping):
        return {parts[0](key): _read(parts[1], each) for key, each in stated.items()}
    return stated
