# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of scalars in graphs, such as counters and conditions of loops. Integers are signless."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy

from ..element_bits import bits_as, element_of, integers_of
from ..held_values import Elements, Integers
from ..integers import exact, is_plain, low_bits, modular, signed, unsigned, width, wrapped
from ..sites import Site, Step
from ..steps import register_step


def plain(function: Callable[..., Elements]) -> Callable[[Site], Step]:
    """Return a step that applies a function to all operands, regardless of attributes."""

    def run(frame: object, *operands: Elements) -> Elements:
        return function(*operands)

    def run_binary(frame: object, x: Elements, y: Elements) -> Elements:
        return function(x, y)

    return lambda site: run_binary if len(site.operation.operands) == 2 else run


# ---- floats ----

_FLOATS: dict[str, Callable[..., Elements]] = {
    "addf": numpy.add, "subf": numpy.subtract, "mulf": numpy.multiply, "divf": numpy.divide, "remf": numpy.fmod,
    "negf": numpy.negative, "maximumf": numpy.maximum, "minimumf": numpy.minimum, "maxnumf": numpy.fmax,
    "minnumf": numpy.fmin,
}  # fmt: skip


for _name, _function in _FLOATS.items():
    register_step(f"arith.{_name}")(plain(_function))


# ---- integers ----


def divided(x: Integers, y: Integers) -> Integers:
    """Divide with truncation, as in C."""
    return (x - numpy.fmod(x, y)) // y


def _ceil_divided(x: Integers, y: Integers) -> Integers:
    quotient = x // y
    return quotient + (quotient * y != x).astype(quotient.dtype)


_SIGNED: dict[str, Callable[..., Elements]] = {
    "arith.addi index.add": numpy.add, "arith.subi index.sub": numpy.subtract, "arith.muli index.mul": numpy.multiply,
    "arith.andi index.and": numpy.bitwise_and, "arith.ori index.or": numpy.bitwise_or,
    "arith.xori index.xor": numpy.bitwise_xor, "arith.maxsi index.maxs": numpy.maximum,
    "arith.minsi index.mins": numpy.minimum, "arith.shli index.shl": numpy.left_shift,
    "arith.shrsi index.shrs": numpy.right_shift,
}  # fmt: skip
_UNSIGNED: dict[str, Callable[..., Elements]] = {
    "arith.maxui index.maxu": numpy.maximum, "arith.minui index.minu": numpy.minimum,
    "arith.shrui index.shru": numpy.right_shift,
}  # fmt: skip
_SIGNED_QUOTIENTS: dict[str, Callable[..., Elements]] = {
    "arith.divsi index.divs": divided, "arith.floordivsi index.floordivs": numpy.floor_divide,
    "arith.ceildivsi index.ceildivs": _ceil_divided, "arith.remsi index.rems": numpy.fmod,
}  # fmt: skip
_UNSIGNED_QUOTIENTS: dict[str, Callable[..., Elements]] = {
    "arith.divui index.divu": numpy.floor_divide, "arith.ceildivui index.ceildivu": _ceil_divided,
    "arith.remui index.remu": numpy.fmod,
}  # fmt: skip


def _integers(function: Callable[..., Elements], view: Callable[[Elements], Elements]) -> Callable[[Site], Step]:
    return lambda site: plain(modular(function, element_of(site.result_type()), view))(site)


def _quotients(function: Callable[..., Elements], view: Callable[[Elements], Elements]) -> Callable[[Site], Step]:
    def prepare(site: Site) -> Step:
        divide = modular(function, element_of(site.result_type()), view)

        def run(frame: object, x: Elements, y: Elements) -> Elements:
            if not numpy.all(y):
                raise site.refusal("it divides by 0, which is undefined")
            return divide(x, y)

        return run

    return prepare


for _table, _view in ((_SIGNED, signed), (_UNSIGNED, unsigned)):
    for _names, _function in _table.items():
        register_step(_names.split())(_integers(_function, _view))
for _table, _view in ((_SIGNED_QUOTIENTS, signed), (_UNSIGNED_QUOTIENTS, unsigned)):
    for _names, _function in _table.items():
        register_step(_names.split())(_quotients(_function, _view))


def _multiply_extended(view: Callable[[Elements], Elements]) -> Callable[[Site], Step]:
    """Return the halves of a double-width product, the lower one first."""

    def prepare(site: Site) -> Step:
        dtype = element_of(site.result_type())

        def run(frame: object, x: Elements, y: Elements) -> list[Elements]:
            product = exact(view(x)) * exact(view(y))
            return [low_bits(product, dtype), low_bits(product >> width(dtype), dtype)]

        return run

    return prepare


register_step("arith.mulsi_extended")(_multiply_extended(signed))
register_step("arith.mului_extended")(_multiply_extended(unsigned))


