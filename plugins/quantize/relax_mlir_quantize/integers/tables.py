# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one quantized number as tables: sigmoid, tanh and others, and softmax with a table of exponentials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.rewriting import blaming_at
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.infos import bit_width
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import normal_axis
from relax_mlir.passes.graph.quantization.numbers import as_i32
from relax_mlir.support.errors import OptionError

from .gemmlowp_softmax import emit_gemmlowp_softmax
from .layer_emission import Integers, LayerEmission, limits_of
from .means import divided

if TYPE_CHECKING:
    from numpy import ndarray

#: Fractional bits of softmax's exponentials. Their i32 sums have 2**15 terms at most.
_EXP_BITS = 15


def _sigmoid(x: ndarray) -> Any:
    import numpy

    return 1 / (1 + numpy.exp(-x))


def _gelu(x: ndarray) -> Any:
    import math

    import numpy

    return x * numpy.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in x])


def _gelu_tanh(x: ndarray) -> Any:
    import numpy

    return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)))


def _leaky_relu(x: ndarray, alpha: float) -> Any:
    import numpy

    return numpy.where(x < 0, alpha * x, x)


def _numpy(name: str) -> Callable[[ndarray], Any]:
    def call(x: ndarray) -> Any:
        import numpy

        return getattr(numpy, name)(x)

    return call


#: Operator -> function of f64 numbers.
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "relax.sigmoid": _sigmoid,
    "relax.nn.silu": lambda x: x * _sigmoid(x),
    "relax.nn.gelu": _gelu,
    "relax.nn.gelu_tanh": _gelu_tanh,
    "relax.nn.leakyrelu": _leaky_relu,
    "relax.rsqrt": lambda x: 1 / _numpy("sqrt")(x),
    "relax.negative": lambda x: -x,
    **{f"relax.{name}": _numpy(name) for name in ("tanh", "exp", "log", "sqrt", "abs", "square", "sin", "cos")},
}


def emit_table(to: LayerEmission, core: Operation) -> Value:
    """Look each number up in a table of all results."""
    data = to.single(core.operands[0], "x")
    if to.how.table is None and bit_width(data.dtype) > 8:
        raise to.fail(f"x is {data.dtype}, so its table has {2 ** bit_width(data.dtype)} entries: state them by table=")
    entries = _read_stated(to, data) if to.how.table is not None else _compute(to, core, data)
    low, _ = limits_of(data.dtype)
    index = as_i32(data.numbers)
    index = relax.subtract(index, const(low, "int32")) if low else index
    return relax.take(const(entries, to.dtype), index, axis=0)


def _read_stated(to: LayerEmission, data: Integers) -> ndarray:
    x, y = (float(data.scale), int(data.zero), data.dtype), (to.scale, to.zero, to.dtype)
    try:
        with blaming_at(f"relax-requantize: {to.op!r}: table=", to.how.table, to.quantize, OptionError):
            return to.how.table_entries(x, y)
    except OptionError as error:
        raise to.fail(error.message) from None


def _compute(to: LayerEmission, core: Operation, data: Integers) -> ndarray:
    """Return the function of each number, rounded once."""
    import numpy

    low, high = limits_of(data.dtype)
    numbers = numpy.arange(low, high + 1)
    attributes = {"alpha": core.opview.alpha} if core.name == "relax.nn.leakyrelu" else {}
    with numpy.errstate(all="ignore"):
        reals = _FUNCTIONS[core.name]((numbers - int(data.zero)) * float(data.scale), **attributes) / to.scale
    return to.how.rounded(reals, to.zero, to.dtype)


def emit_softmax(to: LayerEmission, core: Operation) -> Value:
    """Divide exponentials of a table, which is indexed by the distance to the largest number, by their sum."""
    import numpy

    data = to.single(core.operands[0], "data")
    if bit_width(data.dtype) > 8:
        raise to.fail(f"data is {data.dtype}, expected at most 8 bits; state Float('{core.name}')")
    axis = normal_axis(core.opview.axis, len(data.sizes))
    if to.how.double_rounding:
        return emit_gemmlowp_softmax(to, data, axis)
    count, steps = data.sizes[axis], 1 / to.scale
    if steps != round(steps) or not 1 <= steps <= 256:
        raise to.fail(
            f"the scale of the result is {to.scale:g}, expected 1 / 256 or 1 divided by a smaller integer; state "
            f"Fixed('{core.name}', scale=1 / 256)"
        )
    most = (2 * int(steps) + 1) << _EXP_BITS
    if not isinstance(count, int) or count << _EXP_BITS + 1 > 2**31 - 1 or most > 2**31 - 1:
        raise to.fail(f"the axis has {count} numbers, expected at most {2 ** (30 - _EXP_BITS)}; drop out=")
    distances = numpy.arange(2 ** bit_width(data.dtype)) * float(data.scale)
    table = numpy.floor(numpy.exp(-distances) * 2.0**_EXP_BITS + 0.5).astype("int32")
    wide = as_i32(data.numbers)
    largest = relax.max(wide, axis=[axis], keepdims=True)
    powers = relax.take(const(table), relax.subtract(largest, wide), axis=0)
    total = relax.sum(powers, axis=[axis], keepdims=True)
    return to.stored(divided(to, relax.multiply(powers, const(int(steps), "int32")), total), to.zero)
