# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of functions with upstream's tensor operations to graphs: each operation becomes a call of a PrimFunc.

    %0 = linalg.matmul ins(%a, %b : ...) outs(%filled : tensor<?x16xf32>) -> tensor<?x16xf32>

becomes

    %0 = relax.call_tir(%a, %b) {func = @linalg_matmul} : ... -> tensor<?x16xf32, #relax.sym<["n", 16]>>

Dynamic sizes get names, and arithmetic on sizes uses the names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, made_by, operations_in, operations_of, symbol_name, used_by
from ...bindings.pass_manager import run_upstream
from ...bindings.rewriting import located_error, use_instead
from ...dialects import relax
from ...dialects.core.codec import decode, encode
from ...dialects.core.infos import ScalarInfo, ShapeInfo, TensorInfo
from ...dialects.core.symbols import sym
from ...dialects.graph_functions import graph_functions
from ...emit.kernels import FreshSymbols
from ..core.base import Pass
from ..core.registry import register_pass
from .outline_tensors.plain_functions import is_of_graphs, is_plain
from .outline_tensors.result_sizes import Size, result_sizes, slice_parts
from .outline_tensors.tensor_kernels import MEMORY, TensorKernel, TensorKernels, is_start, is_tensor
from .outline_tensors.within_bounds import check_reach, check_slice, needs_of

_OF_TENSORS = ("linalg", "tensor", "scf", "bufferization")
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.floordivsi": lambda left, right: left // right,
    "arith.divui": lambda left, right: left // right,
}
#: Calls, index maps and arithmetic on whole tensors have no counterpart in the graph.
_BEFORE = "inline,symbol-dce,func.func(convert-elementwise-to-linalg,lower-affine)"
_CASTS = ("arith.index_cast", "arith.extsi", "arith.trunci")


@register_pass
class OutlineTensors(Pass):
    """Outline upstream's tensor operations in graph functions to PrimFuncs, and name dynamic sizes."""

    name: ClassVar[str] = "relax-outline-tensors"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "scf", "tensor")

    def run(self, op: Operation) -> None:
        if not any(map(is_plain, graph_functions(op))):
            return
        run_upstream(op, [_BEFORE])
        symbols, kernels = FreshSymbols(op), TensorKernels(op)
        with op.context:
            for function in graph_functions(op):
                if is_plain(function):
                    _Outlining(function, symbols, kernels).run()


