# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl: reasons of refusals at compile time and at load time."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from dnnl_models import floats
from dnnl_parts import build_part, built
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.external_bytes import packed, unpacked
from relax_mlir_dnnl import machine
from relax_mlir_dnnl.codegen import Dnnl
from relax_mlir_dnnl.rules import RULES, refusal
from relax_mlir_dnnl.runtime import library as libraries
from relax_mlir_dnnl.runtime.description import DnnlPart
from relax_mlir_dnnl.runtime.runtime import DnnlRuntime

const = relax.const


def reason(body: Any, *inputs: Any) -> str:
    """Return the reason why oneDNN refuses the last operator."""
    ops = [op for op in operations_in(built(body, *inputs).operation) if op.name.startswith("relax.")]
    found = [refusal(op) for op in ops if op.name in RULES or op is ops[-1]]
    return next((each for each in found if each), "")


half = rx.tensor((2, 4), "float16")
image = (1, 8, 6, 6)


@pytest.mark.parametrize(
    ("body", "inputs", "why"),
    [
        (relax.erf, [(2, 4)], "no primitive for relax.erf"),
        (relax.exp, [rx.tensor((2, 4), "float64")], "does not support elements of f64 here, only of f32"),
        (relax.nn.relu, [rx.tensor((2, 4), "int32")], "elements of i32"),
        (relax.exp, [(1, 1, 1, 1, 2, 2, 2)], "at most 6 dimensions, got 7"),
        (relax.exp, [(2, 0)], "does not support tensors without elements"),
        (relax.exp, [rx.tensor((None, 4))], "a size is unknown at compile time"),
        (relax.exp, [rx.tensor(None)], "a size is unknown at compile time"),
        (lambda x: relax.power(x, x), [(2, 4)], "needs one constant exponent"),
        (lambda x: relax.clip(x, 2.0, 1.0), [(2, 4)], "the lower limit 2.0 is above the upper limit 1.0"),
        (lambda x: relax.nn.softplus(x, beta=-1.0), [(2, 4)], "a beta above 0, not -1.0"),
        (
            lambda x: relax.nn.softplus(x, threshold=3.0),
            [(2, 4)],
            "softplus has no threshold: expected at least 15.0, got 3.0",
        ),
        (relax.nn.prelu, [(2, 4), (4,)], "slopes have to be finite constants"),
        (lambda x: relax.nn.prelu(x, relax.const(numpy.float32([1, numpy.inf]))), [(4, 2)], "a slope is not finite"),
        (relax.divide, [(4,), (2, 4)], "broadcasts the second operand of divide, not the first"),
        (
            lambda x: relax.strided_slice(x, axes=[0], begin=[0], end=[4], strides=[2]),
            [(4, 2)],
            "slices have no strides, got 2",
        ),
        (lambda x: relax.strided_slice(x, axes=[0], begin=[1], end=[4]), [("n", 2)], "needs the sliced sizes"),
        (lambda x: relax.split(x, indices_or_sections=[1], axis=0), [("n", 2)], "a static size along the split axis"),
        (lambda x: relax.concat([x] * 17), [(2,)], "at most 16 joined tensors, got 17"),
        (lambda x, y: relax.broadcast_to(x, ("n", 3)), [(1, 3), ("n",)], "number of copies"),
        (lambda x: relax.broadcast_to(x, (99, 3)), [(1, 3)], "at most 16 copies, got 99"),
        (lambda x: relax.astype(x, "int8"), [(4,)], "rounds elements to i8"),
        (lambda x: relax.image.resize2d(x, (12, 12), method="cubic"), [image], "no cubic interpolation"),
        (lambda x: relax.image.resize2d(x, (9, 9), method="nearest_neighbor"), [image], "not a whole number"),
        (
            lambda x: relax.image.resize2d(x, (12, 12), coordinate_transformation_mode="align_corners"),
            [image],
            "by the centres of pixels, not by align_corners",
        ),
        (relax.add, [(2, 1), (1, 4)], "broadcasts one operand, not both"),
        (relax.add, [("n",), (4,)], "at compile time which sizes are broadcast"),
        (relax.matmul, [("n", 2, 3), (4, 3, 2)], "batch dimensions n and 4 may be broadcast"),
        (lambda x, w: relax.matmul(x, w, out_dtype="float64"), [(2, 3), (3, 2)], "elements of f64"),
        (relax.nn.conv2d, [image, ("o", 8, 3, 3)], "needs the sizes of the weight"),
        (
            lambda x, w: relax.nn.conv2d(x, w, data_layout="NCHW4c", kernel_layout="OIHW"),
            [(1, 2, 6, 6, 4), (4, 8, 3, 3)],
            "layout NCHW4c is blocked",
        ),
        (
            lambda x, w: relax.nn.conv2d(x, w, padding=3),
            [image, (4, 8, 3, 3)],
            "padding smaller than the window of 3 along H, got 3",
        ),
        (
            lambda x: relax.nn.avg_pool2d(x, pool_size=3, ceil_mode=True, count_include_pad=True),
            [image],
            "ceil_mode with count_include_pad leaves out",
        ),
        (lambda x: relax.nn.adaptive_avg_pool2d(x, output_size=4), [image], "(6, 6) is no multiple of (4, 4)"),
        (lambda x: relax.nn.adaptive_avg_pool2d(x, output_size=1), [(1, 8, "h", 6)], "needs the spatial sizes"),
        (
            lambda x, g: relax.nn.layer_norm(x, g, g, axes=[0]),
            [(4, 5), (4,)],
            "over the last dimensions, not over (0,)",
        ),
        (lambda x, g: relax.nn.layer_norm(x, g, g, axes=[1]), [(4, "n"), ("n",)], "sizes of the normalized dimensions"),
        (
            lambda x, g: relax.nn.group_norm(x, g, g, num_groups=2, channel_axis=2, axes=[1]),
            [(1, 6, 4), (4,)],
            "needs channels in dimension 1",
        ),
        (lambda x, g: relax.nn.batch_norm(x, g, g, g, g, axis=1)[0], [image, (8,)], "uses the statistics of the batch"),
        (
            lambda x, g: relax.nn.batch_norm(x, g, g, g, g, axis=3, training=False)[0],
            [image, (6,)],
            "channels as dimension 1, got axis 3",
        ),
        (
            lambda x, g: tuple(relax.nn.batch_norm(x, g, g, g, g, axis=1, training=False)[:2]),
            [image, (8,)],
            "the new mean or variance has users",
        ),
        (lambda x: relax.einsum([x, x], subscripts="ab,ab->ab"), [(2, 4)], ""),
        (lambda x: relax.einsum([x, x, x], subscripts="ab,bc,cd->ad"), [(4, 4)], "multiplies two tensors, not 3"),
        (lambda x: relax.einsum([x, x], subscripts="aa,ab->b"), [(4, 4)], "'aa,ab->b' is not a matrix product"),
        (lambda x: relax.einsum([x, x], subscripts="ab,cd->ac"), [(4, 4)], "is not a matrix product"),
        (lambda x: relax.einsum([x, x], subscripts="...ab,...bc->...ac"), [(4, 4)], "is not a matrix product"),
        (lambda x: relax.sum(x, axis=[]), [(2, 4)], "no axis is reduced"),
        (relax.sum, [()], "nothing to reduce"),
        (
            lambda x, s: relax.quantize(x, s, const(numpy.int8(0))),
            [(2, 4), ()],
            "needs constant scales and zero points",
        ),
        (
            lambda x: relax.quantize(x, const(numpy.ones(4, "float32")), const(numpy.arange(4, dtype="int8"))),
            [(2, 4)],
            "one zero point for a whole tensor",
        ),
    ],
)
def test_refusals(body: Any, inputs: Any, why: str) -> None:
    assert why in reason(body, *inputs)


