# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets with C code and functions of a device: its memories, its copies, its instructions."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from c_programs import COMPILER, CProgram, needs_compiler
from relax_mlir import relax, tir
from relax_mlir.emit.subviews import part_of
from relax_mlir.script import tir as T
from relax_mlir.support.plugins import load_plugin

pytestmark = needs_compiler

#: Copies are done when they are waited for, the oldest first, and never before: a missing wait gives wrong results.
STAND_IN = """
#include <stdint.h>
#include <string.h>
static struct { void *to; const void *from; int64_t bytes; } queue[1024];
static int started, done;
int tdsp_copies, tdsp_dots;
void tdsp_wait(int64_t pending) {
    for (; started - done > pending; ++done) {
        memcpy(queue[done % 1024].to, queue[done % 1024].from, queue[done % 1024].bytes);
    }
}
void tdsp_copy(void *to, const void *from, int64_t bytes) {
    ++tdsp_copies;
    queue[started % 1024].to = to, queue[started % 1024].from = from, queue[started % 1024].bytes = bytes;
    ++started;
}
void tdsp_clear(int32_t *c) { memset(c, 0, 64); }
void tdsp_dot(const int8_t *a, const int8_t *b, int64_t b_stride, int32_t *c) {
    ++tdsp_dots;
    for (int j = 0; j < 16; ++j)
        for (int k = 0; k < 16; ++k) c[j] += a[k] * b[k * b_stride + j];
}
void tdsp_add(const float *x, int64_t x_stride, const float *y, int64_t y_stride, float *z, int64_t z_stride) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j) z[i * z_stride + j] = x[i * x_stride + j] + y[i * y_stride + j];
}
void tdsp_place(int64_t at, int32_t *c) { c[0] += (int32_t)at; }
"""


