# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operation of arith on integers of all widths in C: any two numbers, one with itself, with its type's limits."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_kernels import Kernel, constant, pairs, type_text
from c_programs import needs_compiler

pytestmark = needs_compiler
#: Also such as C has no type for.
TYPES = ("i1", "i4", "i8", "i16", "i24", "i32", "i40", "i64", "index")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
SIGNED_QUOTIENTS = ("divsi", "remsi", "floordivsi", "ceildivsi")
UNSIGNED_QUOTIENTS = ("divui", "remui", "ceildivui")
SHIFTS = ("shli", "shrsi", "shrui")
OTHERS = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui")
QUOTIENTS = (*SIGNED_QUOTIENTS, *UNSIGNED_QUOTIENTS)
BINARY = (*OTHERS, *SHIFTS, *QUOTIENTS)
ROUNDED = ("floordivsi", "ceildivsi", "ceildivui")


def width_of(type_: str) -> int:
    return 64 if type_ == "index" else int(type_.removeprefix("i"))


def binary_of(type_: str) -> tuple[str, ...]:
    return tuple(name for name in BINARY if type_ != "i1" or name not in ROUNDED)


def special(type_: str) -> list[int]:
    """Return numbers of a type around 0, its width and its limits."""
    width = width_of(type_)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    wanted = (0, 1, 2, 3, 7, width - 1, -1, -2, -3, -7, low, low + 1, high, high - 1)
    return sorted({each for each in wanted if low <= each <= high})


def is_defined(name: str, x: int, y: int, type_: str) -> bool:
    if name in SIGNED_QUOTIENTS:
        return y != 0 and not (y == -1 and x == -(1 << (width_of(type_) - 1)))
    if name in UNSIGNED_QUOTIENTS:
        return y != 0
    return name not in SHIFTS or 0 <= y < width_of(type_)


def predicate_of(name: str, x: Any, y: Any, type_: str) -> Any:
    """Return the comparison's result by numpy."""
    functions = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
    if name.startswith("u"):
        wide = type_text(type_).replace("i", "uint")
        mask = (1 << width_of(type_)) - 1
        x, y = (each.astype(wide) & numpy.array(mask, wide) for each in (x, y))
    return getattr(numpy, functions.get(name[-2:], "greater_equal"))(x, y)


def lines_of(type_: str, right: str) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
    """Return all operations on %a and the right operand, with quotients apart.

    Comparisons return their result, or select a value.
    """
    made = {name: (f"%{name} = arith.{name} %a, %{right} : {type_}", type_) for name in binary_of(type_)}
    quotients = {name: made.pop(name) for name in binary_of(type_) if name in QUOTIENTS}
    for name in PREDICATES:
        compare = f"%{name}_truth = arith.cmpi {name}, %a, %{right} : {type_}"
        made[name] = (f"{compare}\n%{name} = arith.extui %{name}_truth : i1 to i8", "i8")
        chosen = f"%{name}_chosen = arith.select %{name}_other, %a, %{right} : {type_}"
        made[f"{name}_chosen"] = (f"{compare.replace('truth', 'other')}\n{chosen}", type_)
    return made, quotients


def check(type_: str, right: str, x: list[int], y: list[int], before: str = "") -> None:
    """Check that each defined operation gives LLVM's result, and comparisons also numpy's."""
    held = type_text(type_).replace("i", "int")
    for lines in lines_of(type_, right):
        kernel = Kernel(type_, lines, before)
        quotients = [name for name in lines if name in QUOTIENTS]
        rows = [each for each in zip(x, y, strict=True) if all(is_defined(name, *each, type_) for name in quotients)]
        left, other = (numpy.array([row[place] for row in rows], held) for place in (0, 1))
        if not rows:
            continue
        given, expected = kernel(left, other), kernel.on_llvm(left, other)
        for name in lines:
            known = numpy.array([is_defined(name, *each, type_) for each in rows], bool)
            numpy.testing.assert_array_equal(given[name][known], expected[name][known], err_msg=f"{name} {type_}")
        for name in (each for each in PREDICATES if each in lines):
            truth = predicate_of(name, left, other, type_)
            numpy.testing.assert_array_equal(given[name], truth, err_msg=f"{name} {type_}")
            numpy.testing.assert_array_equal(given[f"{name}_chosen"], numpy.where(truth, left, other))


