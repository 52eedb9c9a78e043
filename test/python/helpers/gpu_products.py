# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of planned products, generated around linalg operations on memory and run by the emulator of GPUs."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from gpu_emulator.driver import EmulatedCuda
from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.ir_attributes import DYNAMIC_SHARED
from relax_mlir.emit.loops import store, when
from relax_mlir.emit.numbers import as_index, number
from relax_mlir.emit.structured import StructuredOp, analyze
from relax_mlir.passes.kernels.schedule.plan import Plan, parse_plan
from relax_mlir.targets.cuda.device_passes import DEVICE_PASSES
from relax_mlir.targets.cuda.objects.arch import find_arch
from relax_mlir.targets.cuda.objects.ptx import make_ptx
from relax_mlir.targets.gpu.planned import product_kernels

import relax_mlir as rx

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}
_DIALECTS = "affine arith cf gpu linalg llvm math memref nvgpu nvvm scf vector".split()
_MOST_DYNAMIC_SHARED = 8
#: Makes a plan of the operation on memory.
Rule = Callable[[StructuredOp], Plan]
Size = int | tuple[int]


@dataclass
class Buffer:
    """Argument. Sizes in tuples are known at run time only."""

    dtype: str
    sizes: Sequence[Size]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(size[0] if isinstance(size, tuple) else size for size in self.sizes)

    @property
    def type(self) -> str:
        return f"memref<{''.join('?x' if isinstance(size, tuple) else f'{size}x' for size in self.sizes)}{self.dtype}>"

    def parameter(self, number: int) -> tuple[list[str], list[str]]:
        """Return the kernel's parameters for an operand, and the code that makes the memref %a0, %a1, ... of them."""
        if not any(isinstance(size, tuple) for size in self.sizes):
            return [f"%a{number}: {self.type}"], []
        names = [f"%n{number}_{axis}" for axis in range(len(self.sizes))]
        code, stride, strides = [], "%one", list[str]()
        for axis in reversed(range(len(names))):
            strides.insert(0, stride)
            code.append(f"%s{number}_{axis} = arith.muli {stride}, {names[axis]} : index")
            stride = f"%s{number}_{axis}"
        unknown = ", ".join([*("?" for _ in names[1:]), "1"])
        strides[-1] = "1"
        free = f"memref<{'?x' * len(names)}{self.dtype}, strided<[{unknown}]>>"
        at = f"offset: [0], sizes: [{', '.join(names)}], strides: [{', '.join(strides)}]"
        code.append(f"%v{number} = memref.reinterpret_cast %p{number} to {at} : memref<1x{self.dtype}> to {free}")
        code.append(f"%a{number} = memref.cast %v{number} : {free} to {self.type}")
        return [f"%p{number}: memref<1x{self.dtype}>", *(f"{name}: index" for name in names)], code

    def values(self, random: np.random.Generator) -> np.ndarray:
        if self.dtype[0] == "i":
            return random.integers(-9, 9, self.shape).astype(DTYPES[self.dtype])
        return random.integers(-32, 32, self.shape).astype(DTYPES[self.dtype]) / DTYPES[self.dtype](8)