@functools.cache
def stand_in() -> ctypes.CDLL:
    """Load the functions of the device into this process."""
    assert COMPILER is not None
    folder = Path(tempfile.mkdtemp(prefix="tdsp"))
    (folder / "tdsp.c").write_text(STAND_IN)
    command = [COMPILER, "-O1", "-fPIC", "-shared", "-o", "libtdsp.so", "tdsp.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=600)
    return ctypes.CDLL(str(folder / "libtdsp.so"), ctypes.RTLD_GLOBAL)


def count(name: str) -> int:
    return ctypes.c_int.in_dll(stand_in(), name).value


# ---- the device ----

BYTES = {"i8": 1, "i32": 4, "f32": 4}


def copy_rows(source: Any, target: Any) -> None:
    """Emit one copy for each row."""
    *rows, length = rx.loops.sizes(source)

    def copy_row(*at: Any) -> None:
        size = length * BYTES[str(source.type.element_type)]
        tir.call_extern("tdsp_copy", [rx.loops.part(target, *at), rx.loops.part(source, *at), size], ())

    rx.loops.nest(rows, copy_row)


def wait_for_copies(pending: int) -> None:
    tir.call_extern("tdsp_wait", [0], ())  # a nest of copies counts as one, and is many of the device's


rx.schedules.register_memory(
    "tdsp.tcm", bytes=8 << 10, alignment=32, copies_only=True, copy=copy_rows, wait=wait_for_copies
)


@T.prim_func
def dot(A: T.Buffer((16,), "int8"), B: T.Buffer((16, 16), "int8"), C: T.Buffer((16,), "int32")):
    for j, k in T.grid(16, 16):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            C[vj] = C[vj] + T.cast(A[vk], "int32") * T.cast(B[vk, vj], "int32")


@T.prim_func
def clear(C: T.Buffer((16,), "int32")):
    for i in T.grid(16):
        with T.block("C"):
            vi = T.axis.remap("S", [i])
            C[vi] = 0


@rx.schedules.register_tensor_intrin("tdsp.dot", dot, cost=16, memories={each: "tdsp.tcm" for each in "ABC"})
def emit_dot(a: Any, b: Any, c: Any) -> None:
    tir.call_extern("tdsp_dot", [a, b, c], ())


@rx.schedules.register_tensor_intrin("tdsp.clear", clear, cost=1, memories={"C": "tdsp.tcm"})
def emit_clear(c: Any) -> None:
    tir.call_extern("tdsp_clear", [c], ())


rx.register_target(rx.Target("tdsp", parents=("c",), doc="A DSP with a compiler of C."))


@rx.schedules.register_schedule(operator="relax.matmul", target="tdsp")
def by_the_dot_unit(function: Any, context: Any) -> Any:
    return context.tensorized(function, "tdsp.dot", "tdsp.clear", stages=2)


# ---- models ----


def product(rows: int | str, depth: int = 40, columns: int = 48, weights: Any = None) -> rx.Module:
    module = rx.Module()
    infos = {"a": rx.tensor((rows, depth), "i8")}
    if weights is None:
        infos["b"] = rx.tensor((depth, columns), "i8")
    with module.function("main", infos) as f:
        a, *others = f
        b = others[0] if others else relax.const(weights)
        f.returns(relax.maximum(relax.matmul(a, b, out_dtype="int32"), relax.const(np.int32(-5000))))
    return module


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(-128, 128, shape).astype("int8")


def expected(a: Any, b: Any) -> Any:
    return np.maximum(a.astype("int32") @ b.astype("int32"), -5000)


@pytest.mark.parametrize("rows, at_run_time", [(21, 21), (1, 1), (32, 32), ("n", 1), ("n", 17), ("n", 0)])
@pytest.mark.parametrize("options", ["", "{memory=heap}"])
def test_a_product_is_computed_by_the_device(rows: Any, at_run_time: int, options: str) -> None:
    stand_in()
    bind = {"n": "0..32"} if rows == "n" else None
    program = CProgram(product(rows), f"tdsp{options}", bind=bind)
    a, b = numbers(at_run_time, 40), numbers(40, 48)
    before = count("tdsp_copies"), count("tdsp_dots")
    (result,) = program(a, b)
    np.testing.assert_array_equal(result, expected(a, b))
    assert count("tdsp_dots") - before[1] == at_run_time * 3 * 3
    assert (count("tdsp_copies") > before[0]) == (at_run_time > 0)


def test_the_memory_is_an_array_and_calls_are_c_calls() -> None:
    stand_in()
    files = rx.sources(product(16, 32), "tdsp")
    code, header = str(files["model.c"]), str(files["model.h"])
    assert "extern void tdsp_dot(const int8_t *, const int8_t *, int64_t, int32_t *);" in code or (
        "extern void tdsp_dot(int8_t *, int8_t *, int64_t, int32_t *);" in code
    )
    assert "extern void tdsp_copy(void *, const void *, int64_t);" in code
    assert "} tdsp_tcm;" in code and "static TDSP_TCM union {" in code and "aligned(32)" in code
    size = int(header.partition("MODEL_TDSP_TCM_BYTES ")[2].split()[0])
    assert f"uint8_t bytes[{size}];" in code and 16 * 16 * 2 <= size <= 8 << 10
    assert "const int8_t *a, const int8_t *b, int32_t *result" in header


def test_weights_stay_constants() -> None:
    stand_in()
    weights = numbers(48, 48)
    program = CProgram(product(5, 48, weights=weights), "tdsp")
    assert "const int8_t" in str(program.files["model_data.c"])
    (result,) = program(a := numbers(5, 48))
    np.testing.assert_array_equal(result, expected(a, weights))


def test_operators_without_a_device_rule_compile_as_for_target_c() -> None:
    module = rx.Module()
    with module.function("main", {"a": rx.tensor((33, 40)), "b": rx.tensor((40, 50))}) as f:
        f.returns(relax.nn.softmax(relax.matmul(*f)))
    assert rx.sources(module, "tdsp") == rx.sources(module, "c")


# ---- C functions that tensor programs call themselves ----


@T.prim_func
def added(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((4, 8), "float32"), Z: T.Buffer((4, 8), "float32")):
    T.evaluate(T.call_extern("void", "tdsp_add", X, Y, Z))


dialect = rx.Dialect("tdsp_ops", doc="Of these tests.")
dialect.op("add", "x y", infer=lambda call: call.x, doc="x + y of 4 by 8 elements.")


@rx.rules.register_legalize("tdsp_ops.add")
def add_in_c(call: Any) -> Any:
    return call.call_tir(added)


def adding(weights: Any = None) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 8)), "y": rx.tensor((4, 8))}) as f:
        x, y = f
        f.returns(dialect.add(x, y if weights is None else relax.const(weights)))
    return module


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("target", ["c", "tdsp"])
def test_a_prim_func_gives_buffers_to_a_function(target: str, is_constant: bool) -> None:
    stand_in()
    x, y = np.arange(32, dtype="float32").reshape(4, 8), np.full((4, 8), 0.5, "float32")
    program = CProgram(adding(y if is_constant else None), target)
    (result,) = program(x, y)
    np.testing.assert_array_equal(result, x + y)


