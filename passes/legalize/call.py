# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of legalization rules: a rule passes PrimFunc bodies, and receives the values of calls to them.

    @register_legalize("relax.nn.silu")
    def silu(call):
        return call.elementwise(lambda x: tir.sigmoid(x) * x)

A PrimFunc is in destination-passing style on tensors without symbols: the inputs, then one parameter per result. Bodies
that write elements in loops work on memrefs instead (`loops`). Operations of one kind with equal attributes and types
share a PrimFunc.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...bindings.ir import Attribute, Operation, OpView, Type, Value
from ...bindings.mlir import DYNAMIC, as_list, ir
from ...bindings.navigation import body_of, operations_named, operations_of, symbol_name
from ...bindings.rewriting import Decline
from ...dialects import relax
from ...dialects.core.codec import decode, encode
from ...dialects.core.facts import OpPattern
from ...dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo, describe
from ...dialects.core.ir_attributes import OPERATOR, TIR_TARGET
from ...dialects.core.opdef import Call
from ...dialects.core.operands import operand_info
from ...dialects.core.symbols import Dim, Size, SymExpr, sym
from ...dialects.core.verifier import call_of
from ...dialects.relax import calls as _calls  # noqa: F401  # declares relax.call_tir
from ...dialects.relax.function_attributes import VISIBILITY
from ...dialects.tir.prim_func import ASSERT, make_prim_func, set_op_pattern
from ...emit import linalg, tensors
from ...emit.broadcast import broadcast_generic, broadcast_plan, broadcast_size, is_proven, require_broadcast
from ...emit.kernels import FreshSymbols, Kernel, kernel_symbol, parameter_type
from ...emit.numbers import Number, as_i64, as_index, given
from ...support.names import fresh_name
from ...targets.core.backend import ChosenTarget

Body = Callable[..., Any]


class PrimFuncs:
    """PrimFuncs that one run of legalization has created in a module."""

    def __init__(self, module: Operation, target: str = "", shared: PrimFuncs | None = None):
        """`target`: target of the PrimFuncs if it differs from the module's.

        `shared`: PrimFuncs of the same run for another target.
        """
        self.module = module
        self._target = target
        names = {symbol_name(op) for op in operations_of(body_of(module))} if shared is None else shared._names
        self._names: set[str] = names
        self._by_key: dict[object, str] = {}
        #: PrimFuncs written by hand.
        self._kernels: dict[object, str] = {}
        self.symbols: FreshSymbols = FreshSymbols(module) if shared is None else shared.symbols

    def attributes(self, operator: str) -> dict[str, Attribute]:
        """Return the attributes of a PrimFunc that computes an operator, in the current context."""
        # Private functions without callers are erased by symbol-dce.
        held = {OPERATOR: operator, VISIBILITY: "private", **({TIR_TARGET: self._target} if self._target else {})}
        return {name: ir.StringAttr.get(text) for name, text in held.items()}

    def get(self, key: Any, wanted: str, make: Callable[[str], Any]) -> str:
        """Return the name of the PrimFunc for a key. The first call builds it by `make(name)`."""
        if key not in self._by_key:
            name = fresh_name("_".join(filter(None, (wanted, self._target.replace("-", "_")))), self._names)
            make(name)
            self._names.add(name)
            self._by_key[key] = name
        return self._by_key[key]

    def kernel(self, kernel: Kernel, inputs: Sequence[Type], outputs: Sequence[Any], operator: str) -> str:
        """Return the name of a hand-written PrimFunc, and add the PrimFunc on first use."""
        if (name := kernel_symbol(kernel, inputs, outputs, self._kernels, self.module)) not in self._names:
            self._names.add(name)
            function = ir.SymbolTable(self.module)[name]
            for key, attribute in self.attributes(operator).items():
                function.attributes[key] = attribute
        return name


