# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of ONNX nodes in problem reports."""

from __future__ import annotations

from ..core.problems import Words, shown
from .tensor_data import NodeProto

WORDS = Words(version="opset")


def shown_node(proto: NodeProto) -> str:
    """Return a node's name, or its first output's, and its operator."""
    name = proto.name or next((each for each in proto.output if each), "")
    return f"'{shown(name)}' ({shown(proto.op_type)})"
