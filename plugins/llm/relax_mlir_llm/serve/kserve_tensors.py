# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in bodies of KServe's protocol: as JSON, or as bytes behind the JSON (the binary extension)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy

from .bodies import Fields, parse_object
from .errors import ApiError, invalid, shown
from .signatures import DATATYPES, Described, FunctionSignature, numpy_type

if TYPE_CHECKING:
    from numpy import ndarray

#: Header with the number of bytes of JSON before binary tensors.
HEADER_LENGTH = "Inference-Header-Content-Length"
_REQUEST_FIELDS = ("id", "parameters", "inputs", "outputs")


class Inference(NamedTuple):
    """Request to run a function."""

    id: str | None
    #: Inputs in the order of the function.
    inputs: list[ndarray]
    #: Names of the wanted results, each with True for a binary form.
    outputs: list[tuple[str, bool]]


def parse_inference(body: bytes, header_length: str | None, signature: FunctionSignature) -> Inference:
    """Return the request in a body. Raise ApiError with the expected and the actual value of a wrong part."""
    size = _header_size(body, header_length)
    fields = Fields(parse_object(body[:size]))
    fields.refuse_unknown(_REQUEST_FIELDS)
    given = _read_tensors(fields, signature)
    arrays, place = {}, size
    for name, tensor in given.items():
        described = next(input_ for input_ in signature.inputs if input_.name == name)
        arrays[name], place = _array(tensor, described, body, place)
    if place != len(body):
        raise ApiError(400, f"the body has {len(body)} bytes, and its tensors end at byte {place}")
    inputs = [arrays[input_.name] for input_ in signature.inputs]
    signature.check(inputs)
    return Inference(fields.text("id"), inputs, _read_outputs(fields, signature))


def _header_size(body: bytes, header_length: str | None) -> int:
    if header_length is None:
        return len(body)
    if not header_length.isdecimal() or int(header_length) > len(body):
        raise ApiError(400, f"{HEADER_LENGTH} is {shown(header_length)}, expected at most {len(body)}, the body's size")
    return int(header_length)


def _read_tensors(fields: Fields, signature: FunctionSignature) -> dict[str, Fields]:
    """Return the tensors of a request by name, in their order."""
    known = [input_.name for input_ in signature.inputs]
    given: dict[str, Fields] = {}
    for tensor in fields.parts("inputs"):
        if (name := tensor.needed_text("name")) not in known or name in given:
            problem = "given twice" if name in given else "not an input of the model"
            raise invalid(f"'{name}' is {problem}, expected {', '.join(known) or 'no inputs'}", tensor.path("name"))
        given[name] = tensor
    if missing := [name for name in known if name not in given]:
        raise invalid(f"the inputs {', '.join(missing)} are missing, expected {', '.join(known)}", "inputs")
    return given


def _array(tensor: Fields, described: Described, body: bytes, place: int) -> tuple[ndarray, int]:
    """Return an array, and the place in the body behind its bytes."""
    if (datatype := tensor.needed_text("datatype")) != described.datatype:
        raise invalid(
            f"the input '{described.name}' has the type {shown(datatype)}, expected {described.datatype}",
            tensor.path("datatype"),
        )
    shape = _shape(tensor)
    if not described.shape and shape == [1]:  # many clients have no scalars
        shape = []
    parameters = tensor.part("parameters")
    count = None if parameters is None else parameters.integer("binary_data_size")
    if count is None:
        return _from_json(tensor, datatype, shape), place
    expected = math.prod(shape) * numpy_type(datatype).itemsize
    if count != expected or place + count > len(body):
        raise invalid(
            f"the input '{described.name}' has {min(count, len(body) - place)} bytes, expected {expected} for "
            f"the shape {shape}",
            tensor.path("parameters"),
        )
    return numpy.frombuffer(body, numpy_type(datatype), math.prod(shape), place).reshape(shape), place + count


