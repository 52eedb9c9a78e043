# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fold-constant: results equal the compiled program's to the last bit, and no call computes them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.passes.core.evaluating import evaluating_by, evaluator
from relax_mlir.passes.graph.relax_fold_constant import FoldConstant
from relax_mlir.runtime import to_numpy
from relax_mlir.support import registry
from relax_mlir.support.disk_cache import DiskCache
from relax_mlir.support.registry import Registry
from relax_mlir.targets.core import evaluation

import relax_mlir as rx
from relax_mlir import relax

INTEGERS = ("int8", "uint8", "int16", "uint16")


def built(*arrays: Any, op: str, **attributes: Any) -> rx.Module:
    """Return a function without parameters: an operator on constants."""
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(rx.find_op(op)(*(relax.const(array) for array in arrays), **attributes))
    return module


def names(module: rx.Module) -> list[str]:
    body = module.body.operations[0].regions[0].blocks[0]
    return [op.operation.name for op in body.operations]


def check_bits(*arrays: Any, op: str, dtype: str, **attributes: Any) -> None:
    """Compare the folded operator on constants with the operator on arguments."""
    module = rx.Module()
    with module.function("main", [rx.tensor(array.shape, array.dtype.name) for array in arrays]) as f:
        make = rx.find_op(op)
        f.returns(make(*map(relax.const, arrays), **attributes), make(*f, **attributes))
    folded, computed = (to_numpy(each, dtype) for each in rx.compile(module)["main"](*arrays))
    assert folded.dtype == computed.dtype and folded.shape == computed.shape
    assert folded.tobytes() == computed.tobytes()
    FoldConstant()(module)
    assert names(module).count(op) == 1


def any_integers(draw: Any, dtype: str, *shape: int) -> Any:
    seed = draw(st.integers(0, 1000))
    limits = numpy.iinfo(dtype)
    return numpy.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


@st.composite
def quantized(draw: Any) -> tuple[list[Any], int]:
    """Draw data, scale and zero point: one of the latter, or one for each slice along an axis."""
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 7]), min_size=1, max_size=3)))
    axis = draw(st.integers(0, len(shape) - 1))
    slices = draw(st.sampled_from([(), (shape[axis],)]))
    dtype = draw(st.sampled_from(INTEGERS))
    scale = numpy.random.default_rng(draw(st.integers(0, 9))).uniform(1e-3, 2, slices)
    scale = numpy.asarray(scale, draw(st.sampled_from(["float32", "float16"])))
    return [any_integers(draw, dtype, *shape), scale, any_integers(draw, dtype, *slices)], axis


@draws(12)
@given(quantized(), st.sampled_from(["float32", "float16"]))
def test_dequantized_to_the_last_bit(case: Any, target: str) -> None:
    arrays, axis = case
    check_bits(*arrays, op="relax.dequantize", dtype=target, axis=axis, out_dtype=target)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", ["float32", "float16"])
def test_quantized_to_the_last_bit(source: str, dtype: str) -> None:
    special = [0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 6e4, -6e4, 1e-7]
    data = numpy.concatenate([special, numpy.arange(-20, 20) + 0.5, numpy.random.default_rng(0).normal(size=16) * 300])
    limits = numpy.iinfo(dtype)
    scale = numpy.array([0.5, 3.0], "float32")
    zero_point = numpy.array([limits.max // 2, limits.min], dtype)
    pairs = data.astype(source).reshape(-1, 2)
    check_bits(pairs, scale, zero_point, op="relax.quantize", dtype=dtype, axis=1, out_dtype=dtype)


def test_a_large_weight_is_neither_text_nor_computed_in_a_call() -> None:
    weight = numpy.random.default_rng(0).integers(-128, 128, (300, 200), "int8")
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 300))]) as f:
        scale = relax.const(numpy.full(200, 0.5, "f4"))
        dense = relax.dequantize(relax.const(weight), scale, relax.const(numpy.zeros(200, "i1")), axis=1)
        f.returns(relax.matmul(*f, relax.permute_dims(relax.permute_dims(dense))))
    program = rx.compile(module)
    x = numpy.random.default_rng(1).normal(size=(2, 300)).astype("f4")
    expected = x @ (weight.astype("f4") * numpy.float32(0.5))
    numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](x)), expected, rtol=1e-4, atol=1e-3)
    FoldConstant()(module)
    assert names(module) == ["arith.constant", "relax.matmul", "func.return"]
    assert len(module.body.operations[0].get_asm(large_resource_limit=10)) < 1000


