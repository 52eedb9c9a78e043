# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .runtime.arrays import numpy_type as numpy_type
from .runtime.arrays import storage as storage
from .runtime.errors import DeviceError as DeviceError
from .support.once import once as once
