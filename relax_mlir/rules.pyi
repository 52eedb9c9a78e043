# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .passes.evaluate.ratios import NotKnown as NotKnown
from .passes.evaluate.references import all_references as all_references
from .passes.evaluate.references import register_reference as register_reference
from .passes.evaluate.registry import all_evaluations as all_evaluations
from .passes.evaluate.registry import register_evaluation as register_evaluation
from .passes.graph.decompose.registry import all_decompositions as all_decompositions
from .passes.graph.decompose.registry import register_decomposition as register_decomposition
from .passes.graph.gradient_rules import all_gradients as all_gradients
from .passes.graph.gradient_rules import register_gradient as register_gradient
from .passes.graph.layout.registry import all_layout_rules as all_layout_rules
from .passes.graph.layout.registry import register_layout as register_layout
from .passes.graph.mixed_precision.registry import register_precision as register_precision
from .passes.kernels.intrinsics.registry import all_intrinsic_rules as all_intrinsic_rules
from .passes.kernels.intrinsics.registry import register_legalize_intrinsic as register_legalize_intrinsic
from .passes.kernels.intrinsics.registry import register_lower_intrinsic as register_lower_intrinsic
from .passes.legalize.rules import all_rules as all_rules
from .passes.legalize.rules import register_legalize as register_legalize
from relax_mlir_shard.factors import register_sharding as register_sharding
