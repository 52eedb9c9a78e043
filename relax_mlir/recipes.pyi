# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .passes.graph.recipes.recipe import Fixed as Fixed
from .passes.graph.recipes.recipe import Float as Float
from .passes.graph.recipes.recipe import Op as Op
from .passes.graph.recipes.recipe import Recipe as Recipe
from .passes.graph.recipes.recipe import Share as Share
from .passes.graph.recipes.recipe import Tensor as Tensor
from relax_mlir_quantize.recipes.aimet import from_aimet as from_aimet
from relax_mlir_quantize.recipes.litert import from_litert as from_litert
