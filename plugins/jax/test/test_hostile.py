# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged and hostile programs end in an error, and do not end the reading process."""

from __future__ import annotations

import importlib
import io
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
from example_counts import some
from relax_mlir.bindings.mlir import ROOT, ir

TEXT = """module @m {
  func.func public @main(%x: tensor<3x4xf32> {jax.arg_info = "x"}, %w: tensor<4x4xf32>) -> tensor<3x4xf32> {
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %a = stablehlo.add %p, %b : tensor<3x4xf32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
    %r = call @inner(%t) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
  }
  func.func private @inner(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %y = stablehlo.tanh %x : tensor<3x4xf32>
    return %y : tensor<3x4xf32>
  }
}"""  # noqa: E501
TOSA = """func.func @main(%x: tensor<3x4xf32>, %y: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %0 = tosa.add %x, %y : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  %1 = tosa.clamp %0 {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}"""


def _dialects() -> tuple[Any, Any]:
    dialects = importlib.import_module(f"{ROOT}._mlir_libs._stablehlo")
    context = ir.Context(load_on_create_dialects=[])
    context.enable_multithreading(False)
    dialects.register_dialect(context)
    return dialects, context


def bytecode(text: str) -> bytes:
    """Return MLIR's own bytecode, not the portable format."""
    _, context = _dialects()
    written = io.BytesIO()
    with context:
        ir.Module.parse(text).operation.write_bytecode(written)
    return written.getvalue()


def artifact(text: str) -> bytes:
    dialects, context = _dialects()
    with context:
        return bytes(dialects.serialize_portable_artifact(ir.Module.parse(text), "1.0.0"))


SOURCES: dict[str, tuple[Callable[[], bytes], Callable[[bytes], rx.Module]]] = {
    "portable": (lambda: artifact(TEXT), rx.from_stablehlo),
    "plain": (lambda: bytecode(TEXT), rx.from_stablehlo),
    "tosa": (lambda: bytecode(TOSA), rx.from_tosa),
}


def damaged(whole: bytes, seed: int) -> bytes:
    """Cut off, with wrong bits or bytes, with bytes more or less."""
    draw, data = random.Random(seed), bytearray(whole)
    place = draw.randrange(4, len(data))
    kind = seed % 4
    if kind == 0:
        return bytes(data[:place])
    if kind == 1:
        data[place] ^= 1 << draw.randrange(8)
    elif kind == 2:
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(4, len(data))] = draw.randrange(256)
    else:
        data[place : place + draw.randint(0, 8)] = draw.randbytes(draw.randint(0, 8))
    return bytes(data)


def read_damaged(kind: str, start: int, end: int) -> None:
    """Read damaged programs, in a process of its own that has to come to its end."""
    make, read = SOURCES[kind]
    whole, refused = make(), 0
    for seed in range(start, end):
        try:
            read(damaged(whole, seed))
        except rx.RelaxError as error:
            assert error.message
            refused += 1
    assert refused > (end - start) // 2, "few were damaged"


@pytest.mark.slow
@pytest.mark.parametrize("kind", SOURCES)
def test_damaged_bytecode_ends_no_process(kind: str) -> None:
    code = f"import test_hostile; test_hostile.read_damaged({kind!r}, 0, {some(400)})"
    folders = [str(Path(__file__).parent), *sys.path]
    program = f"import sys; sys.path[:0] = {folders!r}; {code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("kind", SOURCES)
def test_whole_bytecode_is_read(kind: str) -> None:
    make, read = SOURCES[kind]
    assert "main" in str(read(make()))


def test_bytes_that_are_nothing() -> None:
    for data in (b"", b"\xff\xfe\x00", b"ML\xefR", b"ML\xefR\rStableHLO_v1.0.0\0", b"func.func\0"):
        for read in (rx.from_stablehlo, rx.from_tosa):
            with pytest.raises(rx.RelaxError):
                read(data)


# ---- text ----


def _refused(text: str) -> str:
    with pytest.raises(rx.RelaxError) as refused:
        rx.from_stablehlo(text)
    return str(refused.value)


def test_text_that_is_nested_deeply() -> None:
    assert "nest" in _refused("module { " * 5000 + "}" * 5000)


def test_numbers_that_no_machine_has_room_for() -> None:
    """Store a splat as one number for any type, and refuse excessive memory at the call."""
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<1000000000000xf32>
  %s = stablehlo.slice %c [0:3] : (tensor<1000000000000xf32>) -> tensor<3xf32>
  %y = stablehlo.add %x, %s : tensor<3xf32>
  return %y : tensor<3xf32>
}"""
    assert "1000000000000" in str(rx.from_stablehlo(text))


def test_a_resource_that_is_shorter_than_its_type() -> None:
    text = """func.func @main() -> tensor<4xf32> {
  %c = stablehlo.constant dense_resource<w> : tensor<4xf32>
  return %c : tensor<4xf32>
}
{-# dialect_resources: {builtin: {w: "0x040000000000803F00000040"}} #-}"""
    assert "w" in _refused(text)


def test_recursive_functions_are_refused() -> None:
    text = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = call @other(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @other(%x: tensor<f32>) -> tensor<f32> {
  %y = call @main(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}"""
    assert "is a function recursive" in _refused(text)


def test_a_composite_that_decomposes_into_itself() -> None:
    text = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.composite "a.b" %x {decomposition = @part} : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @part(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.composite "a.b" %x {decomposition = @part} : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}"""
    assert "is a function recursive" in _refused(text)


def test_a_module_of_mixed_dialects_is_refused_as_a_whole() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = stablehlo.tanh %x : tensor<3xf32>
  %b = tosa.exp %a : (tensor<3xf32>) -> tensor<3xf32>
  %e = tensor.empty() : tensor<3xf32>
  %c = linalg.exp ins(%b : tensor<3xf32>) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %d = "foo.bar"(%c) : (tensor<3xf32>) -> tensor<3xf32>
  return %d : tensor<3xf32>
}"""
    message = _refused(text)
    for name, line in (("tosa.exp", 3), ("tensor.empty", 4), ("linalg.exp", 5), ("foo.bar", 6)):
        assert name in message and f"line {line}" in message