@register_step("arith.addui_extended")
def add_extended(site: Site) -> Step:
    dtype = element_of(site.result_type())

    def run(frame: object, x: Elements, y: Elements) -> list[Elements]:
        total = exact(unsigned(x, dtype)) + exact(unsigned(y, dtype))
        return [low_bits(total, dtype), low_bits(total >> width(dtype), "i1")]

    return run


@register_step("arith.select")
def select(site: Site) -> Step:
    def run(frame: object, condition: Elements, x: Elements, y: Elements) -> Elements:
        if numpy.ndim(condition):
            return numpy.where(condition, x, y)
        return x if condition else y

    return run


# ---- comparisons ----

_COMPARISONS = {
    "eq": numpy.equal, "ne": numpy.not_equal, "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater,
    "ge": numpy.greater_equal,
}  # fmt: skip
# Ordered by the attribute's number.
_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


@register_step("arith.cmpi")
def compare_integers(site: Site) -> Step:
    return _compare(site, _INTEGER_PREDICATES[site.attributes["predicate"].value])


@register_step("index.cmp")
def compare_indices(site: Site) -> Step:
    """Compare indices. The attribute prints as `#index<cmp_predicate slt>`."""
    return _compare(site, str(site.attributes["pred"]).split()[-1].rstrip(">)").split("(")[-1])


def _compare(site: Site, name: str) -> Step:
    compare = _COMPARISONS[name[-2:]]
    view = partial(unsigned, dtype=element_of(site.operand_type())) if name[0] == "u" else signed
    if is_plain(element_of(site.operand_type())) and view is signed:
        return lambda frame, x, y: compare(x, y)
    return lambda frame, x, y: compare(view(x), view(y))


@register_step("arith.cmpf")
def compare_floats(site: Site) -> Step:
    if (name := _FLOAT_PREDICATES[site.attributes["predicate"].value]) in ("true", "false"):
        return lambda frame, x, y: numpy.full(numpy.broadcast_shapes(numpy.shape(x), numpy.shape(y)), name == "true")[
            ()
        ]
    if name in ("ord", "uno"):
        return lambda frame, x, y: (numpy.isnan(x) | numpy.isnan(y)) == (name == "uno")
    compare = _COMPARISONS[name[1:]]
    if name[0] == "o":
        # NumPy's comparisons are false for NaN, except for not_equal.
        return lambda frame, x, y: compare(x, y) & ~(numpy.isnan(x) | numpy.isnan(y))
    return lambda frame, x, y: compare(x, y) | numpy.isnan(x) | numpy.isnan(y)


# ---- conversions ----


@register_step(["arith.extf", "arith.truncf"])
def between_floats(site: Site) -> Step:
    numbers, dtype = site.numbers, element_of(site.result_type())
    if "roundingmode" in site.attributes and site.attributes["roundingmode"].value != 0:
        raise site.refusal("the reference rounds to the nearest, ties to even, only")
    return lambda frame, x: numbers.held(x, dtype)[()]


@register_step(["arith.extsi", "arith.trunci", "arith.index_cast", "index.casts"])
def between_integers(site: Site) -> Step:
    dtype = element_of(site.result_type())
    return lambda frame, x: wrapped(signed(x), dtype)


@register_step(["arith.extui", "arith.index_castui", "index.castu"])
def between_unsigned(site: Site) -> Step:
    dtype = element_of(site.result_type())
    source = element_of(site.operand_type())
    return lambda frame, x: wrapped(unsigned(x, source), dtype)


@register_step("arith.sitofp")
def float_of_signed(site: Site) -> Step:
    numbers, dtype = site.numbers, element_of(site.result_type())
    return lambda frame, x: numbers.held(signed(x), dtype)[()]


@register_step("arith.uitofp")
def float_of_unsigned(site: Site) -> Step:
    numbers, dtype = site.numbers, element_of(site.result_type())
    source = element_of(site.operand_type())
    return lambda frame, x: numbers.held(unsigned(x, source), dtype)[()]


@register_step(["arith.fptosi", "arith.fptoui"])
def integers_of_floats(site: Site) -> Step:
    dtype = element_of(site.result_type())
    unsigned_result = "uint64" if site.operation.name == "arith.fptoui" and width(dtype) == 64 else ""

    def run(frame: object, x: Elements) -> Elements:
        if unsigned_result:
            return signed(numpy.asarray(x).astype(numpy.float64).astype(unsigned_result)[()])
        return integers_of(x, dtype)

    return run


@register_step("arith.bitcast")
def bitcast(site: Site) -> Step:
    numbers, source, target = site.numbers, element_of(site.operand_type()), element_of(site.result_type())
    return lambda frame, x: bits_as(numbers, x, source, target)
