# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul, einsum and outer, legalized by the default rules, compiled for llvm and run, against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.tir.prim_func import is_prim_func, op_pattern

import relax_mlir as rx
from relax_mlir import relax

INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
ROUNDING = {"float16": 5e-4, "bfloat16": 4e-3, "float32": 2e-6, "float64": 4e-15}


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", *arrays, **options)


def normal(shape: Any, dtype: Any = "float64", seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype(dtype)


def integers(shape: Any, dtype: str, seed: int = 3) -> Any:
    limits = numpy.iinfo(dtype)
    return numpy.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


def close(actual: Any, expected: Any, **options: Any) -> None:
    assert actual.shape == numpy.shape(expected)
    numpy.testing.assert_allclose(actual, expected, **{"rtol": 1e-12, "atol": 1e-12, **options})


# ---- matmul ----

SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)), ((4,), (7, 4, 2)), ((7, 2, 4), (4,)), ((1, 1, 2, 3), (5, 1, 3, 1)),
    ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((0,), (0,)), ((2, 3, 4), (0, 1, 4, 5)), ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_matmul(left: Any, right: Any) -> None:
    x, y = normal(left), normal(right, seed=4)
    close(ran("matmul", x, y), x @ y)


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap_around(dtype: str) -> None:
    x, y = integers((3, 4), dtype), integers((4, 5), dtype, 4)
    numpy.testing.assert_array_equal(ran("matmul", x, y), x @ y)


def test_booleans() -> None:
    x, y = integers((5, 3), "uint8") > 150, integers((3, 6), "uint8", 4) > 150
    expected = x @ y
    assert expected.any() and not expected.all()
    numpy.testing.assert_array_equal(ran("matmul", x, y), expected)
    numpy.testing.assert_array_equal(ran("matmul", x, y, out_dtype="int32"), x.astype(int) @ y.astype(int))


@pytest.mark.parametrize(
    ("dtype", "out_dtype"),
    [("int8", "int32"), ("uint8", "int32"), ("uint8", "uint16"), ("int32", "int8"), ("int8", "float32")],
)
def test_integers_with_another_result(dtype: str, out_dtype: str) -> None:
    x, y = integers((3, 4), dtype), integers((4, 5), dtype, 4)
    expected = (x.astype("int64") @ y.astype("int64")).astype(out_dtype)
    actual = ran("matmul", x, y, out_dtype=out_dtype)
    assert actual.dtype == out_dtype
    numpy.testing.assert_array_equal(actual, expected)


def test_operands_of_two_types() -> None:
    x, y = integers((3, 4), "uint8"), integers((4, 5), "int8")
    numpy.testing.assert_array_equal(ran("matmul", x, y, out_dtype="int32"), x.astype("int32") @ y.astype("int32"))


@pytest.mark.parametrize("out_dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"])
def test_floats_are_summed_wide(dtype: str, out_dtype: str) -> None:
    """Sum thousands of equal terms: in f16 the sum would stop growing at 2048, in bf16 at 256."""
    kind = getattr(ml_dtypes, dtype, dtype)
    x, y = numpy.full((2, 3000), 1.25, kind), numpy.full((3000, 2), 1.0, kind)
    y[0] = -1.0
    expected = x.astype("float64") @ y.astype("float64")
    actual = ran("matmul", x, y, out_dtype=out_dtype)
    assert actual.dtype.name == out_dtype
    close(actual.astype("float64"), expected, rtol=ROUNDING[out_dtype], atol=0)


def test_special_values() -> None:
    x = numpy.array([[numpy.inf, 1.0], [numpy.nan, 0.0], [1e30, -1e30], [0.0, 1.0]], "float32")
    y = numpy.array([[1.0, 0.0, 1e30], [2.0, 1.0, 1.0]], "float32")
    with numpy.errstate(all="ignore"):
        numpy.testing.assert_array_equal(ran("matmul", x, y), x @ y)


sizes = st.integers(0, 6)


@draws(40)
@given(sizes, sizes, sizes, st.sampled_from([(1, 1), (1, 3), (3, 1), (2, 2), (0, 1), (0, 0)]))
def test_symbolic_sizes(rows: int, length: int, columns: int, batch: tuple[int, int]) -> None:
    """Run one kernel for all sizes: batches broadcast at run time, so that no type states the result's."""
    x, y = normal((batch[0], rows, length)), normal((batch[1], length, columns), seed=4)
    close(ran("matmul", x, y, symbols=(("a", "m", "k"), ("b", "k", "n"))), x @ y)


