# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serialization of dataclasses that external codegens pass to their runtimes.

Arrays and byte strings are stored behind the JSON text at offsets aligned to 64 bytes, and are read without a copy.
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

#: Values that are stored as raw bytes.
Data = bytes | memoryview

_MAGIC, _ALIGNMENT = b"rx-part\0", 64
_HEADER = struct.Struct("<8sQQ")  # magic, bytes of the text, total bytes
#: JSON key for the offset and size of an array or byte string.
_PLACE = "$place"


@dataclasses.dataclass(frozen=True)
class PartFunction(Generic[S]):
    """Function of a part, as `Codegen.steps` reads it. Values are numbered."""

    inputs: Sequence[int]
    #: NumPy arrays.
    constants: Mapping[int, Any]
    steps: Sequence[S]
    outputs: Sequence[int]


def packed(codegen: str, part: object) -> bytes:
    """Serialize a dataclass, or a dictionary of dataclasses, of JSON values, arrays and byte strings."""
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
    """Deserialize the bytes of `packed`.

    Arrays and byte strings stay views of `data`.

    Raises RelaxError for truncated or damaged bytes, and for the bytes of another codegen.
    """
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        raise RelaxError(f"these are no bytes of the codegen '{codegen}'")
    try:
        _, length, total = _HEADER.unpack(data[: _HEADER.size])
        if len(data) != total:
            raise RelaxError(f"its bytes are cut short: {len(data)} of {total}")
        begin = _HEADER.size + length
        stated = json.loads(bytes(data[_HEADER.size : begin]), object_hook=lambda each: _place(each, data[begin:]))
        if stated["codegen"] != codegen:
            raise RelaxError(f"these are no bytes of the codegen '{codegen}', but of '{stated['codegen']}'")
        return _read(kind, stated["part"])
    # NumPy parses dtype names as Python, which raises SyntaxError.
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, SyntaxError):
        raise RelaxError("its bytes are cut short, or damaged at their beginning") from None


def _place(stated: Mapping[str, Any], pieces: memoryview) -> object:
    """Replace a stored offset and size by the array or byte string, and return other mappings unchanged."""
    if _PLACE not in stated:
        return stated
    place, size = stated[_PLACE]
    data = pieces[place : place + size]
    if "dtype" not in stated:
        return data
    import numpy

    # NumPy raises an error for an empty buffer.
    flat = numpy.frombuffer(data, stated["dtype"]) if size else numpy.empty(0, stated["dtype"])
    return flat.reshape(stated["shape"])


def _read(kind: Any, stated: Any) -> Any:
    """Convert a JSON value to a type: mappings to dataclasses, lists to tuples, and keys from text."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if isinstance(origin, type) and dataclasses.is_dataclass(origin):
        hints = get_type_hints(origin)
        if parts:
            hints = {name: hint[parts] if getattr(hint, "__parameters__", ()) else hint for name, hint in hints.items()}
        return origin(**{name: _read(hints[name], value) for name, value in stated.items()})
    if origin is UnionType:
        some = [part for part in parts if part is not NoneType]
        return stated if stated is None or len(some) > 1 else _read(some[0], stated)
    if origin is tuple:
        each_kind = parts[:1] * len(stated) if parts[-1] is ... else parts
        return tuple(map(_read, each_kind, stated))
    if origin is Sequence:
        return [_read(parts[0], each) for each in stated]
    if origin in (dict, Mapping):
        return {parts[0](key): _read(parts[1], value) for key, value in stated.items()}
    return stated
