# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers: SSA values with Python's operators that track their sign and fold known sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.emit import linalg, loops
from relax_mlir.emit.numbers import Number, constant, divide, maximum, minimum, number, select


@pytest.fixture
def block() -> Iterator[Any]:
    with create_context(), ir.Location.unknown():
        types = [ir.Type.parse(text) for text in ("i8", "i8", "index", "f32", "memref<4xf32>")]
        module = ir.Module.create()
        made = module.operation.regions[0].blocks.append(*types)
        with ir.InsertionPoint(made):
            yield made


def names(block: Any) -> list[str]:
    return [view.operation.name for view in block.operations]


def printed(block: Any) -> str:
    return "\n".join(str(view) for view in block.operations)


OF_SIGN: list[tuple[Callable[[Any, Any], Any], str, str]] = [
    (lambda x, y: x < y, "predicate = 2", "predicate = 6"),
    (lambda x, y: x >> y, "arith.shrsi", "arith.shrui"),
    (lambda x, y: x / y, "arith.divsi", "arith.divui"),
    (maximum, "arith.maxsi", "arith.maxui"),
    (minimum, "arith.minsi", "arith.minui"),
    (divide, "arith.divsi", "arith.divui"),
]


@pytest.mark.parametrize(("compute", "signed", "unsigned"), OF_SIGN)
def test_sign(block: Any, compute: Callable[[Any, Any], Any], signed: str, unsigned: str) -> None:
    x, y = map(number, block.arguments[:2])
    compute(x, y)
    assert signed in printed(block) and unsigned not in printed(block)
    compute(x.of("ui8"), y)
    assert unsigned in printed(block)


def test_computations_keep_unsigned_types(block: Any) -> None:
    x = number(block.arguments[0]).of("ui8")
    for y in (x + 1, 1 - x, select(x < 3, x, 0), maximum(x, 3), x.to("ui16")):
        assert y.dtype.startswith("ui") and y.is_unsigned
    assert x.to("i16").dtype == "i16" and number(block.arguments[0]).dtype == "i8"


def test_sizes_fold(block: Any) -> None:
    size = number(block.arguments[2])
    assert all(each is size for each in (size + 0, 0 + size, size - 0, size * 1, 1 * size, size // 1))
    assert maximum(3, 4) == 4 and minimum(3, 4) == 3 and names(block) == []
    assert isinstance(size + 1, Number) and names(block) == ["arith.constant", "arith.addi"]


def test_floats_do_not_fold(block: Any) -> None:
    x = number(block.arguments[3])
    assert (x + 0) is not x and "arith.addf" in names(block)


def test_python_conditions_refuse_values_of_the_program(block: Any) -> None:
    size = number(block.arguments[2])
    with pytest.raises(TypeError, match="only the program knows"):
        bool(size == 1)
    with pytest.raises(TypeError, match="only the program knows"):
        _ = 0 in [size]
    assert linalg.is_nothing([size, 0]) and not linalg.is_nothing([size, 1])


def test_constants_wrap(block: Any) -> None:
    for value, dtype, text in ((255, "i8", "-1 : i8"), (255, "ui8", "-1 : i8"), (-1, "i1", "true"), (1, "i1", "true")):
        constant(value, dtype)
        assert text in printed(block)


def test_numbers_are_values_and_values_become_numbers(block: Any) -> None:
    """Accept `number(x)` of a Number in a rule of another package, its SSA value, and either as a result."""
    x, memref = number(block.arguments[3]), block.arguments[4]
    assert number(x) is x and isinstance(x, ir.Value) and x.value == block.arguments[3]

    def body(i: Number, total: Number) -> Any:
        assert isinstance(i, Number) and isinstance(total, Number)
        loops.store(number(loops.load(memref, i)).value, memref, i)
        return (total + x).value

    (last,) = loops.for_range(0, 4, body, x)
    assert isinstance(last, Number)
