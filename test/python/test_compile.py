# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.compile from graph to results: sizes at run time, memory, control flow, errors, artifacts."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
import scipy.special
from compiling import array, built, compiled, floats
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st

import relax_mlir as rx
from relax_mlir import relax

ROW = '#relax.sym<["n", 4]>'
TENSOR = f"tensor<?x4xf32, {ROW}>"


def test_one_compilation_serves_every_batch_size() -> None:
    executable = built(
        [rx.tensor(("batch", 64)), rx.tensor((64, 32)), rx.tensor((32,))],
        lambda x, w, b: relax.nn.gelu(relax.add(relax.matmul(x, w), b)),
    )
    w, b = floats(64, 32), floats(32)
    for batch in (0, 1, 3, 17):
        x = floats(batch, 64)
        h = (x @ w + b).astype("float64")
        expected = h * 0.5 * (1 + scipy.special.erf(h / numpy.sqrt(2)))
        numpy.testing.assert_allclose(array(executable["main"](x, w, b)), expected, rtol=1e-4, atol=1e-5)


def test_compile_does_not_change_the_module() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    before = str(module)
    rx.compile(module)
    assert str(module) == before


def test_results_may_be_inputs_constants_repeated_values_and_views() -> None:
    """Return an input, a constant, a value twice, and a view of a result."""
    big = floats(64, 64)

    def body(x: Any) -> Any:
        y = relax.exp(x)
        small, large = relax.const([1, 2, 3], "uint8"), relax.const(big)
        return x, small, large, y, y, relax.reshape(y, ("n*4",)), relax.reshape(x, (-1,))

    executable = built([rx.tensor(("n", 4))], body)
    for n in (1, 5):
        x = floats(n, 4)
        results = [array(each) for each in executable["main"](x)]
        y = numpy.exp(x)
        for result, expected in zip(
            results, [x, numpy.array([1, 2, 3], "uint8"), big, y, y, y.ravel(), x.ravel()], strict=True
        ):
            assert result.dtype == expected.dtype
            numpy.testing.assert_allclose(result, expected, rtol=1e-6)


def test_constants_of_every_type() -> None:
    values = [numpy.arange(-2, 3).astype(dtype) for dtype in ("int8", "uint16", "int64", "float16", "float64")]
    values += [numpy.array([True, False]), numpy.arange(5000, dtype="uint8"), numpy.ones((40, 40), "float32")]
    executable = built([rx.tensor((1,))], lambda x: tuple(relax.const(value) for value in values))
    for result, expected in zip(executable["main"](floats(1)), values, strict=True):
        numpy.testing.assert_array_equal(array(result), expected)


def test_equal_types_are_not_equal_sizes() -> None:
    """Reshape tensor<?x?> to tensor<?x?>: 2x3 as 3x2."""
    executable = built(
        [rx.tensor(("n", "m"))], lambda x: (relax.reshape(relax.exp(x), ("m", "n")), relax.reshape(x, ("m", "n")))
    )
    x = floats(2, 3)
    for result, expected in zip(executable["main"](x), (numpy.exp(x), x), strict=True):
        numpy.testing.assert_allclose(array(result), expected.reshape(3, 2), rtol=1e-6)


_UNARY = {"exp": numpy.exp, "negative": numpy.negative, "abs": numpy.abs, "tanh": numpy.tanh}
_BINARY = {"add": numpy.add, "subtract": numpy.subtract, "maximum": numpy.maximum}