def test_constants_without_users_are_not_in_the_program(tmp_path: Path) -> None:
    """Drop a convolution's old weight after a new layout for wide padding."""
    weight = numpy.random.default_rng(0).normal(size=(64, 64, 3, 3)).astype("f4")
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 64, 4, 6))]) as f:
        f.returns(relax.nn.conv2d(*f, relax.const(weight), padding=9, dilation=9))
    rx.compile(module).save(tmp_path / "program.rxa")
    assert weight.nbytes < (tmp_path / "program.rxa").stat().st_size < weight.nbytes * 1.5


def test_growth_is_limited_in_all() -> None:
    eighth = numpy.ones((256, 512), "int8")
    module = rx.Module()
    with module.function("main", []) as f:
        scale, zero = relax.const(0.5), relax.const(0, "int8")
        f.returns(*(relax.dequantize(relax.const(eighth), scale, zero) for _ in range(4)))
    # Each takes 3/8 of a MiB more.
    FoldConstant(most_growth=1)(module)
    assert names(module).count("relax.dequantize") == 2


def random_floats(*shape: int) -> Any:
    return numpy.random.default_rng(3).normal(size=shape).astype("f4")


# Situations of Apache TVM's tests/python/relax/test_transform_fold_constant.py, on operators instead of PrimFuncs.


@pytest.mark.parametrize(
    ("op", "attributes"), [("relax.exp", {}), ("relax.nn.softmax", {"axis": -1}), ("relax.cumsum", {"axis": 0})]
)
def test_folded_constants_have_the_bits_of_the_program(op: str, attributes: dict[str, Any]) -> None:
    check_bits(random_floats(7, 40), op=op, dtype="float32", **attributes)


def test_all_that_is_compiled_is_one_program() -> None:
    asked = []
    usual = evaluator()
    assert usual is not None
    module = rx.Module()
    for name in ("one", "other"):
        with module.function(name, [rx.tensor((40, 40))]) as f:
            weight = relax.exp(relax.sin(relax.const(random_floats(40, 40))))
            f.returns(relax.matmul(*f, relax.permute_dims(weight)))

    def run(program: Any) -> Any:
        asked.append(str(program))
        return usual.run(program)

    with evaluating_by(usual._replace(run=run)):
        FoldConstant()(module)
    assert len(asked) == 1 and asked[0].count("relax.sin") == 2
    # A constant's bytes are in no text.
    assert asked[0].count("dense_resource<") == 2 and "matmul" not in asked[0]
    for function in module.body.operations:
        body = function.regions[0].blocks[0].operations
        assert [op.operation.name for op in body] == ["arith.constant", "relax.matmul", "func.return"]


def test_without_who_runs_programs_numpy_s_part_is_folded() -> None:
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(relax.exp(relax.negative(relax.const([1.0, 2.0]))), relax.negative(relax.const([3.0])))
    with evaluating_by(None):
        FoldConstant()(module)
    assert names(module) == ["arith.constant", "relax.exp", "arith.constant", "func.return"]
    FoldConstant()(module)
    assert names(module) == ["arith.constant", "arith.constant", "func.return"]


def test_a_failing_operator_does_not_prevent_other_folds() -> None:
    """Fold nine operators, but not an index out of bounds with its operand and user. The run reports the error."""
    module = rx.Module()
    with module.function("main", []) as f:
        outside = relax.take(relax.negative(relax.const([1.0, 2.0])), relax.const([5]), axis=0)
        f.returns(*(relax.exp(relax.const([float(n)])) for n in range(9)), relax.exp(outside))
    FoldConstant()(module)
    assert [name for name in names(module) if name.startswith("relax.")] == ["relax.take", "relax.exp"]
    with pytest.raises(IndexError, match="5"):
        rx.compile(module)["main"]()


