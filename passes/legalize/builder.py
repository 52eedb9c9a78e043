# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a legalization rule works with: it gives PrimFuncs' bodies and gets the values of calls to them.

    @register_legalize("relax.nn.silu")
    def silu(op, operands, builder):
        return builder.elementwise(lambda x: tir.sigmoid(x) * x)

A PrimFunc is in destination-passing style on tensors without symbols: the inputs, then one parameter a result.
Operations of one kind with equal attributes and types share one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...bindings.mlir import ir
from ...bindings.rewriting import Decline
from ...dialects.core.codec import decode, encode
from ...dialects.core.infos import Info, TensorInfo, describe, signless
from ...dialects.core.symbols import SymExpr
from ...dialects.relax import calls as _calls  # noqa: F401  # declares relax.call_tir
from ...dialects.relax import dialect as relax
from ...dialects.tir.prim_func import OpPattern, make_prim_func
from .broadcast import broadcast_generic, broadcast_plan

Body = Callable[..., Any]


class PrimFuncs:
    """The PrimFuncs that one run of legalization has made in a module."""

    def __init__(self, module: Any):
        self.module = module
        self._names = {name.value for op in _symbols(module) for name in [op.attributes["sym_name"]]}
        self._by_key: dict[Any, str] = {}

    def get(self, key: Any, wanted: str, make: Callable[[str], Any]) -> str:
        """The name of the PrimFunc for a key; `make(name)` builds it the first time."""
        if key not in self._by_key:
            name = self._fresh(wanted)
            make(name)
            self._names.add(name)
            self._by_key[key] = name
        return self._by_key[key]

    def _fresh(self, wanted: str) -> str:
        name, count = wanted, 0
        while name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        return name


def _symbols(module: Any) -> list[Any]:
    operations = [op.operation for op in module.regions[0].blocks[0].operations]
    return [operation for operation in operations if "sym_name" in operation.attributes]


class RuleBuilder:
    """One use of a rule on one operation."""

    def __init__(self, op: Any, operands: Sequence[Any], prim_funcs: PrimFuncs):
        self.op = op
        self.operands = list(operands)
        self._prim_funcs = prim_funcs
        self._count = 0

    @property
    def result_infos(self) -> list[Info]:
        return [decode(type_) for type_ in self.op.operation.results.types]

    @property
    def result_element(self) -> Any:
        """The element type of the only result."""
        return self.op.operation.results[0].type.element_type

    def decline(self, reason: str) -> Decline:
        """`return builder.decline("only ...")`: the rule does not apply; the next one is tried."""
        return Decline(reason)

    def info(self, value: Any) -> Info:
        return decode(value.type)

    def prim(
        self,
        body: Body,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[TensorInfo] | None = None,
        *,
        pattern: OpPattern | str = OpPattern.OPAQUE,
        name: str = "",
    ) -> list[Any]:
        """Calls a PrimFunc with this body; its values. `body(*inputs, *outputs)` returns the outputs' values.

        Inputs default to the operation's operands, outputs to its results.
        """
        values = self.operands if inputs is None else list(inputs)
        infos: list[Any] = self.result_infos if outputs is None else list(outputs)
        for index, info in enumerate(infos):
            if not isinstance(info, TensorInfo) or info.shape is None or None in info.shape:
                raise Decline(f"the size of result #{index} ({describe(info)}) is not known before it is computed")
        parameters = [encode(parameter_info(decode(value.type)), self.op.context) for value in values]
        results = [encode(parameter_info(info), self.op.context) for info in infos]
        operation = self.op.operation
        key = (operation.name, *operation.attributes.items(), None, *parameters, None, *results, self._count)
        self._count += 1
        wanted = name or operation.name.partition(".")[2].replace(".", "_")

        def make(symbol: str) -> None:
            with ir.InsertionPoint(self._prim_funcs.module.regions[0].blocks[0]):
                make_prim_func(symbol, parameters, results, body, pattern=pattern)

        symbol = self._prim_funcs.get(key, wanted, make)
        called = relax.ops["call_tir"](symbol, values, [encode(info, self.op.context) for info in infos])
        return list(called)

    def elementwise(self, body: Body, operands: Sequence[Any] | None = None, *, name: str = "") -> list[Any]:
        """Each element of the only result from the operands' elements there, broadcast: `body(*scalars)`."""
        values = self.operands if operands is None else list(operands)
        result = self.result_infos[0]
        if not isinstance(result, TensorInfo) or result.shape is None:
            raise Decline(f"the rank of the result ({describe(result)}) is not known")
        plans = [broadcast_plan(self.info(value), result) for value in values]
        is_plain = all(plan == list(range(len(result.shape))) for plan in plans)
        pattern = OpPattern.ELEMWISE if is_plain else OpPattern.BROADCAST

        def write(*parameters: Any) -> Any:
            return broadcast_generic(parameters[:-1], parameters[-1], plans, body)

        return self.prim(write, values, pattern=pattern, name=name)


def parameter_info(info: Info) -> Info:
    """The type of a PrimFunc's parameter: no symbols, which are names of the graph's function, and no signs, which
    MLIR's arithmetic has in the operations."""
    if not isinstance(info, TensorInfo) or info.shape is None:
        return info
    sizes = tuple(None if isinstance(dim, SymExpr) else dim for dim in info.shape)
    return TensorInfo(sizes, signless(info.dtype))
