# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen onnxruntime without a program: bytes, sessions, arguments."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from compiling import floats, module_with
from relax_mlir import relax
from relax_mlir.support.external_bytes import packed, unpacked
from relax_mlir_onnxruntime.runtime import OnnxRuntime, SessionPart


def _part(**models: rx.Module) -> bytes:
    return packed(
        "onnxruntime", SessionPart(1, {name: rx.to_onnx(module).SerializeToString() for name, module in models.items()})
    )


def _read(data: bytes) -> SessionPart:
    return unpacked("onnxruntime", memoryview(data), SessionPart)


def _loaded(data: bytes) -> Any:
    return OnnxRuntime().load(memoryview(data))


def test_bytes_and_back() -> None:
    part = SessionPart(3, {"one": b"abc", "two": b""})
    found = _read(packed("onnxruntime", part))
    assert found.threads == 3
    assert {name: bytes(model) for name, model in found.models.items()} == part.models


@pytest.mark.parametrize("kept", [4, 12, 20, -1])
def test_bytes_that_are_cut_short(kept: int) -> None:
    data = packed("onnxruntime", SessionPart(1, {"one": b"abcdef"}))
    with pytest.raises(rx.RelaxError, match=r"cut short|no bytes of the codegen 'onnxruntime'"):
        _read(data[:kept])


def test_bytes_of_something_else() -> None:
    with pytest.raises(rx.RelaxError, match="no bytes of the codegen 'onnxruntime'"):
        _read(b"something else that is long enough")
    with pytest.raises(rx.RelaxError, match="damaged at their beginning"):
        _read(packed("onnxruntime", SessionPart(1, {"one": b"abc"})).replace(b"threads", b"thread_"))


def test_several_functions_write_into_their_results() -> None:
    functions = _loaded(
        _part(
            twice=module_with([rx.tensor(("n",))], lambda x: relax.add(x, x)),
            both=module_with([rx.tensor(("n",)), rx.tensor((1,))], lambda x, y: (relax.exp(x), relax.add(x, y))),
        )
    )
    data, one = floats(5), numpy.ones(1, "float32")
    first, second = numpy.zeros(5, "float32"), numpy.zeros(5, "float32")
    functions["twice"](data, first)
    numpy.testing.assert_array_equal(first, 2 * data)
    functions["both"](data, one, first, second)
    numpy.testing.assert_allclose(first, numpy.exp(data), rtol=1e-6)
    numpy.testing.assert_array_equal(second, data + 1)


def test_numbers() -> None:
    """Pass scalars as Python numbers."""
    module = rx.Module.parse("""func.func @main(%x: tensor<3xf32>, %low: f32, %k: i64) -> tensor<3xf32> {
      %high = arith.constant 2.0 : f32
      %t = "relax.scalar_to_tensor"(%k) : (i64) -> tensor<i64>
      %f = "relax.astype"(%t) {dtype = f32} : (tensor<i64>) -> tensor<f32>
      %y = "relax.clip"(%x, %low, %high) : (tensor<3xf32>, f32, f32) -> tensor<3xf32>
      %z = "relax.add"(%y, %f) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
      return %z : tensor<3xf32>
    }""")
    result = numpy.zeros(3, "float32")
    _loaded(_part(main=module))["main"](numpy.array([-9, 1, 9], "float32"), -0.5, 7, result)
    assert result.tolist() == [6.5, 8.0, 9.0]


def test_calls_that_do_not_fit() -> None:
    function = _loaded(_part(main=module_with([rx.tensor((2, 3))], lambda x: relax.exp(x))))["main"]
    with pytest.raises(rx.RelaxError, match="main takes 1 inputs and 1 outputs, got 1 tensors"):
        function(floats(2, 3))
    with pytest.raises(rx.RelaxError, match=r"'arg0' must be contiguous, got strides \(1, 2\)"):
        function(floats(3, 2).T, numpy.zeros((2, 3), "float32"))


def test_a_model_that_onnxruntime_refuses() -> None:
    with pytest.raises(rx.RelaxError, match=r"onnxruntime .* refuses the model of main: "):
        _loaded(packed("onnxruntime", SessionPart(1, {"main": b"no model"})))


def test_an_old_or_missing_onnxruntime_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    data = memoryview(b"")
    assert OnnxRuntime().requires(data) == ""
    monkeypatch.setattr(onnxruntime, "__version__", "1.9.0")
    assert OnnxRuntime().requires(data) == "it needs onnxruntime 1.18 or newer, found 1.9.0"
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "it needs the package onnxruntime" in OnnxRuntime().requires(data)


@pytest.mark.parametrize("name", ["atan", "log"])
def test_results_do_not_depend_on_their_alignment(name: str) -> None:
    data = numpy.abs(floats(1001)) + 0.1
    function = _loaded(_part(f=module_with([rx.tensor((1001,))], getattr(relax, name))))["f"]
    memory = numpy.zeros(1001 * 4 + 128, "uint8")
    first = -memory.ctypes.data % 64
    found = []
    for offset in (0, 4, 60):
        result = memory[first + offset :][: 1001 * 4].view("float32")
        function(data, result)
        found.append(result.tobytes())
    assert found == found[:1] * 3


@pytest.mark.parametrize("size", [1, 1000])
def test_results_do_not_depend_on_the_alignment_of_arguments(size: int) -> None:
    function = _loaded(_part(f=module_with([rx.tensor((size, 1001))], lambda x: relax.sum(x, axis=[1]))))["f"]
    data = floats(size, 1001)
    memory = numpy.zeros(data.nbytes + 128, "uint8")
    found = []
    for offset in (0, 4, 12):
        placed = memory[-memory.ctypes.data % 64 + offset :][: data.nbytes].view("float32").reshape(data.shape)
        placed[...] = data
        result = numpy.zeros(size, "float32")
        function(placed, result)
        found.append(result.tobytes())
    assert found == found[:1] * 3


def test_results_without_elements_are_not_computed() -> None:
    """Skip empty results: kernels divide by sizes, or read out of bounds, if these are 0."""
    product = module_with([rx.tensor(("b", "i", "j")), rx.tensor(("b", "k", "j"))], _product)
    function = _loaded(_part(main=product))["main"]
    for b, i, k in ((0, 2, 3), (2, 0, 3), (2, 3, 0)):
        function(floats(b, i, 4), floats(b, k, 4), numpy.zeros((b, k, i), "float32"))


def _product(x: Any, y: Any) -> Any:
    return relax.einsum([x, y], subscripts="bij,bkj->bki")
