# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .bindings.conversion import Conversion as Conversion
from .bindings.patterns import Pattern as Pattern
from .bindings.patterns import UPDATED as UPDATED
from .bindings.patterns import apply_greedy as apply_greedy
from .bindings.patterns import apply_walk as apply_walk
from .bindings.patterns import defining_op as defining_op
from .passes.patterns.rewrite import rewrite as rewrite