MAYBE_ONE = [(("a", 3, 4), (5, 4, 2)), (("a", "m", "k"), (5, "k", "n")), ((None, 3, 4), (None, None, None))]


@pytest.mark.parametrize("symbols", MAYBE_ONE, ids=str)
@pytest.mark.parametrize("batch", [1, 5])
def test_a_batch_that_may_be_one(batch: int, symbols: Any) -> None:
    x, y = normal((batch, 3, 4)), normal((5, 4, 2), seed=4)
    close(ran("matmul", x, y, symbols=symbols), x @ y)


def test_sizes_that_do_not_agree() -> None:
    symbols = (("a", "m", "k"), ("b", "l", "n"))
    x, y = normal((2, 3, 4)), normal((2, 4, 5), seed=4)
    close(ran("matmul", x, y, symbols=symbols), x @ y)
    with pytest.raises(ValueError, match=r"sizes of dimension 'k' do not agree: 4 and 3"):
        run_op("relax.matmul", x, normal((2, 3, 5)), symbols=symbols)
    with pytest.raises(ValueError, match=r"sizes of dimension 'batch 0' do not agree: 2 and 3"):
        run_op("relax.matmul", x, normal((3, 4, 5)), symbols=symbols)


# ---- outer ----


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint32", "bool"])
@pytest.mark.parametrize("symbols", [(), (("n",), ("m",))], ids=["known", "symbolic"])
def test_outer(dtype: str, symbols: Any) -> None:
    x, y = normal(4).astype(dtype), normal(5, seed=4).astype(dtype)
    numpy.testing.assert_array_equal(ran("outer", x, y, symbols=symbols), numpy.outer(x, y))


def test_outer_without_elements() -> None:
    assert ran("outer", normal(0), normal(3), symbols=(("n",), ("m",))).shape == (0, 3)


# ---- einsum ----

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,kj->ki", (3, 4), (5, 4)), ("i,i", (4,), (4,)), ("i,j->ij", (2,), (3,)),
    ("ii->i", (3, 3)), ("ii", (3, 3)), ("iij->ji", (3, 3, 2)), ("ij->", (2, 3)), ("ji", (2, 3)), ("ij->ij", (2, 3)),
    ("...ij,...jk", (2, 3, 4), (2, 4, 5)), ("...ij,jk->...ik", (2, 6, 3, 4), (4, 5)), ("...ii->...i", (2, 3, 3)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (6, 4, 5)), ("i...->...", (3, 2, 2)), ("a...,b...->ab...", (2, 3, 1), (4, 5)),
    ("ij,kl->", (2, 3), (3, 2)), (",", (), ()), ("i->", (0,)), ("ij,jk", (2, 0), (0, 3)), ("i, j -> j i", (2,), (3,)),
    ("ij,ij->i", (3, 1), (3, 4)), ("ii,ij->j", (3, 3), (3, 4)), ("ba", (2, 3)), ("Za", (2, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("i,i,i->i", (3,), (3,), (3,)), ("a,b,c,d->bd", (2,), (3,), (4,), (5,)),
    ("...a,...b,...c->...", (2, 3), (4,), (1, 5)), ("ij,ik,il->jkl", (1, 2), (1, 3), (4, 2)),
]  # fmt: skip


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda case: case[0])
def test_einsum(case: Any) -> None:
    equation, *shapes = case
    arrays = [normal(shape, seed=position) for position, shape in enumerate(shapes)]
    close(ran("einsum", *arrays, subscripts=equation), numpy.einsum(equation, *arrays))


@pytest.mark.parametrize("dtype", [*INTS, "bool", "float16", "float32", "bfloat16"])
def test_einsum_of(dtype: str) -> None:
    equation, shapes = "ij,jk,k->i", ((3, 4), (4, 5), (5,))
    if dtype in INTS:
        arrays = [integers(shape, dtype, seed) for seed, shape in enumerate(shapes)]
        expected = numpy.einsum(equation, *arrays)
    elif dtype == "bool":
        arrays = [normal(shape, seed=seed) > 0.7 for seed, shape in enumerate(shapes)]
        expected = numpy.einsum(equation, *arrays)
    else:
        arrays = [normal(shape, getattr(ml_dtypes, dtype, dtype), seed) for seed, shape in enumerate(shapes)]
        expected = numpy.einsum(equation, *(array.astype("float64") for array in arrays))
    actual = ran("einsum", *arrays, subscripts=equation)
    assert actual.dtype == arrays[0].dtype
    close(actual.astype("float64"), expected.astype("float64"), rtol=ROUNDING.get(dtype, 0), atol=1e-6)


