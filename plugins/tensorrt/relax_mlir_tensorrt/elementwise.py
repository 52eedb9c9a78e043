# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for elementwise functions of one or several tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import ALL, CHECKS, NUMBERS, NetworkTensor, converts

if TYPE_CHECKING:
    from relax_mlir.passes.graph.parts.flat_graph import FlatNode


#: Relax name -> TensorRT's activation.
ACTIVATIONS = {"nn.relu": "RELU", "sigmoid": "SIGMOID", "tanh": "TANH", "nn.gelu": "GELU_ERF",
               "nn.gelu_tanh": "GELU_TANH"}  # fmt: skip
UNARY = {
    **{name: name.upper() for name in (
        "exp", "log", "sqrt", "abs", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh",
        "atanh", "ceil", "floor", "erf", "round", "sign",
    )},
    "negative": "NEG",
}  # fmt: skip
#: Unary functions that also support integers.
_OF_NUMBERS = ("abs", "negative", "sign")
BINARY = {"add": "SUM", "subtract": "SUB", "multiply": "PROD", "maximum": "MAX", "minimum": "MIN"}
_OF_FLOATS = {"divide": "DIV", "power": "POW", "floor_divide": "FLOOR_DIV"}
LOGICAL = {"logical_and": "AND", "logical_or": "OR", "logical_xor": "XOR"}
#: A comparison is a TensorRT operation, or the logical or of two.
COMPARISONS = {"equal": ("EQUAL",), "greater": ("GREATER",), "less": ("LESS",),
               "greater_equal": ("GREATER", "EQUAL"), "less_equal": ("LESS", "EQUAL")}  # fmt: skip
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


#: Functions of one tensor that need several layers or parameters.
_FORMULAS: dict[str, Callable[[Converter, NetworkTensor, Call], NetworkTensor]] = {
    "rsqrt": lambda converter, x, _: converter.unary(converter.unary(x, "SQRT"), "RECIP"),
    "nn.silu": lambda converter, x, _: converter.binary(x, converter.activation(x, "SIGMOID"), "PROD"),
    "nn.leakyrelu": lambda converter, x, call: converter.activation(x, "LEAKY_RELU", call.alpha),
    "nn.selu": lambda converter, x, _: converter.activation(x, "SELU", _SELU_ALPHA, _SELU_SCALE),
}


@converts(*ACTIVATIONS, *(name for name in UNARY if name not in _OF_NUMBERS), *_FORMULAS)
def of_one(converter: Converter, node: FlatNode) -> NetworkTensor:
    name, x = node.operator, converter.tensor(node.operands[0])
    if name in ACTIVATIONS:
        return converter.activation(x, ACTIVATIONS[name])
    return _FORMULAS[name](converter, x, node.call) if name in _FORMULAS else converter.unary(x, UNARY[name])


converts(*_OF_NUMBERS, dtypes=NUMBERS)(of_one)


@converts("logical_not", dtypes=("i1",))
def logical_not(converter: Converter, node: FlatNode) -> NetworkTensor:
    return converter.unary(converter.tensor(node.operands[0]), "NOT")


@converts("square", dtypes=NUMBERS)
def square(converter: Converter, node: FlatNode) -> NetworkTensor:
    x = converter.tensor(node.operands[0])
    return converter.binary(x, x, "PROD")


def _refuse_softplus(op: Operation, call: Call) -> str:
    return "" if call.beta > 0 else f"TensorRT's softplus needs a beta above 0, not {call.beta}"


@converts("nn.softplus", refuse=_refuse_softplus)
def softplus(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Convert to alpha * log(exp(beta * x) + 1). Above the threshold both operators return x."""
    return converter.activation(converter.tensor(node.operands[0]), "SOFTPLUS", 1 / node.call.beta, node.call.beta)


@converts("clip", refuse=CHECKS.clip)
def clip(converter: Converter, node: FlatNode) -> NetworkTensor:
    limits = (float(node.call.operands[name].value) for name in ("min", "max"))
    return converter.activation(converter.tensor(node.operands[0]), "CLIP", *limits)


def _operands(converter: Converter, node: FlatNode) -> list[NetworkTensor]:
    rank = len(node.result.dims)
    return [converter.with_rank(operand, rank) for operand in node.operands]


@converts("add", dtypes=NUMBERS)
def add(converter: Converter, node: FlatNode) -> NetworkTensor:
    biased = converter.add_bias(node)
    return _binary(converter, node, "SUM") if biased is None else biased


def _binary(converter: Converter, node: FlatNode, kind: str) -> NetworkTensor:
    one, other = _operands(converter, node)
    return converter.binary(one, other, kind)


@converts(*(name for name in BINARY if name != "add"), dtypes=NUMBERS)
def binary(converter: Converter, node: FlatNode) -> NetworkTensor:
    return _binary(converter, node, {**BINARY, **_OF_FLOATS, **LOGICAL}[node.operator])


# TensorRT rounds integers differently, or does not support them.
converts(*_OF_FLOATS)(binary)
converts(*LOGICAL, dtypes=("i1",))(binary)


@converts(*COMPARISONS, dtypes=NUMBERS)
def comparison(converter: Converter, node: FlatNode) -> NetworkTensor:
    first, *more = (_binary(converter, node, kind) for kind in COMPARISONS[node.operator])
    return converter.binary(first, more[0], "OR") if more else first


@converts("not_equal", dtypes=NUMBERS)
def not_equal(converter: Converter, node: FlatNode) -> NetworkTensor:
    return converter.unary(_binary(converter, node, "EQUAL"), "NOT")


@converts("where", dtypes=("i1",))
def where(converter: Converter, node: FlatNode) -> NetworkTensor:
    return converter.network.add_select(*_operands(converter, node)).get_output(0)


def _refuse_prelu(op: Operation, call: Call) -> str:
    return "" if call.alpha.shape and len(call.alpha.shape) == 1 else "TensorRT needs one slope per channel"


@converts("nn.prelu", refuse=_refuse_prelu)
def prelu(converter: Converter, node: FlatNode) -> NetworkTensor:
    data, slopes = node.operands
    rank = len(data.dims)
    axis = node.call.axis % rank
    shape = [slopes.dims[0] if index == axis else 1 for index in range(rank)]
    factors = converter.reshaped(converter.tensor(slopes), shape)
    return converter.network.add_parametric_relu(converter.tensor(data), factors).get_output(0)


@converts("astype", dtypes=ALL)
def astype(converter: Converter, node: FlatNode) -> NetworkTensor:
    to_type = converter.dtype(node.result.info.dtype)
    return converter.network.add_cast(converter.tensor(node.operands[0]), to_type).get_output(0)
