# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host functions in Python: code that does what the source says, and errors at the place of a wrong type."""

from __future__ import annotations

import ctypes
import importlib
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ROOT, ir
from relax_mlir.support.errors import ModelError
from relax_mlir.targets.host import units
from relax_mlir.targets.host.native.unit import LibraryUnit
from relax_mlir.targets.host.passes.host_define_support import parsed_unit
from relax_mlir.targets.host.support import device_function, device_text

HEAD = """\
from __future__ import annotations
from collections.abc import Callable
from typing import Annotated
from relax_mlir.targets.host.native.language import *

"""
Maker = Callable[..., LibraryUnit]


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    """Return a function that creates the unit of a source."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(source: str, architecture: str = "") -> LibraryUnit:
        name = f"host_functions_{abs(hash((tmp_path, source)))}"
        (tmp_path / f"{name}.py").write_text(HEAD + textwrap.dedent(source), encoding="utf-8")
        importlib.invalidate_caches()
        return LibraryUnit(name, architecture)

    return make


def run(unit: LibraryUnit, *arguments: int) -> int:
    """Return the result of the unit's function `run`, with integers for numbers and addresses."""
    with new_context(("llvm",)):
        engine_class = importlib.import_module(f"{ROOT}.execution_engine").ExecutionEngine
        engine = engine_class(parsed_unit(unit.text, is_shared=True), opt_level=0)
        numbers = [ctypes.c_int64(number) for number in (*arguments, 0)]
        places = (ctypes.c_void_p * len(numbers))(*(ctypes.addressof(number) for number in numbers))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup("__relax_run"))(ctypes.addressof(places))
        return numbers[-1].value


@pytest.mark.parametrize(
    ("body", "results"),
    [
        ("return n // 3 + n % 3 - (n << 2) + (n >> 1 & 6 | 1) ^ 5", {7: -17, 10: -28}),
        ("return 1 if n > 2 and n != 5 or not n != 0 else 0", {0: 1, 1: 0, 3: 1, 5: 0}),
        ("return I64(U32(n)) + I64(I32(n)) + I64(I8(n))", {-1: 2**32 - 3, 300: 644}),
        ("return I64(U64(n) > U64(5)) + max(n, 3) * 10 + I64(float(n) * 1.5 < 2.0) * 1000", {-1: 1031, 7: 71}),
        ("""
         total = 0
         for i in range(n):
             if i == 3:
                 continue
             if i == 6:
                 break
             total += i
         return total
         """, {0: 0, 4: 3, 9: 12}),
        ("""
         a, b = 0, 1
         while n > 0:
             n -= 1
             a, b = b, a + b
         return a
         """, {0: 0, 1: 1, 10: 55}),
        ("""
         for i in range(2, n):
             for j in range(i):
                 if i * j == 42:
                     return i * 100 + j
         return -1
         """, {5: -1, 30: 706}),
        ("""
         product, is_over = multiply_checked(n, 1 << 62)
         return -1 if is_over else product
         """, {1: 1 << 62, 2: -1}),
        ("""
         words = stack(I64, 4)
         for i in range(4):
             words[i] = i * n
         place = words + 1
         return place[1] + (place - 1)[3] + atomic_load(place_of(words[1]), "acquire")
         """, {5: 30}),
        ("""
         slot = stack(I64)
         slot[0] = n
         before, is_stored = compare_exchange(slot, 3, 9, "acq_rel", "acquire")
         return exchange(slot, 0, "seq_cst") * 100 + before * 10 + I64(is_stored) + fetch_add(slot, 1, "monotonic")
         """, {3: 931, 4: 440}),
    ],
)  # fmt: skip
def test_code_computes_like_python(unit: Maker, body: str, results: dict[int, int]) -> None:
    source = "@library_function\ndef run(n: I64) -> I64:\n" + textwrap.indent(textwrap.dedent(body), "    ")
    for number, result in results.items():
        assert run(unit(source), number) == result


