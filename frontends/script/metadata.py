# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants that TVM's printer writes separately: `metadata = tvm.ir.load_json("...")`, a graph of objects as JSON."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

#: First bytes of an array.
_MAGIC = 0xDD5E40F096B4A13F
_HEADER = struct.Struct("<QQiiiBBH")
#: Element types by DLPack's codes: NumPy's, to which the bits are appended, and ml_dtypes'.
_NUMPYS = {0: "int", 1: "uint", 2: "float"}
_OTHERS = {4: "bfloat16", 7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn",
           11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu"}  # fmt: skip
_BOOL = 6


def read_metadata(text: str) -> dict[str, tuple[object, ...]]:
    """Return the arrays by kind, with None for other objects. Raises ValueError for text in another format."""
    try:
        held = json.loads(text)
        nodes = held["nodes"]
        root = nodes[held["root_index"]]["data"]
        metadata = {}
        for key, value in zip(root[::2], root[1::2], strict=True):
            metadata[nodes[key]["data"]] = tuple(_array(nodes, nodes[item]) for item in nodes[value]["data"])
        return metadata
    except (LookupError, TypeError, RecursionError, binascii.Error, struct.error) as error:
        raise ValueError(f"this is not metadata of TVM's printer ({type(error).__name__}: {error})") from None


def _array(nodes: list[Any], node: Any) -> object:
    """Return the array that a constant contains."""
    seen: list[object] = []
    while node["type"] != "ffi.Tensor":
        if node in seen:
            raise ValueError("this is not metadata of TVM's printer (a node holds itself)")
        seen.append(node)
        data = node["data"]
        inner = data.get("value", data.get("data")) if isinstance(data, dict) else None
        if not isinstance(inner, int):
            return None
        node = nodes[inner]
    return _decoded(base64.b64decode(node["data"]))


def _decoded(held: bytes) -> object:
    import numpy

    magic, _, _, _, rank, code, bits, lanes = _HEADER.unpack_from(held)
    if magic != _MAGIC or lanes != 1:
        raise ValueError("this is not an array of TVM")
    shape = struct.unpack_from(f"<{rank}q", held, _HEADER.size)
    return numpy.frombuffer(held[(_HEADER.size + 8 * rank + 8) :], _dtype(code, bits)).reshape(shape)


def _dtype(code: int, bits: int) -> numpy.dtype:
    import numpy

    if code == _BOOL:
        return numpy.dtype(bool)
    if code in _NUMPYS and bits >= 8:
        return numpy.dtype(f"{_NUMPYS[code]}{bits}")
    if code not in _OTHERS:
        raise ValueError(f"an array of TVM's of DLPack's element type {code} with {bits} bits is not read")
    try:
        import ml_dtypes
    except ImportError:
        raise ValueError(f"an array of {_OTHERS[code]} needs the package ml_dtypes: pip install ml_dtypes") from None
    return numpy.dtype(getattr(ml_dtypes, _OTHERS[code]))
