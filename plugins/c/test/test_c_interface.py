# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of callers: numbers and sizes, by C's convention and by tvm-ffi's, and refusals."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
import tvm_ffi
from c_programs import COMPILER, STRICT, CProgram, needs_compiler, run, write
from relax_mlir import relax

pytestmark = needs_compiler

#: y = x * scale + count where flag is true, else x; the size of y is a number that callers pass.
NUMBERS = """
func.func private @kernel(%x: memref<?xf32>, %count: i64, %scale: f64, %flag: i1, %y: memref<?xf32>)
    attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %factor = arith.truncf %scale : f64 to f32
  %more = arith.sitofp %count : i64 to f32
  scf.for %i = %zero to %n step %one {
    %a = memref.load %x[%i] : memref<?xf32>
    %product = arith.mulf %a, %factor : f32
    %sum = arith.addf %product, %more : f32
    %r = arith.select %flag, %sum, %a : f32
    memref.store %r, %y[%i] : memref<?xf32>
  }
  return
}
func.func @main(%x: tensor<?xf32, #relax.sym<["n"]>>, %count: i64, %scale: f64, %flag: i1)
    -> tensor<?xf32, #relax.sym<["n"]>> {
  %y = "relax.call_tir"(%x, %count, %scale, %flag) {func = @kernel}
    : (tensor<?xf32, #relax.sym<["n"]>>, i64, f64, i1) -> tensor<?xf32, #relax.sym<["n"]>>
  return %y : tensor<?xf32, #relax.sym<["n"]>>
}
"""
X = numpy.array([1.0, -2.0, 0.25], "float32")


def ffi_module(module: rx.Module, folder: Path) -> Any:
    files = rx.sources(module, "c{memory=heap ffi=mine}")
    write(files, folder)
    assert COMPILER is not None
    sources = [name for name in files if name.endswith(".c") and name != "main.c"]
    command = [COMPILER, *STRICT, "-fPIC", "-shared", "-o", "mine.so", *sources, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return tvm_ffi.load_module(str(folder / "mine.so"))


def test_numbers_by_both_conventions(tmp_path: Path) -> None:
    module = rx.Module.parse(NUMBERS)
    program = CProgram(module)
    main = ffi_module(module, tmp_path)["mine.main"]
    for count, scale, flag in ((3, 0.5, True), (-1, 2.0, True), (3, 0.5, False)):
        expected = X * numpy.float32(scale) + count if flag else X
        library = program._library.model_main
        library.argtypes = [
            ctypes.c_int64,
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_double,
            ctypes.c_bool,
            ctypes.c_void_p,
        ]
        result = numpy.zeros(3, "float32")
        assert library(3, X.ctypes.data, count, scale, flag, result.ctypes.data) == 0
        numpy.testing.assert_allclose(result, expected)
        result = numpy.zeros(3, "float32")
        main(tvm_ffi.from_dlpack(X), count, scale, flag, tvm_ffi.from_dlpack(result))
        numpy.testing.assert_allclose(result, expected)


def tensor(*shape: int, dtype: str = "float32") -> Any:
    return tvm_ffi.from_dlpack(numpy.zeros(shape, dtype))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (lambda: (tensor(3), 1, 0.5, tensor(3)), "expected 5 arguments"),
        (lambda: (1, 1, 0.5, True, tensor(3)), "arg0: expected a tensor"),
        (lambda: (tensor(3), "one", 0.5, True, tensor(3)), "arg1: expected an integer"),
        (lambda: (tensor(3), 1, "half", True, tensor(3)), "arg2: expected a number"),
        (lambda: (tensor(3, dtype="float64"), 1, 0.5, True, tensor(3)), "x"),
        (lambda: (tensor(3, 1), 1, 0.5, True, tensor(3)), "x"),
        (lambda: (tensor(3), 1, 0.5, True, tensor(4)), "dimension 0 of result: expected to be 3, got 4"),
    ],
    ids=["count", "tensor", "integer", "number", "dtype", "rank", "size"],
)
def test_arguments_from_tvm_ffi_are_checked(arguments: Callable[[], Any], words: str, tmp_path: Path) -> None:
    main = ffi_module(rx.Module.parse(NUMBERS), tmp_path)["mine.main"]
    with pytest.raises(Exception, match=words):
        main(*arguments())


def sized(name: str = "n") -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((name, 2)), "y": rx.tensor(("m",))}) as f:
        x, y = f
        f.returns(relax.negative(x), relax.exp(y))
    return module


def test_sizes_that_cannot_be_are_reported() -> None:
    program = CProgram(sized(), bind={"n": "2..5"})
    library = program._library.model_main
    for n, m, words in (
        (1, 0, "n is 1, expected 2 to 5"),
        (6, 0, "n is 6, expected 2 to 5"),
        (2, -1, "the size m is negative"),
    ):
        status = library(*map(ctypes.c_int64, (n, m)), *[ctypes.c_void_p(0)] * 4)
        assert words in program.message(status)


def test_main_takes_sizes_and_prints_numbers(tmp_path: Path) -> None:
    """Name sizes by their C names: the model's name may be a keyword of C."""
    x = numpy.arange(6, dtype="float32").reshape(3, 2)
    x.tofile(tmp_path / "x.bin")
    numpy.ones(1, "float32").tofile(tmp_path / "y.bin")
    text = run(rx.sources(sized("double")), tmp_path, "x.bin", "double_2=3", "m=1", "y.bin")
    assert text.splitlines() == ["result0: -0 -1 -2 -3 -4 -5", "result1: 2.71828"]
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "result0.npy"), -x)
    assert numpy.load(tmp_path / "result1.npy").shape == (1,)
    assert run(rx.sources(sized("double")), tmp_path, "--help").splitlines() == [
        "usage: ./program [double_2=1] [m=1] [x.bin] [y.bin]",
        "An input is the bytes of its elements in a file, or zeros. The first numbers of results",
        "are printed, and all of them written to a file for numpy.load:",
        "  result0.npy",
        "  result1.npy",
    ]


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "bool", "int8", "uint8", "int16", "uint32", "int64"]
)
def test_main_writes_whole_results_that_numpy_reads(dtype: str, tmp_path: Path) -> None:
    x = numpy.arange(4 * 30).reshape(2, 2, 30).astype(dtype)
    x.tofile(tmp_path / "x.bin")
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(x.shape, dtype)}) as f:
        f.returns(relax.permute_dims(*f), relax.take(relax.flatten(*f), relax.const(3), axis=0))
    run(rx.sources(module), tmp_path, "x.bin")
    for name, expected in (("result0", x.T), ("result1", x.ravel()[3])):
        found = numpy.load(tmp_path / f"{name}.npy")
        assert found.dtype == x.dtype
        numpy.testing.assert_array_equal(found, expected)


def test_kernels_are_named_by_the_models_nodes() -> None:
    module = rx.Module.parse("""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("layer/Exp")
  return %y : tensor<4xf32>
}
""")
    assert "/* layer/Exp: f32[4] -> f32[4] */" in rx.sources(module)["model.c"]
