# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C functions that tensor programs call: passing of buffers, and libraries of targets and programs."""

from __future__ import annotations

import ctypes
import functools
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy
import pytest
from c_programs import COMPILER, needs_compiler
from relax_mlir.runtime.artifact import read_artifact

import relax_mlir as rx
from relax_mlir import relax, tir
from relax_mlir.script import tir as T

pytestmark = needs_compiler

SOURCE = """
#include <stdint.h>
static int count;
int acme_count(void) { return count; }
void acme_mm16(const float *a, int64_t sa, const float *b, int64_t sb, float *c, int64_t sc) {
  ++count;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      for (int k = 0; k < 16; ++k)
        c[i * sc + j] += a[i * sa + k] * b[k * sb + j];
}
void acme_scale(const float *x, int64_t sx0, int64_t sx1, double by, float *y, int64_t sy0, int64_t sy1) {
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        y[i * sy0 + j * sy1 + k] = (float)(by * x[i * sx0 + j * sx1 + k]);
}
void acme_not(const _Bool *x, _Bool *y) { for (int i = 0; i < 8; ++i) y[i] = !x[i]; }
void acme_bytes(const int8_t *x, int8_t *y) { for (int i = 0; i < 8; ++i) y[i] = (int8_t)(x[i] + i); }
void acme_flat(const float *x, int64_t count, float *y) { for (int64_t i = 0; i < count; ++i) y[i] = 2 * x[i]; }
"""


@functools.lru_cache(maxsize=1)
def folder() -> Path:
    made = tempfile.mkdtemp(prefix="acme")
    return library("libacme.so", Path(made)).parent


def library(name: str, place: Path, source: str = SOURCE) -> Path:
    """Compile a library in a folder."""
    assert COMPILER is not None
    (place / f"{name}.c").write_text(source)
    command = [COMPILER, "-O1", "-fPIC", "-shared", "-o", name, f"{name}.c"]
    subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=600)
    return place / name


