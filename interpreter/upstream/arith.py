# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""arith: numbers, element by element. Operands are numbers, vectors or tensors; integers have no sign of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ...bindings.mlir import ir
from ...dialects.core.elements import elements_bytes, is_resource
from ..held_values import stored
from ..registry import register_step
from ..sites import Site, Step


def unsigned(x: Any) -> Any:
    """The same bits as integers without a sign."""
    return x.view(f"u{x.dtype.name}") if x.dtype.kind == "i" else x


def signed(x: Any) -> Any:
    return x.view(x.dtype.name[1:]) if x.dtype.kind == "u" else x


def plain(function: Callable[..., Any]) -> Callable[[Site], Step]:
    """A step that does the same with all operands, whatever the attributes are."""

    def run(frame: object, *operands: Any) -> Any:
        return function(*operands)

    return lambda site: run


_PLAIN: dict[str, Callable[..., Any]] = {
    "addf": numpy.add, "subf": numpy.subtract, "mulf": numpy.multiply, "divf": numpy.divide, "remf": numpy.fmod,
    "negf": numpy.negative, "maximumf": numpy.maximum, "minimumf": numpy.minimum, "maxnumf": numpy.fmax,
    "minnumf": numpy.fmin, "addi": numpy.add, "subi": numpy.subtract, "muli": numpy.multiply, "andi": numpy.bitwise_and,
    "ori": numpy.bitwise_or, "xori": numpy.bitwise_xor, "maxsi": numpy.maximum, "minsi": numpy.minimum,
    "select": numpy.where,
}  # fmt: skip
for _name, _function in _PLAIN.items():
    register_step(f"arith.{_name}")(plain(_function))


@register_step(["arith.constant", "relax.constant"])
def constant(site: Site) -> Step:
    value = constant_value(site)
    return lambda frame: value


def constant_value(site: Site) -> Any:
    """A number, or an array that nobody writes to."""
    attribute, type_ = site.attributes["value"], site.result_type()
    if not isinstance(type_, ir.ShapedType):
        number = attribute.value
        return site.numbers.held(numpy.asarray(number).astype(stored(str(type_))), str(type_))[()]
    dtype = str(type_.element_type)
    if is_resource(attribute):
        array = numpy.frombuffer(elements_bytes(attribute), stored(dtype)).reshape(type_.shape)
    else:
        array = _dense(attribute, dtype, tuple(type_.shape))
    return site.numbers.held(array, dtype)


def _dense(attribute: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    if attribute.is_splat:
        number = attribute.get_splat_value().value
        return numpy.broadcast_to(numpy.asarray(number).astype(stored(dtype)), shape)
    return numpy.array(attribute).view(stored(dtype)).reshape(shape)


_COMPARISONS = {
    "eq": numpy.equal, "ne": numpy.not_equal, "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater,
    "ge": numpy.greater_equal,
}  # fmt: skip
# By number, as the attribute has them.
_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


@register_step("arith.cmpi")
def compare_integers(site: Site) -> Step:
    name = _INTEGER_PREDICATES[site.attributes["predicate"].value]
    compare = _COMPARISONS[name[-2:]]
    if name[0] == "u":
        return lambda frame, x, y: compare(unsigned(x), unsigned(y))
    return lambda frame, x, y: compare(x, y)


@register_step("arith.cmpf")
def compare_floats(site: Site) -> Step:
    name = _FLOAT_PREDICATES[site.attributes["predicate"].value]
    if name in ("true", "false"):
        return lambda frame, x, y: numpy.full(numpy.shape(x), name == "true")[()]
    if name in ("ord", "uno"):
        return lambda frame, x, y: (numpy.isnan(x) | numpy.isnan(y)) == (name == "uno")
    compare = _COMPARISONS[name[1:]]
    if name[0] == "o":
        # numpy's comparisons are false with NaN, but for not_equal.
        return lambda frame, x, y: compare(x, y) & ~(numpy.isnan(x) | numpy.isnan(y))
    return lambda frame, x, y: compare(x, y) | numpy.isnan(x) | numpy.isnan(y)
