# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of a TFLite model as a module."""

from __future__ import annotations

from pathlib import Path

from relax_mlir.frontends.core.problems import Problems, Words
from relax_mlir.frontends.reader import graph_reader
from relax_mlir.rewriting import Operation

from .main_subgraph import add_main
from .registry import CONVERTERS
from .tflite_file import read_model


def _add(
    module: Operation,
    source: str | Path | bytes | bytearray | memoryview,
    problems: Problems,
    *,
    signature: str | None = None,
    keep_states: bool = False,
) -> None:
    """Add the function `main` to a module. `rx.from_tflite` describes the options."""
    add_main(module, read_model(source), signature, keep_states, problems)


READER = graph_reader(_add, Words(node="operator", attribute="option"), CONVERTERS)
