# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows that slide over the dimensions of an operator's data, by the operator's row."""

from __future__ import annotations

import pytest
from relax_mlir.dialects import relax  # noqa: F401  # declares the operators
from relax_mlir.dialects.core.dialect import all_ops, find_op
from relax_mlir.dialects.core.facts import Window
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.opdef import Call, OpDef
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.dialects.relax.infer.windows import windows_of

import relax_mlir as rx


def call_of(name: str, *operands: TensorInfo, **attributes: object) -> Call:
    row = find_op(name)
    given = {attribute: kind.default for attribute, kind in row.attrs.items()} | attributes
    return Call(row, dict(zip((operand.name for operand in row.operands), operands, strict=True)), given)


def test_convolution_windows_have_the_size_of_the_weight() -> None:
    data, weight = TensorInfo(("n", 9, 9, 4), "f32"), TensorInfo((3, sym("k"), 4, 8), "f32")
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    call = call_of("relax.nn.conv2d", data, weight, strides=(2,), dilation=(1, 3), padding=(1, 2, 3, 4), **layouts)
    assert windows_of(call) == {"H": Window(3, 2, 1, 1, 3), "W": Window(sym("k"), 2, 3, 2, 4)}
    assert windows_of(call)["W"].reach == sym("k") * 3 - 2


def test_pool_windows_have_the_size_of_the_attribute() -> None:
    call = call_of("relax.nn.max_pool3d", TensorInfo(None, "f32"), pool_size=(2,), padding=(0, 1, 2))
    assert windows_of(call) == {"D": Window(2), "H": Window(2, before=1, after=1), "W": Window(2, before=2, after=2)}


def test_an_operator_of_another_package_need_not_have_all_attributes() -> None:
    dialect = rx.Dialect("windowed", doc="Of this test.")
    dialect.op("pool", "x", attrs={"size": rx.attrs.Ints()}, infer=lambda call: call.x, windows=("HW", "size"), doc="?")
    call = call_of("windowed.pool", TensorInfo((4, 4), "f32"), size=(2, 3))
    assert windows_of(call) == {"H": Window(2), "W": Window(3)}


@pytest.mark.parametrize("row", [row for row in all_ops() if "strides" in row.attrs and "axes" not in row.attrs])
def test_operators_with_strides_declare_their_windows(row: OpDef) -> None:
    letters, taps = row.windows
    layout = next(iter(row.layouts.values()))
    assert layout.dimensions == f"NC{letters}" and (taps in row.attrs or taps in row.layouts)
