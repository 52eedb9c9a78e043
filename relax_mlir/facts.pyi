# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .bindings.ir import Type as Type
from .dialects.core.codec import TypeProblem as TypeProblem
from .dialects.core.codec import decode as decode
from .dialects.core.codec import element_type as element_type
from .dialects.core.dialect import row_of as row_of
from .dialects.core.facts import Window as Window
from .dialects.core.infos import Info as Info
from .dialects.core.infos import bit_width as bit_width
from .dialects.core.infos import describe as describe
from .dialects.core.infos import dtype_name as dtype_name
from .dialects.core.infos import is_float as is_float
from .dialects.core.infos import is_int as is_int
from .dialects.core.opdef import Call as Call
from .dialects.core.operands import operand_info as operand_info
from .dialects.core.verifier import call_of as call_of
from .dialects.relax.constants import storage_dtype as storage_dtype
from .dialects.relax.infer.einsum import parse_subscripts as parse_subscripts
from .dialects.relax.infer.layouts import Layout as Layout
from .dialects.relax.infer.layouts import blocked_dimensions as blocked_dimensions
from .dialects.relax.infer.layouts import layouts_of as layouts_of
from .dialects.relax.infer.layouts import sizes_in_layout as sizes_in_layout
from .dialects.relax.infer.slices import OPEN as OPEN
from .dialects.relax.infer.windows import each_dimension as each_dimension
from .dialects.relax.infer.windows import windows_of as windows_of
from .dialects.relax.known_constants import NUMPY_NAME as NUMPY_NAME
from .dialects.relax.known_constants import STORAGE_NAME as STORAGE_NAME
from .dialects.relax.known_constants import elements_of as elements_of
from .dialects.relax.known_constants import floats_of as floats_of
from .dialects.relax.known_constants import is_constant as is_constant
from .dialects.relax.known_constants import splat as splat
from .dialects.relax.values import normal_axis as normal_axis
from .dialects.relax.values import shape_of as shape_of
from .dialects.relax.values import tensor_info as tensor_info
