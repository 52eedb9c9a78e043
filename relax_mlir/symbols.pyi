# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .dialects.core.indices import evaluated as evaluated
from .dialects.core.indices import is_below as is_below
from .dialects.core.indices import is_never_negative as is_never_negative
from .dialects.core.symbols import Dim as Dim
from .dialects.core.symbols import SymExpr as SymExpr
from .dialects.core.symbols import ceildiv as ceildiv
from .dialects.core.symbols import dim_add as dim_add
from .dialects.core.symbols import dim_sub as dim_sub
from .dialects.core.symbols import equal as equal
from .dialects.core.symbols import product as product
from .dialects.core.symbols import sym as sym
from .dialects.core.symbols_expr import Size as Size
from .dialects.core.symbols_expr import extremum as extremum
from .dialects.core.symbols_expr import from_terms as from_terms
from .dialects.core.symbols_expr import substituted as substituted
from .dialects.core.symbols_expr import terms_of as terms_of
from .dialects.core.symbols_expr import value_of as value_of
from .dialects.core.symbols_expr import variables_of as variables_of
from .dialects.core.symbols_terms import Atom as Atom
from .dialects.relax.infer.broadcast import broadcast_dim as broadcast_dim