def test_fields_have_the_layout_of_c(unit: Maker) -> None:
    source = """
    class Inner(Struct):
        flag: bool
        number: I64

    class Outer(Struct):
        small: I8
        count: I32
        place: Ptr
        inner: Annotated[Inner, 1]
        words: Annotated[Array[I32], 3]
        address: Annotated[I64, "place"]

    @library_function
    def run(data: Outer) -> I64:
        data.inner.number = I64(data.count) + I64(data.words[2]) + data.address
        clear(data.inner)
        data.inner.number = size_of(Outer)
        other = stack(Outer)[0]
        copy(other, data)
        other.count = I32(5)
        return other.inner.number * 100 + I64(data.count)
    """

    class Outer(ctypes.Structure):
        _fields_ = (("small", ctypes.c_int8), ("count", ctypes.c_int32), ("place", ctypes.c_void_p),
                    ("flag", ctypes.c_int64), ("number", ctypes.c_int64), ("words", ctypes.c_int32 * 3))  # fmt: skip

    data = Outer(count=7, flag=1)
    assert run(unit(source), ctypes.addressof(data)) == ctypes.sizeof(Outer) * 100 + 7
    assert (data.number, data.flag) == (ctypes.sizeof(Outer), 0)


FAILING = """
log = storage(I64, 2)

@library_function
def fail(kind: Text, format: Text, where: Text, a: I64, b: I64, c: I64, d: I64) -> I32:
    '''Note the error.'''
    log[0] = I64(Array[I8](Ptr(kind))[0]) * 100 + a
    return I32(-1)

@local_function
def check(n: I64) -> Status:
    if n > 5:
        raise ValueError("%s: %lld", "a text", n)

@local_function
def check_all(n: I64) -> Status:
    try:
        check(n)
        check(n + 1)
    finally:
        log[1] = log[1] + 1
    check(n + 2)

@library_function
def run(n: I64) -> I64:
    status = check_all.status(n)
    return I64(status) * 1000000 + log[0] * 10 + log[1]
"""


@pytest.mark.parametrize(("number", "error"), [(3, 0), (4, 6), (5, 6), (6, 6)])
def test_errors_leave_the_callers_behind_their_finally_blocks(unit: Maker, number: int, error: int) -> None:
    expected = -1000000 + (ord("V") * 100 + error) * 10 if error else 0
    assert run(unit(FAILING), number) == expected + 1


def test_functions_are_values(unit: Maker) -> None:
    source = """
    class Operation(Struct):
        apply: Callable[[I64], I64]

    @local_function
    def double(n: I64) -> I64:
        return n * 2

    @local_function
    def negate(n: I64) -> I64:
        return -n

    operations = function_table(double, negate, NULL)

    @local_function
    def split(n: I64) -> tuple[I64, I64]:
        return n // 10, n % 10

    @library_function
    def run(n: I64) -> I64:
        operation = stack(Operation)[0]
        operation.apply = double if n > 100 else negate
        tens, ones = split(n)
        last = cast("Callable[[I64], I64]", operations[1])
        return operation.apply(tens) * 1000 + last(ones) + I64(operations[2] == NULL)
    """
    assert run(unit(source), 42) == -4000 - 2 + 1
    assert run(unit(source), 142) == 28000 - 2 + 1


