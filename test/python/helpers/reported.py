# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models for tests of reports, and helpers to produce such reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from relax_mlir.tools.relax_compile import run

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def model(path: Path, rows: Any = "n", name: str = "plus") -> Path:
    """Write a model with folded constants, a view, a fused chain, a product, and a branch with a graph."""
    float32 = onnx.TensorProto.FLOAT
    weights = [helper.make_tensor("w", float32, [4, 4], [0.5] * 16), helper.make_tensor("b", float32, [4], [1.0] * 4)]
    then = helper.make_graph(
        [helper.make_node("Exp", ["h"], ["e"], "then/exp")], "then", [], [helper.make_tensor_value_info("e", 1, None)]
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["h"], ["m"], "else/neg")], "else", [], [helper.make_tensor_value_info("m", 1, None)]
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
        helper.make_node("Add", ["b", "b"], ["bb"], "folded"),
        helper.make_node("Add", ["p", "bb"], ["s"], name),
        helper.make_node("Identity", ["s"], ["i"], "same"),
        helper.make_node("Relu", ["i"], ["r"], "positive"),
        helper.make_node("Unsqueeze", ["r", "axes"], ["u"], "view"),
        helper.make_node("Squeeze", ["u", "axes"], ["h"], "back"),
        helper.make_node("If", ["which"], ["y"], "branch", then_branch=then, else_branch=other),
    ]
    weights.append(helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [0]))
    inputs = [
        helper.make_tensor_value_info("x", float32, [rows, 4]),
        helper.make_tensor_value_info("which", onnx.TensorProto.BOOL, []),
    ]
    graph = helper.make_graph(nodes, "graph", inputs, [helper.make_tensor_value_info("y", 1, [rows, 4])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def compiled(source: Path, *options: str) -> tuple[Path, Path]:
    """Return the program and the page."""
    program, report = source.with_suffix(".rxa"), source.with_suffix(".html")
    errors: Any = Stream()
    arguments = [str(source), "-o", str(program), "--report", str(report), "--no-cache", *options]
    assert run(arguments, stderr=errors) == 0, errors.text
    return program, report


class Stream:
    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False