def test_operators_of_other_packages_are_folded_where_they_are_pure() -> None:
    mine = rx.Dialect("foldable")
    twice = mine.op("twice", "x", infer=lambda call: call.x, doc="Twice.")
    heard = mine.op("heard", "x", infer=lambda call: call.x, pure=False, doc="Twice, and somebody hears it.")
    put = mine.op(
        "put", "state x", infer=lambda call: call.state, view="state", writes="state", doc="Writes to its operand."
    )
    alone = mine.op("alone", "x", infer=lambda call: call.x, doc="Nobody has a rule for it.")

    @rx.register_legalize(["foldable.twice", "foldable.heard", "foldable.put"])
    def doubled(call: Any) -> Any:
        return relax.add(call.operands[0], call.operands[0])

    module = rx.Module()
    with module.function("main", []) as f:
        c = relax.const([1.0, 2.0])
        f.returns(twice(c), heard(c), put(c, c), alone(c))
    FoldConstant()(module)
    assert [name for name in names(module) if name.startswith("foldable")] == [
        "foldable.heard",
        "foldable.put",
        "foldable.alone",
    ]
    assert "dense<[2.000000e+00, 4.000000e+00]>" in str(module)


def test_kernels_that_call_what_is_somebody_else_s_are_not_run() -> None:
    module = rx.Module.parse("""
      func.func @main() -> tensor<2xf32> {
        %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %0 = "relax.call_tir"(%c) {func = @inner} : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }
      func.func private @inner(%x: memref<2xf32>, %y: memref<2xf32>) attributes {tir.prim_func} {
        %i = arith.constant 0 : index
        %0 = memref.load %x[%i] : memref<2xf32>
        %1 = "tir.call_extern"(%0) {func = "sinf"} : (f32) -> f32
        memref.store %1, %y[%i] : memref<2xf32>
        return
      }""")
    text = str(module)
    FoldConstant()(module)
    assert str(module) == text


def test_results_are_found_again_and_only_where_the_caller_says(tmp_path: Path) -> None:
    def compiled(cache: Any, value: float) -> float:
        module = rx.Module()
        with module.function("main", []) as f:
            f.returns(relax.exp(relax.const(numpy.full((40, 40), value, "f4"))))
        found = rx.compile(module, cache=cache)["main"]()
        return float(to_numpy(found)[3, 5])

    usual = DiskCache().sizes()
    assert compiled(tmp_path, 1.0) == pytest.approx(numpy.e)
    assert DiskCache(tmp_path).sizes()["results"][0] == 1 and DiskCache().sizes() == usual
    (kept,) = (tmp_path / "1" / "results").glob("*/*")
    DiskCache(tmp_path).put("results", kept.name, numpy.full((40, 40), 7, "f4").tobytes())
    assert compiled(tmp_path, 1.0) == 7  # of the cache
    assert compiled(tmp_path, 2.0) == pytest.approx(numpy.e**2)
    assert DiskCache(tmp_path).sizes()["results"][0] == 2
    assert compiled(False, 1.0) == pytest.approx(numpy.e) and DiskCache().sizes() == usual


def test_a_journal_records_one_compilation() -> None:
    journal = rx.Journal()
    module = built(numpy.ones(3, "f4"), op="relax.exp")
    rx.compile(module, journal=journal)
    assert [fact["name"] for fact in journal.of("stage")].count("legalize") == 1


@pytest.mark.parametrize("option", ["most_growth", "most_spread", "small"])
def test_limits_are_not_negative(option: str) -> None:
    with pytest.raises(rx.RelaxError, match=f"{option.replace('_', '-')} must be 0 or more, got -1"):
        FoldConstant(**{option: -1})