class LegalizeCall:
    """One use of a rule on one operation."""

    def __init__(self, op: OpView, operands: Sequence[Value], prim_funcs: PrimFuncs, target: ChosenTarget):
        self.op = op
        #: The target, with its options.
        self.target = target
        self.operands = list(operands)
        self._prim_funcs = prim_funcs
        self._count = 0
        #: Names of the called PrimFuncs, in order.
        self.called: list[str] = []
        #: Scalar values that bodies may depend on. PrimFuncs are shared only if these values are equal.
        self._read: list[object] = []

    @property
    def inferred(self) -> Call:
        """Return the operation as inference sees it."""
        return call_of(self.op.definition, self.op.operation)

    #: Name used by rules of the deprecated form. Accepted until 0.2.
    call = inferred

    @property
    def result_infos(self) -> list[Info]:
        return [decode(type_) for type_ in self.op.operation.results.types]

    def shape(self, value: Value) -> tuple[Dim, ...]:
        """Return the shape of a tensor. Decline if its rank is unknown."""
        return _shape_of(self.info(value), "an operand")

    def result_shape(self, index: int = 0) -> tuple[Dim, ...]:
        """Return the shape of a result. Decline if its rank is unknown."""
        return _shape_of(self.result_infos[index], "the result")

    def result_dtype(self, index: int = 0) -> str:
        """Return the element type of a result with its sign."""
        return str(self.result_infos[index].dtype)  # type: ignore[union-attr]

    def decline(self, reason: str) -> Decline:
        """Decline the operation by `return call.decline("only ...")`. The next rule is tried."""
        return Decline(reason)

    def info(self, value: Value) -> Info:
        return decode(value.type)

    def dtype(self, value: Value) -> str:
        """Return the element type of a tensor or scalar with its sign, such as "ui8". PrimFuncs have no signs."""
        return str(self.info(value).dtype)  # type: ignore[union-attr]

    def scalar_value(self, value: Value) -> int | float | bool | SymExpr | None:
        """Return the known value of a scalar operand: a number that a body may use, an expression, or None."""
        info = operand_info(value)
        known = info.value if isinstance(info, ScalarInfo) else None
        self._read.append(str(known))
        return known

    def symbol(self, size: Size | str) -> Value:
        """Return the i64 value of an expression over the function's symbols, to pass to a PrimFunc."""
        return relax.prim_value(size)

    def prim(
        self,
        body: Body,
        inputs: Sequence[Value] | None = None,
        outputs: Sequence[TensorInfo] | None = None,
        *,
        pattern: OpPattern | str | None = None,
        name: str = "",
        sizes: Body | None = None,
    ) -> list[Value]:
        """Call a PrimFunc with this body and return its values. `body(*inputs, *outputs)` returns the outputs' values.

        Inputs default to the operation's operands, outputs to its results, and the pattern to that of the operator's
        row. If outputs have unknown sizes, `sizes(*inputs)` computes the sizes, in order, in a PrimFunc that is called
        first.
        """
        return self._call(body, inputs, outputs, self._pattern(pattern), name, sizes, on_memrefs=False)

    def _pattern(self, given: OpPattern | str | None) -> OpPattern | str:
        """Return the pattern of the operator's row unless another one is given."""
        return self.op.definition.pattern or OpPattern.OPAQUE if given is None else given

    def call_te(
        self,
        function: Callable[..., object],
        inputs: Sequence[Value] | None = None,
        *,
        pattern: OpPattern | str | None = None,
        name: str = "",
    ) -> list[Value]:
        """Call a PrimFunc of tensor expressions: `function(*tensors)` returns the te tensor of each result.

        Inputs default to the operation's operands. Sizes known only at run time are symbols of the tensors' shapes.
        """
        from ...emit.te.dependence_graph import called, needs_memory, placeholder_of
        from ...emit.te.emission import Emission  # slow to import, and few rules use te

        values = self.operands if inputs is None else list(inputs)
        placeholders = [placeholder_of(self.shape(value), self.dtype(value), n) for n, value in enumerate(values)]
        outputs = called(function, placeholders, self.result_infos)

        def body(*parameters: Value) -> Any:
            emission = Emission(dict(zip(placeholders, parameters, strict=False)), on_memory=on_memory)
            return emission.emit(outputs, parameters[len(placeholders) :])

        on_memory = needs_memory(outputs)
        kind = OpPattern.OPAQUE if on_memory else pattern
        return self._call(body, values, None, self._pattern(kind), name, None, on_memrefs=on_memory)

    def loops(
        self,
        body: Body,
        inputs: Sequence[Value] | None = None,
        outputs: Sequence[TensorInfo] | None = None,
        *,
        name: str = "",
        sizes: Body | None = None,
    ) -> list[Value]:
        """Call a PrimFunc like `prim`. The body receives memrefs, writes the outputs' elements and returns nothing."""
        return self._call(body, inputs, outputs, OpPattern.OPAQUE, name, sizes, on_memrefs=True)

    def call_tir(
        self, kernel: Kernel, inputs: Sequence[Value] | None = None, outputs: Sequence[TensorInfo] | None = None
    ) -> list[Value]:
        """Call a hand-written PrimFunc and return its values.

        The kernel is a module of one PrimFunc (@T.prim_func, te.create_prim_func), MLIR text of one, or a function that
        writes loops (rx.loops). Such a function has a memref for each input, then for each output. Inputs default to
        the operation's operands, outputs to its results. The module receives each PrimFunc once, and a function once
        for each combination of types.
        """
        values = self.operands if inputs is None else list(inputs)
        infos: Sequence[Any] = self.result_infos if outputs is None else list(outputs)
        _require_sizes(infos)
        types = [encode(info, self.op.context) for info in infos]
        symbol = self._prim_funcs.kernel(kernel, [value.type for value in values], types, self.op.operation.name)
        self.called.append(symbol)
        return list(relax.call_tir(symbol, values, out_ty=types))

    def _call(
        self,
        body: Body,
        inputs: Sequence[Value] | None,
        outputs: Sequence[TensorInfo] | None,
        pattern: OpPattern | str,
        name: str,
        sizes: Body | None,
        *,
        on_memrefs: bool,
    ) -> list[Value]:
        values = self.operands if inputs is None else list(inputs)
        wanted: list[Any] = self.result_infos if outputs is None else list(outputs)
        symbol = name or self.op.definition.name.replace(".", "_")
        infos = wanted if sizes is None else self._with_sizes(wanted, values, sizes, symbol)
        if sizes is None:
            _require_sizes(infos)
        operation, context = self.op.operation, self.op.context
        parameters = [parameter_type(decode(value.type), context, on_memrefs=on_memrefs) for value in values]
        results = [parameter_type(info, context, on_memrefs=on_memrefs) for info in infos]
        encoded = [encode(info, context) for info in infos]
        types = [*(str(value.type) for value in (*self.operands, *values)), *map(str, encoded)]
        key = (operation.name, *operation.attributes.items(), _rename_symbols(types), *self._read, self._count)
        self._count += 1

        whole = _with_numbers(body) if on_memrefs else _with_types(_with_numbers(body), results)

        def make(symbol: str) -> None:
            with ir.InsertionPoint(body_of(self._prim_funcs.module)):
                attributes = self._prim_funcs.attributes(operation.name)
                function = make_prim_func(symbol, parameters, results, whole, pattern=pattern, attributes=attributes)
            # Code that can raise runs exactly where the operation is, and once: nothing is fused with it.
            if operations_named(function, ASSERT):
                set_op_pattern(function, OpPattern.OPAQUE)

        symbol = self._prim_funcs.get(key, symbol, make)
        self.called.append(symbol)
        called = relax.call_tir(symbol, values, out_ty=[encode(info, self.op.context) for info in infos])
        return list(map(self.cast, called, wanted))

    def cast(self, value: Value, info: Info) -> Value:
        """Cast a value to another type, with a run-time check if that type is more precise."""
        return value if self.info(value) == info else relax.match_cast(value, encode(info, self.op.context))

    def new_symbols(self, count: int) -> list[SymExpr]:
        """Return unused symbols, for sizes that a match_cast defines."""
        return [sym(self._prim_funcs.symbols.next()) for _ in range(count)]

    def _with_sizes(self, infos: Sequence[Any], inputs: Sequence[Value], sizes: Body, name: str) -> list[Any]:
        if not (unknown := sum(dim is None for info in infos for dim in info.shape)):
            return list(infos)

        def write(*parameters: Value) -> Value:
            *known, output = parameters
            for position, size in enumerate(sizes(*known)):
                output = linalg.insert(as_i64(size), output, [as_index(position)])
            return output

        (computed,) = self.prim(
            write, inputs, [TensorInfo((unknown,), "i64")], pattern=OpPattern.OPAQUE, name=f"{name}_sizes"
        )
        new = iter(self.define_sizes(computed, unknown))
        return [info.with_shape(next(new) if dim is None else dim for dim in info.shape) for info in infos]

    def define_sizes(self, sizes: Value, count: int) -> list[SymExpr]:
        """Define new symbols for the elements of a 1-D i64 tensor of `count` elements."""
        symbols = self.new_symbols(count)
        relax.match_cast(relax.tensor_to_shape(sizes), encode(ShapeInfo(tuple(symbols)), self.op.context))
        return symbols

    def elementwise(self, body: Body, operands: Sequence[Value] | None = None, *, name: str = "") -> list[Value]:
        """Compute each element of the only result by `body(*numbers)` from the broadcast operands' elements."""
        values = self.operands if operands is None else list(operands)
        shape = self.result_shape()
        result = TensorInfo(shape, self.result_dtype())
        plans = [broadcast_plan(self.info(value), result) for value in values]
        unknown = [axis for axis, dim in enumerate(shape) if dim is None]
        is_plain = all(plan == list(range(len(shape))) for plan in plans)
        pattern = OpPattern.ELEMWISE if is_plain else OpPattern.BROADCAST

        unproven = [position for position, value in enumerate(values) if not is_proven(self.info(value), result)]

        dtypes = [self.dtype(value) for value in values]

        def signed(*scalars: Number) -> Value:
            return body(*(scalar.of(dtype) for scalar, dtype in zip(scalars, dtypes, strict=True)))

        def write(*parameters: Value) -> Value:
            *inputs, output = parameters
            for position in unproven:
                require_broadcast(inputs[position], linalg.sizes(output))
            return broadcast_generic(inputs, output, plans, signed)

        def sizes(*parameters: Value) -> list[Number]:
            return [broadcast_size(parameters, plans, axis) for axis in unknown]

        return self.prim(write, values, pattern=pattern, name=name, sizes=sizes if unknown else None)