def test_the_architecture_selects_code(unit: Maker) -> None:
    source = """
    @library_function
    def run(n: I64) -> I64:
        if architecture() == "x86_64":
            intrinsic("llvm.x86.sse2.pause", None)
            return 1
        return 2
    """
    assert "sse2.pause" in unit(source, "x86_64").text and "sse2" not in unit(source, "riscv64").text
    assert run(unit(source, "riscv64"), 0) == 2


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("return I32(1)", 1, "`I32(1)`: expected I64, got I32"),
        ("x = I32(1)\nreturn n + x", 2, "`x`: expected I64, got I32"),
        ("x = 1\nif n > 0:\n    x = I32(2)\nreturn x", 3, "`x`: expected I64, got I32"),
        ("return memcpy(n, NULL, 3)", 1, "`n`: expected Ptr, got I64"),
        ("if n:\n    return 1\nreturn 0", 1, "`n`: expected bool, got I64"),
        ("if n > 1:\n    x = 1\nreturn x", 3, "`x`: the name has no value here on every path"),
        ("p = stack(I64)\nreturn p[0.5]", 2, "`0.5`: expected I64 or I32, got F64"),
        ("return n.count", 1, "`n.count`: I64 has no field 'count'"),
        ("return other(n)", 1, "`other(n)`: expected 2 arguments, got 1"),
        ("return other(n, n)", 1, "`n`: expected Array[I32], got I64"),
        ("failing()\nreturn 0", 1, "`failing()`: the callee can fail, and this function's result is not Status"),
        ("if n > 1:\n    return 1", 1, "no return of I64 behind it"),
        ("return 1\nn = 2", 2, "`n = 2`: nothing gets here"),
        ("return [n][0]", 1, "`[n]`: host functions have no such expression"),
        ("with n:\n    pass", 1, "host functions have no such statement"),
        ("return len(n)", 1, "`len(n)`: host functions cannot call this"),
        ("raise ValueError('no')", 1, "the function cannot fail"),
        ("p = stack(I64)\nreturn atomic_load(p, 'weak')", 2, "`'weak'`: expected one of monotonic, acquire, release"),
        ("return n / 2", 1, "`n / 2`: I64 has no such operation"),
        ("for i in [1, 2]:\n    pass\nreturn 0", 1, "`[1, 2]`: a loop runs over range(stop) or range(start, stop)"),
    ],
)
def test_a_wrong_source_is_refused_at_its_line(unit: Maker, body: str, line: int, problem: str) -> None:
    source = "@c_function\ndef other(n: I64, p: Array[I32]) -> I64: ...\n\n"
    source += "@library_function\ndef failing() -> Status:\n    raise ValueError('no')\n\n"
    source += "@library_function\ndef run(n: I64) -> I64:\n"
    place = f".py:{HEAD.count(chr(10)) + source.count(chr(10)) + line}: host function 'run': "
    with pytest.raises(ModelError) as error:
        _ = unit(source + textwrap.indent(body, "    ")).text
    assert place in str(error.value) and problem in str(error.value)


@pytest.mark.parametrize(
    "head",
    [
        "def run(n) -> I64: ...",
        "def run(n: I64): ...",
        "def run(n: list) -> I64: ...",
        "def run(n: Nothing) -> None: ...",
    ],
)
def test_signatures_need_types(unit: Maker, head: str) -> None:
    with pytest.raises(ModelError, match=r"\.py:\d+: host function 'run': "):
        _ = unit(f"@library_function\n{head[:-4]}\n    '''Run.'''").signatures


def test_a_package_registers_modules(unit: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the driver's functions of a registered kind of device, with the units that its unit needs."""
    monkeypatch.setattr(units, "_registered", {})
    helper = unit("@library_function\ndef toy_helper(n: I64) -> I64:\n    return n\n")
    own = unit(
        f"from {helper._module} import toy_helper\n"
        "@library_function\ndef toy_functions(table: Ptr, arguments: Ptr, count: I32, result: Ptr) -> I32:\n"
        "    return I32(toy_helper(0))\n"
    )
    try:
        units.register_library(helper._module, own._module, helper._module)
        first, *_, last_but_one, last = units.library_units()
        assert [last_but_one.identity, last.identity] == [helper.identity, own.identity]
        assert device_function("toy", "functions") == "__relax_toy_functions"
        assert device_function("toy", "graph_begin") is None is device_function("cuda", "functions")
        assert "@__tvm_ffi___relax_toy_functions(" in device_text(1, False, "toy")
        found = units.find_function("__relax_toy_functions")
        assert found is not None and found.type == "!llvm.func<i32 (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr)>"
        with new_context(("llvm",)), ir.Location.unknown():
            module = ir.Module.parse("llvm.func @__relax_toy_functions(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32")
            assert units.needed_units(module.operation) == [first, last_but_one, last]
    finally:
        monkeypatch.undo()
        units.register_library()


def test_an_identity_needs_no_import_and_changes_with_the_folder(unit: Maker, tmp_path: Path) -> None:
    own = unit("raise AssertionError('imported')")
    before = own.identity
    (tmp_path / "other.py").write_text("x = 1")
    assert LibraryUnit(own._module).identity != before