@dataclass
class Product:
    """Sum of products of the first buffers, and operations on the sum in later buffers."""

    maps: str
    kinds: str
    inputs: Sequence[Buffer]
    output: Buffer
    body: str
    #: None where the output is read.
    initial: str | None = None
    epilogues: Sequence[str] = ()
    others: Sequence[Buffer] = ()

    @property
    def buffers(self) -> list[Buffer]:
        return [*self.inputs, self.output, *self.others]

    def compiled(self, rule: Rule | str, arch: str = "sm_80") -> Kernel:
        with create_context() as context:
            load_dialects(context, _DIALECTS)
            module = ir.Module.parse(self._text())
            kernels = module.body.operations[0].operation
            plan, threads = _written(kernels, rule, self.initial is not None)
            rx.Pipeline([f"gpu-place-shared{{most={find_arch(arch).block_shared}}}"]).run(module)
            (kernel,) = [each for each in operations_in(kernels) if each.name == "gpu.func"]
            shared = kernel.attributes[DYNAMIC_SHARED].value if DYNAMIC_SHARED in kernel.attributes else 0
            rx.Pipeline(DEVICE_PASSES).run(module)
            return Kernel(make_ptx(module.body.operations[0].operation, arch, 3), plan, threads, self, arch, shared)

    def _text(self) -> str:
        parts = [each.parameter(number) for number, each in enumerate(self.buffers)]
        parameters = [each for names, _ in parts for each in names]
        code = "\n".join(line for _, lines in parts for line in lines)
        types = [each.type for each in self.buffers]
        count = len(self.inputs)
        names = ", ".join(f"%a{number}" for number in range(count))
        kinds = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in self.kinds)
        loops = self.maps.split("->")[0].split(",")
        maps = ", ".join(f"affine_map<{each}>" for each in self.maps.split("; "))
        assert len(loops) == len(self.kinds)
        later = "\n".join(self.epilogues)
        for place, type_ in enumerate(types):
            later = later.replace(f"type{place}", type_)
        initial = f"%initial = arith.constant {self.initial}" if self.initial else ""
        return f"""
        gpu.module @kernels {{ gpu.func @k({", ".join([*parameters, "%count: memref<1xi64>"])}) kernel {{
          %one = arith.constant 1 : index
          {initial}
          {code}
          linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
              ins({names} : {", ".join(types[:count])}) outs(%a{count} : {types[count]}) {{ {self.body} }}
          {later}
          gpu.return }} }}"""


def _written(module: ir.Operation, rule: Rule | str, starts: bool) -> tuple[Plan, int]:
    """Replace the body of the function by the kernel, which also stores the number of blocks it claims to have."""
    function = module.regions[0].blocks[0].operations[0].operation
    block = function.regions[0].blocks[0]
    generics = [each for each in operations_in(function) if each.name == "linalg.generic"]
    ops = [analyze(each, on_memrefs=True) for each in generics]
    plan = parse_plan(rule) if isinstance(rule, str) else rule(ops[0])
    assert isinstance(plan, Plan)
    plan = parse_plan(str(plan))
    constants = [each for each in operations_in(function) if each.name == "arith.constant"]
    x = ir.Attribute.parse("#gpu<dim x>")
    with function.location, ir.InsertionPoint(list(block.operations)[-1]):
        make = ir.Operation.create
        places = [
            make(name, results=[ir.IndexType.get()], attributes={"dimension": x}).result
            for name in ("gpu.block_id", "gpu.thread_id")
        ]
        count = make(
            "arith.index_cast", [ir.IntegerType.get_signless(64)], [as_index(product_kernels.blocks(ops[0], plan))]
        ).result
        is_first = number(places[0]) + number(places[1]) == 0
        when(is_first, lambda: store(count, block.arguments[len(block.arguments) - 1], 0))
        initial = constants[1].results[0] if starts else None
        product_kernels.write(product_kernels.PlannedGroup(ops[0], plan, initial, ops[1:]), *places)
    for each in reversed(generics):
        each.erase()
    function.attributes["known_block_size"] = ir.DenseI32ArrayAttr.get([product_kernels.threads(plan), 1, 1])
    return plan, product_kernels.threads(plan)


