# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation of tensor maps on the host, which launches pass by value; kernels copy blocks of matrices by them.

In a kernel, `nvgpu.tma.create.descriptor` describes a map: memory at an address that the kernel receives, known sizes
and strides, and a box. The address changes with each call, and only the driver writes maps. So the host creates the
maps before each launch, on the stack. A launch copies its parameters, and so does a graph that records it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, operations_in_functions, operations_named, symbol_name, users_of
from ....bindings.rewriting import is_used, located_error, use_instead
from ....dialects.core.ir_attributes import BY_VALUE, KERNELS
from ....emit.memrefs import storage_bytes
from ....emit.numbers import as_i64
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...gpu.kernels.outline import kernels_in, launched, pass_more, tell_type
from ...host.llvm_ops import address_of, pointer_of, stack, type_of, view_of
from ...host.support import DEVICE_TABLE, Support

_DESCRIBED, _CAST, _LAUNCH = "nvgpu.tma.create.descriptor", "builtin.unrealized_conversion_cast", "gpu.launch_func"
_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
#: Values of CUtensorMapDataType by element bytes. Bits are copied unchanged, and elements beyond a matrix are 0.
_TYPES = {1: 0, 2: 1, 4: 2, 8: 4}
_MOST_AXES = 5


@register_pass
class MakeTensorMaps(Pass):
    """Create the tensor maps of kernels on the host, for each launch."""

    name: ClassVar[str] = "cuda-make-tensor-maps"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "gpu", "llvm", "memref", "nvgpu")

    def run(self, op: Operation) -> None:
        support = Support(op)
        names = [string_value(each) for each in op.attributes[KERNELS]] if KERNELS in op.attributes else []
        launches: dict[str, list[Operation]] = {}
        for operation in operations_in_functions(op, _LAUNCH):
            launches.setdefault(launched(operation), []).append(operation)
        with op.context:
            for kernel in kernels_in(op):
                if not (described := operations_named(kernel, _DESCRIBED)):
                    continue
                name = symbol_name(kernel)
                for launch in launches.get(name, []):
                    _pass_maps(support, launch, names.index(name), kernel, described)
                _take_maps(kernel, described)


def _pass_maps(support: Support, launch: Operation, number: int, kernel: Operation, described: list[Operation]) -> None:
    """Create the maps before a launch and append them to its operands."""
    first = len(launch.operands) - len(body_of(kernel).arguments)
    given = dict(zip(body_of(kernel).arguments, list(launch.operands)[first:], strict=True))
    with launch.location, ir.InsertionPoint(launch):
        maps = [_make(support, number, operation, dict(given)) for operation in described]
    pass_more(launch, maps)


def _make(support: Support, number: int, described: Operation, values: dict[Value, Value]) -> Value:
    """Create a map that the kernel describes, from the launch's operands."""
    seen = _find_memref(described)
    memory = _said_again(seen.owner.operation.operands[0], values, described)
    bytes_ = storage_bytes(seen.type.element_type)
    place = view_of(pointer_of(memory), seen.type.get_strides_and_offset()[1] * bytes_)
    found = stack(_MAP_BYTES, _MAP_ALIGNMENT)
    words = support.numbers(_words(seen, _box(described), bytes_))
    support.require("device_tensor_map", address_of(DEVICE_TABLE), as_i64(number).value, found, place, words)
    return found


def _find_memref(described: Operation) -> Value:
    """Return the memref that states the sizes and strides."""
    cast = described.operands[0].owner
    seen = None if isinstance(cast, Block) else cast.operation.operands[0]
    if seen is None or isinstance(seen.owner, Block) or seen.owner.operation.name != "memref.reinterpret_cast":
        text = f"'{described.name}' op does not describe memory of known sizes and strides by 'memref.reinterpret_cast'"
        raise located_error(text, described.location)
    return seen


def _said_again(value: Value, values: dict[Value, Value], described: Operation) -> Value:
    """Recompute a kernel's value on the host."""
    if value in values:
        return values[value]
    if isinstance(value.owner, Block):
        text = f"'{described.name}' op describes memory that only the kernel knows: the host cannot make a map of it"
        raise located_error(text, described.location)
    maker = value.owner.operation
    instead: Mapping[Value, Value] = {operand: _said_again(operand, values, described) for operand in maker.operands}
    copied = maker.clone().operation
    use_instead(copied, instead)
    values.update(zip(maker.results, copied.results, strict=True))
    return values[value]


def _box(described: Operation) -> list[int]:
    """Return the box sizes of each axis."""
    box = [operand.owner.operation.attributes["value"].value for operand in list(described.operands)[1:]]
    return [int(each) for each in box]


def _words(seen: Value, box: Sequence[int], bytes_: int) -> list[int]:
    """Return the description for the host's function (targets/host/library/device_tensor_maps.py)."""
    strides = [each * bytes_ for each in seen.type.get_strides_and_offset()[0]]
    sizes = _fill_axes(reversed(seen.type.shape), 1)
    return [
        _TYPES[bytes_],
        len(box),
        *sizes,
        *_fill_axes(list(reversed(strides))[1:], 0)[: _MOST_AXES - 1],
        *_pack_pairs(_fill_axes(reversed(box), 1)),
        *_pack_pairs([1] * _MOST_AXES),
    ]


def _fill_axes(values: Iterable[int], rest: int) -> list[int]:
    found = list(values)
    return [*found, *[rest] * (_MOST_AXES - len(found))]


def _pack_pairs(values: Sequence[int]) -> list[int]:
    """Pack 32-bit numbers into words, two in each."""
    return [low | high << 32 for low, high in zip(values[::2], [*values[1::2], 0], strict=True)]


def _take_maps(kernel: Operation, described: Sequence[Operation]) -> None:
    """Turn each map into a parameter of the kernel."""
    entry = body_of(kernel)
    count = len(entry.arguments)
    for operation in described:
        argument = entry.add_argument(type_of("ptr"), operation.location)
        for user in users_of(operation.results[0]):
            if user.name != _CAST or user.results[0].type != argument.type:
                raise located_error(f"'{user.name}' op uses a tensor map other than by its address", user.location)
            user.results[0].replace_all_uses_with(argument)
            user.erase()
        makers = (operation.operands[0].owner.operation, _find_memref(operation).owner.operation)
        operation.erase()
        for maker in [maker for maker in makers if not is_used(maker)]:
            maker.erase()
    tell_type(kernel)
    kernel.attributes[BY_VALUE] = ir.DenseI64ArrayAttr.get([0] * count + [_MAP_BYTES] * len(described))
