# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of kernels: a variable for each value, and loops and branches of C.

The input still has loops, and accesses memory by operations of the dialect spirv, which spirv-lower-memory creates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, symbol_name
from relax_mlir.emit.arithmetic import element_type
from relax_mlir.emit.memrefs import storage_bytes
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.gpu.device_code import kernels_of
from relax_mlir.targets.gpu.emit.threads import dimension_of, threads_of
from relax_mlir.targets.text.structured_control import CONTROL_RULES
from relax_mlir.targets.text.text_writer import INDENT, TextWriter

from ...opencl_runtime.source_text import kernel_name
from .operation_text import RULES, Rule
from .type_text import c_type, is_truth, lanes_of, number_text, pointer_parts, pointer_type, scalar_type, signed

_EXTENSIONS = {"half": "cl_khr_fp16", "double": "cl_khr_fp64"}
_WORD = re.compile(r"\w+")
#: Functions of OpenCL C that return a thread's indices.
_IDS = {
    "gpu.thread_id": "get_local_id", "gpu.block_id": "get_group_id", "gpu.block_dim": "get_local_size",
    "gpu.grid_dim": "get_num_groups",
}  # fmt: skip
#: Atomic functions: the name after the prefix for 32 or 64 bits, and True for signed operands.
_ATOMICS = {
    "IAdd": ("add", False), "ISub": ("sub", False), "SMin": ("min", True), "SMax": ("max", True),
    "UMin": ("min", False), "UMax": ("max", False), "And": ("and", False), "Or": ("or", False), "Xor": ("xor", False),
    "Exchange": ("xchg", False), "CompareExchange": ("cmpxchg", False),
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
    """Return the text of a gpu.module. Raises RelaxError for an operation without a counterpart."""
    texts = [_Kernel(kernel).text() for kernel in kernels_of(module)]
    body = "\n".join(texts)
    if "add_at(" in body:
        body = f"{_ADD_FLOATS}\n{body}"
    words = set(_WORD.findall(re.sub(r"\d+\b", "", body)))
    needed = [extension for type_, extension in _EXTENSIONS.items() if type_ in words]
    needed += ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"] if "atom_" in body else []
    pragmas = [f"#pragma OPENCL EXTENSION {extension} : enable" for extension in needed]
    return "\n".join([*pragmas, "#pragma OPENCL FP_CONTRACT OFF", "", body])


class _Kernel(TextWriter[str]):
    target, unknown, endless = "opencl", "it has no counterpart in OpenCL C", "while (true)"
    hints = ("without the option language=c kernels are SPIR-V",)

    def __init__(self, kernel: Operation) -> None:
        super().__init__(_WRITERS, f"in kernel '{symbol_name(kernel)}'")
        self._kernel = kernel

    def text(self) -> str:
        words = [f"ulong {self._name(argument)}" for argument in body_of(self._kernel).arguments]
        self.block(body_of(self._kernel))
        size = f"__attribute__((reqd_work_group_size({threads_of(self._kernel)}, 1, 1)))"
        head = f"__kernel {size}\nvoid {kernel_name(symbol_name(self._kernel))}({', '.join(words)}) {{"
        return "\n".join([head, *self.lines, "}", ""])

    def _name(self, value: Value) -> str:
        self.know(value, self.fresh("v"))
        return self.held(value)

    def _all(self, values: Iterable[Value]) -> list[str]:
        return [self.held(value) for value in values]

    def _define(self, value: Value, text: str) -> None:
        self.line(f"const {c_type(value.type)} {self._name(value)} = {text};")

    # ---- control ----

    def carry(self, op: Operation, values: Sequence[Value], arguments: Sequence[Value]) -> list[str]:
        return self._variables(arguments, [f" = {each}" for each in self._all(values)])

    def leave(self, op: Operation, wanted: str, arguments: Sequence[Value] = ()) -> list[str]:
        return self._variables(op.results, [""] * len(op.results))

    def _variables(self, values: Iterable[Value], starts: Sequence[str]) -> list[str]:
        names = [self._name(each) for each in values]
        for value, name, start in zip(values, names, starts, strict=True):
            self.line(f"{c_type(value.type)} {name}{start};")
        return names

    def assigned(self, variable: str, value: Value) -> list[tuple[str, str, str]]:
        return [(variable, self.held(value), c_type(value.type))]

    def keep(self, name: str, text: str, type_: str) -> str:
        kept = self.fresh("t")
        self.line(f"const {type_} {kept} = {text};")
        return kept

    def condition(self, op: Operation, value: Value, *, is_negated: bool = False) -> str:
        return f"{'!' if is_negated else ''}{self.held(value)}"

    def steps(self, op: Operation) -> AbstractContextManager[None]:
        low, high, step = self._all(op.operands[:3])
        index = body_of(op).arguments[0]
        type_, at = c_type(index.type), self._name(index)
        of = signed(type_)
        return self.braces(f"for ({type_} {at} = {low}; ({of}){at} < ({of}){high}; {at} += {step})")

    # ---- operations ----

    def constant(self, op: Operation) -> None:
        type_, value = op.results[0].type, op.attributes["value"]
        if not isinstance(type_, ir.VectorType):
            self._define(op.results[0], number_text(value.value, type_))
            return
        element = element_type(type_)
        listed = [value.get_splat_value().value] * lanes_of(type_) if value.is_splat else [*value]
        numbers = [number_text(float(each) if isinstance(each, float) else int(each), element) for each in listed]
        if lanes_of(type_) == 1:
            self._define(op.results[0], numbers[0])
        else:
            numbers = [f"-{number}" for number in numbers] if is_truth(type_) else numbers
            self._define(op.results[0], f"({c_type(type_)})({', '.join(numbers)})")

    def place(self, op: Operation) -> None:
        self._define(op.results[0], f"{_IDS[op.name]}({'xyz'.index(dimension_of(op))})")

    def extended(self, op: Operation) -> None:
        """Write the lower and upper halves of a product with twice as many bits."""
        x, y = self._all(op.operands)
        low, high = op.results
        type_ = c_type(low.type)
        signed = (f"as_{type_[1:]}({each})" for each in (x, y))
        upper = f"mul_hi({x}, {y})" if op.name == "arith.mului_extended" else f"as_{type_}(mul_hi({', '.join(signed)}))"
        self._define(low, f"{x} * {y}")
        self._define(high, upper)

    def with_carry(self, op: Operation) -> None:
        x, y = self._all(op.operands)
        total, carry = op.results
        self._define(total, f"{x} + {y}")
        text = f"{self.held(total)} < {x}"
        self._define(carry, f"convert_int{lanes_of(carry.type)}({text})" if lanes_of(carry.type) > 1 else text)

    # ---- memory ----

    def array(self, op: Operation) -> None:
        """Declare an array in a thread's own memory or in the block's."""
        is_shared = op.name == "spirv.mlir.addressof"
        element, size, space = pointer_parts(op.results[0].type)
        name = self._shared_name(op) if is_shared else self.fresh("v")
        text = f"{space}{c_type(element)} {name}[{size}];"
        # Memory of blocks is declared at the begin of a kernel.
        if not is_shared:
            self.line(text)
        elif INDENT + text not in self.lines:
            self.lines.insert(0, INDENT + text)
        self.know(op.results[0], name)

    def _shared_name(self, op: Operation) -> str:
        return "shared_" + re.sub(r"\W", "_", op.attributes["variable"].value)

    def element(self, op: Operation) -> None:
        base, place = self._all(op.operands)
        self._pointer(op.results[0], f"&{base}[{place}]")

    def at_address(self, op: Operation) -> None:
        (address,) = self._all(op.operands)
        self._pointer(op.results[0], f"({pointer_type(op.results[0].type)}){address}")

    def other_pointer(self, op: Operation) -> None:
        if not str(op.results[0].type).startswith("!spirv.ptr"):
            raise RelaxError("only pointers can be cast")
        (pointer,) = self._all(op.operands)
        self._pointer(op.results[0], f"({pointer_type(op.results[0].type)}){pointer}")

    def _pointer(self, value: Value, text: str) -> None:
        self.line(f"{pointer_type(value.type)}{self._name(value)} = {text};")

    def load(self, op: Operation) -> None:
        type_, (pointer,) = op.results[0].type, self._all(op.operands)
        if _is_aligned(op, type_):
            self._define(op.results[0], f"*{pointer}")
        else:
            self._define(op.results[0], f"vload{lanes_of(type_)}(0, {self._scalars(op.operands[0], pointer)})")

    def store(self, op: Operation) -> None:
        pointer, value = self._all(op.operands)
        type_ = op.operands[1].type
        if _is_aligned(op, type_):
            self.line(f"*{pointer} = {value};")
        else:
            self.line(f"vstore{lanes_of(type_)}({value}, 0, {self._scalars(op.operands[0], pointer)});")

    def _scalars(self, pointer: Value, name: str) -> str:
        pointee, _, space = pointer_parts(pointer.type)
        return f"({space}{scalar_type(pointee)} *){name}"

    def atomic(self, op: Operation) -> None:
        pointer, *values = self._all(op.operands)
        type_ = op.results[0].type
        if lanes_of(type_) > 1 or is_truth(type_):
            raise RelaxError(f"it does not support {type_}")
        prefix = {32: "atomic_", 64: "atom_"}.get(8 * storage_bytes(type_))
        if prefix is None:
            raise RelaxError("only 32 and 64 bits are supported")
        function, is_signed = _ATOMICS[op.name.removeprefix("spirv.Atomic")]
        of, space = c_type(type_), pointer_parts(op.operands[0].type)[2]
        if function == "cmpxchg":
            value, expected = values
            self._define(op.results[0], f"{prefix}cmpxchg((volatile {space}{of} *){pointer}, {expected}, {value})")
            return
        of = signed(of) if is_signed else of
        text = f"{prefix}{function}((volatile {space}{of} *){pointer}, as_{of}({values[0]}))"
        self._define(op.results[0], f"as_{c_type(type_)}({text})")

    def add_floats(self, op: Operation) -> None:
        if c_type(op.results[0].type) != "float":
            raise RelaxError(f"only f32 is supported, not {op.results[0].type}")
        pointer, value = self._all(op.operands)
        self._define(op.results[0], f"add_at({pointer}, {value})")

    def barrier(self, op: Operation) -> None:
        self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")

    def nothing(self, op: Operation) -> None:
        """Write an undefined value as 0."""
        self._define(op.results[0], f"({c_type(op.results[0].type)})(0)")


def _is_aligned(op: Operation, type_: Type) -> bool:
    """Check whether an access has the natural alignment of the vector type."""
    lanes = lanes_of(type_)
    if lanes == 1:
        return True
    alignment = op.attributes["alignment"].value if "alignment" in op.attributes else storage_bytes(element_type(type_))
    bytes_ = storage_bytes(element_type(type_)) * lanes
    return lanes & (lanes - 1) == 0 and bool(alignment >= bytes_)


def _make_expression_writer(rule: Rule) -> Callable[[_Kernel, Operation], None]:
    def write(writer: _Kernel, op: Operation) -> None:
        operands = writer._all(op.operands)
        text = rule(op, operands)
        if text in operands:
            writer.know(op.results[0], text)
        else:
            writer._define(op.results[0], text)

    return write


_WRITERS: Mapping[str, Callable[[_Kernel, Operation], None]] = {
    **CONTROL_RULES,
    **{name: _make_expression_writer(rule) for name, rule in RULES.items()},
    **{f"spirv.Atomic{kind}": _Kernel.atomic for kind in _ATOMICS},
    "arith.constant": _Kernel.constant,
    "arith.mulsi_extended": _Kernel.extended,
    "arith.mului_extended": _Kernel.extended,
    "arith.addui_extended": _Kernel.with_carry,
    **dict.fromkeys(_IDS, _Kernel.place),
    "spirv.mlir.addressof": _Kernel.array,
    "spirv.Variable": _Kernel.array,
    "spirv.AccessChain": _Kernel.element,
    "spirv.ConvertUToPtr": _Kernel.at_address,
    "spirv.Bitcast": _Kernel.other_pointer,
    "spirv.Load": _Kernel.load,
    "spirv.Store": _Kernel.store,
    "spirv.EXT.AtomicFAdd": _Kernel.add_floats,
    "spirv.ControlBarrier": _Kernel.barrier,
    "ub.poison": _Kernel.nothing,
}
