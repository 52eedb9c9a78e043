# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of tensors with dynamic sizes are read and written in place, in as few loops as for known sizes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from compiling import array, built, floats
from onnx_oracle import run_onnx

import relax_mlir as rx
from relax_mlir import relax

_IMAGE = rx.tensor(("batch", 6, "height", "width"))
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_PADS = (0, 0, 0, 0, 2, 1, 1, 3)


def _pad(x: Any, mode: str) -> Any:
    return relax.nn.pad(x, pad_width=_PADS, pad_mode=mode)


def _padded(x: Any, mode: str) -> Any:
    return numpy.pad(x, numpy.reshape(_PADS, (4, 2)), _MODES[mode])


def _pool(x: Any) -> Any:
    return relax.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1,) * 4)


def _pooled(x: Any) -> Any:
    return run_onnx("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)[0]


def _joined(x: Any) -> Any:
    return relax.concat([x, relax.negative(x), x], axis=1)


def _channels(x: Any) -> Any:
    return relax.strided_slice(x, axes=[1], begin=[1], end=[4])


_CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **{mode: (lambda x, mode=mode: _pad(x, mode), lambda x, mode=mode: _padded(x, mode)) for mode in _MODES},
    "pool": (_pool, _pooled),
    "concat": (_joined, lambda x: numpy.concatenate([x, -x, x], 1)),
    "concat columns": (lambda x: relax.concat([x, x], axis=3), lambda x: numpy.concatenate([x, x], 3)),
    "slice": (_channels, lambda x: x[:, 1:4]),
    "split": (lambda x: relax.split(x, 2, axis=1)[1], lambda x: x[:, 3:]),
}


@pytest.mark.parametrize("name", _CASES)
def test_values(name: str) -> None:
    compute, expected = _CASES[name]
    main = built([_IMAGE], compute)["main"]
    for batch, height, width in [(1, 4, 5), (2, 1, 1), (0, 3, 4), (3, 7, 16), (1, 2, 33), (2, 5, 70)]:
        x = floats(batch, 6, height, width)
        if 0 in x.shape and name == "pool":
            continue  # onnxruntime refuses it
        numpy.testing.assert_array_equal(array(main(x)), expected(x), err_msg=f"{name} of {x.shape}")


@pytest.mark.parametrize("name", _CASES)
def test_nothing_else_is_copied(name: str) -> None:
    """Avoid copies: collapsed axes of a slice would need a copy, and one back after a write."""
    module = rx.Module()
    with module.function("main", [_IMAGE]) as f:
        f.returns(_CASES[name][0](*f))
    text = str(rx.lower(module, pipeline=rx.stages().until("bufferize")))
    kernels = text[text.index("func.func private") :]
    allocated = re.findall(r"memref\.alloc\(.*memref<(?:\?|\d+)x\d+x\?x\?xf32>", kernels)
    assert len(allocated) == (name == "pool"), text  # its padded data
    assert "memref.copy" not in text
    assert text.count("linalg.generic") == text.count("tir.unplanned"), text  # the others are copies


def test_channels_in_one_run() -> None:
    """Collapse contiguous channels of a batch into one loop, as for known sizes."""
    for name, shape in itertools.product(("concat", "slice", "split"), (_IMAGE, rx.tensor((4, 6, 20, 30)))):
        module = rx.Module()
        with module.function("main", [shape]) as f:
            f.returns(_CASES[name][0](*f))
        text = str(rx.lower(module, pipeline=rx.stages().until("plan")))
        assert 'tir.plan = "order 0 (1 2 3); vector 1' in text, (name, text)


def test_transposed_convolutions_have_blocks() -> None:
    """Know transposed weights, computed at compile time, when layouts are chosen."""
    module = rx.Module()
    weight = floats(16, 32, 4, 4)
    with module.function("main", [rx.tensor((1, 16, "height", "width"))]) as f:
        f.returns(relax.nn.conv2d_transpose(*f, relax.const(weight), strides=(2, 2), padding=(1,) * 4))
    target = "llvm{cpu=skylake-avx512}"
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("layouts")))
    assert 'data_layout = "NCHW16c"' in text


def test_a_part_at_the_start_of_a_result_has_its_own_size() -> None:
    """Pass the part's own size: a dimension of unknown size has the same type as any other, and the writer would
    overrun the part."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",)), rx.tensor((1,))]) as f:
        x, last = f
        f.returns(relax.concat([relax.split(x, 2, axis=0)[1], last], axis=0))
    text = str(rx.lower(module, pipeline=rx.stages().until("bufferize")))
    made = re.search(r"call @split\(%arg0, %\w+, (%\w+)\)", text)
    assert made is not None and made[1] != "%arg2", text
    main = rx.compile(module)["main"]
    for size in (0, 1, 2, 3, 70, 1001):
        x, last = floats(size), floats(1, seed=6)
        numpy.testing.assert_array_equal(array(main(x, last)), numpy.concatenate([x[(size + 1) // 2 :], last]))