@draws(12)
@given(st.data())
def test_temporaries_do_not_overwrite_live_values(data: Any) -> None:
    """Draw random graphs with tensors of several sizes, and return any of their values."""
    choices: list[tuple[str, int, int]] = []
    picked: list[int] = []
    shapes = [("n", 8), ("n", 3)]
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        values = list(f)
        for _ in range(data.draw(st.integers(3, 14))):
            left, right = (data.draw(st.integers(0, len(values) - 1)) for _ in range(2))
            same = values[left].type == values[right].type
            kind = data.draw(st.sampled_from([*_UNARY, "transpose", *(_BINARY if same else ())]))
            choices.append((kind, left, right))
            values.append(_apply(relax, kind, values[left], values[right]))
        picked += data.draw(st.lists(st.integers(0, len(values) - 1), min_size=2, max_size=4))
        f.returns(*(values[index] for index in picked))
    executable = rx.compile(module)
    for n in (2, 5):
        arrays = [floats(n, 8), floats(n, 3, seed=6)]
        with numpy.errstate(over="ignore", invalid="ignore"):
            for kind, left, right in choices:
                arrays.append(_apply(None, kind, arrays[left], arrays[right]))
        for result, index in zip(executable["main"](*arrays[:2]), picked, strict=True):
            numpy.testing.assert_allclose(array(result), arrays[index], rtol=1e-4)


def _apply(namespace: Any, kind: str, left: Any, right: Any) -> Any:
    if kind == "transpose":
        return namespace.permute_dims(left) if namespace else left.T
    if kind in _UNARY:
        return getattr(namespace, kind)(left) if namespace else _UNARY[kind](left)
    return getattr(namespace, kind)(left, right) if namespace else _BINARY[kind](left, right)


# ---- dynamic sizes ----


def test_match_cast_checks_and_defines_sizes() -> None:
    executable = compiled(
        """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
  %0 = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["n"]>> loc("cast"("model.py":7:3))
  %1 = "relax.add"(%0, %y) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>)
    -> tensor<?xf32, #relax.sym<["n"]>>
  return %1 : tensor<?xf32, #relax.sym<["n"]>>
}"""
    )
    x = floats(5)
    numpy.testing.assert_allclose(array(executable["main"](x, x)), 2 * x)
    expected = r'@main "cast" at model.py:7:3: the size of dimension 0: expected 3 \(that is n\), got 5'
    for _ in range(2):
        with pytest.raises(ValueError, match=expected):
            executable["main"](x, x[:3].copy())
    numpy.testing.assert_allclose(array(executable["main"](x, x)), 2 * x)


def test_sizes_that_may_broadcast_are_compared_at_run_time() -> None:
    executable = built([rx.tensor(("n",)), rx.tensor(("m",))], lambda x, y: relax.exp(relax.add(x, y)))
    for left, right in ((5, 5), (5, 1), (1, 5), (0, 1)):
        x, y = floats(left), floats(right)
        numpy.testing.assert_allclose(array(executable["main"](x, y)), numpy.exp(x + y), rtol=1e-6)
    with pytest.raises(ValueError, match="sizes 5 and 2 of the result's dimension 0 do not broadcast"):
        executable["main"](floats(5), floats(2))


def test_a_negative_size_is_an_error() -> None:
    executable = built([rx.tensor(("n",))], lambda x: relax.exp(relax.strided_slice(x, [0], [5], [100])))
    assert array(executable["main"](floats(7))).shape == (2,)
    assert array(executable["main"](floats(3))).shape == (0,)


def test_errors_name_the_argument() -> None:
    module = rx.Module()
    with module.function("main", {"image": rx.tensor(("n", 8)), "scale": rx.tensor(("n",))}) as f:
        image, scale = f
        f.returns(relax.multiply(image, relax.reshape(scale, ("n", 1))))
    executable = rx.compile(module)
    with pytest.raises(ValueError, match=r"main: argument #1 'scale'.*expected size n = 2.*got 3"):
        executable["main"](floats(2, 8), floats(3))
    assert [each["name"] for each in executable.signature("main")["inputs"]] == ["image", "scale"]


# ---- control flow ----