@pytest.mark.parametrize("type_", TYPES)
def test_two_numbers(type_: str) -> None:
    check(type_, "b", *pairs(special(type_)))


@pytest.mark.parametrize("type_", TYPES)
def test_a_number_and_itself(type_: str) -> None:
    check(type_, "a", special(type_), special(type_))


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("which", ["lowest", "none", "one", "highest"])
def test_a_number_and_one_that_is_known(type_: str, which: str) -> None:
    """Compare with constants: compilers warn about comparisons with a known result, and divisions by 0 that never
    run."""
    values = special(type_)
    known = {"lowest": values[0], "none": 0, "one": -1 if type_ == "i1" else 1, "highest": values[-1]}[which]
    check(type_, "known", values, [known] * len(values), constant("known", known, type_))


@pytest.mark.parametrize("which", ["lowest", "none", "highest"])
def test_a_known_number_on_the_left(which: str) -> None:
    values = special("i8")
    known = {"lowest": values[0], "none": 0, "highest": values[-1]}[which]
    lines = {
        name: (
            f"%{name}_truth = arith.cmpi {name}, %known, %a : i8\n%{name} = arith.extui %{name}_truth : i1 to i8",
            "i8",
        )
        for name in PREDICATES
    }
    kernel, x = Kernel("i8", lines, constant("known", known, "i8")), numpy.array(values, "int8")
    given = kernel(x, x)
    for name in PREDICATES:
        truth = predicate_of(name, numpy.full_like(x, known), x, "i8")
        numpy.testing.assert_array_equal(given[name], truth, err_msg=name)


def test_two_elements_that_are_one_place() -> None:
    """Compare two reads of one element, which compilers recognize."""
    lines = {}
    for name in PREDICATES:
        read = f"%{name}_again = memref.load %x[%i] : memref<?xi32>"
        compare = f"%{name}_truth = arith.cmpi {name}, %{name}_a, %{name}_again : i32"
        lines[name] = (
            f"%{name}_a = memref.load %x[%i] : memref<?xi32>\n{read}\n{compare}\n"
            f"%{name} = arith.extui %{name}_truth : i1 to i8",
            "i8",
        )
    kernel, x = Kernel("i32", lines), numpy.array([1, -2, 0], "int32")
    given = kernel(x, x)
    for name in PREDICATES:
        assert (given[name] == (name in ("eq", "sle", "sge", "ule", "uge"))).all(), name


def test_bits_that_never_are_a_number() -> None:
    lines = {}
    for name in ("eq", "ne"):
        for word, operation in (("low", "andi"), ("high", "ori"), ("both", "xori")):
            bits = f"%bits_{name}_{word} = arith.{operation} %a, %six : i32"
            compare = f"%truth_{name}_{word} = arith.cmpi {name}, %bits_{name}_{word}, %one_more : i32"
            made = f"%{name}_{word} = arith.extui %truth_{name}_{word} : i1 to i8"
            lines[f"{name}_{word}"] = (f"{bits}\n{compare}\n{made}", "i8")
    kernel = Kernel("i32", lines, constant("six", 6, "i32") + "\n" + constant("one_more", 1, "i32"))
    x = numpy.arange(-9, 9, dtype="int32")
    given = kernel(x, x)
    for word, bits in (("low", x & 6), ("high", x | 6), ("both", x ^ 6)):
        numpy.testing.assert_array_equal(given[f"eq_{word}"], bits == 1)
        numpy.testing.assert_array_equal(given[f"ne_{word}"], bits != 1)


