# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipe files of other quantizers, by their content."""

from __future__ import annotations

from relax_mlir.passes.graph.recipes.recipe import Recipe
from relax_mlir.support.errors import RelaxError

from .aimet import from_aimet, is_aimet
from .foreign_file import ForeignFile
from .litert import from_litert, is_litert

#: Ending of the files.
ENDING = ".json"


def read_recipe(path: str) -> Recipe:
    """Return the recipe of a file of AIMET or of litert-quantizer."""
    content = ForeignFile(path).content
    if is_aimet(content):
        return from_aimet(path)
    if is_litert(content):
        return from_litert(path)
    raise RelaxError(
        f"{path}: neither a quantsim configuration of AIMET, which has 'defaults', nor a file of litert-quantizer, "
        "which has 'ops_per_config' or is a list of steps"
    )
