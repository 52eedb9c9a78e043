# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors for nodes that use an operator without a converter."""

from __future__ import annotations

import keyword
import re

from ...support.plugins import announced_names, missing_plugin
from ...support.suggest import suggest
from ..core.problems import shown
from .onnx_node import OnnxNode
from .registry import known_names

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_NAMES = re.compile(r"\W+")

UNKNOWN = "the front end does not know this operator (rx.register_onnx teaches it)"


def unknown(node: OnnxNode) -> str:
    """Return the reason that a node without a converter cannot be imported."""
    missing = "" if node.domain in announced_names("onnx") else missing_plugin(f"onnx.{node.domain}")
    return missing or UNKNOWN + suggest(node.op, known_names(node.domain))


def lines_to_teach(node: OnnxNode) -> str:
    """Return the Python lines that register a converter for a node's operator before the import."""
    domain, op = _quote_name(node.domain), _quote_name(node.op)
    called = f"{domain}.{op}" if domain else op
    names = ["x", "y", "z"] if len(node.inputs) <= 3 else [f"x{index}" for index in range(len(node.inputs))]
    names = names[: len(node.inputs)]
    inputs = f"[{', '.join(names)}]"
    result = "node.value(0).info" if names else '"tensor<4xf32>"'
    results = result if node.output_count == 1 else f"[{result}] * {node.output_count}"
    given = ", ".join(f"node.tensor({position})" for position in range(len(names)))
    lines = [
        f'@rx.register_onnx("{domain}", "{op}")',
        f"def {_function_name(node.op)}(node):",
        *([f"    {', '.join(names)} = {given}"] if names else []),
        f'    return rx.relax.call_dps_packed("{called}", {inputs}, {results})  # of a registered function, or',
        f"    return node.call_tir(kernel, {inputs}, {results})  # of a PrimFunc, or of relax operators",
    ]
    where = "these lines before the import, or in a module for relax-compile --load-plugin, teach it"
    return f"{where} {called}:\n" + "\n".join(lines)


def _quote_name(name: str) -> str:
    """Return a name escaped for Python quotes."""
    return shown(name.replace("\\", "\\\\").replace('"', '\\"'))


def _function_name(operator: str) -> str:
    name = _NOT_IN_NAMES.sub("_", _CAPITAL.sub("_", operator)).lower()
    if not name.isidentifier():
        name = f"operator_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name
