# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as text: a variable for each value, loops and branches as C has them.

What is written still has its loops, and its memory by operations of the dialect spirv, which spirv-lower-memory makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of, symbol_name
from ....bindings.rewriting import located_error
from ....emit.memrefs import storage_bytes
from ....runtime.opencl.source_text import kernel_name
from ....support.errors import RelaxError
from ...gpu.emit.threads import threads_of
from ...spirv.device_code import kernels_of
from .operation_text import RULES
from .type_text import c_type, element_of, is_truth, lanes_of, number_text, pointer_parts, pointer_type, scalar_type

_INDENT = "    "
_EXTENSIONS = {"half": "cl_khr_fp16", "double": "cl_khr_fp64"}
_WORD = re.compile(r"\w+")
_DIMENSIONS = {"x": 0, "y": 1, "z": 2}
#: What of OpenCL C says where a thread is.
_IDS = {
    "gpu.thread_id": "get_local_id", "gpu.block_id": "get_group_id", "gpu.block_dim": "get_local_size",
    "gpu.grid_dim": "get_num_groups",
}  # fmt: skip
#: Functions that read a place and write it at once: what they are of 32 and of 64 bits, whether of numbers with a sign.
_ATOMICS = {
    "IAdd": ("add", False), "ISub": ("sub", False), "SMin": ("min", True), "SMax": ("max", True),
    "UMin": ("min", False), "UMax": ("max", False), "And": ("and", False), "Or": ("or", False), "Xor": ("xor", False),
    "Exchange": ("xchg", False),
}  # fmt: skip
_ADD_FLOATS = """\
static float add_at(volatile __global float *place, float value) {
    volatile __global uint *bits = (volatile __global uint *)place;
    uint old = *bits, seen;
    while ((seen = atomic_cmpxchg(bits, old, as_uint(as_float(old) + value))) != old) {
        old = seen;
    }
    return as_float(old);
}
"""


def source_of(module: Operation) -> str:
    """Of a gpu.module. Raises RelaxError for an operation that has no text."""
    texts = [_Kernel(kernel).text() for kernel in kernels_of(module)]
    body = "\n".join(texts)
    if "add_at(" in body:
        body = f"{_ADD_FLOATS}\n{body}"
    words = set(_WORD.findall(re.sub(r"\d+\b", "", body)))
    needed = [extension for type_, extension in _EXTENSIONS.items() if type_ in words]
    needed += ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"] if "atom_" in body else []
    pragmas = [f"#pragma OPENCL EXTENSION {extension} : enable" for extension in needed]
    return "\n".join([*pragmas, "#pragma OPENCL FP_CONTRACT OFF", "", body])


