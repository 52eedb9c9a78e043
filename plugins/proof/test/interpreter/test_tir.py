# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tir: scalar functions with fixed values, and against the oracle of intrinsics; assertions; calls of functions."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from intrinsic_oracle import ORACLES, distance, operands_for
from run_text import equal, run

INTEGERS: dict[str, tuple[str, str, list[Any], Any]] = {
    "popcount": ("popcount", "i8", [[0, -1, 7]], [0, 8, 3]),
    "clz": ("clz", "i8", [[0, 1, -1]], [8, 7, 0]),
    "ctz": ("ctz", "i8", [[0, 8, -1]], [8, 3, 0]),
    "bitreverse": ("bitreverse", "i8", [[1, 2, -1]], [-128, 64, -1]),
    "fshl rotates": ("fshl", "i8", [[-127], [-127], [1]], [3]),
    "fshr": ("fshr", "i8", [[1], [0], [9]], [-128]),
    "gcd": ("gcd", "i32", [[12, 0, -4], [18, 0, 6]], [6, 0, 2]),
    "lcm": ("lcm", "i32", [[4, 0], [6, 5]], [12, 0]),
    "sadd_sat": ("sadd_sat", "i8", [[100, -100], [100, -100]], [127, -128]),
    "uadd_sat": ("uadd_sat", "i8", [[-56, 1], [100, 2]], [-1, 3]),
    "ssub_sat": ("ssub_sat", "i8", [[-100, 5], [100, 7]], [-128, -2]),
    "usub_sat": ("usub_sat", "i8", [[1, -1], [2, 1]], [0, -2]),
    "floordiv": ("floordiv", "i32", [[-7, 7, -7], [2, -2, -2]], [-4, -4, 3]),
    "floormod": ("floormod", "i32", [[-7, 7, -7], [2, -2, -2]], [1, -1, -1]),
    "clip": ("clip", "i32", [[-9, 4, 9], [0, 0, 0], [5, 5, 5]], [0, 4, 5]),
    "abs": ("abs", "i8", [[-128, -5, 5]], [-128, 5, 5]),
    "sign": ("sign", "i8", [[-128, 0, 5]], [-1, 0, 1]),
}


def applied(name: str, types: str | list[str], arrays: list[Any], attributes: str = "", results: str = "") -> Any:
    """Apply an intrinsic to scalars, one element of each array at a time, and return arrays of the results."""
    names = types if isinstance(types, list) else [types] * len(arrays)
    results = results or names[0]
    count = results.count(",") + 1
    operands = [f"%a{place}" for place in range(len(names))]
    returned = ", ".join(f"%0#{place}" for place in range(count)) if count > 1 else "%0"
    module = rx.Module.parse(
        f"""
        func.func @main({", ".join(map("{}: {}".format, operands, names))}) -> ({results}) {{
          %0{f":{count}" if count > 1 else ""} = "tir.{name}"({", ".join(operands)}) {{{attributes}}}
            : ({", ".join(names)}) -> ({results})
          return {returned} : {results}
        }}"""
    )
    main = rx.reference(module)["main"]
    found = [main(*(element.item() for element in elements)) for elements in zip(*arrays, strict=True)]
    dtypes = [NUMPY[each] for each in results.split(", ")]
    return tuple(map(numpy.array, zip(*found, strict=True), dtypes)) if count > 1 else numpy.array(found, *dtypes)


NUMPY = {
    "i1": numpy.bool_,
    "i8": numpy.int8,
    "i32": numpy.int32,
    "i64": numpy.int64,
    "f32": numpy.float32,
    "f64": numpy.float64,
}


@pytest.mark.parametrize("case", INTEGERS)
def test_integers(case: str) -> None:
    name, dtype, arrays, expected = INTEGERS[case]
    equal(applied(name, dtype, [numpy.array(each, NUMPY[dtype]) for each in arrays]), expected)


def test_fixed_point() -> None:
    x, y, s = (numpy.array(each, numpy.int32) for each in ([100, -100, 7], [1 << 30, 1 << 30, 1 << 29], [0, -1, 1]))
    equal(applied("q_multiply_shift", "i32", [x, y, s], "q = 31 : i64"), [50, -25, 4])


# numpy's own functions in its longest float are no better than the compared results.
_SAMPLED = sorted(set(ORACLES) - {"fma"})