@draws(30)
@given(st.data())
def test_einsum_of_any_equation(data: Any) -> None:
    labels = st.lists(st.sampled_from("abcd"), max_size=3)
    terms = data.draw(st.lists(labels, min_size=1, max_size=3), label="terms")
    lengths = {label: data.draw(st.integers(0, 3)) for label in "abcd"}
    used = sorted({label for term in terms for label in term})
    result = data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))]
    equation = ",".join(map("".join, terms)) + "->" + "".join(result)
    arrays = [normal([lengths[label] for label in term], seed=seed) for seed, term in enumerate(terms)]
    close(ran("einsum", *arrays, subscripts=equation), numpy.einsum(equation, *arrays))


@draws(30)
@given(st.lists(st.integers(0, 4), min_size=4, max_size=4), st.booleans(), st.booleans())
def test_einsum_with_symbols(lengths: list[int], first: bool, second: bool) -> None:
    """Use equal sizes for diagonals, and broadcasting for the other dimensions."""
    i, j, k, batch = lengths
    x = normal((1 if first else batch, i, i, j))
    y = normal((1 if second else batch, j, k), seed=4)
    symbols = (("a", "i", "h", "j"), ("b", "l", "k"))
    equation = "...iij,...jk->...ik"
    expected = numpy.einsum(equation, x, y)
    close(ran("einsum", x, y, subscripts=equation, symbols=symbols), expected)


def test_einsum_with_sizes_that_do_not_agree() -> None:
    with pytest.raises(ValueError, match="sizes of dimension 'i' do not agree: 1 and 3"):
        run_op("relax.einsum", normal((1, 3)), subscripts="ii->i", symbols=(("n", "m"),))
    with pytest.raises(ValueError, match="sizes of dimension 'j' do not agree: 2 and 3"):
        run_op("relax.einsum", normal((3, 2)), normal((3, 4)), subscripts="ij,jk", symbols=(("i", "j"), ("l", "k")))


# ---- form ----


def legalized(name: str, *infos: Any, **attributes: Any) -> list[Any]:
    module = rx.Module()
    with module.function("main", infos) as f:
        f.returns(rx.find_op(f"relax.{name}")(*f, **attributes))
    rx.LegalizeOps()(module)
    module.verify()
    legalized.module = module  # type: ignore[attr-defined]  # keeps the operations alive
    return [op.operation for op in module.body.operations if is_prim_func(op)]


def test_a_matmul_is_a_contraction() -> None:
    (prim,) = legalized("matmul", rx.tensor((8, "m", 64), "float16"), rx.tensor((64, "n"), "float16"))
    assert op_pattern(prim).name == "OUT_EWISE_FUSABLE"  # type: ignore[union-attr]
    text = str(prim)
    assert '["parallel", "parallel", "parallel", "reduction"]' in text
    assert "arith.mulf" in text and "tensor.extract" not in text and "tir.assert" not in text


def test_moved_elements_are_injective() -> None:
    (prim,) = legalized("einsum", rx.tensor((8, 4)), subscripts="ij->ji")
    assert op_pattern(prim).name == "INJECTIVE"  # type: ignore[union-attr]
    assert "arith" not in str(prim)


@pytest.mark.parametrize("shapes", [((5, 7), (7, 1)), (("m", "k"), ("k", 1)), ((1, 5, 7), (4, 7, 1))])
def test_a_column_is_multiplied_as_a_vector(shapes: Any) -> None:
    """Multiply a column as a vector: with a last dimension of size 1 its elements would be loaded one by one."""
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(relax.matmul(*f))
    rx.LegalizeOps(target="llvm")(module)
    (product,) = (op for op in operations_in(module.operation) if op.name == "linalg.generic" and len(op.operands) == 3)
    assert str(product.attributes["iterator_types"]).count("parallel") == len(shapes[1]) - 1
    x, w = (numpy.ones([{"m": 3, "k": 4}.get(size, size) for size in shape], "float32") for shape in shapes)
    numpy.testing.assert_array_equal(rx.compile(module)["main"](x, w), x @ w)