class _Kernel:
    def __init__(self, kernel: Operation) -> None:
        self._kernel = kernel
        self._names: dict[Value, str] = {}
        self._numbers = count()
        self._lines: list[str] = []
        self._depth = 1

    def text(self) -> str:
        words = [f"ulong {self._named(each)}" for each in body_of(self._kernel).arguments]
        self._operations(operations_of(body_of(self._kernel)))
        size = f"__attribute__((reqd_work_group_size({threads_of(self._kernel)}, 1, 1)))"
        head = f"__kernel {size}\nvoid {kernel_name(symbol_name(self._kernel))}({', '.join(words)}) {{"
        return "\n".join([head, *self._lines, "}", ""])

    # ---- text ----

    def _line(self, text: str) -> None:
        self._lines.append(_INDENT * self._depth + text)

    @contextmanager
    def _braces(self, head: str) -> Iterator[None]:
        self._line(f"{head} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self._line("}")

    def _named(self, value: Value) -> str:
        self._names[value] = f"v{next(self._numbers)}"
        return self._names[value]

    def _all(self, values: Sequence[Value]) -> list[str]:
        return [self._names[each] for each in values]

    def _define(self, value: Value, text: str) -> None:
        self._line(f"const {c_type(value.type)} {self._named(value)} = {text};")

    def _variables(self, values: Sequence[Value], starts: Sequence[str] = ()) -> list[str]:
        """What loops and branches write."""
        names = [self._named(each) for each in values]
        for number, (value, name) in enumerate(zip(values, names, strict=True)):
            self._line(f"{c_type(value.type)} {name}{f' = {starts[number]}' if starts else ''};")
        return names

    def _assign(self, names: Sequence[str], texts: Sequence[str]) -> None:
        """All at once: what is given may be one of those that are written."""
        moved = [(name, text) for name, text in zip(names, texts, strict=True) if name != text]
        kept = {text: f"t{next(self._numbers)}" for _, text in moved if text in names}
        for text, name in kept.items():
            self._line(f"const {self._type_of(text)} {name} = {text};")
        for name, text in moved:
            self._line(f"{name} = {kept.get(text, text)};")

    def _type_of(self, name: str) -> str:
        return next(c_type(value.type) for value, each in self._names.items() if each == name)

    # ---- operations ----

    def _operations(self, ops: Sequence[Operation]) -> Operation:
        """All but the last, which is given back."""
        *inner, end = ops
        for op in inner:
            try:
                self._operation(op)
            except RelaxError as error:
                if error.location:
                    raise
                raise self._refused(op, error.message) from None
        return end

    def _refused(self, op: Operation, reason: str) -> RelaxError:
        text = f"target 'opencl' cannot write '{op.name}' op in kernel '{symbol_name(self._kernel)}': {reason}"
        return located_error(text, op.location, ["without the option language=c kernels are SPIR-V"])

    def _operation(self, op: Operation) -> None:
        writer, rule = _WRITERS.get(op.name), RULES.get(op.name)
        if writer is not None:
            writer(self, op)
        elif op.name.startswith("spirv.Atomic"):
            self._atomic(op, op.name.removeprefix("spirv.Atomic"))
        elif op.name.startswith("spirv.EXT.Atomic"):
            self._add_floats(op)
        elif rule is not None:
            operands = self._all(list(op.operands))
            text = rule(op, operands)
            if text in operands:
                self._names[op.results[0]] = text
            else:
                self._define(op.results[0], text)
        else:
            raise RelaxError("it has no counterpart in OpenCL C")

    def constant(self, op: Operation) -> None:
        type_, value = op.results[0].type, op.attributes["value"]
        if not isinstance(type_, ir.VectorType):
            self._define(op.results[0], number_text(value.value, type_))
            return
        element = element_of(type_)
        listed = [value.get_splat_value().value] * lanes_of(type_) if value.is_splat else [*value]
        numbers = [number_text(float(each) if isinstance(each, float) else int(each), element) for each in listed]
        if lanes_of(type_) == 1:
            self._define(op.results[0], numbers[0])
        else:
            numbers = [f"-{each}" for each in numbers] if is_truth(type_) else numbers
            self._define(op.results[0], f"({c_type(type_)})({', '.join(numbers)})")

    def place(self, op: Operation) -> None:
        dimension = _DIMENSIONS[str(op.attributes["dimension"]).removesuffix(">").split()[-1]]
        self._define(op.results[0], f"{_IDS[op.name]}({dimension})")

    def extended(self, op: Operation) -> None:
        """A product of twice as many bits: its lower half, and its upper one."""
        x, y = self._all(list(op.operands))
        low, high = op.results
        type_ = c_type(low.type)
        signed = (f"as_{type_[1:]}({each})" for each in (x, y))
        upper = f"mul_hi({x}, {y})" if op.name == "arith.mului_extended" else f"as_{type_}(mul_hi({', '.join(signed)}))"
        self._define(low, f"{x} * {y}")
        self._define(high, upper)

    def with_carry(self, op: Operation) -> None:
        x, y = self._all(list(op.operands))
        total, carry = op.results
        self._define(total, f"{x} + {y}")
        text = f"{self._names[total]} < {x}"
        self._define(carry, f"convert_int{lanes_of(carry.type)}({text})" if lanes_of(carry.type) > 1 else text)

    # ---- control ----

    def loop(self, op: Operation) -> None:
        low, high, step, *starts = self._all(list(op.operands))
        block = op.regions[0].blocks[0]
        index, *carried = block.arguments
        names = self._variables(carried, starts)
        type_ = c_type(index.type)
        signed, at = type_.removeprefix("u"), self._named(index)
        with self._braces(f"for ({type_} {at} = {low}; ({signed}){at} < ({signed}){high}; {at} += {step})"):
            end = self._operations(operations_of(block))
            self._assign(names, self._all(list(end.operands)))
        self._names.update(zip(op.results, names, strict=True))

    def branch(self, op: Operation) -> None:
        names = self._variables(list(op.results))
        (condition,) = self._all(list(op.operands))
        for region, head in zip(op.regions, (f"if ({condition})", "else"), strict=True):
            if len(region.blocks):
                with self._braces(head):
                    end = self._operations(operations_of(region.blocks[0]))
                    self._assign(names, self._all(list(end.operands)))

    def loop_while(self, op: Operation) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        results = self._variables(list(op.results))
        carried = self._variables(list(before.arguments), self._all(list(op.operands)))
        with self._braces("while (true)"):
            end = self._operations(operations_of(before))
            condition, *passed = self._all(list(end.operands))
            self._assign(results, passed)
            self._line(f"if (!{condition}) break;")
            self._names.update(zip(after.arguments, results, strict=True))
            last = self._operations(operations_of(after))
            self._assign(carried, self._all(list(last.operands)))

    # ---- memory ----

    def array(self, op: Operation) -> None:
        """Memory of a thread's own, or the block's."""
        is_shared = op.name == "spirv.mlir.addressof"
        element, size, space = pointer_parts(op.results[0].type)
        name = self._shared_name(op) if is_shared else f"v{next(self._numbers)}"
        text = f"{space}{c_type(element)} {name}[{size}];"
        # Blocks' memory stands at the begin of a kernel.
        if not is_shared:
            self._line(text)
        elif _INDENT + text not in self._lines:
            self._lines.insert(0, _INDENT + text)
        self._names[op.results[0]] = name

    def _shared_name(self, op: Operation) -> str:
        return "shared_" + re.sub(r"\W", "_", op.attributes["variable"].value)

    def element(self, op: Operation) -> None:
        base, place = self._all(list(op.operands))
        self._pointer(op.results[0], f"&{base}[{place}]")

    def at_address(self, op: Operation) -> None:
        (address,) = self._all(list(op.operands))
        self._pointer(op.results[0], f"({pointer_type(op.results[0].type)}){address}")

    def other_pointer(self, op: Operation) -> None:
        if not str(op.results[0].type).startswith("!spirv.ptr"):
            raise RelaxError("of pointers alone")
        (pointer,) = self._all(list(op.operands))
        self._pointer(op.results[0], f"({pointer_type(op.results[0].type)}){pointer}")

    def _pointer(self, value: Value, text: str) -> None:
        self._line(f"{pointer_type(value.type)}{self._named(value)} = {text};")

    def load(self, op: Operation) -> None:
        type_, (pointer,) = op.results[0].type, self._all(list(op.operands))
        if _is_aligned(op, type_):
            self._define(op.results[0], f"*{pointer}")
        else:
            self._define(op.results[0], f"vload{lanes_of(type_)}(0, {self._scalars(op.operands[0], pointer)})")

    def store(self, op: Operation) -> None:
        pointer, value = self._all(list(op.operands))
        type_ = op.operands[1].type
        if _is_aligned(op, type_):
            self._line(f"*{pointer} = {value};")
        else:
            self._line(f"vstore{lanes_of(type_)}({value}, 0, {self._scalars(op.operands[0], pointer)});")

    def _scalars(self, pointer: Value, name: str) -> str:
        pointee, _, space = pointer_parts(pointer.type)
        return f"({space}{scalar_type(pointee)} *){name}"

    def _atomic(self, op: Operation, kind: str) -> None:
        pointer, *values = self._all(list(op.operands))
        type_ = op.results[0].type
        if lanes_of(type_) > 1 or is_truth(type_):
            raise RelaxError(f"not of {type_}")
        prefix = {32: "atomic_", 64: "atom_"}.get(8 * storage_bytes(type_))
        if prefix is None:
            raise RelaxError("of 32 and of 64 bits alone")
        of, space = c_type(type_), pointer_parts(op.operands[0].type)[2]
        if kind == "CompareExchange":
            value, expected = values
            self._define(op.results[0], f"{prefix}cmpxchg((volatile {space}{of} *){pointer}, {expected}, {value})")
            return
        if kind not in _ATOMICS:
            raise RelaxError("it has no counterpart in OpenCL C")
        function, is_signed = _ATOMICS[kind]
        of = of.removeprefix("u") if is_signed else of
        text = f"{prefix}{function}((volatile {space}{of} *){pointer}, as_{of}({values[0]}))"
        self._define(op.results[0], f"as_{c_type(type_)}({text})")

    def _add_floats(self, op: Operation) -> None:
        if c_type(op.results[0].type) != "float":
            raise RelaxError(f"not of {op.results[0].type}: of f32 alone")
        pointer, value = self._all(list(op.operands))
        self._define(op.results[0], f"add_at({pointer}, {value})")

    def barrier(self, op: Operation) -> None:
        self._line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")

    def nothing(self, op: Operation) -> None:
        """What no one needs to write: any number is one that is not defined."""
        self._define(op.results[0], f"({c_type(op.results[0].type)})(0)")


