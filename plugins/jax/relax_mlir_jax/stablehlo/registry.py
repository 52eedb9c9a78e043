# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters from StableHLO's operations to relax's operators, by name: `stablehlo.add` or `chlo.erf`.

Operations that call by name are also registered by it: `custom_call @name` and `composite @name`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from relax_mlir.frontends.core.converters import NamedConverters
from relax_mlir.frontends.core.values import Outputs
from relax_mlir.support.argument_types import types_checked

from .hlo_node import HloNode

Convert = Callable[[HloNode], Outputs]
Function = TypeVar("Function", bound=Convert)

SEVERAL_DEVICES = (
    "it is for several devices: mhlo.num_partitions or mhlo.num_replicas must be their number, and the other 1"
)
_HOST = "it passes data to a host or another device while it runs, and a program has arguments and results alone"
#: Operations between several devices (operators/collectives.py).
COLLECTIVES = (
    *(f"stablehlo.{name}" for name in ("all_gather", "all_reduce", "all_to_all", "collective_broadcast")),
    *(f"stablehlo.{name}" for name in ("collective_permute", "reduce_scatter", "partition_id", "replica_id")),
)
#: Operations that are not supported, with the reasons.
REFUSED = {
    **dict.fromkeys([f"stablehlo.{name}" for name in ("send", "recv", "infeed", "outfeed")], _HOST),
}
CONVERTERS = NamedConverters("stablehlo", "operation", __package__ or "", "custom_call @mylib.op", REFUSED)
register_rows = CONVERTERS.teach_rows


@types_checked
def register_stablehlo(*names: str) -> Callable[[Function], Function]:
    """Register the converter of operations; use it as a decorator.

    Names are operations, "stablehlo.add", or callees, "custom_call @mylib.op" and "composite @mylib.op".
    """
    return CONVERTERS.teaching(*names)