def test_numbers_of_fewer_bits_that_never_are_a_number() -> None:
    lines = {}
    for name in PREDICATES:
        for word, wide in (("signed", "arith.extsi %a : i8"), ("unsigned", "arith.extui %a : i8"), ("truth", "")):
            made = f"%wide_{name}_{word} = {wide} to i32"
            if word == "truth":
                truth = f"%positive_{name} = arith.cmpi sgt, %a, %b : i8"
                made = f"{truth}\n%wide_{name}_{word} = arith.extui %positive_{name} : i1 to i32"
            compare = f"%is_{name}_{word} = arith.cmpi {name}, %wide_{name}_{word}, %known : i32"
            lines[f"{name}_{word}"] = (
                f"{made}\n{compare}\n%{name}_{word} = arith.extui %is_{name}_{word} : i1 to i8",
                "i8",
            )
    x, y = (numpy.array(each, "int8") for each in pairs(special("i8")))
    for known in (300, -300, 1, 200):
        given = Kernel("i8", lines, constant("known", known, "i32"))(x, y)
        for name in PREDICATES:
            for word, wide in (("signed", x), ("unsigned", x.view("uint8")), ("truth", x > y)):
                array = wide.astype("int32")
                truth = predicate_of(name, array, numpy.full_like(array, known), "i32")
                numpy.testing.assert_array_equal(given[f"{name}_{word}"], truth, err_msg=f"{name} {word} {known}")


def test_sums_of_numbers_that_are_known() -> None:
    """Add known numbers that do not fit C's int before they are written."""
    most = 2**31 - 1
    lines = {
        name: (f"%{name} = arith.{name} %most, %other : {type_}", type_)
        for name in ("addi", "subi", "muli")
        for type_ in ("index",)
    }
    kernel = Kernel("index", lines, constant("most", most, "index") + "\n" + constant("other", most - 5, "index"))
    given = kernel(numpy.zeros(1, "int64"), numpy.zeros(1, "int64"))
    assert [int(given[name][0]) for name in lines] == [most + most - 5, 5, most * (most - 5)]
    wrapped = Kernel("i32", {"sum": ("%sum = arith.addi %most, %most : i32", "i32")}, constant("most", most, "i32"))
    assert wrapped(numpy.zeros(1, "int32"), numpy.zeros(1, "int32"))["sum"][0] == -2


#: Truth values in all that makes one of others.
TRUTH = {
    "and": "%and = arith.andi %p, %q : i1",
    "or": "%or = arith.ori %p, %q : i1",
    "xor": "%xor = arith.xori %p, %q : i1",
    "not": "%not = arith.xori %p, %yes : i1",
    "not_on_the_left": "%not_on_the_left = arith.xori %yes, %p : i1",
    "same": "%same = arith.xori %p, %no : i1",
    "and_yes": "%and_yes = arith.andi %yes, %p : i1",
    "and_no": "%and_no = arith.andi %p, %no : i1",
    "or_yes": "%or_yes = arith.ori %p, %yes : i1",
    "or_no": "%or_no = arith.ori %no, %p : i1",
    "equal_yes": "%equal_yes = arith.cmpi eq, %p, %yes : i1",
    "equal_no": "%equal_no = arith.cmpi eq, %no, %p : i1",
    "unequal_yes": "%unequal_yes = arith.cmpi ne, %yes, %p : i1",
    "unequal_no": "%unequal_no = arith.cmpi ne, %p, %no : i1",
    "choose": "%choose = arith.select %p, %q, %p : i1",
    "choose_yes": "%choose_yes = arith.select %p, %yes, %q : i1",
    "choose_no": "%choose_no = arith.select %p, %no, %q : i1",
    "else_yes": "%else_yes = arith.select %p, %q, %yes : i1",
    "else_no": "%else_no = arith.select %p, %q, %no : i1",
    "sure": "%sure = arith.select %yes, %q, %p : i1",
    "never": "%never = arith.select %no, %q, %p : i1",
    "either_way": "%either_way = arith.select %p, %q, %q : i1",
    "chain": "%inner = arith.andi %p, %q : i1\n%outer = arith.ori %inner, %p : i1\n%chain = arith.xori %outer, %q : i1",
}


