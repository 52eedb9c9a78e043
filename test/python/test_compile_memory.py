# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of compiled functions: lifetimes, in-place calls, absurd sizes, memory after errors."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from compiling import array, built, compiled, floats, module_with, resident_kb

import relax_mlir as rx
from relax_mlir import relax

HELPERS = Path(__file__).parent / "helpers"
LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
VECTOR = 'tensor<?xf32, #relax.sym<["n"]>>'
DOUBLE = """
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
"""


@pytest.fixture(scope="module", autouse=True)
def packed_functions() -> None:
    def increment(x: Any) -> None:
        values = array(x)
        values += 1

    def copy(x: Any) -> Any:
        return tvm_ffi.from_dlpack(array(x).copy())

    def ones(*tensors: Any) -> None:
        array(tensors[-1])[...] = 1

    def negate_into(x: Any, out: Any) -> None:
        array(out)[...] = -array(x)

    def refuse_third(x: Any, round_: int) -> Any:
        if round_ == 3:
            raise ValueError("three")
        return copy(x)

    def triple(round_: int) -> Any:
        return [f"a string that has memory of its own: {round_}"] * 3

    def take_triple(value: Any) -> None:
        assert len(value) == 3

    for function in (increment, copy, ones, negate_into, refuse_third, triple, take_triple):
        tvm_ffi.register_global_func(f"test_memory.{function.__name__}", function, override=True)


