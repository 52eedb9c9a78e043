# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of one ONNX operator with onnxruntime. The model is encoded here, because package onnx is no test dependency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy
import onnxruntime

# Numbers of fields and types as onnx.proto has them.
_ELEMENT_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13,
}  # fmt: skip
_FLOAT, _INT, _STRING, _FLOATS, _INTS = 1, 2, 3, 6, 7


#: The version that the oracles' models are written for. Python 3.10 has none newer than 1.23.
_WRITTEN_FOR = (1, 24)
_REFUSALS = ("NotImplemented", "Fail", "InvalidGraph", "RuntimeException")
IS_OLD = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < _WRITTEN_FOR


def is_old_refusal(error: Exception) -> bool:
    """Check whether an onnxruntime older than the tests' models reports an unknown feature."""
    return IS_OLD and type(error).__module__.startswith("onnxruntime.") and type(error).__name__ in _REFUSALS


def run_onnx(
    op: str, *arrays: Any, opset: int = 20, domain: str = "", outputs: int = 1, **attributes: Any
) -> list[Any]:
    """Return the outputs of a node for input arrays. None leaves out an optional input."""
    names = ["" if array is None else f"x{index}" for index, array in enumerate(arrays)]
    given = {name: numpy.asarray(array) for name, array in zip(names, arrays, strict=True) if name}
    inputs = tuple((name, str(array.dtype), array.shape) for name, array in given.items())
    frozen = tuple((key, _frozen(value)) for key, value in attributes.items())
    return _session(op, tuple(names), inputs, outputs, opset, domain, frozen).run(None, given)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value


@lru_cache(maxsize=256)
def _session(
    op: str,
    names: Sequence[str],
    inputs: Sequence[tuple[str, str, Sequence[int]]],
    outputs: int,
    opset: int,
    domain: str,
    attributes: Sequence[tuple[str, Any]],
) -> Any:
    results = [f"y{index}" for index in range(outputs)]
    graph = _message({
        1: [_node(op, names, results, domain, dict(attributes))],
        2: [b"oracle"],
        11: [_value(*each) for each in inputs],
        12: [_message({1: [name.encode()]}) for name in results],
    })  # fmt: skip
    opsets = [_message({1: [name.encode()], 2: [version]}) for name, version in {"": opset, domain: opset}.items()]
    model = _message({1: [10], 7: [graph], 8: opsets})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _node(op: str, inputs: Iterable[str], outputs: Iterable[str], domain: str, attributes: Mapping[str, Any]) -> bytes:
    return _message({
        1: [name.encode() for name in inputs],
        2: [name.encode() for name in outputs],
        4: [op.encode()],
        5: [_attribute(name, value) for name, value in attributes.items()],
        7: [domain.encode()],
    })  # fmt: skip


def _value(name: str, dtype: str, sizes: Sequence[int]) -> bytes:
    shape = _message({1: [_message({1: [size]}) for size in sizes]})
    tensor = _message({1: [_ELEMENT_TYPES[dtype]], 2: [shape]})
    return _message({1: [name.encode()], 2: [_message({1: [tensor]})]})


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        kind, field, encoded = _STRING, 4, [value.encode()]
    elif isinstance(value, float):
        kind, field, encoded = _FLOAT, 2, [value]
    elif isinstance(value, int):
        kind, field, encoded = _INT, 3, [value]
    else:
        is_ints = all(isinstance(each, int) for each in value)
        kind, field, encoded = (_INTS, 8, list(value)) if is_ints else (_FLOATS, 7, list(value))
    return _message({1: [name.encode()], field: encoded, 20: [kind]})


def _message(fields: Mapping[int, Iterable[bytes | int | float]]) -> bytes:
    return b"".join(_field(number, value) for number, values in fields.items() for value in values)


def _field(number: int, value: bytes | int | float) -> bytes:
    if isinstance(value, bytes):
        return _varint(number << 3 | 2) + _varint(len(value)) + value
    if isinstance(value, float):
        return _varint(number << 3 | 5) + numpy.float32(value).tobytes()
    return _varint(number << 3) + _varint(value % 2**64)


def _varint(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low]) if value < 0x80 else bytes([low | 0x80]) + _varint(value >> 7)
