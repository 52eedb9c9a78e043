# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""arith: fixed values, with the signs and widths at which numpy differs from MLIR."""

from __future__ import annotations

import math
from typing import Any

import pytest
import relax_mlir as rx
from run_text import equal, run

INTEGERS = {
    # operation, type, operands, result
    "divsi towards zero": ("divsi", "i32", (-7, 2), -3),
    "remsi of the dividend's sign": ("remsi", "i32", (-7, 2), -1),
    "floordivsi": ("floordivsi", "i32", (-7, 2), -4),
    "ceildivsi": ("ceildivsi", "i32", (-7, 2), -3),
    "ceildivsi up": ("ceildivsi", "i32", (7, 2), 4),
    "divui": ("divui", "i8", (-1, 2), 127),
    "ceildivui": ("ceildivui", "i8", (-1, 2), -128),
    "remui": ("remui", "i8", (-1, 16), 15),
    "addi wraps": ("addi", "i8", (127, 1), -128),
    "addi of bits": ("addi", "i1", (1, 1), 0),
    "subi of bits": ("subi", "i1", (0, 1), 1),
    "maxsi of bits: true is -1": ("maxsi", "i1", (1, 0), 0),
    "maxui of bits": ("maxui", "i1", (1, 0), 1),
    "maxui": ("maxui", "i8", (-1, 1), -1),
    "minui": ("minui", "i8", (-1, 1), 1),
    "shrui": ("shrui", "i8", (-128, 7), 1),
    "shrsi": ("shrsi", "i8", (-128, 7), -1),
    "shli": ("shli", "i8", (3, 7), -128),
    "muli of half bytes": ("muli", "i4", (7, 3), 5),
    "xori of half bytes": ("xori", "i4", (7, -1), -8),
    "divui of half bytes": ("divui", "i4", (-1, 2), 7),
    "shrui of half bytes": ("shrui", "i4", (-8, 1), 4),
    "shrui of another width": ("shrui", "i6", (-1, 1), 31),
    "addi of another width": ("addi", "i6", (31, 1), -32),
    "divui of more than a byte": ("divui", "i12", (-1, 2), 2047),
}


@pytest.mark.parametrize("case", INTEGERS)
def test_integers(case: str) -> None:
    operation, dtype, (x, y), expected = INTEGERS[case]
    held = f"arith.extsi %2 : {dtype} to i32" if dtype != "i1" else f"arith.extui %2 : {dtype} to i32"
    if dtype == "i32":
        held = "arith.addi %2, %zero : i32"
    found = run(f"""
        %zero = arith.constant 0 : i32
        %0 = arith.constant {written(x, dtype)}
        %1 = arith.constant {written(y, dtype)}
        %2 = arith.{operation} %0, %1 : {dtype}
        %3 = {held}
        return %3 : i32""")
    assert found == expected


def written(number: int, dtype: str) -> str:
    return str(bool(number)).lower() if dtype == "i1" else f"{number} : {dtype}"


def test_division_by_zero_is_refused_where_it_stands() -> None:
    with pytest.raises(rx.RefusalError, match=r"case.mlir:5:.*'arith.divsi': it divides by 0"):
        run("""
        %0 = arith.constant 1 : i32
        %1 = arith.constant 0 : i32
        %2 = arith.divsi %0, %1 : i32
        return %2 : i32""")


def test_products_of_twice_the_width() -> None:
    low, high, unsigned_low, unsigned_high = run("""
        %0 = arith.constant -2 : i64
        %1 = arith.constant 3 : i64
        %2:2 = arith.mulsi_extended %0, %1 : i64
        %3:2 = arith.mului_extended %0, %1 : i64
        return %2#0, %2#1, %3#0, %3#1 : i64, i64, i64, i64""")
    assert (low, high, unsigned_low, unsigned_high) == (-6, -1, -6, 2)


def test_a_sum_and_its_overflow() -> None:
    total, overflow = run("""
        %0 = arith.constant dense<[-1, 5]> : vector<2xi8>
        %1:2 = arith.addui_extended %0, %0 : vector<2xi8>, vector<2xi1>
        return %1#0, %1#1 : vector<2xi8>, vector<2xi1>""")
    equal(total, [-2, 10])
    equal(overflow, [True, False])


@pytest.mark.parametrize(
    "predicate, expected",
    [("slt", [True, False, False]), ("ult", [False, True, False]), ("uge", [True, False, True]),
     ("eq", [False, False, True]), ("sle", [True, False, True])],
)  # fmt: skip
def test_comparisons_of_integers(predicate: str, expected: list[bool]) -> None:
    equal(
        run(f"""
        %0 = arith.constant dense<[-1, 1, 2]> : vector<3xi8>
        %1 = arith.constant dense<[1, -1, 2]> : vector<3xi8>
        %2 = arith.cmpi {predicate}, %0, %1 : vector<3xi8>
        return %2 : vector<3xi1>"""),
        expected,
    )


def test_true_is_less_than_false_with_a_sign() -> None:
    assert run("""
        %0 = arith.constant true
        %1 = arith.constant false
        %2 = arith.cmpi slt, %0, %1 : i1
        %3 = arith.cmpi ult, %0, %1 : i1
        return %2, %3 : i1, i1""") == (True, False)