def test_large_casts_of_weights_are_not_folded() -> None:
    module = rx.Module()
    with module.function("main", []) as f:
        wide = relax.astype(relax.const(numpy.ones((200, 200), "f2")), "float32")
        small = relax.astype(relax.const(numpy.ones((20, 20), "f2")), "float32")
        f.returns(relax.exp(wide), relax.exp(small))
    FoldConstant()(module)
    assert [name for name in names(module) if name.startswith("relax.")] == ["relax.astype", "relax.exp"]


def test_results_of_grown_constants_are_folded() -> None:
    module = rx.Module()
    with module.function("main", []) as f:
        half = relax.const(numpy.ones((2, 4, 36), "f4"))
        f.returns(relax.tanh(relax.concat([half, half], axis=1)))
    FoldConstant()(module)
    assert [name for name in names(module) if name.startswith("relax.")] == []


@pytest.mark.parametrize(
    "dtype", ["int4", "uint2", "float4_e2m1fn", "float6_e2m3fn", "float8_e3m4", "bfloat16", "float64"]
)
def test_tensors_of_one_number_of_every_type(dtype: str) -> None:
    """Fold types that numpy lacks: numpy's substitutes must not replace them."""
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(relax.zeros((2, 3), dtype=dtype), relax.ones((2, 3), dtype=dtype))
    zeros, ones = rx.compile(module)["main"]()
    assert not to_numpy(zeros, dtype).astype("float32").any()
    assert (to_numpy(ones, dtype).astype("float32") == 1).all()


def test_constants_of_a_module_are_one_program_which_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run one program for all constants of a module's functions.

    A second compilation runs nothing and generates no code.
    """
    module = rx.Module()
    for name in ("one", "two", "three"):
        with module.function(name, []) as f:
            f.returns(*(relax.exp(relax.const(numpy.full((9, 9), len(name) + each, "f4"))) for each in range(4)))
    programs: list[str] = []

    def counted(options: Any, program: Any) -> Any:
        programs.append(str(program))
        return run(options, program)

    run = evaluation._run
    monkeypatch.setattr(evaluation, "_run", counted)
    expected = to_numpy(rx.compile(module, cache=tmp_path)["three"]()[3])
    assert [text.count("relax.exp") for text in programs] == [12]
    kept = DiskCache(tmp_path).sizes()

    def never(artifact: Any) -> Any:
        raise AssertionError("a program was run again")

    monkeypatch.setattr(evaluation, "_called", never)
    again = rx.compile(module, cache=tmp_path)
    assert DiskCache(tmp_path).sizes() == kept
    numpy.testing.assert_array_equal(to_numpy(again["three"]()[3]), expected)


def test_a_program_that_was_compiled_before_is_not_lowered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Find the program by its text and its constants, unless a foreign rule may have changed the result."""
    monkeypatch.setattr(registry, "_FOREIGN", [])
    lowered: list[int] = []

    def counted(target: str, level: int) -> Any:
        lowered.append(level)
        return stages(target, level)

    stages = evaluation.stages_of
    monkeypatch.setattr(evaluation, "stages_of", counted)

    def computed(last: float, level: int = 2) -> Any:
        """Return the last element of a program with a small and a large constant, which differ in that element."""
        module = rx.Module()
        large = numpy.arange(4096, dtype="f4") / 4096
        large[-1] = last
        with module.function("main", []) as f:
            f.returns(relax.exp(relax.add(relax.const(large), relax.const(numpy.full(4096, 2, "f4")))))
        return to_numpy(rx.compile(module, opt_level=level, cache=tmp_path)["main"]())[-1]

    for last, level, times in ((1, 2, 1), (1, 2, 1), (3, 2, 2), (3, 1, 3), (1, 2, 3)):
        assert computed(last, level) == pytest.approx(numpy.exp(last + 2))
        assert len(lowered) == times, (last, level)

    lock = threading.Lock()
    registering = Registry[Any](lambda entry: (entry,), lambda entry, taken: "").registering(lambda rule, _: [rule])
    registering(lambda op: lock)
    assert computed(1) == pytest.approx(numpy.exp(3)) and len(lowered) == 4
