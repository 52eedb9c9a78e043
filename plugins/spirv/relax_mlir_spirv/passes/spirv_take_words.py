# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel arguments as 64-bit words, with addresses as numbers (abi.py).

For Vulkan the words are push constants, and the last one is the number of blocks. If they do not fit, they are in
memory, and the only push constant is their address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, operations_named, operations_of, symbol_name
from relax_mlir.bindings.rewriting import located_error, replace_op
from relax_mlir.dialects.core.ir_attributes import WORDS
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.numbers import Number, as_i64, as_index, operation
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.emit.threads import dimension_of
from relax_mlir.targets.gpu.kernels.outline import kernels_in
from relax_mlir.targets.host.llvm_ops import type_of

from ..abi import MOST_PUSHED, WORD
from ..emit import (
    DEVICE_STORAGE,
    WORDS_STORAGE,
    at_address,
    element_of,
    load,
    place_in_struct,
    pointer_type,
    variable,
    variable_address,
)


@register_pass
@dataclass(frozen=True)
class TakeWords(Pass):
    """Pass the arguments of kernels as 64-bit words."""

    name: ClassVar[str] = "spirv-take-words"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu", "llvm", "scf", "spirv")

    #: Interface of the generated code: vulkan or opencl.
    api: str = "vulkan"

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                with kernel.location:
                    self._take(kernel)

    def _take(self, kernel: Operation) -> None:
        block = body_of(kernel)
        arguments, words = list(block.arguments), list[Value]()
        with ir.InsertionPoint(operations_of(block)[0]):
            if self.api == "opencl":
                words = [block.add_argument(_i(64), kernel.location) for _ in arguments]
            else:
                words = _push_words(kernel, len(arguments) + 1)
            for argument, word in zip(arguments, words, strict=False):
                argument.replace_all_uses_with(_from_word(word, argument.type, kernel))
            if self.api == "vulkan":
                _count_blocks(kernel, words[-1])
        for _ in arguments:
            block.erase_argument(0)
        inputs = [each.type for each in block.arguments]
        kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
        kernel.attributes[WORDS] = ir.DenseI64ArrayAttr.get([len(arguments) + (self.api == "vulkan")])


def _count_blocks(kernel: Operation, blocks: Value) -> None:
    """Number the blocks along two dimensions, since one may be too small.

    The kernel's body from the insertion point on becomes conditional on a valid block number.
    """
    ids = [each for each in operations_named(kernel, "gpu.block_id") if dimension_of(each) == "x"]
    x, y = (_read_grid("block_id", dimension) for dimension in "xy")
    own = y * _read_grid("grid_dim", "x") + x
    there = ir.Operation.create("scf.if", operands=[(own < as_index(blocks)).value], regions=2)
    for id_ in ids:
        replace_op(id_, [own.value])
    ops = operations_of(body_of(kernel))
    inside = there.regions[0].blocks.append()
    for op in ops[ops.index(there) + 1 : -1]:
        inside.append(op)
    with ir.InsertionPoint(inside):
        ir.Operation.create("scf.yield")


def _read_grid(name: str, dimension: str) -> Number:
    said = ir.Attribute.parse(f"#gpu<dim {dimension}>")
    return operation(f"gpu.{name}", [], ir.IndexType.get(), dimension=said)


def _push_words(kernel: Operation, count: int) -> list[Value]:
    in_memory = count > MOST_PUSHED
    pushed = 1 if in_memory else count
    symbol = f"{symbol_name(kernel)}_words"
    type_ = pointer_type(f"!spirv.struct<(!spirv.array<{pushed} x i64, stride={WORD}> [0])>", WORDS_STORAGE)
    with ir.InsertionPoint(kernel):
        variable(symbol, type_)
    base, zero = variable_address(symbol, type_), place_in_struct(0)
    words = [
        load(element_of(base, place_in_struct(place), _i(64), WORDS_STORAGE, zero), _i(64), WORDS_STORAGE)
        for place in range(pushed)
    ]
    if not in_memory:
        return words
    storage, address = DEVICE_STORAGE["vulkan"], as_i64(words[0])
    return [
        load(at_address((address + WORD * place).value, _i(64), storage), _i(64), storage) for place in range(count)
    ]


def _from_word(word: Value, type_: Type, kernel: Operation) -> Value:
    """Return an argument from its word. Narrower values are in the lowest bits."""
    if type_ == _i(64):
        return word
    if type_ == type_of("ptr"):
        return result_of("builtin.unrealized_conversion_cast", [word], type_)
    if isinstance(type_, ir.IndexType):
        return result_of("arith.index_cast", [word], type_)
    if not isinstance(type_, (ir.IntegerType, ir.FloatType)):
        raise located_error(f"a kernel cannot be passed a {type_}", kernel.location)
    if type_ == _i(1):
        return ((as_i64(word) & 1) != 0).value
    bits = word if type_.width == 64 else result_of("arith.trunci", [word], _i(type_.width))
    return bits if isinstance(type_, ir.IntegerType) else result_of("arith.bitcast", [bits], type_)


def _i(width: int) -> Type:
    return ir.IntegerType.get_signless(width)
