# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other cases of package onnx: small models as files, and well-known networks without their weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import node_suite
import numpy
import onnx
from node_suite import Case
from onnx import numpy_helper
from onnx.backend.test import loader

DATA = Path(loader.DATA_DIR)
KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "light")


def cases_of(kind: str) -> list[Case]:
    """Return all cases of a kind.

    Names of cases outside of the node suite include the kind, since names occur twice.
    """
    if kind == "node":
        return node_suite.cases(all=True)
    if kind == "light":
        return [_light_case(path) for path in sorted(DATA.glob("real/*/data.json"))]
    return [_case(kind, path.parent) for path in sorted(DATA.glob(f"{kind}/*/model.onnx"))]


def _case(kind: str, folder: Path) -> Case:
    model = onnx.load(folder / "model.onnx")
    (data,) = folder.glob("test_data_set_*")
    inputs = _read_all(data, "input", model.graph.input)
    return _made(f"{kind}/{folder.name}", model, inputs, _read_all(data, "output", model.graph.output), {})


def _light_case(description: Path) -> Case:
    """Return a network of constant weights, with the input that its output was computed for."""
    about = json.loads(description.read_text())
    path = DATA / "light" / Path(about["url"]).name
    model = onnx.load(path)
    initialized = {each.name for each in model.graph.initializer}
    inputs = [_counting(each) for each in model.graph.input if each.name not in initialized]
    outputs = _read_all(path.parent, f"{path.stem}_output", model.graph.output)
    return _made(f"light/{about['model_name']}", model, inputs, outputs, about)


def _made(name: str, model: onnx.ModelProto, inputs: list[Any], outputs: list[Any], about: dict[str, Any]) -> Case:
    operators = frozenset(node.op_type for node in model.graph.node)
    return Case(name, operators, model, inputs, outputs, about.get("rtol", 1e-3), about.get("atol", 1e-7))


def _counting(value: onnx.ValueInfoProto) -> Any:
    shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
    count = int(numpy.prod(shape))
    return (numpy.arange(count).reshape(shape) / count).astype("float32")


def _read_all(folder: Path, stem: str, values: Any) -> list[Any]:
    """Read the files of values. Inputs with initializers have no file."""
    paths = [folder / f"{stem}_{index}.pb" for index in range(len(values))]
    return [_read(path, value.type) for path, value in zip(paths, values, strict=True) if path.exists()]


def _read(path: Path, type_: onnx.TypeProto) -> Any:
    if type_.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(path.read_bytes()))
    if type_.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(path.read_bytes()))
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