def calling(*calls: Any) -> rx.Module:
    """Return a kernel that calls functions on its memory."""

    def body(x: Any, out: Any) -> None:
        rx.loops.copy(x, out)
        for call in calls:
            call(x, out)

    own = rx.Dialect(f"tdsp_calls{abs(hash(calls))}", doc="Of one test.")
    own.op("run", "x", infer=lambda call: call.x, doc="Calls functions.")
    rx.rules.register_legalize(own.run.full_name)(lambda call: call.call_tir(body))
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 8), "i32"), "y": rx.tensor((3, 4, 8), "i32")}) as f:
        x, y = f
        f.returns(own.run(x), own.run(y))
    return module


def test_a_function_of_c_has_one_signature() -> None:
    """Refuse calls with different numbers of strides. Pointers to several types are void *."""
    with pytest.raises(rx.RelaxError) as caught:
        rx.sources(calling(lambda x, out: tir.call_extern("tdsp_some", [x, out], ())))
    assert "C function 'tdsp_some' is called as void (" in str(caught.value) and "as void (" in str(caught.value)
    code = str(
        rx.sources(calling(lambda x, out: tir.call_extern("tdsp_some", [rx.loops.sizes(x)[0], 2.5], ())))["model.c"]
    )
    assert "extern void tdsp_some(int64_t, double);" in code and "tdsp_some(3, 2.5);" in code


def test_the_last_dimension_is_contiguous() -> None:
    def every_second(x: Any, out: Any) -> None:
        rank = x.type.rank
        sizes = [*rx.loops.sizes(x)[:-1], 4]
        tir.call_extern("tdsp_some", [part_of(x, [0] * rank, range(rank), sizes, [1] * (rank - 1) + [2])], ())

    with pytest.raises(rx.RelaxError, match="C function 'tdsp_some': it is given buffers whose last dimension is cont"):
        rx.sources(calling(every_second))


def copy_by_the_library(source: Any, target: Any) -> None:
    *rows, length = rx.loops.sizes(source)
    size = length * BYTES[str(source.type.element_type)]

    def copy_row(*at: Any) -> None:
        tir.call_extern("memcpy", [rx.loops.part(target, *at), rx.loops.part(source, *at), size], ())

    rx.loops.nest(rows, copy_row)


rx.schedules.register_memory("tdsp.near", bytes=8 << 10, copy=copy_by_the_library)
rx.schedules.register_memory("tdsp_near", bytes=8 << 10, copy=copy_by_the_library)


@pytest.mark.parametrize("options", ["", "{memory=heap}"])
def test_functions_of_the_c_library_and_two_memories_of_one_name(options: str) -> None:
    """Declare functions by headers, and give arrays unique names."""
    sch = rx.Schedule(turned)
    sch.compute_at(sch.cache_read("Y", "X", "tdsp.near"), sch.get_loops("Y")[0])
    sch.cache_write("Y", 0, "tdsp_near")
    program = CProgram(sch.mod, f"c{options}")
    assert str(program.files["model.c"]).count("memcpy(") >= 2
    x = np.arange(48, dtype="int32").reshape(6, 8)
    (result,) = program(x)
    np.testing.assert_array_equal(result, x.T * 3)