def test_branches() -> None:
    executable = compiled(
        f"""
func.func @main(%c: tensor<i1>, %x: {TENSOR}) -> {TENSOR} {{
  %b = tensor.extract %c[] : tensor<i1>
  %r = scf.if %b -> ({TENSOR}) {{
    %1 = "relax.exp"(%x) : ({TENSOR}) -> {TENSOR}
    %2 = "relax.add"(%1, %1) : ({TENSOR}, {TENSOR}) -> {TENSOR}
    scf.yield %2 : {TENSOR}
  }} else {{
    scf.yield %x : {TENSOR}
  }}
  %s = "relax.negative"(%r) : ({TENSOR}) -> {TENSOR}
  return %s : {TENSOR}
}}"""
    )
    x = floats(3, 4)
    numpy.testing.assert_allclose(array(executable["main"](numpy.array(True), x)), -2 * numpy.exp(x), rtol=1e-6)
    numpy.testing.assert_allclose(array(executable["main"](numpy.array(False), x)), -x)


def test_a_loop_that_swaps_what_it_carries() -> None:
    executable = compiled(
        """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: i64) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) : i64 {
    %1 = "relax.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b, %1 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}"""
    )
    one = numpy.ones(4, "float32")
    assert [array(each)[0] for each in executable["main"](one, one, 10)] == [89, 144]
    assert [array(each)[0] for each in executable["main"](one, 2 * one, 0)] == [1, 2]


def test_a_loop_whose_tensor_grows() -> None:
    executable = compiled(
        """
func.func @main(%x: tensor<?xf32, #relax.sym<["n"]>>, %limit: tensor<i64>) -> tensor<?xf32> {
  %0 = "relax.match_cast"(%x) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = tensor.extract %limit[] : tensor<i64>
  %r:2 = scf.while (%a = %0, %i = %zero) : (tensor<?xf32>, i64) -> (tensor<?xf32>, i64) {
    %c = arith.cmpi slt, %i, %l : i64
    scf.condition(%c) %a, %i : tensor<?xf32>, i64
  } do {
  ^bb0(%a: tensor<?xf32>, %i: i64):
    %1 = "relax.concat"(%a, %x) {axis = 0 : i64}
      : (tensor<?xf32>, tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
    %j = arith.addi %i, %one : i64
    scf.yield %1, %j : tensor<?xf32>, i64
  }
  return %r#0 : tensor<?xf32>
}"""
    )
    x = floats(3)
    for times in (0, 1, 4):
        numpy.testing.assert_array_equal(
            array(executable["main"](x, numpy.array(times, "int64"))), numpy.tile(x, times + 1)
        )


def test_graph_functions_can_call_functions() -> None:
    vector = 'tensor<?xf32, #relax.sym<["n"]>>'
    executable = compiled(
        f"""
func.func private @inner(%x: {vector}) -> {vector} {{
  %1 = "relax.exp"(%x) : ({vector}) -> {vector}
  return %1 : {vector}
}}
func.func @main(%x: {vector}) -> {vector} {{
  %1 = func.call @inner(%x) : ({vector}) -> {vector}
  %2 = func.call @inner(%1) : ({vector}) -> {vector}
  return %2 : {vector}
}}"""
    )
    assert list(executable) == ["main"]
    x = floats(6)
    numpy.testing.assert_allclose(array(executable["main"](x)), numpy.exp(numpy.exp(x)), rtol=1e-6)


# ---- hand-written PrimFuncs ----


def test_a_hand_written_prim_func_between_two_operators() -> None:
    executable = compiled(
        """
func.func @reverse(%x: memref<?xf32>, %out: memref<?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %last = arith.subi %n, %c1 : index
    %j = arith.subi %last, %i : index
    %v = memref.load %x[%j] : memref<?xf32>
    memref.store %v, %out[%i] : memref<?xf32>
  }
  return
}
func.func @main(%x: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.call_tir"(%0) {func = @reverse}
    : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %2 = "relax.negative"(%1) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return %2 : tensor<?xf32, #relax.sym<["n"]>>
}"""
    )
    x = floats(9)
    numpy.testing.assert_allclose(array(executable["main"](x)), -numpy.exp(x)[::-1], rtol=1e-6)


