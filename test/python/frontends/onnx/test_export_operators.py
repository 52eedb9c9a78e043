# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported operators: onnxruntime's results for the model are those of the compiled program, for static and symbolic
sizes."""

from __future__ import annotations

from typing import Any

import export_rows_elementwise
import export_rows_movement
import export_rows_networks
import numpy
import pytest
from compiling import array, module_with
from export_round_trip import run
from export_row import Row
from relax_mlir.frontends.onnx.export.registry import exported_names

import relax_mlir as rx

ROWS = [*export_rows_elementwise.ROWS, *export_rows_movement.ROWS, *export_rows_networks.ROWS]
_NAMES = [row.name for row in ROWS]


def _infos(row: Row, is_symbolic: bool) -> list[Any]:
    """Return types in which equal sizes have the same name. Sizes of 1 stay numbers, since they may be broadcast."""
    shapes = [[f"n{size}" if is_symbolic and size > 1 else size for size in each.shape] for each in row.inputs]
    return [rx.tensor(shape, each.dtype.name) for shape, each in zip(shapes, row.inputs, strict=True)]


def _same(found: Any, wanted: Any, row: Row) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (found.dtype, found.shape)
    if wanted.dtype.kind == "f":
        numpy.testing.assert_allclose(found, wanted, rtol=row.rtol, atol=row.rtol)
    else:
        numpy.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("row", ROWS, ids=_NAMES)
def test_exported_operators_agree_with_compiled_operators(row: Row) -> None:
    static = module_with(_infos(row, False), row.body)
    given = rx.compile(static)["main"](*row.inputs)
    wanted = [array(each) for each in (given if isinstance(given, (tuple, list)) else (given,))]
    modules = [static] if row.is_static else [static, module_with(_infos(row, True), row.body)]
    for module in modules:
        found = run(rx.to_onnx(module), row.inputs)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            _same(one, other, row)


def test_names_are_distinguished() -> None:
    assert len(set(_NAMES)) == len(_NAMES)


def test_each_operator_has_a_row() -> None:
    """Check the rows, without operators that nearly every module has, and without bit casts, which need opset 26 (node
    suite)."""
    common = {"relax.constant", "relax.shape_expr", "relax.shape_to_tensor", "relax.bitcast", "relax.prim_value"}
    operators = {name for name in exported_names() if name.startswith("relax.")}
    covered = {f"relax.{name.split()[0]}" for name in _NAMES}
    assert operators - covered - common == set()
