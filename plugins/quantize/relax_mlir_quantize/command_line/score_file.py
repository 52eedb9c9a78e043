# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function `evaluate(program)` of a user's Python file."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from typing import Any

from relax_mlir.support.errors import OptionError, RelaxError, message_of


def load_evaluate(path: str) -> Callable[[Any], float]:
    """Run a Python file and return its function `evaluate`. The file can import modules of its folder."""
    if not os.path.isfile(path):
        raise OptionError(f"option --evaluate: there is no file '{path}'")
    if (folder := os.path.dirname(os.path.realpath(path))) not in sys.path:
        sys.path.append(folder)
    try:
        names = runpy.run_path(path, run_name="evaluation")
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        shown = error.message if isinstance(error, RelaxError) else message_of(error)
        raise RelaxError(f"option --evaluate: cannot run '{path}': {shown}") from error
    found = names.get("evaluate")
    if not callable(found):
        raise OptionError(
            f"option --evaluate: '{path}' has no function evaluate",
            notes=["define `def evaluate(program) -> float`, which returns the score of program['main']"],
        )
    evaluate: Callable[[Any], float] = found
    return evaluate