def test_a_prim_func_that_works_in_place() -> None:
    executable = compiled(
        """
func.func @double(%x: memref<4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<4xf32>
  }
  return
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.call_tir_inplace"(%0) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
    )
    x = floats(4)
    kept = x.copy()
    numpy.testing.assert_allclose(array(executable["main"](x)), 2 * numpy.exp(x), rtol=1e-6)
    numpy.testing.assert_array_equal(x, kept)


# ---- executables ----


def test_threads_call_at_once() -> None:
    executable = built([rx.tensor(("n", 64))], lambda x: relax.tanh(relax.exp(relax.add(x, x))))
    failures: list[str] = []

    def work(seed: int) -> None:
        for round_ in range(30):
            x = floats(1 + (seed + round_) % 7, 64, seed=seed)
            if not numpy.allclose(array(executable["main"](x)), numpy.tanh(numpy.exp(x + x)), rtol=1e-4):
                failures.append(f"thread {seed}, round {round_}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_saved_and_loaded(tmp_path: Path) -> None:
    big = floats(50, 50)
    executable = built([rx.tensor(("n", 50))], lambda x: relax.matmul(relax.exp(x), relax.const(big)))
    executable.save(tmp_path / "model.rxa")
    loaded = rx.runtime.load(tmp_path / "model.rxa")
    x = floats(3, 50)
    numpy.testing.assert_allclose(array(loaded["main"](x)), numpy.exp(x) @ big, rtol=1e-4, atol=1e-4)


def test_the_same_module_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        built(
            [rx.tensor(("n", 8)), rx.tensor((8, 4))], lambda x, w: relax.nn.softmax(relax.matmul(relax.exp(x), w))
        ).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


# ---- refusals ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: rx.compile(m, target="lvm"), "unknown target 'lvm'; did you mean 'llvm'"),
        (lambda m: rx.compile(m, target="cpu"), "target 'cpu' has no code generator"),
        (lambda m: rx.compile(str(m)), "takes an rx.Module, got str"),
        (lambda m: rx.compile("model.onnx"), "note: rx.from_onnx(path) reads it"),
        (lambda m: rx.compile(Path("a/model.pt2")), "note: rx.from_torch(path) reads it"),
        (lambda m: rx.compile(onnx.ModelProto()), "note: rx.from_onnx(model) reads it"),
        (lambda m: rx.compile(m, opt_level=7), "opt_level 7: expected 0 to 3"),
        (lambda m: rx.compile(m, pipeline=rx.stages().drop("legalize")), "legalize it first"),
        (lambda m: rx.compile(m, pipeline=rx.stages().drop("entries")), "the stage 'entries' did not run"),
        (lambda m: rx.compile(rx.Module()), "has no public graph function"),
        (lambda m: rx.stages().drop("legalise"), "has no stage 'legalise'; did you mean 'legalize'"),
    ],
)
def test_unsupported_modules_are_refused(make: Any, message: str) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    with pytest.raises(rx.RelaxError) as caught:
        make(module)
    assert message in str(caught.value)


def test_a_stage_of_ones_own() -> None:
    seen: list[str] = []

    class Look(rx.Pass):
        """Pass that reads the module."""

        name = "test-look"

        def run(self, op: Any) -> None:
            seen.append(str(op))

    built([rx.tensor((4,))], relax.exp, pipeline=rx.stages().insert_after("legalize", "look", Look()))
    assert len(seen) == 1 and "relax.call_tir" in seen[0] and '"relax.exp"(' not in seen[0]


@pytest.mark.parametrize(
    ("verify", "message"),
    [
        ("each", "pass test-break produced invalid IR"),
        ("end", "stage break produced invalid IR"),
        ("later", "stage break produced invalid IR"),
    ],
)
def test_the_result_of_a_stage_is_verified(verify: Any, message: str) -> None:
    class Break(rx.Pass):
        """Pass that removes the functions' parameters from their types."""

        name = "test-break"

        def run(self, op: Any) -> None:
            for view in op.regions[0].blocks[0].operations:
                view.operation.attributes["function_type"] = rx.ir.TypeAttr.get(rx.ir.FunctionType.get([], []))

    stages = rx.stages().insert_after("entries", "break", Break())
    assert stages["break"].verify == "each"
    changed = [replace(stage, verify=verify) if stage.name == "break" else stage for stage in stages]
    with pytest.raises(rx.RelaxError, match=message):
        built([rx.tensor((4,))], relax.exp, pipeline=replace(stages, stages=tuple(changed)))


def test_stages_in_another_order_are_verified() -> None:
    stages = rx.stages()
    later = [stage.name for stage in stages if stage.verify == "later"]
    assert {"fuse", "bufferize", "to-llvm", "entries"} <= set(later)
    # The next stage may be another package's.
    assert stages.insert_after("fuse", "look", "cse")["fuse"].verify == "later"
    changed = [stage.name for stage in stages.insert_after("fuse", "look", "cse") if stage.verify == "end"]
    assert changed == ["legalize", "fuse", "intrinsics", "plan"]
    assert [stage.verify for stage in stages.between("layouts", "fuse")] == ["later", "end", "end"]
    assert [stage.verify for stage in stages.only("memory")] == ["end"]
    assert "small-loops" in [stage.name for stage in stages.drop("constants") if stage.verify == "end"]
    assert not any(stage.verify == "later" for stage in replace(stages, own=()))
    assert stages.insert_before("fuse", "look", "cse").between("legalize", "fuse").names == ["legalize", "look", "fuse"]


def test_levels() -> None:
    names = [rx.stages("llvm", level).names for level in range(4)]
    assert all(set(lower) < set(higher) or lower == higher for lower, higher in pairwise(names))
    assert "simplify" in names[1] and "simplify" not in names[0]
    assert rx.stages().names == names[2]
    with pytest.raises(rx.RelaxError, match="stage 'simplify' of target 'llvm' runs from -O1 on"):
        rx.stages("llvm", 0).drop("simplify")
    with pytest.raises(rx.RelaxError, match="opt_level 4: expected 0 to 3"):
        rx.stages("llvm", 4)


@pytest.mark.parametrize(
    ("format_", "shown"),
    [
        ("{} of {}: {}", "200 of ?: 7"),
        ("{2}, not {0}; {{}}", "7, not 200; { }"),
        ("{0} {0} {2} {2}", "200 200 7 ?"),
        ("{3} at {1:.2f}", "1 at ?"),
    ],
)
def test_an_assertion_shows_what_are_integers(format_: str, shown: str) -> None:
    module = rx.Module()
    infos = [rx.tensor((), "uint8"), rx.tensor((), "float32"), rx.tensor(("n",)), rx.tensor((), "bool")]
    with module.function("main", infos) as f:
        count, level, x, bad = f
        relax.assert_op(relax.logical_not(bad), [count, level, relax.prim_value("n"), bad], format=format_)
        f.returns(relax.exp(x))
    arguments = (numpy.array(200, "uint8"), numpy.array(0.5, "float32"), numpy.zeros(7, "float32"), numpy.array(True))
    with pytest.raises(AssertionError) as caught:
        rx.compile(module)["main"](*arguments)
    assert str(caught.value).endswith(f": {shown}")


def test_printing_and_asserting(capfd: pytest.CaptureFixture[str]) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",)), rx.tensor((), "bool")]) as f:
        x, good = f
        relax.assert_op(good, [relax.prim_value("n")], format="bad input of size {}")
        relax.print([x, relax.shape_of(x), relax.prim_value("n*2")], format="x={} shape={} {}")
        f.returns(relax.exp(x))
    executable = rx.compile(module)
    x = numpy.array([1.0, 2.0], "float32")
    executable["main"](x, numpy.array(True))
    assert capfd.readouterr().out == "x=[1. 2.] shape=[2] 4\n"
    with pytest.raises(AssertionError, match="bad input of size 2"):
        executable["main"](x, numpy.array(False))
