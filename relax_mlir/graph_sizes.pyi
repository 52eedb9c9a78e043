# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .frontends.core.sizes import Size as Size
from .frontends.core.sizes import as_tensor as as_tensor
from .frontends.core.sizes import broadcast as broadcast
from .frontends.core.sizes import count_up as count_up
from .frontends.core.sizes import divided as divided
from .frontends.core.sizes import element as element
from .frontends.core.sizes import full as full
from .frontends.core.sizes import is_known as is_known
from .frontends.core.sizes import larger as larger
from .frontends.core.sizes import minus as minus
from .frontends.core.sizes import named as named
from .frontends.core.sizes import of_scalar as of_scalar
from .frontends.core.sizes import parts as parts
from .frontends.core.sizes import plus as plus
from .frontends.core.sizes import positions as positions
from .frontends.core.sizes import product as product
from .frontends.core.sizes import reshaped as reshaped
from .frontends.core.sizes import sizes_of as sizes_of
from .frontends.core.sizes import sliced as sliced
from .frontends.core.sizes import tiled as tiled
from .frontends.core.sizes import times as times
from .frontends.core.sizes import with_rest as with_rest
from .frontends.core.sizes import zeros as zeros
