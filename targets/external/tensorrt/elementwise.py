# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of each element, and of the elements of several tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....bindings.ir import Operation
from ....dialects.core.opdef import Call
from .rules import ALL, NUMBERS, converts

if TYPE_CHECKING:
    from ..core.flatten import FlatNode
    from .converter import Converter

#: By relax's names TensorRT's.
ACTIVATIONS = {"nn.relu": "RELU", "sigmoid": "SIGMOID", "tanh": "TANH", "nn.gelu": "GELU_ERF",
               "nn.gelu_tanh": "GELU_TANH"}  # fmt: skip
UNARY = {
    **{name: name.upper() for name in (
        "exp", "log", "sqrt", "abs", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh",
        "atanh", "ceil", "floor", "erf", "round", "sign",
    )},
    "negative": "NEG",
}  # fmt: skip
#: Those that are there for whole numbers too.
_OF_NUMBERS = ("abs", "negative", "sign")
BINARY = {"add": "SUM", "subtract": "SUB", "multiply": "PROD", "maximum": "MAX", "minimum": "MIN"}
_OF_FLOATS = {"divide": "DIV", "power": "POW", "floor_divide": "FLOOR_DIV"}
LOGICAL = {"logical_and": "AND", "logical_or": "OR", "logical_xor": "XOR"}
#: A comparison is one or another, or not one.
COMPARISONS = {"equal": ("EQUAL",), "greater": ("GREATER",), "less": ("LESS",),
               "greater_equal": ("GREATER", "EQUAL"), "less_equal": ("LESS", "EQUAL")}  # fmt: skip
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@converts(*ACTIVATIONS)
def activation(converter: Converter, node: FlatNode) -> Any:
    return converter.activation(converter.tensor(node.operands[0]), ACTIVATIONS[_short(node)])


@converts(*(name for name in UNARY if name not in _OF_NUMBERS))
def unary(converter: Converter, node: FlatNode) -> Any:
    return converter.unary(converter.tensor(node.operands[0]), UNARY[_short(node)])


converts(*_OF_NUMBERS, dtypes=NUMBERS)(unary)


@converts("logical_not", dtypes=("i1",))
def logical_not(converter: Converter, node: FlatNode) -> Any:
    return converter.unary(converter.tensor(node.operands[0]), "NOT")


@converts("rsqrt")
def rsqrt(converter: Converter, node: FlatNode) -> Any:
    return converter.unary(converter.unary(converter.tensor(node.operands[0]), "SQRT"), "RECIP")


@converts("square", dtypes=NUMBERS)
def square(converter: Converter, node: FlatNode) -> Any:
    x = converter.tensor(node.operands[0])
    return converter.binary(x, x, "PROD")


@converts("nn.silu")
def silu(converter: Converter, node: FlatNode) -> Any:
    x = converter.tensor(node.operands[0])
    return converter.binary(x, converter.activation(x, "SIGMOID"), "PROD")


@converts("nn.leakyrelu")
def leaky_relu(converter: Converter, node: FlatNode) -> Any:
    return converter.activation(converter.tensor(node.operands[0]), "LEAKY_RELU", node.call.alpha)


@converts("nn.selu")
def selu(converter: Converter, node: FlatNode) -> Any:
    return converter.activation(converter.tensor(node.operands[0]), "SELU", _SELU_ALPHA, _SELU_SCALE)


def _refuse_softplus(op: Operation, call: Call) -> str:
    return "" if call.beta > 0 else f"TensorRT's softplus is of a beta above 0, not of {call.beta}"


@converts("nn.softplus", refuse=_refuse_softplus)
def softplus(converter: Converter, node: FlatNode) -> Any:
    """alpha * log(exp(beta * x) + 1); above the threshold both are x."""
    return converter.activation(converter.tensor(node.operands[0]), "SOFTPLUS", 1 / node.call.beta, node.call.beta)


def _refuse_clip(op: Operation, call: Call) -> str:
    limits = [call.operands[name].value for name in ("min", "max")]
    if not all(isinstance(each, (int, float)) for each in limits):
        return "TensorRT has to know the limits when it compiles"
    return "" if limits[0] <= limits[1] else f"the limits {limits[0]} and {limits[1]} hold nothing between them"


@converts("clip", refuse=_refuse_clip)
def clip(converter: Converter, node: FlatNode) -> Any:
    limits = (float(node.call.operands[name].value) for name in ("min", "max"))
    return converter.activation(converter.tensor(node.operands[0]), "CLIP", *limits)


def _operands(converter: Converter, node: FlatNode) -> list[Any]:
    rank = len(node.result.info.shape or ())
    return [converter.with_rank(each, rank) for each in node.operands]


@converts("add", dtypes=NUMBERS)
def add(converter: Converter, node: FlatNode) -> Any:
    biased = converter.add_bias(node)
    return _binary(converter, node, "SUM") if biased is None else biased


def _binary(converter: Converter, node: FlatNode, kind: str) -> Any:
    one, other = _operands(converter, node)
    return converter.binary(one, other, kind)


@converts(*(name for name in BINARY if name != "add"), dtypes=NUMBERS)
def binary(converter: Converter, node: FlatNode) -> Any:
    return _binary(converter, node, {**BINARY, **_OF_FLOATS, **LOGICAL}[_short(node)])


# Of whole numbers TensorRT rounds otherwise, or has none.
converts(*_OF_FLOATS)(binary)
converts(*LOGICAL, dtypes=("i1",))(binary)


@converts(*COMPARISONS, dtypes=NUMBERS)
def comparison(converter: Converter, node: FlatNode) -> Any:
    first, *more = (_binary(converter, node, kind) for kind in COMPARISONS[_short(node)])
    return converter.binary(first, more[0], "OR") if more else first


@converts("not_equal", dtypes=NUMBERS)
def not_equal(converter: Converter, node: FlatNode) -> Any:
    return converter.unary(_binary(converter, node, "EQUAL"), "NOT")


@converts("where", dtypes=("i1",))
def where(converter: Converter, node: FlatNode) -> Any:
    return converter.network.add_select(*_operands(converter, node)).get_output(0)


def _refuse_prelu(op: Operation, call: Call) -> str:
    return "" if call.alpha.shape and len(call.alpha.shape) == 1 else "TensorRT's slopes are one for each channel"


@converts("nn.prelu", refuse=_refuse_prelu)
def prelu(converter: Converter, node: FlatNode) -> Any:
    data, slopes = node.operands
    rank = len(data.info.shape or ())
    axis = node.call.axis % rank
    shape = [(slopes.info.shape or ())[0] if each == axis else 1 for each in range(rank)]
    factors = converter.reshaped(converter.tensor(slopes), shape)
    return converter.network.add_parametric_relu(converter.tensor(data), factors).get_output(0)


@converts("astype", dtypes=ALL)
def astype(converter: Converter, node: FlatNode) -> Any:
    to_type = converter.dtype(node.result.info.dtype)
    return converter.network.add_cast(converter.tensor(node.operands[0]), to_type).get_output(0)


def _short(node: FlatNode) -> str:
    return node.name.removeprefix("relax.")
