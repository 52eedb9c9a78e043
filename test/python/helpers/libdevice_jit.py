# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of cuda's intrinsics on arrays on the CPU, with libdevice linked in and device instructions expanded.

Instructions that devices only approximate (ex2.approx and the like) are exact here. On a device the error is up to two
ulp larger.
"""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from intrinsic_jit import NUMPY_TYPES
from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.execution import to_llvm_ir
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.passes.kernels.tir_lower_intrinsics import LowerIntrinsics
from relax_mlir.targets.core.llvm_ir_text import for_older_llvm
from relax_mlir.targets.cuda.device_passes import DEVICE_PASSES
from relax_mlir.targets.cuda.objects.wheels import libdevice_path

import relax_mlir as rx

# Instructions by patterns of their names: parameters and result, then the code that computes %r. {t0} is the type or
# word of the pattern's first group, {s0} LLVM's suffix of the type, {m0} the function's name.
_INSTRUCTIONS = {
    r"(add|mul|div)\.(?:rn|approx)\.(f|d)": ("{t1} %a, {t1} %b -> {t1}", "%r = f{t0} {t1} %a, %b"),
    r"fma\.rn\.(f|d)": (
        "{t0} %a, {t0} %b, {t0} %c -> {t0}",
        "%r = call {t0} @llvm.fma.{s0}({t0} %a, {t0} %b, {t0} %c)",
    ),
    r"(fabs|floor|trunc|ceil)\.(f32|f64|f|d)": ("{t1} %a -> {t1}", "%r = call {t1} @llvm.{t0}.{s1}({t1} %a)"),
    r"round\.(f|d)": ("{t0} %a -> {t0}", "%r = call {t0} @llvm.rint.{s0}({t0} %a)"),
    r"f(min|max)\.(f|d)": ("{t1} %a, {t1} %b -> {t1}", "%r = call {t1} @llvm.{t0}num.{s1}({t1} %a, {t1} %b)"),
    r"sqrt\.(?:rn|approx)\.(f|d)": ("{t0} %a -> {t0}", "%r = call {t0} @llvm.sqrt.{s0}({t0} %a)"),
    r"rsqrt\.approx\.(f|d)": ("{t0} %a -> {t0}", "%s = call {t0} @llvm.sqrt.{s0}({t0} %a)\n%r = fdiv {t0} 1.0, %s"),
    r"rcp\.(?:rn|approx)\.(f|d)": ("{t0} %a -> {t0}", "%r = fdiv {t0} 1.0, %a"),
    r"(ex2|lg2|sin|cos)\.approx\.(?:f32|f)": (
        "float %a -> float",
        "%w = fpext float %a to double\n%v = call double @{m0}(double %w)\n%r = fptrunc double %v to float",
    ),
    r"saturate\.f": (
        "float %a -> float",
        "%p = call float @llvm.maxnum.f32(float %a, float 0.0)\n%r = call float @llvm.minnum.f32(float %p, float 1.0)",
    ),
    r"d2i\.hi": ("double %a -> i32", "%b = bitcast double %a to i64\n%s = lshr i64 %b, 32\n%r = trunc i64 %s to i32"),
    r"d2i\.lo": ("double %a -> i32", "%b = bitcast double %a to i64\n%r = trunc i64 %b to i32"),
    r"lohi\.i2d": (
        "i32 %a, i32 %b -> double",
        "%l = zext i32 %a to i64\n%h = zext i32 %b to i64\n%s = shl i64 %h, 32\n%o = or i64 %l, %s\n"
        "%r = bitcast i64 %o to double",
    ),
    r"(d|f)2(i|ll)\.(rn|rz)": (
        "{t0} %a -> {t1}",
        "%w = call {t0} @llvm.{m2}.{s0}({t0} %a)\n%r = call {t1} @llvm.fptosi.sat.{t1}.{s0}({t0} %w)",
    ),
    r"f2ui\.rz": ("float %a -> i32", "%r = call i32 @llvm.fptoui.sat.i32.f32(float %a)"),
    # In f64, and moved to the number below, or nearer to 0, where rounding went the other way.
    r"fma\.(rm|rz)\.f": (
        "float %a, float %b, float %c -> float",
        "%aw = fpext float %a to double\n%bw = fpext float %b to double\n%cw = fpext float %c to double\n"
        "%x = call double @llvm.fma.f64(double %aw, double %bw, double %cw)\n{rounded}",
    ),
    r"add\.(rz)\.f": (
        "float %a, float %b -> float",
        "%aw = fpext float %a to double\n%bw = fpext float %b to double\n%x = fadd double %aw, %bw\n{rounded}",
    ),
}
_ROUNDED = """%f = fptrunc double %x to float
%y = fpext float %f to double
%neg = fcmp olt double %x, 0.0
%more = fcmp ogt double %y, %x
%less = fcmp olt double %y, %x
%away = select i1 %neg, i1 {negative}, i1 %more
%step = select i1 %neg, i32 {step}, i32 -1
%i = bitcast float %f to i32
%j = add i32 %i, %step
%k = select i1 %away, i32 %j, i32 %i
%r = bitcast i32 %k to float"""
# Inline assembly of devices by a distinguishing part of its text. Texts that contain others come first.
_ASSEMBLY = {
    "clo, chi": "mad128",
    "mul.lo.u32": "mul128",
    "sub.cc.u32": "sub128",
    "add.cc.u32": "add128",
    "mad.lo.cc.u32": "mad64",
    "rcp.approx.ftz.f32": "rcp",
    "rsqrt.approx.ftz.f64": "rsqrt",
    "sub.rn.f32": "sub.f32",
    "sub.rn.ftz.f32": "sub.f32",
    "sub.rn.f64": "sub.f64",
    "setp.equ.f64": "equal",
}
_OF_ASSEMBLY = """
define internal { i64, i64 } @halves(i128 %x) alwaysinline {
  %low = trunc i128 %x to i64
  %up = lshr i128 %x, 64
  %high = trunc i128 %up to i64
  %one = insertvalue { i64, i64 } undef, i64 %low, 0
  %r = insertvalue { i64, i64 } %one, i64 %high, 1
  ret { i64, i64 } %r
}
define internal i128 @whole(i64 %low, i64 %high) alwaysinline {
  %l = zext i64 %low to i128
  %h = zext i64 %high to i128
  %s = shl i128 %h, 64
  %r = or i128 %l, %s
  ret i128 %r
}
define internal { i64, i64 } @asm.mad128(i64 %a, i64 %b, i64 %c) alwaysinline {
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %z = zext i64 %c to i128
  %p = mul i128 %x, %y
  %s = add i128 %p, %z
  %r = call { i64, i64 } @halves(i128 %s)
  ret { i64, i64 } %r
}
define internal { i64, i64 } @asm.mul128(i64 %a, i64 %b) alwaysinline {
  %r = call { i64, i64 } @asm.mad128(i64 %a, i64 %b, i64 0)
  ret { i64, i64 } %r
}
define internal { i64, i64 } @asm.add128(i64 %a, i64 %b, i64 %c, i64 %d) alwaysinline {
  %x = call i128 @whole(i64 %a, i64 %b)
  %y = call i128 @whole(i64 %c, i64 %d)
  %s = add i128 %x, %y
  %r = call { i64, i64 } @halves(i128 %s)
  ret { i64, i64 } %r
}
define internal { i64, i64 } @asm.sub128(i64 %a, i64 %b, i64 %c, i64 %d) alwaysinline {
  %x = call i128 @whole(i64 %a, i64 %b)
  %y = call i128 @whole(i64 %c, i64 %d)
  %s = sub i128 %x, %y
  %r = call { i64, i64 } @halves(i128 %s)
  ret { i64, i64 } %r
}
define internal { i32, i32 } @asm.mad64(i32 %a, i32 %b, i32 %c) alwaysinline {
  %x = zext i32 %a to i64
  %y = zext i32 %b to i64
  %z = zext i32 %c to i64
  %p = mul i64 %x, %y
  %s = add i64 %p, %z
  %low = trunc i64 %s to i32
  %up = lshr i64 %s, 32
  %high = trunc i64 %up to i32
  %one = insertvalue { i32, i32 } undef, i32 %low, 0
  %r = insertvalue { i32, i32 } %one, i32 %high, 1
  ret { i32, i32 } %r
}
define internal i64 @wide.shl(i64 %a, i64 %b) alwaysinline {
  %s = shl i64 %a, %b
  %u = icmp ult i64 %b, 64
  %r = select i1 %u, i64 %s, i64 0
  ret i64 %r
}
define internal i64 @wide.lshr(i64 %a, i64 %b) alwaysinline {
  %s = lshr i64 %a, %b
  %u = icmp ult i64 %b, 64
  %r = select i1 %u, i64 %s, i64 0
  ret i64 %r
}
define internal float @asm.rcp(float %a) alwaysinline {
  %r = fdiv float 1.0, %a
  ret float %r
}
define internal double @asm.rsqrt(double %a) alwaysinline {
  %s = call double @llvm.sqrt.f64(double %a)
  %r = fdiv double 1.0, %s
  ret double %r
}
define internal float @asm.sub.f32(float %a, float %b) alwaysinline {
  %r = fsub float %a, %b
  ret float %r
}
define internal double @asm.sub.f64(double %a, double %b) alwaysinline {
  %r = fsub double %a, %b
  ret double %r
}
define internal double @asm.equal(double %a, double %b, double %c, double %d) alwaysinline {
  %e = fcmp ueq double %a, %b
  %r = select i1 %e, double %c, double %d
  ret double %r
}
"""
# The answers of objects/ptx.py for sm_80.
_ANSWERS = {"__CUDA_FTZ": 0, "__CUDA_PREC_SQRT": 1, "__CUDA_ARCH": 800}
_TYPES = {"f": "float", "f32": "float", "d": "double", "f64": "double", "i": "i32", "ll": "i64"}
_SUFFIXES = {"float": "f32", "double": "f64"}
_NAMES = {"ex2": "exp2", "lg2": "log2", "rn": "rint", "rz": "trunc"}


@functools.cache
def libdevice_here() -> bytes:
    """Return libdevice for this machine as bitcode. Its instructions are functions without the prefix `llvm.`."""
    text = str(llvm.parse_bitcode(libdevice_path("a test").read_bytes()))
    for question, answer in _ANSWERS.items():
        asked = re.search(rf'(@[\w.]+) = [^\n]*c"{question}\\00"', text)
        assert asked is not None, f"libdevice does not ask for {question}"
        text = re.sub(rf"call i32 @__nvvm_reflect\(ptr {re.escape(asked[1])}\)[^\n]*", f"add i32 0, {answer}", text)
    for part, name in _ASSEMBLY.items():
        text = re.sub(rf'(call [^@\n]*?) asm "[^"\n]*{re.escape(part)}[^"\n]*", "[^"]*"', rf"\1 @asm.{name}", text)
    # A device's shifts by more than there are bits give 0, LLVM's anything.
    text = re.sub(r"= (shl|lshr) i64 (%[\w.]+), (%[\w.]+)", r"= call i64 @wide.\1(i64 \2, i64 \3)", text)
    text = re.sub(r"^(?:target |declare .*@__nvvm)[^\n]*", "", text, flags=re.MULTILINE)
    called = sorted(set(re.findall(r"@llvm\.nvvm\.([\w.]+)", text)))
    for instruction in called:
        written = _written_out(instruction)
        if written:
            text = re.sub(
                rf"^declare [^\n]*@llvm\.nvvm\.{re.escape(instruction)}\([^\n]*", "", text, flags=re.MULTILINE
            )
            text = text.replace(f"@llvm.nvvm.{instruction}(", f"@nvvm.{instruction}(") + written
    text += _OF_ASSEMBLY + "".join(f"declare double @{name}(double)\n" for name in ("exp2", "log2", "sin", "cos"))
    return bytes(llvm.parse_assembly(text, llvm.create_context()).as_bitcode())


def _written_out(instruction: str) -> str:
    """Return a device instruction as LLVM IR for any CPU, or an empty text for instructions that no test needs."""
    for pattern, (signature, body) in _INSTRUCTIONS.items():
        found = re.fullmatch(pattern, instruction.replace(".ftz", ""))
        if found:
            words = _words(found.groups())
            parameters, result = signature.format(**words).split("->")
            head = f"define internal {result} @nvvm.{instruction}({parameters})"
            return f"{head} alwaysinline {{\n{body.format(**words)}\nret {result} %r\n}}\n"
    return ""


def _words(groups: tuple[str, ...]) -> dict[str, str]:
    """Return the values of {t0}, {s0}, {m0} and so on."""
    words = {}
    for index, group in enumerate(groups):
        words[f"t{index}"] = _TYPES.get(group, group)
        words[f"s{index}"] = _SUFFIXES.get(words[f"t{index}"], "")
        words[f"m{index}"] = _NAMES.get(group, group)
    negative, step = ("%more", "1") if groups[:1] == ("rm",) else ("%less", "-1")
    return {**words, "rounded": _ROUNDED.format(negative=negative, step=step)}


def run_on_cuda(op: str, *arrays: np.ndarray[Any, Any], fast_math: bool = False) -> np.ndarray[Any, Any]:
    """Return the results of an intrinsic on one-dimensional arrays, with the type of the first one."""
    names = {dtype: name for name, dtype in reversed(NUMPY_TYPES.items()) if name != "index"}
    results = np.zeros_like(arrays[0])
    code = compiled(op, names[arrays[0].dtype], len(arrays), fast_math)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 1), ctypes.c_int64)
    given = [np.ascontiguousarray(each) for each in arrays]
    function(code.get_function_address("f"))(*(each.ctypes.data for each in given), results.ctypes.data, results.size)
    return results


@functools.cache
def compiled(op: str, dtype: str, operands: int, fast_math: bool) -> Any:
    """Return an engine with `f(operands, results, count)`."""
    with create_context() as context:
        load_dialects(context, ("gpu", "nvvm", "nvgpu", "llvm", "vector"))
        module = ir.Module.parse(_function(op, dtype, operands))
        LowerIntrinsics(target="cuda", fast_math=fast_math)(module)
        inner = "\n".join(map(str, module.body.operations))
        device = ir.Module.parse(f"gpu.module @kernels {{\n{inner}\n}}")
        rx.Pipeline(DEVICE_PASSES).run(device)
        text = for_older_llvm(to_llvm_ir(device.body.operations[0]))
    context = llvm.create_context()
    code = llvm.parse_assembly(text + _loop(dtype, operands), context)
    code.link_in(llvm.parse_bitcode(libdevice_here(), context))
    for function in code.functions:
        if not function.is_declaration and function.name != "f":
            function.linkage = "internal"
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), opt=2)
    code.triple, code.data_layout = machine.triple, str(machine.target_data)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes.run(code, builder)
    engine = llvm.create_mcjit_compiler(code, machine)
    engine.finalize_object()
    return engine


def _function(op: str, dtype: str, operands: int) -> str:
    types = ", ".join([dtype] * operands)
    arguments = ", ".join(f"%{index}: {dtype}" for index in range(operands))
    values = ", ".join(f"%{index}" for index in range(operands))
    body = f'%r = "{op}"({values}) : ({types}) -> {dtype}'
    return f"func.func @g({arguments}) -> {dtype} {{\n{body}\nreturn %r : {dtype}\n}}"


def _loop(dtype: str, operands: int) -> str:
    """Return f in LLVM IR, which calls g on each element."""
    type_ = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}[dtype]
    pointers = "".join(f"ptr %p{index}, " for index in range(operands))
    loads = "".join(
        f"%a{index} = getelementptr {type_}, ptr %p{index}, i64 %i\n%x{index} = load {type_}, ptr %a{index}\n"
        for index in range(operands)
    )
    values = ", ".join(f"{type_} %x{index}" for index in range(operands))
    return (
        f"\ndefine void @f({pointers}ptr %out, i64 %count) {{\nbr label %loop\nloop:\n"
        f"%i = phi i64 [ 0, %0 ], [ %next, %loop ]\n{loads}%y = call {type_} @g({values})\n"
        f"%to = getelementptr {type_}, ptr %out, i64 %i\nstore {type_} %y, ptr %to\n"
        "%next = add i64 %i, 1\n%more = icmp slt i64 %next, %count\nbr i1 %more, label %loop, label %end\n"
        "end:\nret void\n}\n"
    )
