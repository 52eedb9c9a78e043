# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor intrinsics as they are registered: by a function that emits what they do, or a PrimFunc that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...bindings.ir import Block as IrBlock
from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, operations_in, operations_of, symbol_name
from ...bindings.rewriting import copy_operation
from ...dialects.tir.prim_func import prim_funcs_in
from ...support.errors import RelaxError
from ...support.suggest import suggest
from .intrins import Engine, TensorIntrin, add_intrin, described
from .memories import COMMON, all_memories, find_memory
from .schedule import Schedule
from .tree import Tree
from .tree_writer import Writer

#: What of a buffer's type shows in no result's: its layout may be another one than the PrimFunc's.
_ON_ANY_LAYOUT = frozenset(
    "memref.load memref.store memref.dim memref.extract_aligned_pointer_as_index memref.extract_strided_metadata "
    "tir.call_extern tir.call_pure_extern".split()
)


def register_tensor_intrin(
    name: str,
    description: object,
    implementation: object = None,
    *,
    cost: float | Callable[[int], float] = 1.0,
    memories: Mapping[str, str] | None = None,
    wait: Callable[..., object] | None = None,
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Registers an intrinsic, `sch.tensorize(loop, name)`, with the function that emits it; use it as a decorator.

    It is described by a module of one PrimFunc (@T.prim_func, te.create_prim_func, rx.Module.parse), which has one
    block of known sizes, without an init, and uses all of its parameters. Another PrimFunc with the same parameters,
    the `implementation`, is what it does where no function says that: then nothing is decorated. Refuses a name that
    is taken.

    `memories` says which memory an operand has to be in, by the description's name of it: {"A": "npu.sram"}. `cost` is
    what auto_tensorize compares: what one run takes, cycles for instance, or a function of how many runs there are that
    gives what all of them take. With `wait` it is asynchronous: what is emitted starts it, and it may still read and
    write its operands when the code behind it runs. `wait(pending)` emits that all but the last `pending` runs are
    done, as in register_memory.
    """
    tree = described(description)
    _check_memories(name, tree, memories or {})
    options = Engine(cost, dict(memories or {}), wait)

    def register(emit: Callable[..., object]) -> Callable[..., object]:
        add_intrin(name, TensorIntrin(emit, tree, engine=options))
        return emit

    if implementation is not None:
        made = _Implementation(name, implementation, tree)
        add_intrin(name, TensorIntrin(made, tree, needs_stack=True, engine=options))
    return register


def _check_memories(name: str, tree: Tree, memories: Mapping[str, str]) -> None:
    operands = [buffer.name for buffer in tree.buffers]
    for operand, memory in memories.items():
        if operand not in operands:
            listed = ", ".join(operands)
            raise RelaxError(f"tensor intrinsic '{name}' has no operand '{operand}' that could be in '{memory}' "
                             f"({listed}){suggest(operand, operands)}")  # fmt: skip
        if memory not in COMMON and find_memory(memory) is None:
            known = [*COMMON, *(each.name for each in all_memories())]
            raise RelaxError(f"tensor intrinsic '{name}': there is no memory '{memory}'{suggest(memory, known)}; "
                             "register_memory makes one known")  # fmt: skip


class _Implementation:
    """Emits what a PrimFunc does, on other memory."""

    def __init__(self, name: str, module: Any, tree: Tree):
        functions = prim_funcs_in(module.operation)
        if len(functions) != 1:
            raise RelaxError(f"tensor intrinsic '{name}': it is implemented by one PrimFunc, not by {len(functions)}")
        # Names of blocks are places.
        self._text = module.operation.get_asm(enable_debug_info=True)
        _check_parameters(name, functions[0], tree)
        if _is_over_memory(functions[0]):
            _check_over_memory(name, functions[0])
        else:
            Schedule(functions[0]).read_of(symbol_name(functions[0]))  # what has no form as loops is refused here

    def __call__(self, *memrefs_and_stack: Any) -> None:
        """Here, on memrefs; its own memory on the stack is taken in the block that comes last."""
        *memrefs, stack = memrefs_and_stack
        # Once more, in the context of what is compiled.
        module = ir.Module.parse(self._text)
        (function,) = prim_funcs_in(module.operation)
        if _is_over_memory(function):
            _copy_body(function, memrefs)
        else:
            _write(function, memrefs, stack)


def _is_over_memory(function: Operation) -> bool:
    return all(not isinstance(each.type, ir.RankedTensorType) for each in body_of(function).arguments)


def _check_parameters(name: str, function: Operation, tree: Tree) -> None:
    found = [(list(each.type.shape), str(each.type.element_type)) for each in body_of(function).arguments]
    wanted = [(list(each.shape), str(each.element)) for each in tree.buffers if each.is_given]
    if found != wanted:
        shown = (", ".join(f"{element} {tuple(shape)}" for shape, element in each) for each in (found, wanted))
        raise RelaxError(f"tensor intrinsic '{name}': its implementation has the parameters {{}}, its description {{}}"
                         .format(*shown))  # fmt: skip


def _check_over_memory(name: str, function: Operation) -> None:
    parameters = set(body_of(function).arguments)
    for op in operations_in(function):
        if op.name not in _ON_ANY_LAYOUT and any(operand in parameters for operand in op.operands):
            raise RelaxError(
                f"tensor intrinsic '{name}': its implementation has {op.name} of a parameter, which is a part of a "
                "larger buffer: elements are loaded and stored, and C functions are called (T.call_extern)"
            )


def _copy_body(function: Operation, memrefs: list[Value]) -> None:
    made = dict(zip(body_of(function).arguments, memrefs, strict=True))
    for op in operations_of(body_of(function))[:-1]:
        copy_operation(op, made)


def _write(function: Operation, memrefs: list[Value], stack: IrBlock) -> None:
    """The loops that its schedule makes of it."""
    schedule, name = Schedule(function), symbol_name(function)
    read, tree = schedule.read_of(name)
    given = [buffer for buffer in read.tree.buffers if buffer.is_given]
    Writer(read._replace(memory=dict(zip(given, memrefs, strict=True))), tree).write(stack)
