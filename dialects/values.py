# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python operators and attributes of builders' values: `x + 1`, `a @ b`, `x.shape`, and their repr.

Arithmetic builds operators of relax. Questions that a graph cannot answer during construction, such as a truth value,
raise an error with an alternative.
"""

from __future__ import annotations

from collections.abc import Callable

from ..bindings.handles import Argument, Result
from ..bindings.ir import Value
from ..bindings.mlir import ir
from ..support.errors import RelaxError
from .core.codec import decode
from .core.infos import TensorInfo, bit_width, is_float, is_int, is_unsigned
from .core.operands import as_value
from .core.symbols import Dim
from .relax import const
from .relax import dialect as relax
from .script.summaries import short_type
from .script.types import dtype_name


class NoSuchAttribute(RelaxError, AttributeError):
    """Missing attribute of a value, with its provider. `hasattr` relies on the base class."""


class NoSuchOperation(RelaxError, TypeError):
    """Python operation that values do not support, with an alternative."""


#: Python's operator -> relax's operator.
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "floor_mod", "pow": "power", "matmul": "matmul",
}  # fmt: skip
_UNARY = {"neg": "negative", "abs": "abs"}
#: Operations that values do not support, and the alternatives.
_INSTEAD = {
    "lt": "relax.less(x, y)", "le": "relax.less_equal(x, y)", "gt": "relax.greater(x, y)",
    "ge": "relax.greater_equal(x, y)", "and": "relax.logical_and or relax.bitwise_and",
    "or": "relax.logical_or or relax.bitwise_or", "xor": "relax.logical_xor or relax.bitwise_xor",
    "invert": "relax.logical_not or relax.bitwise_not", "lshift": "relax.left_shift", "rshift": "relax.right_shift",
    "getitem": "relax.strided_slice(x, axes, begin, end), relax.take(x, indices, axis), relax.split",
    "bool": "relax.where(condition, x, y), or an scf.if around what depends on it",
    "iter": "relax.split(x, sections, axis)", "float": "relax.astype(x, dtype)", "int": "relax.astype(x, dtype)",
}  # fmt: skip
#: Unsupported operations that Python calls as functions.
_QUESTIONS = {"bool": "the truth of", "iter": "what is in", "float": "the number in", "int": "the number in"}
_SIGNS = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^", "invert": "~", "lshift": "<<",
    "rshift": ">>", "getitem": "[...]",
}  # fmt: skip


def _operand(value: object, like: Value) -> Value | None:
    """Return the other operand of an expression as a value, or None.

    A number becomes a constant of the value's type.
    """
    if (found := as_value(value)) is not None:
        return found
    info = decode(like.type)
    if isinstance(value, (bool, int, float)) and isinstance(info, TensorInfo):
        if isinstance(value, float) and not is_float(info.dtype):
            how = f"relax.astype(x, 'float32'), or relax.const({value})"
            raise NoSuchOperation(f"{value} with a tensor of {dtype_name(info.dtype)} would be rounded: {how}")
        if is_int(info.dtype) and not _is_in_range(value, info.dtype):
            raise NoSuchOperation(f"{value} is no {dtype_name(info.dtype)}, as the tensor is: relax.astype(x, dtype)")
        return const(value, info.dtype)
    return const(value) if hasattr(value, "__array__") else None


def _is_in_range(number: float, dtype: str) -> bool:
    least = 0 if is_unsigned(dtype) else -(1 << (bit_width(dtype) - 1))
    return least <= number < least + (1 << bit_width(dtype))


def _binary(op: str) -> tuple[Callable[..., object], Callable[..., object]]:
    def compute(self: Value, other: object) -> object:
        operand = _operand(other, self)
        return NotImplemented if operand is None else _build(op, self, operand)

    def compute_reflected(self: Value, other: object) -> object:
        operand = _operand(other, self)
        return NotImplemented if operand is None else _build(op, operand, self)

    return compute, compute_reflected


def _unary(op: str) -> Callable[..., object]:
    return lambda self: _build(op, self)


def _build(op: str, *operands: Value) -> Value:
    try:
        ir.InsertionPoint.current  # noqa: B018  # asked for what it raises
    except ValueError:
        outside = f"relax.{op} of {operands[0]!r} is built in the `with` of its function, not behind it"
        raise NoSuchOperation(outside) from None
    built: Value = relax.ops[op](*operands)
    return built


def _make_refusal(name: str) -> Callable[..., object]:
    def refuse(self: Value, *others: object) -> object:
        if name in _QUESTIONS:
            problem = f"{_QUESTIONS[name]} {self!r} is not known while the graph is built"
        else:
            problem = f"'{_SIGNS[name]}' on {self!r} builds nothing"
        raise NoSuchOperation(f"{problem}: write {_INSTEAD[name]}")

    return refuse


def _info(value: Value, name: str) -> TensorInfo:
    if not isinstance(info := decode(value.type), TensorInfo):
        raise NoSuchAttribute(f"{value!r} is no tensor: it has no {name}")
    return info


def _shape(self: Value) -> tuple[Dim, ...] | None:
    """Return the sizes of a tensor, numbers and expressions over symbols, or None for an unknown rank."""
    return _info(self, "shape").shape


def _dtype(self: Value) -> str:
    """Return the element type of a tensor by NumPy's name."""
    return dtype_name(_info(self, "dtype").dtype)


def _ndim(self: Value) -> int | None:
    return _info(self, "ndim").rank


def _missing(self: Value, name: str) -> object:
    """Raise NoSuchAttribute, with the operator for `x.sum()`: operators are functions."""
    if found := next((op for op in relax.ops if op.rpartition(".")[2] == name), ""):
        raise NoSuchAttribute(f"{self!r} has no '{name}': relax.{found}(x) computes it")
    raise NoSuchAttribute(f"{self!r} has no '{name}' (it has shape, dtype, ndim, type, owner, uses)")


def _show(self: Value) -> str:
    """Return `<value of relax.exp: Tensor((n, 4), "float32")>`."""
    what = f"value of {self.what}" if isinstance(self, Result) else f"argument {ir.BlockArgument(self).arg_number}"
    return f"<{what}: {short_type(self.type)}>"


def _methods() -> dict[str, object]:
    methods: dict[str, object] = {f"__{name}__": _unary(op) for name, op in _UNARY.items()}
    for name, op in _BINARY.items():
        methods[f"__{name}__"], methods[f"__r{name}__"] = _binary(op)
    for name in _INSTEAD:
        methods[f"__{name}__"] = _make_refusal(name)
    # NumPy would compute with an array of objects.
    methods["__array_ufunc__"] = None
    properties = {"shape": property(_shape), "dtype": property(_dtype), "ndim": property(_ndim)}
    return {**methods, **properties, "__getattr__": _missing, "__repr__": _show}


for _class in (Result, Argument):
    for _name, _method in _methods().items():
        setattr(_class, _name, _method)
