# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics: their list against C's and numpy's, inferred types against numpy, the builder's refusals."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir.dialects.tir as tir
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.dialects.core.infos import ScalarInfo, VectorInfo
from shorthand import refusal, tensor

OPS = tir.dialect.ops
QUICK = draws(60)

FLOATS = ["f16", "bf16", "f32", "f64"]
INTS = ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"]
NUMPY_DTYPES = {
    "f16": numpy.float16,
    "f32": numpy.float32,
    "f64": numpy.float64,
    "i1": numpy.bool_,
    **{f"i{bits}": numpy.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": numpy.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
MLIR_DTYPES = {numpy.dtype(dtype): name for name, dtype in NUMPY_DTYPES.items()}

# Operands of every operator of a family, to call each of them.
FLOAT_OPS = [name for name, op in OPS.items() if op.family in ("float_unary", "float_binary", "predicates")]
INT_OPS = [name for name, op in OPS.items() if op.family == "integer"]
NUMBER_OPS = [name for name, op in OPS.items() if op.family == "numeric"]
EXPONENT_OPS = ["ldexp", "scalbn"]
FIXED_POINT_OPS = ["q_multiply_shift", "q_multiply_shift_per_axis"]
ALIKE_OPS = sorted({*FLOAT_OPS, *INT_OPS, *NUMBER_OPS} - {*EXPONENT_OPS, *FIXED_POINT_OPS})


@st.composite
def shapes(draw):
    """Draw None for a scalar, or sizes with a flag for each scalable size.

    0-D and any scalable position are included.
    """
    if draw(st.booleans()):
        return None
    sizes = tuple(draw(st.lists(st.integers(1, 8), max_size=3)))
    return sizes, tuple(draw(st.booleans()) for _ in sizes)


def value(shape, dtype):
    return ScalarInfo(dtype) if shape is None else VectorInfo(shape[0], dtype, shape[1])


def dtypes_of(name):
    return INTS if name in INT_OPS else FLOATS + INTS if name in NUMBER_OPS else FLOATS


# ---- the list ----

# Apache TVM's intrinsics that have a lowering or legalization rule.
TVM = """
    acos acosh asin asinh atan atan2 atanh copysign cos cosh ctpop erf exp exp10 exp2 fabs floor fma fmod
    hypot isfinite isinf ldexp log log10 log1p nearbyint nextafter popcount pow prefetch q_multiply_shift
    q_multiply_shift_per_axis round rsqrt sigmoid sin sinh sqrt tan tanh trunc tvm_warp_activemask
    tvm_warp_shuffle tvm_warp_shuffle_down tvm_warp_shuffle_up tvm_warp_shuffle_xor
""".split()

# ISO C17's math.h, functions and macros.
C17 = """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log
    log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor
    nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter
    nexttoward fdim fmax fmin fma fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal
    isless islessequal islessgreater isunordered
""".split()
# Functions left out, with their replacement.
C17_ELSEWHERE = {
    "scalbln": "scalbn takes any integer",
    "llrint": "lrint with dtype",
    "llround": "lround with dtype",
    "nan": "arith.constant",
    "nexttoward": "nextafter",
    "fpclassify": "the predicates",
    **dict.fromkeys(["isgreater", "isgreaterequal", "isless"], "arith.cmpf, which is quiet"),
    **dict.fromkeys(["islessequal", "islessgreater", "isunordered"], "arith.cmpf, which is quiet"),
}

# numpy's elementwise functions of numbers -> the intrinsic, or the upstream operation.
SAME_NAME = """
    cbrt ceil copysign cos cosh deg2rad exp exp2 expm1 fabs floor fmax fmin fmod frexp gcd heaviside hypot i0
    isfinite isinf isnan isneginf isposinf lcm ldexp log log10 log1p log2 logaddexp logaddexp2 modf nextafter
    rad2deg reciprocal rint sign signbit sin sinc sinh spacing sqrt square tan tanh trunc clip
""".split()
NUMPY = {
    **{name: name for name in SAME_NAME},
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "bitwise_count": "popcount",
    "degrees": "rad2deg", "radians": "deg2rad", "floor_divide": "floordiv", "remainder": "floormod",
    "power": "pow", "float_power": "pow", "fix": "trunc", "round": "roundeven",
    "add": "arith.addf", "subtract": "arith.subf", "multiply": "arith.mulf", "divide": "arith.divf",
    "negative": "arith.negf", "maximum": "arith.maximumf", "minimum": "arith.minimumf",
    "equal": "arith.cmpf", "not_equal": "arith.cmpf", "less": "arith.cmpf", "less_equal": "arith.cmpf",
    "greater": "arith.cmpf", "greater_equal": "arith.cmpf", "bitwise_and": "arith.andi",
    "bitwise_or": "arith.ori", "bitwise_xor": "arith.xori", "invert": "arith.xori",
    "logical_and": "arith.andi", "logical_or": "arith.ori", "logical_not": "arith.xori",
    "logical_xor": "arith.xori", "left_shift": "arith.shli", "right_shift": "arith.shrsi",
    "where": "arith.select",
}  # fmt: skip
# Nothing to compute, or two intrinsics at once.
NUMPY_ELSEWHERE = {"positive", "divmod", "conjugate", "conj", "isnat", "matmul"}


def test_every_intrinsic_of_tvm_is_defined():
    assert set(TVM) <= set(OPS)


def test_every_function_of_math_h_is_there_or_has_its_reason():
    assert set(C17) == (set(C17) & set(OPS)) | set(C17_ELSEWHERE)


def test_every_elementwise_function_of_numpy_1_26_is_there_or_has_its_reason():
    intrinsics = {name for name in NUMPY.values() if not name.startswith("arith.")}
    assert intrinsics <= set(OPS)
    later = {"bitwise_count", "vecdot", "matvec", "vecmat"}
    ufuncs = {name for name, item in vars(numpy).items() if isinstance(item, numpy.ufunc)}
    aliases = {name for name in ufuncs if getattr(numpy, name).__name__ != name}
    assert ufuncs - aliases - later <= {*NUMPY, *NUMPY_ELSEWHERE}


def test_every_operator_is_documented_and_found_by_its_name():
    for name, op in OPS.items():
        assert op.doc.endswith("."), name
        assert getattr(tir, name) is op, f"{name} is hidden by something else of the package"


# ---- inferred types ----


@given(name=st.sampled_from(ALIKE_OPS), shape=shapes(), data=st.data())
@QUICK
def test_the_results_have_the_operands_shape(name, shape, data):
    dtype = data.draw(st.sampled_from(dtypes_of(name)))
    results = infer(f"tir.{name}", *[value(shape, dtype)] * len(OPS[name].operands))
    assert len(results) == len(OPS[name].results)
    assert [value(shape, result.dtype) for result in results] == results


def numpy_results(function, shape, *dtypes):
    """Return the types of numpy's results for values of this shape."""
    sizes = shape[0] if shape else ()
    with numpy.errstate(all="ignore"):
        results = function(*(numpy.ones(sizes, NUMPY_DTYPES[dtype]) for dtype in dtypes))
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        assert numpy.shape(result) == sizes
    return [value(shape, MLIR_DTYPES[numpy.asarray(result).dtype]) for result in results]


SHARED = {theirs: ours for theirs, ours in NUMPY.items() if ours in ALIKE_OPS and hasattr(numpy, theirs)}
# The sign of an unsigned and a count of bits have types of their own in numpy; clip and i0 compute in double.
SHARED_INTS = sorted(set(SHARED) & {"absolute", "sign", "square", "floor_divide", "remainder", "gcd", "lcm", "clip"})
SHARED_FLOATS = sorted(name for name in SHARED if SHARED[name] not in INT_OPS and name not in ("float_power", "i0"))


@given(name=st.sampled_from(SHARED_FLOATS), shape=shapes(), dtype=st.sampled_from(["f16", "f32", "f64"]))
@draws(100)
def test_the_results_are_numpy_s_on_floats(name, shape, dtype):
    count = len(OPS[SHARED[name]].operands)
    expected = numpy_results(getattr(numpy, name), shape, *[dtype] * count)
    assert infer(f"tir.{SHARED[name]}", *[value(shape, dtype)] * count) == expected


@given(name=st.sampled_from(SHARED_INTS), shape=shapes(), dtype=st.sampled_from(INTS))
@QUICK
def test_the_results_are_numpy_s_on_integers(name, shape, dtype):
    count = len(OPS[SHARED[name]].operands)
    expected = numpy_results(getattr(numpy, name), shape, *[dtype] * count)
    assert infer(f"tir.{SHARED[name]}", *[value(shape, dtype)] * count) == expected


@pytest.mark.parametrize("name", EXPONENT_OPS)
@given(shape=shapes(), dtype=st.sampled_from(["f16", "f32", "f64"]), exponent=st.sampled_from(["i8", "i16", "i32"]))
@draws(10)
def test_an_exponent_is_any_integer_and_the_result_is_numpy_s(name, shape, dtype, exponent):
    expected = numpy_results(numpy.ldexp, shape, dtype, exponent)
    assert infer(f"tir.{name}", value(shape, dtype), value(shape, exponent)) == expected


@pytest.mark.parametrize("name", ["lround", "lrint"])
@given(shape=shapes(), dtype=st.sampled_from(FLOATS), result=st.sampled_from(INTS))
@draws(10)
def test_rounding_to_an_integer_gives_the_one_asked_for(name, shape, dtype, result):
    assert infer(f"tir.{name}", value(shape, dtype)) == [value(shape, "i64")]
    assert infer(f"tir.{name}", value(shape, dtype), dtype=result) == [value(shape, result)]


@given(shape=shapes(), q=st.integers(1, 31))
@QUICK
def test_fixed_point_multiplication_takes_its_arguments_in_tvm_s_order(shape, q):
    x = value(shape, "i32")
    assert infer("tir.q_multiply_shift", x, x, q, x) == [x]
    assert infer("tir.q_multiply_shift_per_axis", x, x, x, x, q, True, False) == [x]


@given(shape=shapes(), dtype=st.sampled_from(FLOATS + INTS), mask=st.sampled_from(["i32", "i64", "ui32"]))
@QUICK
def test_a_shuffle_gives_a_value_like_the_one_exchanged(shape, dtype, mask):
    operands = ScalarInfo(mask), value(shape, dtype), ScalarInfo("i32")
    for name in ("", "_up", "_down", "_xor"):
        assert infer(f"tir.tvm_warp_shuffle{name}", *operands, width=16) == [value(shape, dtype)]


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_the_mask_of_active_threads(dtype):
    assert infer("tir.tvm_warp_activemask", dtype=dtype) == [ScalarInfo(dtype)]


# ---- refusals ----

WRONG = {"float": [*INTS, "i1", "index", "si8"], "int": [*FLOATS, "i1", "si8"], "number": ["i1", "si8"]}


SEVERAL = [name for name in ALIKE_OPS if len(OPS[name].operands) > 1]


def wrong_dtypes(name):
    return WRONG["int" if name in INT_OPS else "number" if name in NUMBER_OPS else "float"]


@given(name=st.sampled_from(ALIKE_OPS), shape=shapes(), data=st.data())
@QUICK
def test_a_wrong_element_type_is_refused_by_name(name, shape, data):
    dtype = data.draw(st.sampled_from(wrong_dtypes(name)))
    first = OPS[name].operands[0].name
    message = refusal(f"tir.{name}", *[value(shape, dtype)] * len(OPS[name].operands))
    assert message.startswith(f"'tir.{name}' op operand '{first}' (")
    assert f"{dtype}" in message and "must be" in message


@given(name=st.sampled_from(SEVERAL), one=shapes(), other=shapes(), data=st.data())
@QUICK
def test_operands_of_different_types_are_refused_by_name(name, one, other, data):
    one_dtype, other_dtype = (data.draw(st.sampled_from(dtypes_of(name))) for _ in range(2))
    if (one, one_dtype) == (other, other_dtype):
        return
    operands = [value(one, one_dtype)] * (len(OPS[name].operands) - 1) + [value(other, other_dtype)]
    message = refusal(f"tir.{name}", *operands)
    first, last = OPS[name].operands[0].name, OPS[name].operands[-1].name
    assert f"operand '{first}' (" in message and f"operand '{last}' (" in message
    assert "must have the same type" in message
    assert ("vector.broadcast" in message) == ((one is None) != (other is None))


@pytest.mark.parametrize("name", EXPONENT_OPS)
@given(one=shapes(), other=shapes())
@draws(20)
def test_an_exponent_has_the_shape_of_what_it_scales(name, one, other):
    if one != other:
        assert "must have the same shape" in refusal(f"tir.{name}", value(one, "f32"), value(other, "i32"))


@pytest.mark.parametrize("name", ["exp", "popcount", "isnan", "abs"])
def test_a_tensor_is_no_operand(name):
    expected = f"'tir.{name}' op operand 'x' must be a scalar or vector of numbers, got tensor<4xf32>"
    assert expected in refusal(f"tir.{name}", tensor(4))


def test_the_builder_takes_names_and_says_which_it_knows():
    x = ScalarInfo("f32")
    assert "misses operand 'x2'" in refusal("tir.pow", x)
    assert "takes 1 argument (x), got 2" in refusal("tir.exp", x, x)
    assert "has no argument 'dtyp'; did you mean 'dtype'?" in refusal("tir.lround", x, dtyp="i32")
    i = ScalarInfo("i32")
    assert "misses attribute 'q'" in refusal("tir.q_multiply_shift", i, i, None, i)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"width": 12}, "attribute 'width' (12) must be a power of two"),
        ({"width": 64}, "attribute 'width' (64) must not exceed attribute 'warp_size' (32)"),
        ({"warp_size": -32}, "attribute 'warp_size' (-32) must be a power of two"),
    ],
)
def test_widths_of_a_shuffle(arguments, message):
    lane = ScalarInfo("i32")
    assert message in refusal("tir.tvm_warp_shuffle", lane, lane, lane, **arguments)