def _with_numbers(body: Body) -> Body:
    """Return the body with Numbers in place of scalars."""
    return lambda *parameters: body(*given(parameters))


def _with_types(body: Body, types: Sequence[Type]) -> Body:
    """Return the body with its values cast to the outputs' types if only the static sizes differ."""

    def typed(*parameters: Value) -> list[Value]:
        values = body(*parameters)
        several = as_list(values)
        return [_fitting(*pair) for pair in zip(several, types, strict=True)] if len(several) == len(types) else values

    return typed


def _fitting(value: Value, type_: Type) -> Value:
    own = getattr(value, "type", None)
    if own == type_ or not isinstance(own, ir.RankedTensorType) or not isinstance(type_, ir.RankedTensorType):
        return value
    known = [set(pair) - {DYNAMIC} for pair in zip(own.shape, type_.shape, strict=False)]
    can_be = own.rank == type_.rank and own.element_type == type_.element_type and all(len(each) < 2 for each in known)
    return tensors.cast(value, type_.shape) if can_be else value


def _shape_of(info: Info, what: str) -> tuple[Dim, ...]:
    if not isinstance(info, TensorInfo) or info.shape is None:
        raise Decline(f"the rank of {what} ({describe(info)}) is not known")
    return info.shape


def _require_sizes(infos: Sequence[TensorInfo]) -> None:
    for index, info in enumerate(infos):
        if not isinstance(info, TensorInfo) or info.shape is None or None in info.shape:
            raise Decline(f"the size of result #{index} ({describe(info)}) is not known before it is computed")


_QUOTED = re.compile(r'"[^"]*"')
_SYMBOL = re.compile(r"[A-Za-z_]\w*")


def _rename_symbols(types: Sequence[str]) -> tuple[str, ...]:
    """Rename symbols by order of appearance: their names mean nothing outside of the function."""
    names: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        name = match.group()
        return name if name in ("min", "max") else names.setdefault(name, f"s{len(names)}")

    return tuple(_QUOTED.sub(lambda quoted: _SYMBOL.sub(number, quoted.group()), type_) for type_ in types)