def _is_aligned(op: Operation, type_: Type) -> bool:
    """Whether a place is one that a value may have by itself."""
    lanes = lanes_of(type_)
    if lanes == 1:
        return True
    alignment = op.attributes["alignment"].value if "alignment" in op.attributes else storage_bytes(element_of(type_))
    bytes_ = storage_bytes(element_of(type_)) * lanes
    return lanes & (lanes - 1) == 0 and bool(alignment >= bytes_)


_WRITERS: Mapping[str, Callable[[_Kernel, Operation], None]] = {
    "arith.constant": _Kernel.constant,
    "arith.mulsi_extended": _Kernel.extended,
    "arith.mului_extended": _Kernel.extended,
    "arith.addui_extended": _Kernel.with_carry,
    **dict.fromkeys(_IDS, _Kernel.place),
    "scf.for": _Kernel.loop,
    "scf.if": _Kernel.branch,
    "scf.while": _Kernel.loop_while,
    "spirv.mlir.addressof": _Kernel.array,
    "spirv.Variable": _Kernel.array,
    "spirv.AccessChain": _Kernel.element,
    "spirv.ConvertUToPtr": _Kernel.at_address,
    "spirv.Bitcast": _Kernel.other_pointer,
    "spirv.Load": _Kernel.load,
    "spirv.Store": _Kernel.store,
    "spirv.ControlBarrier": _Kernel.barrier,
    "ub.poison": _Kernel.nothing,
}
