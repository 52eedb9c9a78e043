# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TFLite models of a few operators, written with the schema's classes, and their results by TFLite's interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy import ndarray

TYPES = {
    "float32": "FLOAT32", "float16": "FLOAT16", "float64": "FLOAT64", "bool": "BOOL",
    **{f"{sign}int{bits}": f"{sign}int{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


class Quantized(NamedTuple):
    """Scale and zero point of a tensor, or one of each for each slice along an axis."""

    scale: float | Sequence[float]
    zero_point: int | Sequence[int] = 0
    axis: int = 0


class Tensor(NamedTuple):
    """Tensor of a model: an argument, a constant, or the result of an operator."""

    shape: Sequence[int]
    dtype: str = "float32"
    data: ndarray | None = None
    quantized: Quantized | None = None
    is_variable: bool = False
    low: float = -4
    high: float = 4
    #: Elements of 4 bits, two in a byte.
    type: str = ""

    def drawn(self, random: numpy.random.Generator) -> ndarray:
        shape = [3 if size == -1 else size for size in self.shape]
        if self.dtype == "bool":
            return random.random(shape) < 0.5
        if self.dtype.startswith("float"):
            return random.uniform(self.low, self.high, shape).astype(self.dtype)
        limits = numpy.iinfo(self.dtype)
        if self.quantized is not None:
            return random.integers(limits.min, limits.max, shape, self.dtype, endpoint=True)
        low, high = max(limits.min, int(self.low)), min(limits.max, int(self.high))
        return random.integers(low, high, shape, dtype=self.dtype, endpoint=True)


def constant(data: Any, dtype: str = "int32", quantized: Quantized | None = None) -> Tensor:
    array = numpy.asarray(data, dtype)
    return Tensor(array.shape, dtype, array, quantized)


class Operator(NamedTuple):
    """Operator with its options and the positions of its tensors. -1 leaves an operand out."""

    op: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: dict[str, Any] | None = None
    #: The class of the options, without `Options` at its end.
    kind: str = ""
    custom_options: bytes = b""
    version: int = 1


class Subgraph(NamedTuple):
    tensors: Sequence[Tensor]
    operators: Sequence[Operator]
    inputs: Sequence[int]
    outputs: Sequence[int]
    names: Mapping[int, str] = MappingProxyType({})


def written(*subgraphs: Subgraph, signatures: Sequence[tuple[str, int]] = ()) -> bytes:
    """Return the bytes of a model."""
    model = schema.ModelT()
    model.version, model.description = 3, "test"
    model.buffers, model.subgraphs, model.operatorCodes = [schema.BufferT()], [], []
    codes: dict[tuple[str, int], int] = {}
    for subgraph in subgraphs:
        model.subgraphs.append(_subgraph(subgraph, model, codes))
    model.signatureDefs = [_signature(key, index, subgraphs[index]) for key, index in signatures] or None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _name(subgraph: Subgraph, place: int) -> str:
    return subgraph.names.get(place, f"t{place}")


def _subgraph(subgraph: Subgraph, model: Any, codes: dict[tuple[str, int], int]) -> Any:
    made = schema.SubGraphT()
    made.name = "main"
    made.inputs, made.outputs = list(subgraph.inputs), list(subgraph.outputs)
    made.tensors = [_tensor(each, _name(subgraph, place), model) for place, each in enumerate(subgraph.tensors)]
    made.operators = [_operator(each, model, codes) for each in subgraph.operators]
    return made


def _tensor(tensor: Tensor, name: str, model: Any) -> Any:
    made = schema.TensorT()
    made.name, made.isVariable = name, tensor.is_variable
    made.shape = [1 if size == -1 else size for size in tensor.shape]
    if -1 in tensor.shape:
        made.shapeSignature = list(tensor.shape)
    made.type = getattr(schema.TensorType, tensor.type or TYPES[tensor.dtype])
    made.buffer = 0
    if tensor.data is not None:
        buffer = schema.BufferT()
        buffer.data = numpy.frombuffer(tensor.data.tobytes(), "uint8")
        made.buffer = len(model.buffers)
        model.buffers.append(buffer)
    if tensor.quantized is not None:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale = numpy.atleast_1d(numpy.asarray(tensor.quantized.scale, "float32"))
        made.quantization.zeroPoint = numpy.atleast_1d(numpy.asarray(tensor.quantized.zero_point, "int64"))
        made.quantization.zeroPoint = numpy.broadcast_to(made.quantization.zeroPoint, made.quantization.scale.shape)
        made.quantization.quantizedDimension = tensor.quantized.axis
    return made


def _operator(operator: Operator, model: Any, codes: dict[tuple[str, int], int]) -> Any:
    made = schema.OperatorT()
    key = (operator.op, operator.version)
    if key not in codes:
        codes[key] = len(model.operatorCodes)
        code = schema.OperatorCodeT()
        number = getattr(schema.BuiltinOperator, operator.op, schema.BuiltinOperator.CUSTOM)
        code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), operator.version
        code.customCode = None if hasattr(schema.BuiltinOperator, operator.op) else operator.op
        model.operatorCodes.append(code)
    made.opcodeIndex, made.inputs, made.outputs = codes[key], list(operator.inputs), list(operator.outputs)
    if operator.kind:
        name = f"{operator.kind}Options"
        options = getattr(schema, f"{name}T")()
        for name_in_schema, value in (operator.options or {}).items():
            first, *rest = name_in_schema.split("_")
            field = first + "".join(part.capitalize() for part in rest)
            assert hasattr(options, field), (name, field, [each for each in dir(options) if each[0] != "_"])
            setattr(options, field, value)
        unions = schema.BuiltinOptions if hasattr(schema.BuiltinOptions, name) else schema.BuiltinOptions2
        prefix = "builtinOptions" if unions is schema.BuiltinOptions else "builtinOptions2"
        setattr(made, f"{prefix}Type", getattr(unions, name))
        setattr(made, prefix, options)
    if operator.custom_options:
        made.customOptions = numpy.frombuffer(operator.custom_options, "uint8")
    return made


def _signature(key: str, index: int, subgraph: Subgraph) -> Any:
    made = schema.SignatureDefT()
    made.signatureKey, made.subgraphIndex = key, index
    sides = (("in", subgraph.inputs), ("out", subgraph.outputs))
    made.inputs, made.outputs = (
        [_mapped(f"{side}{number}", place) for number, place in enumerate(places)] for side, places in sides
    )
    return made


def _mapped(name: str, place: int) -> Any:
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name, place
    return made


def of_one(
    op: str,
    tensors: Sequence[Tensor],
    results: Sequence[Tensor],
    options: dict[str, Any] | None = None,
    kind: str = "",
    missing: Sequence[int] = (),
    custom_options: bytes = b"",
    version: int = 1,
) -> Subgraph:
    """Return a model of one operator. Tensors without data are arguments. Operands at `missing` are left out."""
    places = iter(range(len(tensors)))
    count = len(tensors) + len(missing)
    inputs = [-1 if place in missing else next(places) for place in range(count)]
    outputs = list(range(len(tensors), len(tensors) + len(results)))
    given = [place for place, each in enumerate(tensors) if each.data is None and not each.is_variable]
    operator = Operator(op, inputs, outputs, options, kind, custom_options, version)
    return Subgraph([*tensors, *results], [operator], given, outputs)


def interpreted(model: bytes, arguments: Sequence[ndarray], by_delegate: bool = False) -> list[ndarray]:
    """Return the results of TFLite's interpreter.

    The default delegate rounds in other places, and only the delegate has MediaPipe's custom operators.
    """
    resolver = OpResolverType.AUTO if by_delegate else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=resolver)
    for detail, argument in zip(interpreter.get_input_details(), arguments, strict=True):
        if tuple(detail["shape"]) != argument.shape:
            interpreter.resize_tensor_input(detail["index"], argument.shape)
    interpreter.allocate_tensors()
    for detail, argument in zip(interpreter.get_input_details(), arguments, strict=True):
        interpreter.set_tensor(detail["index"], argument)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def drawn_arguments(model: bytes, batch: int = 1) -> list[ndarray]:
    """Random numbers for a model's arguments."""
    random = numpy.random.default_rng(4)
    given = []
    for detail in Interpreter(model_content=model).get_input_details():
        shape, dtype = (batch, *detail["shape"][1:]), numpy.dtype(detail["dtype"])
        if dtype.kind == "f":
            given.append(random.uniform(-1, 1, shape).astype(dtype))
        else:
            limits = numpy.iinfo(dtype)
            given.append(random.integers(limits.min, limits.max, shape, dtype, endpoint=True))
    return given
