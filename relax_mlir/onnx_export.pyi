# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .frontends.onnx.export.asking import why_not as why_not
from .frontends.onnx.export.model import USUAL_OPSET as USUAL_OPSET
from .frontends.onnx.export.model import export_function as export_function
from .frontends.onnx.export.registry import exported_names as exported_names
