# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write frontends/onnx/export/kernels.json: the element types of onnxruntime's CPU kernels, queried from
onnxruntime."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def
from relax_mlir.frontends.onnx.export.element_types import NAMES

TARGET = Path(__file__).resolve().parents[2] / "frontends" / "onnx" / "export" / "kernels.json"
# Range of opsets for export.
_LEAST, _MOST = 20, 26
_TENSOR = re.compile(r"tensor\((\w+)\)")


#: First and last opset, and element types by variable.
Row: TypeAlias = tuple[int, int, tuple[tuple[str, str], ...]]


def table() -> dict[str, list[list[object]]]:
    """Return rows by operator: first and last opset, and element types by variable.

    Rows that differ in one are joined.
    """
    rows: dict[str, set[Row]] = defaultdict(set)
    for kernel in get_all_opkernel_def():
        since, until = kernel.version_range
        if kernel.domain or kernel.provider != "CPUExecutionProvider" or until < _LEAST or since > _MOST:
            continue
        types = tuple(sorted((name, _dtypes(found)) for name, found in kernel.type_constraints.items()))
        rows[kernel.op_name].add((max(since, _LEAST), min(until, _MOST), types))
    return {name: [[since, until, dict(types)] for since, until, types in _joined(rows[name])] for name in sorted(rows)}


def _dtypes(types: list[str]) -> str:
    found = (_TENSOR.fullmatch(each) for each in types)
    return " ".join(sorted({NAMES[each[1]] for each in found if each and each[1] in NAMES}))


def _joined(rows: set[Row]) -> list[Row]:
    """Join rows with a single variable of types."""
    kept: list[Row] = []
    single: dict[tuple[int, int, str], set[str]] = defaultdict(set)
    for since, until, types in rows:
        if len(types) == 1:
            single[since, until, types[0][0]] |= set(types[0][1].split())
        else:
            kept.append((since, until, types))
    joined = [(since, until, ((name, " ".join(sorted(found))),)) for (since, until, name), found in single.items()]
    return sorted([*kept, *joined])


if __name__ == "__main__":
    text = ",\n".join(f" {json.dumps(name)}: {json.dumps(rows)}" for name, rows in table().items())
    TARGET.write_text(f'{{\n "": {json.dumps(onnxruntime.__version__)},\n{text}\n}}\n')
    print(f"wrote {TARGET}")
