# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models as modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .frontends.onnx.build import add_main
from .frontends.onnx.inputs import Shape
from .frontends.onnx.model import read_model
from .frontends.onnx.problems import Problems
from .module import Module


def from_onnx(source: Any, *, shapes: Mapping[str, Shape] | None = None) -> Module:
    """The module of a model: a path, bytes or an onnx.ModelProto. Its function is `main`.

    `shapes` gives inputs other shapes, None for a size that only the run tells: `{"x": (None, 3, 224, 224)}`.
    Raises one RelaxError that lists every node that cannot be imported.
    """
    module, problems = Module(), Problems()
    add_main(module.operation, read_model(source), shapes or {}, problems)
    problems.check()
    module.verify()
    return module
