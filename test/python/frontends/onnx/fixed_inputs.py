# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with sizes, axes and similar inputs as constants, as in published models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import onnx
from node_suite import Case
from onnx import numpy_helper


def with_constants(model: onnx.ModelProto, constants: Mapping[str, Any]) -> onnx.ModelProto:
    """Return the model with some of its inputs as initializers."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    kept = [each for each in fixed.graph.input if each.name not in constants]
    del fixed.graph.input[:]
    fixed.graph.input.extend(kept)
    fixed.graph.initializer.extend(numpy_helper.from_array(numpy.asarray(v), name) for name, v in constants.items())
    return fixed


def with_one_input(case: Case) -> Case:
    """Return the case with all inputs but the first as constants."""
    names = [each.name for each in case.model.graph.input][1:]
    model = with_constants(case.model, dict(zip(names, case.inputs[1:], strict=True)))
    return case._replace(model=model, inputs=case.inputs[:1])
