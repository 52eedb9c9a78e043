# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants that TVM's printer writes apart: `metadata = tvm.ir.load_json("...")`, a graph of objects as JSON."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import Any

#: What an array's bytes begin with.
_MAGIC = 0xDD5E40F096B4A13F
_HEADER = struct.Struct("<QQiiiBBH")
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def read_metadata(text: str) -> dict[str, tuple[object, ...]]:
    """The arrays by their kind; None for what is no array. Raises ValueError for another text."""
    try:
        held = json.loads(text)
        nodes = held["nodes"]
        root = nodes[held["root_index"]]["data"]
        found = {}
        for key, value in zip(root[::2], root[1::2], strict=True):
            items = nodes[value]["data"]
            found[nodes[key]["data"]] = tuple(_array(nodes, nodes[item]) for item in items)
        return found
    except (LookupError, TypeError, RecursionError, binascii.Error, struct.error) as error:
        raise ValueError(f"this is no metadata of TVM's printer ({type(error).__name__}: {error})") from None


def _array(nodes: list[Any], node: Any) -> object:
    """Of a constant, which holds an array."""
    seen: list[object] = []
    while node["type"] != "ffi.Tensor":
        if node in seen:
            raise ValueError("this is no metadata of TVM's printer (a node holds itself)")
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
    if magic != _MAGIC or lanes != 1 or code not in _KINDS:
        raise ValueError("this is no array of TVM's")
    shape = struct.unpack_from(f"<{rank}q", held, _HEADER.size)
    start = _HEADER.size + 8 * rank + 8
    name = "bool" if code == 6 else f"{_KINDS[code]}{bits}"
    if code == 4:
        import ml_dtypes

        dtype = numpy.dtype(ml_dtypes.bfloat16)
    else:
        dtype = numpy.dtype(name)
    return numpy.frombuffer(held[start:], dtype).reshape(shape)