def does_not_grow(act: Callable[[], None], times: int = 1500) -> bool:
    for _ in range(times // 5):
        act()
    before = resident_kb()
    for _ in range(times):
        act()
    return resident_kb() - before < 1000


# ---- lifetimes ----


def nested_loops(x: Any, outer: int, inner: int) -> tuple[Any, Any]:
    e = numpy.exp(x)
    a, b, i = e, x, 0
    while True:
        a = -a
        if i >= outer:
            return e + a, b
        t = q = a + e
        for j in range(inner):
            q = (q * x + t if j % 2 == 0 else b) + q
        a, b, i = q, t, i + 1


def test_branches_in_loops_in_loops() -> None:
    """Read outer values in loops, and yield any visible value from a branch."""
    executable = compiled(
        f"""
func.func @main(%x: {VECTOR}, %k: i64, %l: i64) -> ({VECTOR}, {VECTOR}) {{
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %e = "relax.exp"(%x) : ({VECTOR}) -> {VECTOR}
  %r:3 = scf.while (%a = %e, %i = %c0, %b = %x) : ({VECTOR}, i64, {VECTOR}) -> ({VECTOR}, i64, {VECTOR}) {{
    %n = "relax.negative"(%a) : ({VECTOR}) -> {VECTOR}
    %c = arith.cmpi slt, %i, %k : i64
    scf.condition(%c) %n, %i, %b : {VECTOR}, i64, {VECTOR}
  }} do {{
  ^bb0(%a: {VECTOR}, %i: i64, %b: {VECTOR}):
    %t = "relax.add"(%a, %e) : ({VECTOR}, {VECTOR}) -> {VECTOR}
    %f = scf.for %j = %c0 to %l step %c1 iter_args(%q = %t) -> ({VECTOR}) : i64 {{
      %m = arith.remsi %j, %c2 : i64
      %p = arith.cmpi eq, %m, %c0 : i64
      %s = scf.if %p -> ({VECTOR}) {{
        %u = "relax.multiply"(%q, %x) : ({VECTOR}, {VECTOR}) -> {VECTOR}
        %v = "relax.add"(%u, %t) : ({VECTOR}, {VECTOR}) -> {VECTOR}
        scf.yield %v : {VECTOR}
      }} else {{
        scf.yield %b : {VECTOR}
      }}
      %w = "relax.add"(%s, %q) : ({VECTOR}, {VECTOR}) -> {VECTOR}
      scf.yield %w : {VECTOR}
    }}
    %i1 = arith.addi %i, %c1 : i64
    scf.yield %f, %i1, %t : {VECTOR}, i64, {VECTOR}
  }}
  %z = "relax.add"(%e, %r#0) : ({VECTOR}, {VECTOR}) -> {VECTOR}
  return %z, %r#2 : {VECTOR}, {VECTOR}
}}"""
    )
    for size in (0, 1, 5):
        for outer in (0, 1, 3):
            for inner in (0, 1, 4):
                x = floats(size)
                results = executable["main"](x, outer, inner)
                for result, expected in zip(results, nested_loops(x, outer, inner), strict=True):
                    numpy.testing.assert_allclose(array(result), expected, rtol=1e-4, atol=1e-5)


def test_a_buffer_written_in_place_lives_as_long_as_its_result() -> None:
    def body(x: Any) -> Any:
        square = rx.tensor((8, 8))
        y = relax.call_inplace_packed("test_memory.increment", [relax.exp(x)], [0], rx.tensor((64,)))
        swapped = relax.permute_dims(relax.reshape(x, (8, 8)))
        back = relax.permute_dims(relax.call_packed("test_memory.copy", [swapped], square))
        negated = relax.call_dps_packed("test_memory.negate_into", [back], square)
        return relax.add(relax.reshape(negated, (64,)), y)

    x = floats(64)
    result = array(built([rx.tensor((64,))], body)["main"](x))
    numpy.testing.assert_allclose(result, numpy.exp(x) + 1 - x, rtol=1e-5, atol=1e-5)


def test_constants_are_never_written_to() -> None:
    tir = compiled(
        DOUBLE
        + """
func.func @main() -> (tensor<4xf32>, tensor<2x2xf32>) {
  %0 = arith.constant dense<[[1., 2.], [3., 4.]]> : tensor<2x2xf32>
  %1 = "relax.flatten"(%0) : (tensor<2x2xf32>) -> tensor<4xf32>
  %2 = "relax.call_tir_inplace"(%1) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %0 : tensor<4xf32>, tensor<2x2xf32>
}"""
    )
    packed = built(
        [],
        lambda: relax.call_inplace_packed(
            "test_memory.increment", [relax.const(numpy.ones(4, "float32"))], [0], rx.tensor((4,))
        ),
    )
    for _ in range(2):
        doubled, kept = tir["main"]()
        assert array(doubled).tolist() == [2, 4, 6, 8] and array(kept).ravel().tolist() == [1, 2, 3, 4]
        assert array(packed["main"]()).tolist() == [2] * 4


# ---- views ----


def test_views_of_unnamed_sizes() -> None:
    executable = compiled(
        """
func.func @main(%x: tensor<1x?x?xf32>)
    -> (tensor<?x?xf32>, tensor<?x1x?xf32>, tensor<?xf32>, tensor<1x?xf32>) {
  %0 = "relax.squeeze"(%x) {axis = array<i64: 0>} : (tensor<1x?x?xf32>) -> tensor<?x?xf32>
  %1 = "relax.expand_dims"(%0) {axis = array<i64: 1>} : (tensor<?x?xf32>) -> tensor<?x1x?xf32>
  %2 = "relax.flatten"(%x) : (tensor<1x?x?xf32>) -> tensor<?xf32>
  %3 = "relax.nn.batch_flatten"(%x) : (tensor<1x?x?xf32>) -> tensor<1x?xf32>
  return %0, %1, %2, %3 : tensor<?x?xf32>, tensor<?x1x?xf32>, tensor<?xf32>, tensor<1x?xf32>
}"""
    )
    x = floats(1, 2, 3)
    results = [array(each) for each in executable["main"](x)]
    assert [each.shape for each in results] == [(2, 3), (2, 1, 3), (6,), (1, 6)]
    assert all((each.ravel() == x.ravel()).all() for each in results)


def test_a_view_of_another_number_of_elements_is_refused() -> None:
    executable = built([rx.tensor(("n",)), rx.tensor(("m",))], lambda x, y: relax.exp(relax.reshape(x, ("m", 4))))
    assert array(executable["main"](floats(8), floats(2))).shape == (2, 4)
    with pytest.raises(ValueError, match=r"8 elements cannot take the shape \(m, 4\), which has 8000"):
        executable["main"](floats(8), floats(2000))


def test_a_shape_that_the_data_decide() -> None:
    executable = compiled(
        """
func.func @main(%x: tensor<?xf32>, %t: tensor<2xi64>) -> tensor<?x?xf32> {
  %s = "relax.tensor_to_shape"(%t) : (tensor<2xi64>) -> !relax.shape<["?", "?"]>
  %0 = "relax.reshape"(%x, %s) : (tensor<?xf32>, !relax.shape<["?", "?"]>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}"""
    )
    assert array(executable["main"](floats(6), numpy.array([2, 3]))).shape == (2, 3)
    for sizes, error in (([2, 4], ValueError), ([-2, -3], ValueError), ([2**32, 2**32], MemoryError)):
        with pytest.raises(error):
            executable["main"](floats(6), numpy.array(sizes))


def test_a_prim_func_gets_the_sizes_it_was_written_for() -> None:
    executable = compiled(
        DOUBLE
        + """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "relax.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = "relax.call_tir_inplace"(%0) {func = @double, inplace_indices = [0]} : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}"""
    )
    x = floats(4)
    numpy.testing.assert_allclose(array(executable["main"](x)), 2 * numpy.exp(x), rtol=1e-6)
    with pytest.raises(ValueError, match="the size of dimension 0: expected 4, got 2"):
        executable["main"](floats(2))


# ---- sizes that are absurd ----


def test_a_size_below_zero_is_an_error() -> None:
    def body(x: Any) -> Any:
        shorter = relax.call_dps_packed("test_memory.ones", [x], rx.tensor(("n-1",)))
        return relax.sum(shorter)

    executable = built([rx.tensor(("n",))], body)
    assert array(executable["main"](floats(4))) == 3
    with pytest.raises(ValueError, match=r"a size of the shape \(n - 1\) is negative: -1"):
        executable["main"](floats(0))


def test_another_size_below_zero_is_an_error() -> None:
    def body(x: Any) -> Any:
        shorter = relax.call_dps_packed("test_memory.ones", [x], rx.tensor(("n", "m-5")))
        return relax.sum(shorter)

    executable = built([rx.tensor(("n", "m"))], body)
    assert array(executable["main"](floats(2, 6))) == 2
    with pytest.raises(ValueError, match=r"a size of the shape \(n, m - 5\) is negative: -2"):
        executable["main"](floats(2, 3))


def no_columns(rows: int) -> Any:
    return numpy.empty((rows, 0), "float32")


@pytest.mark.parametrize("shape", [("n", "m"), ("n*m",)])
def test_products_of_sizes_do_not_wrap_around(shape: Any) -> None:
    """Allocate 2^32 x 2^32 elements, which are 0 in 64 bits."""

    def body(x: Any, y: Any) -> Any:
        made = relax.call_dps_packed("test_memory.ones", [x, y], rx.tensor(shape))
        return relax.sum(relax.reshape(made, ("n", "m")))

    executable = built([rx.tensor(("n", 0)), rx.tensor(("m", 0))], body)
    assert array(executable["main"](no_columns(3), no_columns(2))) == 6
    with pytest.raises((MemoryError, ValueError), match=r"bytes or more|does not fit in 64 bits"):
        executable["main"](no_columns(2**32), no_columns(2**32))


@pytest.mark.parametrize("dynamic", [False, True])
def test_missing_memory_raises_memory_error(dynamic: bool) -> None:
    def body(x: Any) -> Any:
        rows = "n" if dynamic else 2**21
        return relax.sum(relax.cumsum(relax.full((rows, 2**24), relax.const(1.0)), axis=1))

    executable = built([rx.tensor(("n", 0))], body)
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room for temporaries"):
            executable["main"](no_columns(2**21))


def test_large_memory_of_a_kernel_is_reused() -> None:
    """Keep the padded copy of an image: the C library maps more than 32 MB anew each time, with a page fault per 4
    KB."""
    given = rx.tensor((1, 16, 800, 800))

    def body(x: Any) -> Any:
        return relax.nn.conv2d(x, relax.const(floats(16, 1, 3, 3)), padding=(1, 1), strides=(8, 8), groups=16)

    executable, x = built([given], body), floats(1, 16, 800, 800)
    faults = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        executable["main"](x)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    # New memory takes some in large pages, too.
    assert min(faults[2:]) < 10, faults


LARGE_PAGES_OF_RESULTS = """
import re
from pathlib import Path

from compiling import array, built, floats

import relax_mlir as rx
from relax_mlir import relax


def asks_for_large_pages(values):
    "What Linux says of the memory in the middle of an array."
    place, inside = values.ctypes.data + values.nbytes // 2, False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if found := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= place < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    raise AssertionError("the array is in no mapping")


executable = built([rx.tensor(("n", 1024))], lambda x: relax.exp(x))
small = array(executable["main"](floats(128, 1024)))
print("small", asks_for_large_pages(small))
print("large", asks_for_large_pages(array(executable["main"](floats(16384, 1024)))))
"""


@pytest.mark.skipif(not LARGE_PAGES.exists(), reason="this system has no large pages to ask for")
def test_large_results_ask_for_large_pages() -> None:
    """Check that large results use large pages: a result of 64 MB took 16,000 page faults in each call, longer than its
    computation.

    Small results do not. The test runs in a process of its own, since a small result may reuse memory that the C
    library has kept from a large one.
    """
    done = subprocess.run(
        [sys.executable, "-c", LARGE_PAGES_OF_RESULTS], capture_output=True, text=True, timeout=600, cwd=HELPERS
    )
    assert done.stdout.splitlines() == ["small False", "large True"], done.stderr


# ---- memory after errors ----


def test_errors_give_everything_back() -> None:
    def body(x: Any, index: Any) -> Any:
        taken = relax.take(relax.exp(x), index, axis=0)
        called = relax.call_pure_packed("test_memory.copy", [taken], rx.tensor(("k", 64)))
        return relax.cumsum(relax.take(called, index, axis=0), axis=0)

    executable = built([rx.tensor(("n", 64)), rx.tensor(("k",), "int64")], body)
    x = floats(50, 64)

    def fail(index: Any) -> Callable[[], None]:
        def act() -> None:
            with pytest.raises(IndexError):
                executable["main"](x, index)

        return act

    assert does_not_grow(fail(numpy.array([0, 70] * 5)))
    assert does_not_grow(fail(numpy.array([0, 40])))  # the second take
    assert does_not_grow(lambda: executable["main"](x, numpy.arange(9)))


def test_a_loop_that_fails_in_the_middle() -> None:
    """Release tensors and objects of earlier iterations before the failure."""
    executable = compiled(
        f"""
func.func @main(%x: {VECTOR}, %k: i64) -> {VECTOR} {{
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %j = %c0 to %k step %c1 iter_args(%q = %x) -> ({VECTOR}) : i64 {{
    %t = "relax.call_packed"(%q, %j) {{func = "test_memory.refuse_third"}} : ({VECTOR}, i64) -> {VECTOR}
    %u = "relax.add"(%t, %q) : ({VECTOR}, {VECTOR}) -> {VECTOR}
    %o = "relax.call_packed"(%j) {{func = "test_memory.triple"}} : (i64) -> !relax.object
    "relax.call_packed"(%o) {{func = "test_memory.take_triple"}} : (!relax.object) -> ()
    scf.yield %u : {VECTOR}
  }}
  return %r : {VECTOR}
}}"""
    )
    x = floats(3000)
    numpy.testing.assert_allclose(array(executable["main"](x, 3)), 8 * x, rtol=1e-6)

    def fail() -> None:
        with pytest.raises(ValueError, match="three"):
            executable["main"](x, 4)

    assert does_not_grow(fail)
    assert does_not_grow(lambda: executable["main"](x, 3))


def test_more_elements_than_an_expression_can_say() -> None:
    """Keep tensors separate for a product of two sums with too many terms."""
    count = 20
    shapes = [(f"a{i}", 1) for i in range(count)] + [(1, f"b{i}") for i in range(count)]

    def body(*parts: Any) -> Any:
        rows, columns = relax.concat(parts[:count], axis=0), relax.concat(parts[count:], axis=1)
        return relax.sum(relax.cumsum(relax.cumsum(relax.multiply(rows, columns), axis=0), axis=1))

    arrays = [floats(2 if size in "a3 b5" else 1, 1).reshape(-1, 1) for size in (f"a{i}" for i in range(count))]
    arrays += [floats(1, 2 if size in "a3 b5" else 1) for size in (f"b{i}" for i in range(count))]
    main = rx.compile(module_with([rx.tensor(shape) for shape in shapes], body))["main"]
    product = numpy.concatenate(arrays[:count], 0) * numpy.concatenate(arrays[count:], 1)
    numpy.testing.assert_allclose(array(main(*arrays)), product.cumsum(0).cumsum(1).sum(), rtol=1e-4)