@dataclass
class Kernel:
    ptx: str
    plan: Plan
    threads: int
    product: Product
    arch: str
    #: Bytes of shared memory that a launch requests.
    shared: int

    def run(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Run the kernel on the emulator, which raises its findings. Return the arrays after the launch."""
        device = EmulatedCuda(capability=divmod(find_arch(self.arch).number, 10))
        context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        calls: list[tuple[str, Any]] = [
            ("cuInit", (0,)),
            ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), 0)),
            ("cuCtxPushCurrent_v2", (context,)),
            ("cuModuleLoadData", (ctypes.byref(module), self.ptx.encode() + b"\0")),
            ("cuModuleGetFunction", (ctypes.byref(function), module, b"k")),
        ]
        for name, arguments in calls:
            _called(device, name, *arguments)
        parameters: list[Any] = []
        given = [*arrays, np.zeros(1, np.int64)]
        pointers = []
        for place, array in enumerate(given):
            pointer = ctypes.c_uint64()
            _called(device, "cuMemAlloc_v2", ctypes.byref(pointer), array.nbytes)
            _called(device, "cuMemcpyHtoD_v2", pointer, array.ctypes.data, array.nbytes)
            pointers.append(pointer)
            parameters.append(pointer)
            if place < len(arrays) and any(isinstance(each, tuple) for each in self.product.buffers[place].sizes):
                parameters += [ctypes.c_int64(size) for size in array.shape]
        count = self.blocks()
        if self.shared:
            _called(device, "cuFuncSetAttribute", function, _MOST_DYNAMIC_SHARED, self.shared)
        addresses = (ctypes.c_void_p * len(parameters))(*(ctypes.addressof(each) for each in parameters))
        _called(device, "cuLaunchKernel", function, count, 1, 1, self.threads, 1, 1, self.shared, None, addresses, None)
        device.check()
        found = [np.empty_like(array) for array in given]
        for array, pointer in zip(found, pointers, strict=True):
            _called(device, "cuMemcpyDtoH_v2", array.ctypes.data, pointer, array.nbytes)
        assert found[-1][0] == count, "as many blocks as the host is to launch"
        return found[:-1]

    def blocks(self) -> int:
        """Return the expected number of blocks, from the loops' sizes."""
        tile = product_kernels.Tile(self.plan)
        total = 1
        for dim, chain in enumerate(self.plan.joined):
            if dim != tile.steps:
                size = int(np.prod([self._size(loop) for loop in chain]))
                total *= -(-size // tile.extent(dim))
        return total

    def _size(self, loop: int) -> int:
        """Return a loop's size from an operand's axis."""
        for text, buffer in zip(self.product.maps.split("; "), self.product.buffers, strict=False):
            loops, axes = (part.strip(" ()").split(", ") for part in text.split("->"))
            for axis, size in zip(axes, buffer.shape, strict=True):
                if axis == loops[loop]:
                    return size
        raise AssertionError(f"no size of loop {loop} in {self.product.maps}")

    def instructions(self, pattern: str) -> int:
        """Count the lines of PTX that match a pattern."""
        return len(re.findall(rf"^\s+(?:@\S+ )?{pattern}", self.ptx, re.MULTILINE))


def _called(device: EmulatedCuda, name: str, *arguments: Any) -> None:
    result = getattr(device, name)(*arguments)
    assert result == 0, f"{name}: {result}: {device.refusals}"


def muladd(factor: str, total: str, signs: str = "ss") -> str:
    """Return the body of a sum of products of widened factors."""
    kind = "f" if total[0] in "fb" else "i"
    names = ["arith.extf"] * 2 if kind == "f" else [f"arith.ext{sign}i" for sign in signs]
    pairs = zip("xy", names, strict=True)
    wide = "".join(f"%w{name} = {widen} %{name} : {factor} to {total}\n" for name, widen in pairs)
    wide = wide if factor != total else ""
    left, right = ("%wx", "%wy") if wide else ("%x", "%y")
    return f"""^bb0(%x: {factor}, %y: {factor}, %o: {total}):
      {wide}%p = arith.mul{kind} {left}, {right} : {total}
      %q = arith.add{kind} %o, %p : {total}
      linalg.yield %q : {total}"""


def zero(dtype: str) -> str:
    return f"{'0.0' if dtype[0] in 'fb' else '0'} : {dtype}"
