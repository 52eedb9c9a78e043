# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/onnx.md lists each operator that onnxruntime has a kernel for and the import does not support."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import onnx
import onnxruntime
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as state
from relax_mlir.frontends.onnx.registry import find_converter

_PAGE = Path(__file__).parents[4] / "docs" / "onnx.md"
_VERSION = "1.32."
#: The copies that onnxruntime itself puts between devices.
_INNER = {"MemcpyFromHost", "MemcpyToHost"}


def _has_body(name: str) -> bool:
    """Check whether ONNX defines the operator by others, which the import takes instead."""
    return onnx.defs.has(name) and onnx.defs.get_schema(name).has_function


@pytest.mark.skipif(not onnxruntime.__version__.startswith(_VERSION), reason=f"needs onnxruntime {_VERSION}x")
def test_operators_without_a_converter_are_documented() -> None:
    kernels = {(each.domain, each.op_name) for each in state.get_all_opkernel_def() if "CPU" in each.provider}
    missing = {
        name if domain == "com.microsoft" or not domain else f"{domain.removeprefix('com.microsoft.')}.{name}"
        for domain, name in kernels
        if name not in _INNER and not find_converter(domain, name, 99) and (domain or not _has_body(name))
    }
    begin, end = "## What onnxruntime runs and the import refuses", "## Limits"
    listed = set(re.findall(r"`([^`]+)`", _PAGE.read_text(encoding="utf-8").split(begin)[1].split(end)[0]))
    unknown = sorted(each for each in missing if not any(fnmatch(each, pattern) for pattern in listed))
    assert not unknown, f"neither imported nor in {_PAGE.name}: {', '.join(unknown)}"
