# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case of placement: an ONNX model as text, a recipe, and the tensors that are quantized."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import onnx
import relax_mlir as rx
from onnx import helper, numpy_helper
from relax_mlir.bindings.diagnostics import origins
from relax_mlir.bindings.navigation import body_of, functions_in, made_by, operations_of
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.dialects.relax.known_constants import elements_of, is_constant

SAMPLES = 3


@dataclass(frozen=True)
class Case:
    """A case. A case with `differs`, `refused` or `missing` tells why its placement is another one than its suite's."""

    suite: str
    name: str
    #: Text of an ONNX graph. Declared tensors that no node computes are random constants.
    graph: str = ""
    recipe: Callable[[], rx.Recipe] | None = None
    #: Quantized tensors and their types. A constant without a name of its own is `node:const`.
    expected: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    #: Tensors with one scale.
    shares: Sequence[Sequence[str]] = ()
    #: Scales and zero points.
    scales: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    samples: Sequence[Sequence[Any]] = ()
    #: Part of the error that is expected.
    error: str = ""
    #: Largest error of the result, as a share of its largest number.
    near: float | None = None
    #: Operators of the exported model, with counts.
    exported: Mapping[str, int] = field(default_factory=dict)
    opset: int = 21
    differs: str = ""
    #: Error that this project demands of such a model.
    refused: str = ""
    missing: str = ""

    @property
    def verdict(self) -> str:
        told = {"refused": self.refused, "by design": self.differs, "missing": self.missing}
        return next((verdict for verdict, reason in told.items() if reason), "equal")

    def model(self) -> onnx.ModelProto:
        """Return the ONNX model. Nodes have the names of their first outputs."""
        graph = onnx.parser.parse_graph(self.graph)
        known = {each.name for each in (*graph.input, *graph.initializer)} | {
            name for node in graph.node for name in node.output
        }
        generator = numpy.random.default_rng(0)
        for info in graph.value_info:
            if info.name not in known:
                array = self.constants.get(info.name)
                array = _random(info, generator) if array is None else numpy.asarray(array, _dtype(info))
                graph.initializer.append(numpy_helper.from_array(array, info.name))
        del graph.value_info[:]
        for node in graph.node:
            node.name = node.output[0]
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def found(self, module: rx.Module) -> Found:
        """Return the quantized tensors of a quantized module."""
        return placement_of(module, {each.name for each in self.model().graph.initializer})

    def quantized(self) -> tuple[rx.Module, rx.Module, list[list[Any]]]:
        """Return the float module, the quantized one, and the samples."""
        assert self.recipe is not None
        recipe, model = self.recipe(), self.model()
        generator = numpy.random.default_rng(1)
        samples = [list(each) for each in self.samples] or [
            [_random(info, generator) for info in model.graph.input] for _ in range(SAMPLES)
        ]
        module = rx.from_onnx(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = rx.quantize(
                module, samples, recipe, keep=list(self.keep), calibrate="minmax", smooth=None, equalize=False,
                clip_weights=False, bias_correction=False,
            )  # fmt: skip
        return module, made.module, samples


def _dtype(info: onnx.ValueInfoProto) -> Any:
    return helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)


def _random(info: onnx.ValueInfoProto, generator: numpy.random.Generator) -> Any:
    shape = [each.dim_value or 2 for each in info.type.tensor_type.shape.dim]
    dtype = _dtype(info)
    if numpy.issubdtype(dtype, numpy.integer):
        return generator.integers(0, 3, shape).astype(dtype)
    return generator.normal(0.1, 0.3, shape).astype(dtype)


@dataclass
class Found:
    """Quantized tensors of a module, with their types, scales and zero points."""

    types: dict[str, str] = field(default_factory=dict)
    scales: dict[str, tuple[Any, Any]] = field(default_factory=dict)


def placement_of(module: rx.Module, constants: Collection[str]) -> Found:
    """Return the quantized tensors of a module's function. constants: names of the ONNX model's constants."""
    function = next(iter(functions_in(module.operation)))
    names = dict(zip(body_of(function).arguments, argument_names(function), strict=True))
    found = Found()
    for operation in operations_of(body_of(function)):
        if operation.name == "relax.quantize":
            _add_activation(found, operation, names)
        elif operation.name == "relax.dequantize" and is_constant(operation.operands[0]):
            reader = next(iter(operation.results[0].uses)).owner
            name, node = _node(operation), _node(getattr(reader, "operation", reader))
            _add(found, name if name in constants else f"{node}:const", operation, operation.operands[0])
        elif operation.name == "relax.matmul_nbits":
            found.types[f"{_node(operation)}.w"] = f"bits{operation.opview.bits} block{operation.opview.block_size}"
    return found


def _add_activation(found: Found, operation: Any, names: Mapping[Any, str]) -> None:
    value, step = operation.operands[0], made_by(operation.operands[0])
    if step is not None and step.name == "relax.dequantize":
        maker = made_by(step.operands[0])
        assert maker is not None
        name = _tensor(maker.operands[0], names)
        found.types[name] += ">" + _short(operation.results[0])
        return
    _add(found, _tensor(value, names), operation, operation.results[0])


def _tensor(value: Any, names: Mapping[Any, str]) -> str:
    maker = made_by(value)
    if maker is None:
        return names[value]
    place = list(maker.results).index(value)
    return f"{_node(maker)}.{place}" if len(maker.results) > 1 else _node(maker)


def _add(found: Found, name: str, operation: Any, numbers: Any) -> None:
    scale, zero = elements_of(operation.operands[1]), elements_of(operation.operands[2])
    assert scale is not None
    found.types[name] = _short(numbers) + ("@channel" if scale.ndim else "")
    found.scales[name] = (scale, zero)


def _short(value: Any) -> str:
    dtype = decode(value.type).dtype
    return dtype.replace("ui", "u")


def _node(operation: Any) -> str:
    found = origins(operation.location)
    return found[-1].name if found else operation.name
