# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .dialects.core.ir_attributes import DEVICE as DEVICE
from .dialects.core.ir_attributes import EXTERNAL_MODS as EXTERNAL_MODS
from .dialects.core.ir_attributes import GRAPH_INPUTS as GRAPH_INPUTS
from .dialects.core.ir_attributes import GRAPH_RESULTS as GRAPH_RESULTS
from .dialects.core.ir_attributes import INPUT_NAMES as INPUT_NAMES
from .dialects.core.ir_attributes import KERNELS as KERNELS
from .dialects.core.ir_attributes import MEMORY_PLAN as MEMORY_PLAN
from .dialects.core.ir_attributes import OPERATOR as OPERATOR
from .dialects.core.ir_attributes import PACKED_DTYPES as PACKED_DTYPES
from .dialects.core.ir_attributes import PACKED_TEXT as PACKED_TEXT
from .dialects.core.ir_attributes import RESULT_MAKERS as RESULT_MAKERS
from .dialects.core.ir_attributes import RESULT_NAMES as RESULT_NAMES
from .dialects.core.ir_attributes import WRITTEN as WRITTEN
from .dialects.relax.function_attributes import decode_grown as decode_grown
from .dialects.relax.function_attributes import function_attributes as function_attributes
from .dialects.tir.prim_func import ASSERT as ASSERT
from .passes.core.external import external_attribute as external_attribute
from .support.external_part import ExternalPart as ExternalPart
from .targets.gpu.emit.threads import dimension_of as dimension_of
from .targets.gpu.emit.threads import threads_of as threads_of
from .targets.gpu.kernels.outline import launched as launched
from .targets.gpu.pipeline import kernel_stages as kernel_stages
from .targets.host.abi import dlpack_name as dlpack_name
from .targets.host.abi import element_bytes as element_bytes
from .targets.spirv.options import number_option as number_option
from .targets.text.operation_writer import OperationWriter as OperationWriter
from .targets.text.structured_control import CONTROL_RULES as CONTROL_RULES
from .targets.text.text_writer import TextWriter as TextWriter
