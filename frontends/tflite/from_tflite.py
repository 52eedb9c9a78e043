# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TFLite models as modules."""

from __future__ import annotations

from pathlib import Path

from ...passes.core.journal import timed
from ...support.argument_types import types_checked
from ...support.callbacks import enters
from ...support.collector import uncollected
from ..core.problems import Problems, Words
from ..module import Module
from .main_subgraph import add_main
from .tflite_file import read_model

WORDS = Words(node="operator", attribute="option")


@types_checked
@enters
@uncollected()
def from_tflite(
    source: str | Path | bytes | bytearray | memoryview, *, signature: str | None = None, keep_states: bool = False
) -> Module:
    """The module of a TFLite model: the path of a file, or its bytes. Its function is `main`: the first subgraph, or
    that of a signature.

    Variables start from zero in each call; `keep_states` has them be arguments behind the model's own, and results
    behind the model's own.
    Raises one RelaxError that lists every operator that cannot be imported, with what it computes.
    """
    with timed("import"):
        module, problems = Module(), Problems(WORDS)
        add_main(module.operation, read_model(source), signature, keep_states, problems)
        problems.check()
        module.verify()
    return module


def problems_of(path: str) -> Problems:
    """What of a file cannot be imported."""
    module, problems = Module(), Problems(WORDS)
    add_main(module.operation, read_model(path), None, False, problems)
    return problems