def test_truth_values() -> None:
    lines = {
        f"{name}_byte": (f"{text}\n%{name}_byte = arith.extui %{name} : i1 to i8", "i8") for name, text in TRUTH.items()
    }
    first, type_ = lines["and_byte"]  # shared by all operations
    lines["and_byte"] = (f"%p = arith.trunci %a : i8 to i1\n%q = arith.trunci %b : i8 to i1\n{first}", type_)
    kernel = Kernel("i8", lines, "%yes = arith.constant true\n%no = arith.constant false")
    x, y = (numpy.array(each, "int8") for each in pairs([0, 1]))
    p, q = x.astype(bool), y.astype(bool)
    always, never = numpy.ones(4, bool), numpy.zeros(4, bool)
    expected = {
        "and": p & q, "or": p | q, "xor": p ^ q, "not": ~p, "not_on_the_left": ~p, "same": p, "and_yes": p,
        "and_no": never, "or_yes": always, "or_no": p, "equal_yes": p, "equal_no": ~p, "unequal_yes": ~p,
        "unequal_no": p, "choose": numpy.where(p, q, p), "choose_yes": p | q, "choose_no": ~p & q,
        "else_yes": ~p | q, "else_no": p & q, "sure": q, "never": p, "either_way": q, "chain": (p & q | p) ^ q,
    }  # fmt: skip
    given = kernel(x, y)
    for name, truth in expected.items():
        numpy.testing.assert_array_equal(given[f"{name}_byte"], truth, err_msg=name)


@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
def test_parts_of_products_and_sums(type_: str) -> None:
    lines = {
        "low": (f"%low, %high = arith.mulsi_extended %a, %b : {type_}", type_),
        "high": ("", type_),
        "low_u": (f"%low_u, %high_u = arith.mului_extended %a, %b : {type_}", type_),
        "high_u": ("", type_),
        "sum": (f"%sum, %carry = arith.addui_extended %a, %b : {type_}, i1", type_),
        "carried": ("%carried = arith.extui %carry : i1 to i8", "i8"),
    }
    kernel = Kernel(type_, lines)
    x, y = pairs(special(type_))
    held, width = type_.replace("i", "int"), width_of(type_)
    given = kernel(numpy.array(x, held), numpy.array(y, held))
    mask = (1 << width) - 1
    for place, (one, other) in enumerate(zip(x, y, strict=True)):
        found = {name: int(array[place]) for name, array in given.items()}
        assert (found["high"] << width) + (found["low"] & mask) == one * other, (one, other)
        unsigned = (one & mask) * (other & mask)
        assert ((found["high_u"] & mask) << width) + (found["low_u"] & mask) == unsigned, (one, other)
        assert (found["carried"] << width) + (found["sum"] & mask) == (one & mask) + (other & mask), (one, other)


@pytest.mark.parametrize(
    ("type_", "operation"),
    [
        ("i4", "%made, %other = arith.mulsi_extended %a, %b : i4"),
        ("i1", "%made, %other = arith.addui_extended %a, %b : i1, i1"),
        ("i4", "%made = math.ctlz %a : i4"),
        ("i1", "%made = arith.floordivsi %a, %b : i1"),
    ],
)
def test_operations_without_a_counterpart_in_c_are_refused(type_: str, operation: str) -> None:
    name = operation.split("= ")[1].split()[0]
    with pytest.raises(
        rx.RelaxError, match=rf"target 'c' cannot write '{name}' op in @kernel: C has no counterpart for it"
    ):
        Kernel(type_, {"made": (operation, type_)})


@pytest.mark.parametrize("type_", TYPES)
def test_absolute_values(type_: str) -> None:
    kernel, values = Kernel(type_, {"size": (f"%size = math.absi %a : {type_}", type_)}), special(type_)
    x = numpy.array(values, type_text(type_).replace("i", "int"))
    numpy.testing.assert_array_equal(kernel(x, x)["size"], kernel.on_llvm(x, x)["size"])
