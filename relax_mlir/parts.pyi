# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .passes.parts.flat_graph import FlatGraph as FlatGraph
from .passes.parts.flat_graph import FlatNode as FlatNode
from .passes.parts.flat_graph import Ref as Ref
from .passes.parts.flat_graph import Whole as Whole
from .passes.parts.flat_graph import WholeAt as WholeAt
from .passes.parts.flat_graph import numbers_in as numbers_in
from .passes.parts.flat_graph import public_functions as public_functions
from .passes.parts.operator_checks import OperatorChecks as OperatorChecks
from .passes.parts.operator_checks import call_at as call_at
from .passes.parts.operator_checks import is_static as is_static
from .passes.parts.operator_checks import normal_axes as normal_axes
from .passes.parts.operator_checks import order_of as order_of
from .passes.parts.operator_checks import permuted_order as permuted_order
from .passes.parts.operator_checks import refuse_quantized as refuse_quantized
from .passes.parts.operator_checks import refuse_reduction as refuse_reduction
from .passes.parts.operator_checks import same as same
from .passes.parts.operator_rules import Rule as Rule
from .passes.parts.operator_rules import Rules as Rules