@pytest.mark.parametrize(
    "predicate, expected",
    [("one", [True, False, False]), ("une", [True, False, True]), ("olt", [True, False, False]),
     ("ult", [True, False, True]), ("ord", [True, True, False]), ("uno", [False, False, True]),
     ("true", [True, True, True]), ("ueq", [False, True, True])],
)  # fmt: skip
def test_comparisons_of_floats(predicate: str, expected: list[bool]) -> None:
    equal(
        run(f"""
        %0 = arith.constant dense<[1.0, 2.0, 0x7FC00000]> : vector<3xf32>
        %1 = arith.constant dense<[2.0, 2.0, 2.0]> : vector<3xf32>
        %2 = arith.cmpf {predicate}, %0, %1 : vector<3xf32>
        return %2 : vector<3xi1>"""),
        expected,
    )


def test_floats_with_nan() -> None:
    propagated, number, rest = run("""
        %0 = arith.constant dense<[0x7FC00000, -7.5]> : vector<2xf32>
        %1 = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
        %2 = arith.maximumf %0, %1 : vector<2xf32>
        %3 = arith.maxnumf %0, %1 : vector<2xf32>
        %4 = arith.remf %0, %1 : vector<2xf32>
        return %2, %3, %4 : vector<2xf32>, vector<2xf32>, vector<2xf32>""")
    equal(propagated, [math.nan, 2])
    equal(number, [1, 2])
    equal(rest, [math.nan, -1.5])


CONVERSIONS: dict[str, tuple[str, Any]] = {
    "sitofp of true": ("arith.constant true \n %1 = arith.sitofp %0 : i1 to f32", -1.0),
    "uitofp of true": ("arith.constant true \n %1 = arith.uitofp %0 : i1 to f32", 1.0),
    "uitofp": ("arith.constant -1 : i8 \n %1 = arith.uitofp %0 : i8 to f32", 255.0),
    "fptosi": ("arith.constant -2.75 : f32 \n %1 = arith.fptosi %0 : f32 to i8", -2),
    "fptoui": ("arith.constant 200.9 : f32 \n %1 = arith.fptoui %0 : f32 to i8", -56),
    "fptoui of all bits": ("arith.constant 1.2e19 : f64 \n %1 = arith.fptoui %0 : f64 to i64", 12 * 10**18 - 2**64),
    "extui of true": ("arith.constant true \n %1 = arith.extui %0 : i1 to i8", 1),
    "extsi of true": ("arith.constant true \n %1 = arith.extsi %0 : i1 to i8", -1),
    "trunci to a bit": ("arith.constant 3 : i8 \n %1 = arith.trunci %0 : i8 to i1", True),
    "trunci to half a byte": ("arith.constant 24 : i8 \n %1 = arith.trunci %0 : i8 to i4", -8),
    "index_castui": ("arith.constant -1 : i8 \n %1 = arith.index_castui %0 : i8 to index", 255),
    "index_cast": ("arith.constant -1 : i8 \n %1 = arith.index_cast %0 : i8 to index", -1),
    "truncf": ("arith.constant 1.00390625 : f32 \n %1 = arith.truncf %0 : f32 to bf16", 1.0),
    "bitcast": ("arith.constant 1.0 : f32 \n %1 = arith.bitcast %0 : f32 to i32", 0x3F800000),
    "bitcast of bf16": ("arith.constant 1.0 : bf16 \n %1 = arith.bitcast %0 : bf16 to i16", 0x3F80),
    "bitcast of f6": ("arith.constant -7.5 : f6E2M3FN \n %1 = arith.bitcast %0 : f6E2M3FN to i6", -1),
    "bitcast of f8": ("arith.constant 1.0 : f8E4M3FN \n %1 = arith.bitcast %0 : f8E4M3FN to i8", 0x38),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("case", CONVERSIONS)
def test_conversions(case: str, wide: bool) -> None:
    text, expected = CONVERSIONS[case]
    type_ = text.rpartition(" to ")[2]
    if wide and case == "truncf":
        expected = 1.00390625
    assert run(f"%0 = {text}\n return %1 : {type_}", wide=wide) == expected


def test_select() -> None:
    each, one = run("""
        %0 = arith.constant dense<[true, false]> : vector<2xi1>
        %1 = arith.constant dense<[1, 2]> : vector<2xi32>
        %2 = arith.constant dense<[3, 4]> : vector<2xi32>
        %3 = arith.select %0, %1, %2 : vector<2xi1>, vector<2xi32>
        %4 = arith.constant false
        %5 = arith.select %4, %1, %2 : vector<2xi32>
        return %3, %5 : vector<2xi32>, vector<2xi32>""")
    equal(each, [1, 4])
    equal(one, [3, 4])


def test_index() -> None:
    assert run("""
        %0 = index.constant -7
        %1 = index.constant 2
        %2 = index.floordivs %0, %1
        %3 = index.ceildivs %0, %1
        %4 = index.maxu %0, %1
        %5 = index.cmp slt(%0, %1)
        %6 = index.casts %0 : index to i32
        return %2, %3, %4, %5, %6 : index, index, index, i1, i32""") == (-4, -3, -7, True, -7)