@pytest.mark.parametrize("name", _SAMPLED)
def test_floats_are_near_what_they_should_be(name: str) -> None:
    operands = operands_for(name, numpy.dtype("float32"))
    with numpy.errstate(all="ignore"):
        expected = ORACLES[name].function(*(each.astype(numpy.longdouble) for each in operands))
        found = applied(name, "f32", operands)
        assert numpy.max(distance(found, numpy.asarray(expected, numpy.longdouble))) <= 1.01


def test_parts_of_floats() -> None:
    x = numpy.array([0.0, -6.0, math.inf, 1e-40], numpy.float32)
    pair = "f32, i32"
    mantissa, exponent = applied("frexp", "f32", [x], results=pair)
    equal(mantissa, [0, -0.75, math.inf, numpy.frexp(x[3])[0]])
    equal(exponent[:2], [0, 3])
    fraction, whole = applied("modf", "f32", [x - 0.5], results="f32, f32")
    equal(fraction, [-0.5, -0.5, 0, -0.5])
    equal(whole, [0, -6, math.inf, 0])
    equal(applied("ilogb", "f32", [x], results="i32"), [-(2**31), 2, 2**31 - 1, -133])
    equal(applied("spacing", "f32", [x[:2]]), numpy.spacing(x[:2]))
    equal(applied("nextafter", "f32", [x[:2], x[2:]]), numpy.nextafter(x[:2], x[2:]))
    equal(applied("lround", "f32", [x[:2] - 0.5], "dtype = i64", "i64"), [-1, -7])
    equal(applied("exp_below", "f32", [numpy.array([0, -200], numpy.float32)]), [1, 0])
    equal(applied("isnormal", "f32", [x], results="i1"), [False, True, False, False])


def test_an_exponent_that_is_an_integer() -> None:
    x, n = numpy.array([0.75, 1.0], numpy.float32), numpy.array([3, -149], numpy.int32)
    equal(applied("ldexp", ["f32", "i32"], [x, n]), numpy.ldexp(x, n))


# ---- operations with an effect ----


def test_an_assertion_raises_what_the_program_would() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,)), rx.tensor((2,), "int64")]) as f:
        f.returns(rx.relax.take(*f.args, axis=0))
    arguments = numpy.ones(4, "float32"), numpy.array([0, 9])
    with pytest.raises(IndexError) as compiled:
        rx.compile(module)["main"](*arguments)
    for stage in ("legalize", "apply", "parallel"):
        lowered = module.copy()
        rx.stages("llvm").until(stage).run(lowered, "llvm")
        with pytest.raises(IndexError) as raised:
            rx.reference(lowered)["main"](*arguments)
        assert str(raised.value) == str(compiled.value)


CALLING = """
@I.ir_module
class Module:
    @T.prim_func
    def each(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = T.call_extern("float32", "halved", a[i])

    @R.function
    def main(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        b = R.call_tir(cls.each, (a,), R.Tensor((4,), "float32"))
        return b
"""


@pytest.mark.parametrize("stage", ["", "parallel"])
def test_c_functions_of_no_library_are_refused(stage: str) -> None:
    module = rx.Module.from_script(CALLING)
    if stage:
        rx.stages("llvm").until(stage).run(module, "llvm")
    with pytest.raises(rx.runtime.ArtifactError, match="the C function 'halved', which the program calls, is in none"):
        rx.reference(module, functions={"halved": abs})["main"](numpy.ones(4, "float32"))


def test_functions_of_python_write_into_memory() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,), "uint8")]) as f:
        f.returns(rx.relax.call_dps_packed("test_tir.turn", [f.args[0]], rx.tensor((4,), "uint8")))

    def turn(x: Any, out: Any) -> None:
        assert x.dtype == out.dtype == numpy.uint8
        out[...] = x[::-1]

    x = numpy.array([1, 2, 3, 255], numpy.uint8)
    for stage in ("legalize", "bufferize", "parallel"):
        lowered = module.copy()
        rx.stages("llvm").until(stage).run(lowered, "llvm")
        for wide in (False, True):
            found = rx.reference(lowered, functions={"test_tir.turn": turn}, wide=wide)["main"](x)
            assert found.dtype == numpy.uint8
            equal(found, x[::-1])


def test_threads_of_a_warp_are_refused() -> None:
    with pytest.raises(rx.RefusalError, match="has no reference"):
        run("""
            %0 = "tir.tvm_warp_activemask"() {dtype = i32} : () -> i32
            return %0 : i32""")