class _Outlining:
    """Conversion of one function, which is built anew."""

    def __init__(self, function: Operation, symbols: FreshSymbols, kernels: TensorKernels):
        self._function = function
        self._symbols = symbols
        self._kernels = kernels
        #: New value of each old value.
        self._values: dict[Value, Value] = {}
        #: Known integers: numbers and expressions.
        self._numbers: dict[Value, Any] = {}

    def run(self) -> None:
        old = self._function
        block = body_of(old)
        types = [self._argument_type(argument.type) for argument in block.arguments]
        with old.location, ir.InsertionPoint(old):
            attributes = {name: old.attributes[name] for name in old.attributes}
            made = ir.Operation.create("func.func", attributes=attributes, regions=1)
        try:
            inner = made.regions[0].blocks.append(*types, arg_locs=[argument.location for argument in block.arguments])
            self._values.update(zip(block.arguments, inner.arguments, strict=True))
            with ir.InsertionPoint(inner):
                for op in operations_of(block):
                    with op.location:
                        self._add(op)
        except BaseException:
            made.erase()
            raise
        returned = [operand.type for operand in operations_of(inner)[-1].operands]
        made.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, returned))
        old.erase()

    def _argument_type(self, type_: Type) -> Type:
        info = decode(type_)
        if not isinstance(info, TensorInfo) or info.shape is None or None not in info.shape:
            return type_
        sizes = [sym(self._symbols.next()) if size is None else size for size in info.shape]
        return encode(info.with_shape(sizes), type_.context)

    # ---- operations ----

    def _add(self, op: Operation) -> None:
        if op.name == "tensor.dim":
            self._add_dim(op)
        elif op.name == "cf.assert":
            condition = _as_tensor(self._new(op.operands[0]), [])
            relax.assert_op(condition, format=ir.StringAttr(op.attributes["msg"]).value)
        elif op.name == "linalg.softmax":
            axis = ir.IntegerAttr(op.attributes["dimension"]).value
            self._values[op.results[0]] = relax.nn.softmax(self._new(op.operands[0]), axis=axis)
        elif op.name.partition(".")[0] in _OF_TENSORS and not is_of_graphs(op):
            if not is_start(op):
                self._outline(op)
        else:
            self._keep(op)

    def _new(self, value: Value) -> Value:
        maker = made_by(value)
        if value not in self._values and maker is not None:
            # An operation with its only use in another operation is outlined there.
            self._outline(maker)
        return self._values[value]

    def _keep(self, op: Operation) -> None:
        """Copy an operation that graphs have as well. Scalar operations are among them."""
        others = {value: self._new(value) for value in used_by(op)}
        operation = op.clone().operation
        use_instead(operation, others)
        self._values.update(zip(op.results, operation.results, strict=True))
        self._note_number(op)

    def _note_number(self, op: Operation) -> None:
        given = [self._numbers.get(operand) for operand in op.operands]
        if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr):
            self._numbers[op.results[0]] = int(ir.IntegerAttr(op.attributes["value"]).value)
        elif op.name in _CASTS and given[0] is not None:
            self._numbers[op.results[0]] = given[0]
        elif op.name in _ARITHMETIC and None not in given:
            self._numbers[op.results[0]] = _ARITHMETIC[op.name](*given)

    def _add_dim(self, op: Operation) -> None:
        if (axis := self._numbers.get(op.operands[1])) is None:
            raise located_error("'tensor.dim' op of a dimension that is not a constant", op.location)
        size = self._shape(op.operands[0])[axis]
        self._numbers[op.results[0]] = size
        self._values[op.results[0]] = _as_index(relax.prim_value(size))

    # ---- calls ----

    def _outline(self, op: Operation) -> None:
        if any(operation.name.startswith("relax.") for operation in operations_in(op)):
            problem = (
                f"'{op.name}' op contains operators of relax among upstream's tensor operations: use separate functions"
            )
            raise located_error(problem, op.location)
        if op.name in MEMORY:
            shape = [self._name_size(size) for size in result_sizes(op, 0, self._shape)]
            self._values[op.results[0]] = relax.zeros(tuple(shape), dtype=str(op.results[0].type.element_type))
            return
        kernel = TensorKernel(op)
        given = [self._pass(each) for each in kernel.given]
        infos = [self._info(op, index) for index in range(len(op.results))]
        function = self._kernels.made_of(kernel, given, infos)
        self._check(op)
        given = self._fit(function, given, infos)
        types = [encode(info, op.context) for info in infos]
        called = relax.call_tir(symbol_name(function), given, out_ty=types if len(types) > 1 else types[0])
        made = list(called) if len(types) > 1 else [called]
        for old, new in zip(op.results, made, strict=True):
            self._values[old] = new if is_tensor(old) else _as_index(_element(new), old.type)

    def _check(self, op: Operation) -> None:
        """Emit the bounds checks of a slice that the program may compute."""
        if op.name in ("tensor.extract_slice", "tensor.insert_slice"):
            parts = [[self._passed_size(size) for size in part] for part in slice_parts(op)]
            whole = self._shape(op.operands[0 if op.name == "tensor.extract_slice" else 1])
            check_slice(op.name, parts, whole)

    def _passed_size(self, size: Size) -> Size:
        if not isinstance(size, ir.Value):
            return size
        return self._numbers[size] if size in self._numbers else self._new(size)

    def _fit(self, function: Operation, values: Sequence[Value], infos: Sequence[TensorInfo]) -> list[Value]:
        """Return the arguments with the sizes that the loops expect, and checks where they may have others."""
        types = [*(decode(value.type) for value in values), *infos]
        shapes = [type_.shape or () if isinstance(type_, TensorInfo) else () for type_ in types]
        made = list(values)
        needs = needs_of(function, shapes)
        for place, axis, last in needs.reaches:
            check_reach(axis, shapes[place][axis], last)
        for place, sizes in needs.shapes.items():
            if place < len(made):
                info = TensorInfo(tuple(sizes), str(values[place].type.element_type))
                made[place] = relax.match_cast(made[place], encode(info, function.context))
        return made

    def _pass(self, value: Value) -> Value:
        """Return a value as an argument. Indices become integers, named where their values are known."""
        number = self._numbers.get(value) if isinstance(value.type, ir.IndexType) else None
        return _as_integer(self._new(value)) if number is None else relax.prim_value(number)

    def _info(self, op: Operation, index: int) -> TensorInfo:
        if not isinstance(type_ := op.results[index].type, ir.RankedTensorType):
            scalar = decode(type_)
            assert isinstance(scalar, ScalarInfo)
            return TensorInfo((), "i64" if scalar.dtype == "index" else scalar.dtype)
        sizes = [self._name_size(size) for size in result_sizes(op, index, self._shape)]
        if None in sizes:
            raise located_error(
                f"'{op.name}' op: a size of its result is neither in an argument's type nor computed before",
                op.location,
            )
        return TensorInfo(tuple(sizes), str(type_.element_type))

    def _shape(self, value: Value) -> Sequence[Size]:
        """Return the known sizes of a tensor, or of the future result if the operation is not outlined yet."""
        if value in self._values:
            info = decode(self._values[value].type)
            return info.shape or () if isinstance(info, TensorInfo) else ()
        if isinstance(value.owner, ir.Block):
            return [None] * len(value.type.shape)
        return [self._name_size(size) for size in result_sizes(value.owner, value.result_number, self._shape)]

    def _name_size(self, size: Size) -> Size:
        """Return a size as a number or expression, or as a new symbol if the program computes it from data."""
        if not isinstance(size, ir.Value):
            return size
        if size not in self._numbers and size not in self._values:
            return None  # computed in a region
        if size not in self._numbers:
            element = _as_integer(self._new(size))
            symbol = sym(self._symbols.next())
            relax.match_cast(
                relax.tensor_to_shape(_as_tensor(element, [1])), encode(ShapeInfo((symbol,)), element.context)
            )
            self._numbers[size] = symbol
        return self._numbers[size]


def _call(name: str, type_: Type, operands: Sequence[Value]) -> Value:
    return ir.Operation.create(name, results=[type_], operands=operands).result


def _as_tensor(scalar: Value, shape: Sequence[int]) -> Value:
    """Return a tensor of one element."""
    return _call("tensor.from_elements", ir.RankedTensorType.get(list(shape), scalar.type), [scalar])


def _element(tensor: Value) -> Value:
    """Return the only element of a tensor without dimensions."""
    return _call("tensor.extract", tensor.type.element_type, [tensor])


def _as_integer(value: Value) -> Value:
    if not isinstance(value.type, ir.IndexType):
        return value
    return _call("arith.index_cast", ir.IntegerType.get_signless(64), [value])


def _as_index(value: Value, type_: Type | None = None) -> Value:
    wanted = ir.IndexType.get() if type_ is None else type_
    return value if value.type == wanted else _call("arith.index_cast", wanted, [value])