def test_unsupported_element_types(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(name: str, instructions: str) -> str:
        monkeypatch.setattr(machine, "library", lambda: type("L", (), {"instructions": instructions}))
        return reason(relax.exp, rx.tensor((2, 4), name))

    assert "oneDNN computes f16 with avx2_vnni_2, avx512_core_fp16 or later" in asked("float16", "avx512_core_bf16")
    assert "this machine has avx2" in asked("bfloat16", "avx2")
    assert asked("bfloat16", "avx512_core") == asked("float16", "avx512_core_fp16") == asked("float32", "sse41") == ""


def test_shorter_match_before_unsupported_operator() -> None:
    """Match the convolution with relu, and leave the unsupported operator after them to the target."""
    module = built(lambda x: relax.erf(relax.nn.relu(relax.nn.conv2d(x, const(floats(4, 8, 3, 3))))), image)
    rx.Pipeline("relax-fuse-ops-by-pattern{codegen=dnnl}").run(module)
    assert "dnnl.conv_with_post_ops" in str(module)
    assert (
        "relax.erf" in module.script().partition("def main")[2] or "R.erf" in module.script().partition("def main")[2]
    )


def test_views_without_computation_stay() -> None:
    """Match views next to computing operators. Report the reason for views that stay with the target."""
    journal = rx.Journal()
    with journal.recording():
        rx.Partition(codegens=("dnnl",), explain=True)(
            built(lambda x, y: (relax.permute_dims(x, [1, 0]), relax.exp(relax.reshape(y, (6,)))), (2, 3), (2, 3))
        )
    (recorded,) = (fact for fact in journal.facts if fact["kind"] == "partition")
    assert recorded["matched"] == {"dnnl.view": 1, "dnnl.eltwise": 1}
    (kept,) = (fact for fact in journal.facts if fact["kind"] == "kept")
    assert kept["operator"] == "relax.permute_dims" and "only together with others" in kept["reason"]


@pytest.mark.parametrize("threads", ["0", "many", "-1", "2000"])
def test_invalid_thread_counts(threads: str) -> None:
    """Refuse other values of `threads` before anything is compiled."""
    message = f"codegen 'dnnl': option 'threads' expects an integer from 1 to 1024, got '{threads}'"
    with pytest.raises(RelaxError, match=message):
        rx.compile(built(relax.exp, (2, 3)), partition=f"dnnl{{threads={threads}}}")


def some_bytes() -> bytes:
    return build_part(built(lambda x: relax.matmul(x, const(floats(4, 4))), (2, 4)), threads="2").data


def test_content_of_bytes() -> None:
    data = numpy.frombuffer(some_bytes(), "uint8")
    part = unpacked("dnnl", memoryview(data), DnnlPart)
    (function,) = part.functions
    (weight,) = [numpy.frombuffer(value.data, "float32") for value in function.values if value.data is not None]
    assert part.threads == 2 and (weight.ctypes.data - data.ctypes.data) % 64 == 0 == len(data) % 64
    assert numpy.array_equal(weight.reshape(4, 4), floats(4, 4)) and numpy.shares_memory(weight, data)
    assert some_bytes() == some_bytes()


@pytest.mark.parametrize("length", [0, 5, 30, 200, -64, -1])
def test_cut_bytes(length: int) -> None:
    cut = memoryview(some_bytes()[:length])
    missing = DnnlRuntime().requires(cut)
    assert missing.startswith(("these are no bytes of the codegen 'dnnl'", "its bytes are cut short"))
    with pytest.raises(RelaxError, match=r"codegen 'dnnl'|cut short"):
        DnnlRuntime().load(cut)


def test_damaged_bytes() -> None:
    data = some_bytes()
    for place, problem in (
        (0, "no bytes of"),
        (data.index(b"dnnl"), "but of 'xnnl'"),
        (data.index(b'"part"') + 1, "damaged"),
    ):
        damaged = bytearray(data)
        damaged[place] = ord("x")
        assert problem in DnnlRuntime().requires(memoryview(damaged))


def test_another_instruction_set() -> None:
    part = DnnlPart((), needs=("avx1024",))
    missing = DnnlRuntime().requires(memoryview(packed("dnnl", part)))
    assert "one of the instruction sets avx1024" in missing


@pytest.mark.parametrize(
    ("path", "problem"), [("/nowhere/libdnnl.so.3", "cannot be loaded"), ("libgomp.so.1", "cannot be loaded")]
)
def test_another_library(path: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = some_bytes()
    monkeypatch.setenv(libraries.PLACE, path)
    libraries.library.cache_clear()
    try:
        assert problem in (found := DnnlRuntime().requires(memoryview(data))) and "pip install onednn-cpu-gomp" in found
    finally:
        libraries.library.cache_clear()


def test_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    place = libraries.library_path()
    for oldest, problem in (((3, 99), "3.99 or a later 3.x is needed"), ((4, 0), "4.0 or a later 4.x")):
        monkeypatch.setattr(libraries, "OLDEST", oldest)
        with pytest.raises(RelaxError, match=problem):
            libraries.Library(place)


def test_the_codegen_is_found_by_name_without_the_library() -> None:
    """Find the codegen and its patterns without loading the library."""
    code = "import sys, relax_mlir as rx; rx.find_codegen('dnnl'); print('libdnnl' in open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == "False"
    assert rx.find_codegen("dnnl") is Dnnl
