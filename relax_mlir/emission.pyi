# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .emit.arithmetic import element_type as element_type
from .emit.memrefs import root_of as root_of
from .emit.numbers import Number as Number
from .emit.numbers import intrinsic as intrinsic
from .emit.numbers import maximum as maximum
from .emit.numbers import minimum as minimum
from .emit.numbers import numbers as numbers
from .emit.numbers import operation as operation
from .emit.numbers import unary as unary