def _shape(tensor: Fields) -> list[int]:
    shape = tensor.items("shape")
    if shape is None or not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise tensor.refuse("shape", "a list of sizes")
    return [size for size in shape if isinstance(size, int)]


def _from_json(tensor: Fields, datatype: str, shape: Sequence[int]) -> ndarray:
    """Return an array from nested or flat lists of numbers."""
    if (data := tensor.items("data")) is None:
        raise tensor.refuse("data", "a list of numbers")
    is_flag = datatype == "BOOL"
    flat: list[object] = []
    _flatten(data, flat)
    kinds = (bool,) if is_flag else (int,) if "INT" in datatype else (int, float)
    wrong = next((each for each in flat if not isinstance(each, kinds) or (isinstance(each, bool) != is_flag)), None)
    if wrong is not None or None in flat:
        raise invalid(f"{tensor.path('data')} has {shown(wrong)}, expected {datatype}", tensor.path("data"))
    if len(flat) != math.prod(shape):
        expected = f"{math.prod(shape)} for the shape {list(shape)}"
        raise invalid(f"{tensor.path('data')} has {len(flat)} elements, expected {expected}", tensor.path("data"))
    try:
        return numpy.array(flat, DATATYPES[datatype] if datatype != "BF16" else numpy_type(datatype)).reshape(shape)
    except OverflowError:
        raise invalid(f"{tensor.path('data')} has an integer that {datatype} has no room for") from None


def _flatten(values: Sequence[object], flat: list[object]) -> None:
    for value in values:
        if isinstance(value, list):
            _flatten(value, flat)
        else:
            flat.append(value)


def _read_outputs(fields: Fields, signature: FunctionSignature) -> list[tuple[str, bool]]:
    """Return the names of the wanted results with their forms."""
    known = [output.name for output in signature.outputs]
    parameters = fields.part("parameters")
    usual = parameters is not None and parameters.flag("binary_data_output")
    wanted = []
    for part in fields.parts("outputs"):
        name, own = part.needed_text("name"), part.part("parameters")
        if name not in known:
            raise invalid(f"'{name}' is not a result of the model, expected {', '.join(known)}", part.path("name"))
        wanted.append((name, usual if own is None else own.flag("binary_data", usual)))
    return wanted or [(name, usual) for name in known]


class Encoded(NamedTuple):
    """Body of an answer, with the number of bytes of JSON if binary tensors follow."""

    body: bytes
    header_length: int | None


def encode_results(
    model: str, id: str | None, wanted: Sequence[tuple[str, bool]], results: Sequence[ndarray], names: Sequence[str]
) -> Encoded:
    """Return the body with the wanted results."""
    by_name = dict(zip(names, results, strict=True))
    outputs, parts = [], []
    for name, is_binary in wanted:
        array = by_name[name]
        entry: dict[str, object] = {"name": name, "datatype": _datatype(array), "shape": list(array.shape)}
        if is_binary:
            parts.append(numpy.ascontiguousarray(array).tobytes())
            entry["parameters"] = {"binary_data_size": len(parts[-1])}
        else:
            entry["data"] = _json_data(array, name)
        outputs.append(entry)
    content = {"model_name": model, "model_version": "1", **({} if id is None else {"id": id}), "outputs": outputs}
    head = json.dumps(content, separators=(",", ":")).encode()
    return Encoded(b"".join((head, *parts)), len(head) if parts else None)


def _datatype(array: ndarray) -> str:
    return next(name for name, dtype in DATATYPES.items() if dtype == array.dtype.name)


def _json_data(array: ndarray, name: str) -> list[object]:
    values = array.astype(numpy.float32) if array.dtype.name == "bfloat16" else array
    if values.dtype.kind == "f" and not numpy.isfinite(values).all():
        raise ApiError(
            500, f"the result '{name}' has infinite values or values that are no number: request it as binary data"
        )
    json_data: list[object] = values.reshape(-1).tolist()
    return json_data
