# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .bindings.context import load_dialects as load_dialects
from .bindings.conversion import Conversion as Conversion
from .bindings.ir import Operation as Operation
from .bindings.ir import Value as Value
from .bindings.navigation import made_by as made_by
from .bindings.navigation import operations_in as operations_in
from .bindings.navigation import use_count as use_count
from .bindings.patterns import Pattern as Pattern
from .bindings.patterns import UPDATED as UPDATED
from .bindings.patterns import apply_greedy as apply_greedy
from .bindings.patterns import apply_walk as apply_walk
from .bindings.patterns import defining_op as defining_op
from .bindings.rewriting import located_error as located_error
from .passes.patterns.rewrite import rewrite as rewrite