@T.prim_func
def tile(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def tile_in_c(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    T.evaluate(T.call_extern("void", "acme_mm16", A, B, C))


@rx.register_tensor_intrin("acme.emitted", tile)
def emit(a: Any, b: Any, c: Any) -> None:
    tir.call_extern("acme_mm16", [a, b, c], ())


rx.register_tensor_intrin("acme.prim_func", tile, tile_in_c)


@functools.cache
def target(intrin: str, *libraries: str) -> str:
    """Register a target with products by the intrinsic, and return its name."""
    name = f"acme{abs(hash((intrin, *libraries)))}"
    rx.register_target(rx.Target(name, parents=("llvm",), libraries=libraries, doc="A CPU with a library."))

    @rx.register_schedule(operator="relax.matmul", target=name)
    def tiles(function: Any, context: Any) -> Any:
        sch = context.schedule(function)
        product = next(block for tree in sch.trees() for block in tree.blocks() if block.is_reduction)
        block = sch.get_block(product.name)
        sch.pad_einsum(block, [16, 16, 16])
        block = sch.get_block(product.name)
        loops = [each for loop in sch.get_loops(block) for each in sch.split(loop, [None, 16])]
        sch.reorder(*loops[::2], *loops[1::2])
        sch.decompose_reduction(block, loops[4])
        sch.tensorize(loops[1], intrin)
        sch.parallel(loops[0])
        return sch

    return name


def product(rows: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"a": rx.tensor((rows, 32)), "b": rx.tensor((32, 48))}) as f:
        f.returns(relax.nn.relu(relax.matmul(*f)))
    return module


def operands(rows: int) -> tuple[Any, Any]:
    random = numpy.random.default_rng(rows)
    return random.normal(size=(rows, 32)).astype("float32"), random.normal(size=(32, 48)).astype("float32")


# ---- arguments of C functions ----


@pytest.mark.parametrize("intrin", ["acme.emitted", "acme.prim_func"])
@pytest.mark.parametrize("rows", [64, "n"])
def test_an_intrinsic_that_calls_a_function(intrin: str, rows: Any) -> None:
    """Pass parts of larger buffers, with their strides."""
    main = rx.compile(product(rows), target(intrin, str(folder() / "libacme.so")))["main"]
    counter = ctypes.CDLL(str(folder() / "libacme.so")).acme_count
    for count in (64,) if rows == 64 else (64, 37):
        a, b = operands(count)
        before = counter()
        numpy.testing.assert_allclose(main(a, b), numpy.maximum(a @ b, 0), rtol=1e-4, atol=1e-4)
        assert counter() - before == -(-count // 16) * 2 * 3


def called(function: str, shape: Any, dtype: str, call: str) -> Any:
    """Return a program that calls a function of the library from a PrimFunc with one input."""
    script = f"""
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def kernel(X: T.Buffer({shape}, "{dtype}"), Y: T.Buffer({shape}, "{dtype}")):
        T.evaluate(T.call_extern("void", "{function}", {call}))

    @R.function
    def main(x: R.Tensor({shape}, "{dtype}")) -> R.Tensor({shape}, "{dtype}"):
        return R.call_tir(Module.kernel, (x,), out_sinfo=R.Tensor({shape}, "{dtype}"))
"""
    module = rx.Module.from_script(script)
    return rx.compile(module, target("acme.emitted", str(folder() / "libacme.so")))["main"]


def test_buffers_are_passed_as_pointers_and_strides() -> None:
    """Pass a pointer and the strides of all dimensions but the last, .data as a plain pointer, and numbers directly."""
    x = numpy.random.default_rng(3).normal(size=(2, 3, 4)).astype("float32")
    numpy.testing.assert_array_equal(called("acme_scale", x.shape, "float32", "X, T.float64(0.5), Y")(x), x / 2)
    numbers = numpy.arange(-4, 4, dtype="int8")
    numpy.testing.assert_array_equal(called("acme_bytes", (8,), "int8", "X, Y")(numbers), numbers + numpy.arange(8))
    truths = numpy.array([0, 1, 1, 0, 0, 1, 0, 1], "bool")
    numpy.testing.assert_array_equal(called("acme_not", (8,), "bool", "X, Y")(truths), ~truths)
    matrix = numpy.random.default_rng(4).normal(size=(5, 3)).astype("float32")
    flat = called("acme_flat", (5, 3), "float32", "X.data, T.int64(15), Y.data")
    numpy.testing.assert_array_equal(flat(matrix), 2 * matrix)


def test_elements_that_lie_apart_are_refused() -> None:
    """Refuse elements that are not contiguous: C receives no stride for the last dimension."""
    text = """
func.func private @f(%x: memref<4x4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  %c = memref.subview %x[0, 1] [4, 1] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[4], offset: 1>>
  "tir.call_extern"(%c, %y) {func = "acme_flat"} : (memref<4xf32, strided<[4], offset: 1>>, memref<4xf32>) -> ()
  return
}
func.func @main(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %0 = "relax.call_tir"(%x) {func = @f} : (tensor<4x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
    message = r":4:3: C function 'acme_flat': it is given buffers whose last dimension is contiguous, .* stride 4: have"
    with pytest.raises(rx.RelaxError, match=message):
        rx.compile(rx.Module.parse(text))


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((16, 8), "float32", r"has the parameters f32 \(16, 8\), .*, its description f32 \(16, 16\), "),
        ((16, 16), "float64", r"has the parameters f64 \(16, 16\), .*, its description f32 \(16, 16\), "),
    ],
)
def test_implementations_have_the_descriptions_parameters(shape: Any, dtype: str, message: str) -> None:
    a, b = (f"T.Buffer({each}, '{dtype}')" for each in (shape, (16, 16)))
    implementation = rx.Module.from_script(f"""
from relax_mlir.script import tir as T

@T.prim_func
def tile(A: {a}, B: {b}, C: {b}):
    T.evaluate(T.call_extern("void", "acme_mm16", A, B, C))
""")
    with pytest.raises(rx.RelaxError, match=f"tensor intrinsic 'acme.bad': its implementation {message}"):
        rx.register_tensor_intrin("acme.bad", tile, implementation)


@pytest.mark.parametrize("steps", ["", "i, j, k = sch.get_loops('C'); sch.reorder(i, k, j); sch.vectorize(j)"])
def test_implementations_are_loops_with_their_schedules(steps: str) -> None:
    sch = rx.Schedule(tile)
    exec(steps, {"sch": sch})
    name = f"acme.loops{len(steps)}"
    rx.register_tensor_intrin(name, tile, sch.mod)
    executable = rx.compile(product("n"), target(name), cache=False)
    assert executable._artifact.libraries.names == ()
    for rows in (64, 37):
        a, b = operands(rows)
        numpy.testing.assert_allclose(executable["main"](a, b), numpy.maximum(a @ b, 0), rtol=1e-4, atol=1e-4)


# ---- where libraries are ----


def run_elsewhere(program: Path, more: str = "", *, first: str = "", expect: int = 0) -> str:
    """Return the output of a saved program in a process that has loaded nothing yet."""
    code = f"""
import numpy, relax_mlir.runtime as runtime
{first}
program = runtime.load({str(program)!r})
{more}
print(numpy.from_dlpack(program["main"](numpy.ones((64, 32), "float32"), numpy.ones((32, 48), "float32")))[0, 0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, cwd=program.parent)
    assert done.returncode == expect, done.stderr
    return done.stdout or done.stderr


def saved(place: Path, *libraries: str) -> Path:
    program = rx.compile(product(64), target("acme.emitted", *libraries))
    program.save(place / "acme.rxa")
    return place / "acme.rxa"


def test_next_to_the_programs_file(tmp_path: Path) -> None:
    """Find a library next to the program under any name, also for a pickled program."""
    for name in ("libacme_here.so", str(folder() / "gone" / "libacme_here.so"), "./lib/libacme_here.so"):
        program = saved(tmp_path, name)
        assert read_artifact(program).libraries == ((name,), ("acme_mm16",))
        (tmp_path / "libacme_here.so").unlink(missing_ok=True)
        errors = run_elsewhere(program, expect=1)
        assert (
            f"ArtifactError: the C library '{name}', which the program calls, is not here: it was looked for at"
            in errors
        )
        assert f"{tmp_path}/libacme_here.so" in errors
        shutil.copy(folder() / "libacme.so", tmp_path / "libacme_here.so")
        assert run_elsewhere(program) == "32.0\n"
        assert run_elsewhere(program, "import pickle; program = pickle.loads(pickle.dumps(program))") == "32.0\n"


def test_by_its_path(tmp_path: Path) -> None:
    place = str(folder() / "libacme.so")
    program = saved(tmp_path, place)
    assert run_elsewhere(program) == "32.0\n"
    assert f"calls {place}" in repr(rx.runtime.load(program))


def test_all_that_is_missing_is_reported_before_anything_is_loaded(tmp_path: Path) -> None:
    program = saved(tmp_path, "libacme_one.so", "libacme_two.so")
    errors = run_elsewhere(program, expect=1)
    assert all(f"the C library 'libacme_{each}.so'" in errors for each in ("one", "two"))


def test_invalid_libraries_and_missing_functions_are_refused(tmp_path: Path) -> None:
    program = saved(tmp_path, "libacme_here.so")
    (tmp_path / "libacme_here.so").write_text("no library")
    assert "the C library 'libacme_here.so', which the program calls: " in run_elsewhere(program, expect=1)
    library("libacme_here.so", tmp_path, "int other(void) { return 1; }\n")
    lacking = "the C function 'acme_mm16', which the program calls, is in none of its libraries (libacme_here.so)"
    assert lacking in run_elsewhere(program, expect=1)


def test_functions_of_another_library_are_not_called_by_mistake(tmp_path: Path) -> None:
    """Report a function of another library with the same name, which the process finds first."""
    program = saved(tmp_path, "libacme_here.so")
    library("libacme_here.so", tmp_path)
    library("libother.so", tmp_path)
    first = f"import ctypes; ctypes.CDLL({str(tmp_path / 'libother.so')!r}, ctypes.RTLD_GLOBAL)"
    hidden = "the C function 'acme_mm16' of libacme_here.so is hidden by another library's of that name"
    assert hidden in run_elsewhere(program, first=first, expect=1)


def test_programs_that_call_nothing_need_no_library() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        f.returns(relax.exp(*f))
    program = rx.compile(module, target("acme.emitted", "libacme_nowhere.so"))
    assert numpy.from_dlpack(program["main"](numpy.zeros(4, "float32"))).tolist() == [1] * 4
    assert pickle.loads(pickle.dumps(program))["main"](numpy.zeros(4, "float32")) is not None


def test_names_that_are_none() -> None:
    with pytest.raises(rx.RelaxError, match=re.escape("target 'acme-text': libraries='libacme.so': expected names")):
        rx.register_target(rx.Target("acme-text", libraries="libacme.so"))  # type: ignore[arg-type]
