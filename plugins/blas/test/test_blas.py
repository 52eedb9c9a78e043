# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `blas`: products in compiled models against NumPy, and the library's calls without a program."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir import relax
from relax_mlir.passes.graph.partition.codegen import find_codegen
from relax_mlir.runtime import to_numpy
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.external_bytes import PartFunction, packed, unpacked
from relax_mlir_blas import runtime as blas
from relax_mlir_blas.codegen import Blas
from relax_mlir_blas.products import products, spec_of, specs
from relax_mlir_blas.runtime import EinsumStep, Part

SIZES = {"b": 2, "c": 3, "m": 4, "n": 5, "k": 6, "1": 1}
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


def random(shape: Sequence[int], dtype: str = "float32", seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def reference(spec: str, a: Any, b: Any) -> Any:
    """Return NumPy's result, also for axes of size 1."""
    operands, result = spec.split("->")
    labels, arrays = [], []
    for own, array in zip(operands.split(","), (a, b), strict=True):
        arrays.append(array.reshape([size for label, size in zip(own, array.shape, strict=True) if label != "1"]))
        labels.append(own.replace("1", ""))
    return numpy.einsum(f"{','.join(labels)}->{result}", *arrays)


def shape_of(labels: str, **sizes: int) -> tuple[int, ...]:
    return tuple({**SIZES, **sizes}[label] for label in labels)


def operands_of(spec: str, dtype: str = "float32", **sizes: int) -> tuple[Any, Any, Any]:
    operands, result = spec.split("->")
    one, other = operands.split(",")
    out = numpy.full(shape_of(result, **sizes), numpy.nan, dtype)
    return random(shape_of(one, **sizes), dtype), random(shape_of(other, **sizes), dtype, 1), out


def multiply(spec: str, a: Any, b: Any, out: Any, bias: Any = None, relu: bool = False) -> None:
    """Call a part of one product from Python."""
    given = [each for each in (a, b, bias) if each is not None]
    runner = one_product(spec, "f32" if out.itemsize == 4 else "f64", None if bias is None else 2, relu)
    runner.native()(*given, out)


def one_product(spec: str, element: str = "f32", bias: int | None = None, relu: bool = False) -> Any:
    count = 2 if bias is None else 3
    return blas._Runner(
        PartFunction(range(count), {}, [EinsumStep(spec, element, 0, 1, bias, relu, count)], [count]), 1
    )


# ---- the library's calls ----
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", specs())
def test_every_product(spec: str, dtype: str) -> None:
    a, b, out = operands_of(spec, dtype)
    multiply(spec, a, b, out)
    numpy.testing.assert_allclose(out, reference(spec, a, b), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def stretched(array: Any, how: str) -> Any:
    """Return the same numbers in other memory layouts."""
    if not array.shape:
        return array.copy()
    if how == "steps":
        wide = numpy.zeros([size * 2 for size in array.shape], array.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    elif how == "padded":
        wide = numpy.zeros([size + 3 for size in array.shape], array.dtype)
        view = wide[tuple(slice(1, 1 + size) for size in array.shape)]
    elif how == "backwards":
        view = array[tuple(slice(None, None, -1) for _ in array.shape)].copy()
        view = view[tuple(slice(None, None, -1) for _ in array.shape)]
    elif how == "columns":
        view = numpy.asfortranarray(array)
    elif how == "unaligned":
        raw = numpy.zeros(array.nbytes + 1, "uint8")[1:]
        view = raw.view(array.dtype).reshape(array.shape)
    else:
        view = array.copy()
    view[...] = array
    return view


WAYS = ["plain", "steps", "padded", "backwards", "columns", "unaligned"]


@given(st.sampled_from(specs()), st.lists(st.sampled_from(WAYS), min_size=4, max_size=4), st.booleans(), st.data())
@draws(600)
def test_strides_sizes_and_bias(spec: str, ways: list[str], biased: bool, data: Any) -> None:
    sizes = {label: data.draw(st.integers(0, 4), label) for label in "bcmnk"}
    given = operands_of(spec, **sizes)
    a, b, out = (stretched(array, how) for array, how in zip(given, ways[1:], strict=True))
    bias = stretched(random((sizes["n"],), seed=2), ways[0]) if biased and spec.endswith("n") else None
    before = [each.copy() for each in (a, b)]
    relu = data.draw(st.booleans())
    multiply(spec, a, b, out, bias, relu)
    expected = reference(spec, a, b) + (0 if bias is None else bias)
    expected = numpy.maximum(expected, 0) if relu else expected
    numpy.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    assert all(map(numpy.array_equal, before, (a, b)))


def test_inputs_are_read_only() -> None:
    """Accept read-only inputs, also if they have to be copied."""
    a, b, out = operands_of("mk,kn->mn")
    runner = one_product("mk,kn->mn")
    strided = stretched(a, "steps")
    strided.flags.writeable = False
    assert runner.listed(strided, b, out) is None
    numpy.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)


def test_rows_of_batches_become_one_product() -> None:
    """Compute a linear layer on a batch by one call, instead of one for each item."""
    for spec, expected in {
        "bcmk,kn->bcmn": [(24, 5, 6, 1)],
        "bmk,nk->bmn": [(8, 5, 6, 1)],
        "bcmk,1ckn->bcmn": [(4, 5, 6, 3)] * 2,
        "bkm,kn->bmn": [(4, 5, 6, 2)],
        "mk,bkn->bmn": [(4, 5, 6, 2)],
    }.items():
        runner = one_product(spec)
        listed = runner.listed(*operands_of(spec))
        assert listed is not None
        _, *products = listed.calls
        assert [(*call.arguments[3:6], call.arguments[-1]) for call in products] == expected, spec


def test_sizes_that_do_not_fit() -> None:
    with pytest.raises(RelaxError, match="sizes of 'k' do not agree: 3 and 4"):
        multiply("mk,kn->mn", random((2, 3)), random((4, 5)), random((2, 5)))
    large = numpy.lib.stride_tricks.as_strided(random((1,)), (2**31, 1), (0, 4))
    out = numpy.lib.stride_tricks.as_strided(random((1,)), (1, 1), (4, 4))
    with pytest.raises(RelaxError, match="32 bits"):  # before anything is copied
        multiply("km,kn->mn", large, large, out)


# ---- bytes ----
WEIGHT = random((6, 5))
PART = Part(2, {"f": PartFunction([0], {1: WEIGHT}, [EinsumStep("mk,kn->mn", "f32", 0, 1, None, True, 2)], [2])})


def read(data: bytes) -> Part:
    return unpacked("blas", memoryview(data), Part)


def test_bytes_come_back() -> None:
    found = read(packed("blas", PART))
    assert (found.threads, found.functions["f"].steps) == (2, PART.functions["f"].steps)
    numpy.testing.assert_array_equal(found.functions["f"].constants[1], WEIGHT)
    empty = Part(1, {"f": PartFunction([], {0: numpy.zeros((0, 3), "float64")}, [], [0])})
    assert read(packed("blas", empty)).functions["f"].constants[0].shape == (0, 3)


def test_damaged_bytes_are_refused() -> None:
    data = packed("blas", PART)
    for wrong in (
        b"",
        b"something else at all",
        data[:12],
        data[:40],
        data[:-1],
        data + b"x",
        data.replace(b"spec", b"s"),
    ):
        if wrong == data:
            continue
        with pytest.raises(RelaxError, match="bytes"):
            read(wrong)
    with pytest.raises(RelaxError, match="damaged"):
        read(data.replace(b'"threads"', b'"thread5"'))


def test_one_function_by_itself() -> None:
    f = blas.BlasRuntime().load(memoryview(packed("blas", PART)))["f"]
    x, out = random((4, 6)), numpy.empty((4, 5), "float32")
    f(x, out)
    numpy.testing.assert_allclose(out, numpy.maximum(x @ WEIGHT, 0), rtol=1e-5, atol=1e-5)
    with pytest.raises(RelaxError, match="takes 2 tensors, inputs and outputs, got 1"):
        f(x)


def test_a_missing_library_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> ctypes.CDLL:
        raise ImportError("No module named 'scipy_openblas32'")

    runtime = blas.BlasRuntime()
    assert runtime.requires(memoryview(packed("blas", PART))) == ""
    monkeypatch.setattr(blas, "library", missing)
    problem = runtime.requires(memoryview(packed("blas", PART)))
    assert (
        problem
        == "it needs the package scipy-openblas32 (pip install scipy-openblas32): No module named 'scipy_openblas32'"
    )
    with pytest.raises(RelaxError, match="this machine cannot run it: it needs the package scipy-openblas32"):
        partitioned(relax.matmul, (2, 3), (3, 4))["main"]


# ---- models ----
def built(body: Callable[..., Any], *shapes: Any, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def partitioned(body: Callable[..., Any], *shapes: Any, dtype: str = "float32", how: str = "blas") -> Any:
    return rx.compile(built(body, *shapes, dtype=dtype), partition=[how], opt_level=1, strict_partition=True)


def steps_of(program: Any) -> list[list[Any]]:
    """Return the steps of each part's functions."""
    parts = [read(each.data) for each in program._artifact.externals]
    return [list(function.steps) for part in parts for function in part.functions.values()]


def agrees(body: Callable[..., Any], *shapes: Any, dtype: str = "float32", sizes: dict[str, int] | None = None) -> Any:
    """Check that the model gives the same results as without the codegen, and return the program."""
    program = partitioned(body, *shapes, dtype=dtype)
    known = {"b": 2, "c": 3, "m": 4, "n": 5, "k": 6, **(sizes or {})}
    arrays = [
        random([known.get(size, 0) if isinstance(size, str) else size for size in shape], dtype, seed)
        for seed, shape in enumerate(shapes)
    ]
    found, expected = program["main"](*arrays), rx.compile(built(body, *shapes, dtype=dtype))["main"](*arrays)
    several = isinstance(found, (tuple, list))
    for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
        numpy.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=1e-4, atol=TOLERANCE[dtype] * 10)
    return program


MATMULS: dict[str, Any] = {
    "mk,kn->mn": (("m", "k"), ("k", "n")),
    "k,kn->n": (("k",), ("k", "n")),
    "bmk,kn->bmn": (("b", "m", "k"), ("k", "n")),
    "bmk,bkn->bmn": (("b", "m", "k"), ("b", "k", "n")),
    "mk,bkn->bmn": (("m", "k"), ("b", "k", "n")),
    "1mk,bkn->bmn": ((1, "m", "k"), ("b", "k", "n")),
    "bcmk,bckn->bcmn": (("b", "c", "m", "k"), ("b", "c", "k", "n")),
    "bcmk,ckn->bcmn": (("b", "c", "m", "k"), ("c", "k", "n")),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("are_known", [True, False], ids=["known", "symbolic"])
@pytest.mark.parametrize("spec", MATMULS)
def test_products_of_the_graph(spec: str, are_known: bool, dtype: str) -> None:
    shapes = MATMULS[spec]
    if are_known:
        shapes = tuple(tuple(SIZES.get(size, size) for size in shape) for shape in shapes)
    program = agrees(relax.matmul, *shapes, dtype=dtype)
    ((step,),) = steps_of(program)
    (node,) = step.nodes
    assert node.startswith("test_blas.py:")
    assert step == EinsumStep(spec, "f32" if dtype == "float32" else "f64", 0, 1, None, False, 2, step.nodes)


def test_symbolic_sizes_may_be_0_and_1() -> None:
    for sizes in ({"m": 0}, {"k": 0}, {"n": 0}, {"m": 1, "n": 1}, {"k": 1}):
        agrees(relax.matmul, ("m", "k"), ("k", "n"), sizes=sizes)


def test_transposed_operands_are_read_where_they_lie() -> None:
    for spec in ("mk,nk->mn", "km,kn->mn", "km,nk->mn", "bmk,bnk->bmn"):
        operands, _ = spec.split("->")
        body = lambda a, b, spec=spec: relax.einsum([a, b], spec)  # noqa: E731
        ((step,),) = steps_of(agrees(body, *(shape_of(labels) for labels in operands.split(","))))
        assert (step.spec, step.a, step.b) == (spec, 0, 1)


def test_a_transposed_result_is_the_product_the_other_way_round() -> None:
    ((step,),) = steps_of(agrees(lambda a, b: relax.einsum([a, b], "mk,kn->nm"), (4, 6), (6, 5)))
    assert (step.spec, step.a, step.b) == ("km,nk->mn", 1, 0)


def weights() -> tuple[Any, Any]:
    return relax.const(random((6, 5), seed=3)), relax.const(random((5,), seed=4))


def test_bias_and_relu() -> None:
    def layer(x: Any) -> Any:
        weight, bias = weights()
        return relax.nn.relu(relax.add(relax.matmul(x, weight), bias))

    for shape in ((4, 6), ("b", "m", 6)):
        ((step,),) = steps_of(agrees(layer, shape))
        assert (step.relu, step.a, step.b, step.bias) == (True, 0, -1, -2) or (step.bias is not None and step.relu)
    ((step,),) = steps_of(agrees(lambda a, b: relax.nn.relu(relax.matmul(a, b)), (4, 6), (6, 5)))
    assert step.relu and step.bias is None
    ((step,),) = steps_of(agrees(lambda a, b, c: relax.add(c, relax.matmul(a, b)), (4, 6), (6, 5), (5,)))
    assert step.bias is not None and not step.relu


def test_python_is_asked_once_for_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build a list of calls in Python once per size. Later calls go from the program to the library directly."""
    asked: list[Any] = []
    listed = blas._Runner.listed

    def noted(self: Any, *tensors: Any) -> Any:
        asked.append(tensors[0].shape[0])
        return listed(self, *tensors)

    monkeypatch.setattr(blas._Runner, "listed", noted)
    for dtype in TOLERANCE:
        asked.clear()
        weight, bias = random((6, 5), dtype, 3), random((5,), dtype, 4)
        layer = lambda x, w=weight, b=bias: relax.nn.relu(relax.add(relax.matmul(x, relax.const(w)), relax.const(b)))  # noqa: E731
        main = partitioned(layer, ("m", 6), dtype=dtype)["main"]
        for count in (3, 0, 3, 1, 0, 3):
            x = random((count, 6), dtype)
            numpy.testing.assert_allclose(
                to_numpy(main(x)), numpy.maximum(x @ weight + bias, 0), TOLERANCE[dtype], 1e-5
            )
        assert asked == [3, 0, 1]
        (row,) = to_numpy(main(numpy.full((1, 6), numpy.nan, dtype)))
        assert numpy.isnan(row).all(), "relu hands NaN on"


def test_many_threads_at_once() -> None:
    """Call from many threads, with equal and different sizes. Temporaries between two products belong to one call."""
    a, b = random((6, 5)), random((5, 3), seed=1)
    chain = lambda x: relax.matmul(relax.nn.relu(relax.matmul(x, relax.const(a))), relax.const(b))  # noqa: E731
    main = partitioned(chain, ("m", 6))["main"]

    def run(number: int) -> None:
        for turn in range(40):
            x = random((1 + (number + turn) % 4, 6), seed=number)
            numpy.testing.assert_allclose(to_numpy(main(x)), numpy.maximum(x @ a, 0) @ b, rtol=1e-4, atol=1e-5)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))


def test_sums_with_a_matrix_or_a_column_stay_on_the_target() -> None:
    """Leave a sum with a matrix, and a sum with a column, to the target."""
    for shape in ((4, 5), (4, 1)):
        ((step,),) = steps_of(agrees(lambda a, b, c: relax.add(relax.matmul(a, b), c), (4, 6), (6, 5), shape))
        assert step.bias is None
    ((step,),) = steps_of(agrees(lambda a, b: (lambda p: (relax.nn.relu(p), p))(relax.matmul(a, b)), (4, 6), (6, 5)))
    assert not step.relu, "the product is wanted, too"


def test_layers_in_a_row_are_one_part() -> None:
    def body(x: Any, a: Any, b: Any) -> Any:
        return relax.matmul(relax.nn.relu(relax.matmul(x, a)), b)

    (steps,) = steps_of(agrees(body, ("m", 6), (6, 5), (5, 3)))
    assert [step.relu for step in steps] == [True, False]


def test_several_results_of_a_part() -> None:
    def body(x: Any, a: Any) -> Any:
        one = relax.matmul(x, a)
        return one, relax.matmul(one, a)

    agrees(body, (4, 4), (4, 4))


def test_other_elements_stay() -> None:
    program = rx.compile(built(relax.matmul, (4, 6), (6, 5), dtype="float16"), partition=["blas"])
    assert list(program._artifact.externals) == []


def test_options() -> None:
    program = partitioned(relax.matmul, (4, 6), (6, 5), how="blas{threads=2}")
    assert read(program._artifact.externals[0].data).threads == 2
    for wrong in ("0", "-1", "many"):
        with pytest.raises(RelaxError, match=f"option 'threads' expects an integer from 1 on, got '{wrong}'"):
            partitioned(relax.matmul, (4, 6), (6, 5), how=f"blas{{threads={wrong}}}")


def test_an_artifact_of_it_loads_again(tmp_path: Any) -> None:
    path = tmp_path / "model.rxa"
    partitioned(relax.matmul, (4, 6), (6, 5)).save(path)
    a, b = random((4, 6)), random((6, 5), seed=1)
    numpy.testing.assert_allclose(to_numpy(rx.runtime.load(path)["main"](a, b)), a @ b, rtol=1e-5, atol=1e-5)


def test_every_structure_is_distinguished() -> None:
    found = products()
    assert len({each.key for each in found}) == len(found) == 2 * len(specs()) == 2 * len(set(specs()))
    assert [spec_of(each) for each in found][: len(specs())] == [(spec, "f32") for spec in specs()]


def test_blas_is_registered_with_its_options() -> None:
    assert find_codegen("blas") is Blas
    assert list(Blas.options) == ["threads"]