def test_layers_share_the_memory() -> None:
    stand_in()
    first, second = numbers(32, 48), numbers(48, 16)
    module = rx.Module()
    with module.function("main", {"a": rx.tensor(("n", 32), "i8")}) as f:
        (a,) = f
        hidden = relax.matmul(a, relax.const(first), out_dtype="int32")
        hidden = relax.clip(relax.right_shift(hidden, relax.const(np.int32(9))), -128, 127)
        hidden = relax.astype(hidden, "int8")
        f.returns(relax.matmul(hidden, relax.const(second), out_dtype="int32"))
    program = CProgram(module, "tdsp", bind={"n": "1..9"})
    before = count("tdsp_dots")
    (result,) = program(x := numbers(7, 32))
    middle = np.clip((x.astype("int32") @ first) >> 9, -128, 127)
    np.testing.assert_array_equal(result, middle @ second)
    assert count("tdsp_dots") - before == 7 * (2 * 3 + 3 * 1)


# ---- copies of any strides, and places in a memory ----


def copy_elements(source: Any, target: Any) -> None:
    rx.loops.nest(rx.loops.sizes(source), lambda *at: rx.loops.store(rx.loops.load(source, *at), target, *at) and None)


rx.schedules.register_memory("tdsp.loose", bytes=4 << 10, copy=copy_elements)


@T.prim_func
def scaled(X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in T.grid(8):
        with T.block("Y"):
            vi = T.axis.remap("S", [i])
            Y[vi] = X[vi] * 3


@rx.schedules.register_tensor_intrin("tdsp.scaled", scaled)
def emit_scaled(x: Any, y: Any) -> None:
    rx.loops.for_range(0, 8, lambda i: rx.loops.store(rx.loops.load(x, i) * 3, y, i) and None)
    tir.call_extern("tdsp_place", [rx.schedules.offset_in_memory(y), y], ())


@T.prim_func
def turned(X: T.Buffer((6, 8), "int32"), Y: T.Buffer((8, 6), "int32")):
    for i, j in T.grid(6, 8):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vj, vi] = X[vi, vj] * 3


def test_copies_of_any_strides_and_places() -> None:
    """Transpose the buffer of rows in the copy, with an offset for each row."""
    stand_in()
    sch = rx.Schedule(turned)
    sch.cache_read("Y", "X", "tdsp.loose")
    sch.cache_write("Y", 0, "tdsp.loose")
    sch.transform_layout("Y", ("write", 0), lambda j, i: (i, j))
    sch.tensorize(sch.get_loops("Y")[-1], "tdsp.scaled")
    program = CProgram(sch.mod, "c")
    x = np.arange(48, dtype="int32").reshape(6, 8)
    (result,) = program(x)
    right = x * 3
    places = {int(each) for each in (result.T - right)[:, 0]}
    assert {high - low for low, high in zip(sorted(places), sorted(places)[1:], strict=False)} == {32}
    np.testing.assert_array_equal(result.T[:, 1:], right[:, 1:])


# ---- the example ----

EXAMPLE = Path(__file__).parents[3] / "examples" / "dsp"


def test_relax_check_compiles_the_functions_of_the_target() -> None:
    """Compile each case as a C program, linked with the C source of `libraries=`."""
    load_plugin(str(EXAMPLE / "dsp_target.py"))
    report = rx.testing.check("dsp", target="dsp", only=["relax.matmul i8 *"], jobs=1)
    assert len(report.verdicts) >= 3 and all(each.verdict == "right" for each in report.verdicts), report.summary()


def test_the_makefile_links_the_functions(tmp_path: Path) -> None:
    load_plugin(str(EXAMPLE / "dsp_target.py"))
    files = rx.sources(product(16, 32), "dsp")
    assert f"EXTERN ?= {EXAMPLE / 'dsp.c'}\n" in files["Makefile"] and "$^ $(EXTERN) -lm" in files["Makefile"]
    for name, held in files.items():
        (tmp_path / name).write_bytes(held if isinstance(held, bytes) else held.encode())
    a, b = numbers(16, 32), numbers(32, 48)
    a.tofile(tmp_path / "a.bin"), b.tofile(tmp_path / "b.bin")
    macro = 'DSP_SCRATCHPAD=__attribute__((section(".near"), aligned(16)))'
    flags = f"CFLAGS=-O1 -std=c99 -Wall -Wextra -Werror '-D{macro}'"
    for command in (["make", flags], ["./model", "a.bin", "b.bin"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), expected(a, b))


def test_a_makefile_without_external_calls_has_no_extern_rule() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        f.returns(relax.exp(*f))
    assert "EXTERN" not in str(rx.sources(module, "tdsp")["Makefile"])
