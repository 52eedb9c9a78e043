# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX of a gpu.module in the dialects llvm and nvvm, compiled by llvmlite's LLVM."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ....bindings.execution import to_llvm_ir
from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import callee_of, operations_in, operations_named, operations_of, symbol_name
from ....dialects.core.ir_attributes import BY_VALUE
from ....dialects.verification import verify_ir
from ....support.errors import RefusalError, RelaxError
from ....support.once import once
from ...core import llvmlite
from ...core.code_options import check_opt_level
from ...core.llvm_ir_text import for_older_llvm
from ...core.llvmlite import load_llvmlite, optimize, parse_llvm_ir
from .arch import Arch, find_arch
from .wheels import INSTALL, libdevice_path

if TYPE_CHECKING:
    from ....support.disk_cache import DiskCache

TRIPLE = "nvptx64-nvidia-cuda"
#: Version of LLVM that defines the architecture names in arch.py.
LLVM_VERSION = "22"
#: Without any passes, unused linked functions would stay. Without the code generator's passes, registers would be
#: copied at the back edges of loops. Pending wgmma products may still write to these registers.
_LEAST_LEVEL = 1
_LIBDEVICE = "__nv_"
_OF_LIBDEVICE = re.compile(rf"\b{_LIBDEVICE}\w+")
#: Kind of cache entry.
_KIND = "ptx"
_KERNEL = "nvvm.kernel"
#: Alignment of by-value parameters that are more than a number.
_VALUE_ALIGNMENT = 64
_LEAST_BLOCKS, _SHARED_POINTER = "nvvm.minctasm", "!llvm.ptr<3>"
_DIALECTS = ("llvm.", "nvvm.")
_CAST = "builtin.unrealized_conversion_cast"
# Functions that every device has without linking.
_OF_DEVICES = frozenset({"vprintf", "__assertfail"})


def make_ptx(gpu_module: Operation, arch: str, opt_level: int, cache: DiskCache | None = None) -> str:
    """Return the PTX of a module for an architecture and newer ones. Kernels keep their names, and the PTX is cached.

    The output is deterministic. Raises RelaxError for other dialects, unknown functions or an unknown architecture, and
    if llvmlite or libdevice is missing.
    """
    chosen = find_arch(arch)
    check_opt_level(opt_level)
    level = max(opt_level, _LEAST_LEVEL)
    llvm = load_llvmlite("PTX", LLVM_VERSION, INSTALL)
    check_device_code(gpu_module)
    _ask_for_registers(gpu_module)
    _pass_by_value(gpu_module)
    machine, context = _machine(llvm, chosen, level), llvm.create_context()
    # This layout determines the alignment of loads. In MLIR's default layout i64 is aligned to 4 bytes.
    gpu_module.attributes["llvm.data_layout"] = ir.StringAttr.get(str(machine.target_data), gpu_module.context)
    text = for_older_llvm(to_llvm_ir(gpu_module))
    key = "" if cache is None else _key(llvm, text, chosen, level)
    if cache is not None and (kept := cache.get(_KIND, key)) is not None:
        return kept.decode()
    # The module is not left to the garbage collector, which may free the context first.
    with closing(parse_llvm_ir(llvm, text, context)) as code:
        _link(llvm, code, machine, context)
        optimize(llvm, code, machine, level)
        _check_defined(code, gpu_module)
        made = str(machine.emit_assembly(code))
    if cache is not None:
        cache.put(_KIND, key, made.encode())
    return made


def kernel_names(gpu_module: Operation) -> list[str]:
    """Return the names of a module's kernels, in order."""
    functions = operations_of(gpu_module.regions[0].blocks[0])
    return [symbol_name(function) for function in functions if _KERNEL in function.attributes]


def check_device_code(gpu_module: Operation) -> None:
    """Raise RelaxError for a module without kernels, and for operations that the translation would crash on."""
    if gpu_module.name != "gpu.module":
        raise RefusalError(f"PTX requires a gpu.module, got '{gpu_module.name}'", location=str(gpu_module.location))
    foreign = [op for op in operations_in(gpu_module) if not op.name.startswith(_DIALECTS) and op.name != "gpu.module"]
    # Casts are reported last, because they surround the operations that caused them.
    for op in sorted(foreign, key=lambda op: op.name == _CAST):
        text = f"operation '{op.name}' is not in the dialects llvm or nvvm, so it cannot be compiled to PTX"
        raise RefusalError(text, location=str(op.location))
    for op in operations_in(gpu_module):
        _check_stored(op)
    verify_ir(gpu_module, "the gpu.module is invalid, so it cannot be compiled to PTX")
    if not kernel_names(gpu_module):
        raise RefusalError(f"gpu.module '{symbol_name(gpu_module)}' has no kernel: there is nothing to compile")


def _key(llvm: ModuleType, text: str, arch: Arch, opt_level: int) -> str:
    """Return a hash of all inputs of the PTX."""
    used = _OF_LIBDEVICE.search(text)
    makers = _makers(libdevice_path(used[0]) if used else None)
    parts = [list(llvm.llvm_version_info), arch.name, arch.features, opt_level, makers]
    hashed = hashlib.blake2b(json.dumps(parts).encode(), digest_size=20)
    hashed.update(text.encode())
    return hashed.hexdigest()


@functools.cache
def _makers(libdevice: Path | None) -> str:
    """Return a hash of the files that turn LLVM IR into PTX."""
    files = [Path(__file__), Path(str(llvmlite.__file__)), *([libdevice] if libdevice else [])]
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=20).hexdigest()


@once
def _prepare(llvm: ModuleType) -> None:
    """Initialize LLVM once, because it rejects an option that is set twice."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # libdevice asks whether square roots are rounded correctly; the default is 0. It also asks whether subnormal
    # numbers are flushed to 0 (__CUDA_FTZ), which may stay unset.
    llvm.set_option("relax-mlir", "-nvvm-reflect-add=__CUDA_PREC_SQRT=1")


def _ask_for_registers(gpu_module: Operation) -> None:
    """Request one resident block per multiprocessor for kernels with shared memory.

    Otherwise NVIDIA's assembler limits the registers of a thread to fit one more block, and spills the rest. The plans
    of these kernels count on the registers, and one block is enough for them.
    """
    for kernel in operations_of(gpu_module.regions[0].blocks[0]):
        if _KERNEL in kernel.attributes and any(_is_shared_memory(op) for op in operations_in(kernel)):
            kernel.attributes[_LEAST_BLOCKS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, kernel.context), 1)


def _pass_by_value(gpu_module: Operation) -> None:
    """Mark parameters that launches pass by value (gpu.by_value).

    Kernels receive their address and do not write there.
    """
    i64 = ir.IntegerType.get_signless(64, gpu_module.context)
    for kernel in operations_of(gpu_module.regions[0].blocks[0]):
        if BY_VALUE not in kernel.attributes:
            continue
        with gpu_module.context:
            attributes = [
                {
                    "llvm.byval": ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{bytes_} x i8>")),
                    "llvm.align": ir.IntegerAttr.get(i64, _VALUE_ALIGNMENT),
                    "nvvm.grid_constant": ir.UnitAttr.get(),
                }
                if bytes_
                else {}
                for bytes_ in kernel.attributes[BY_VALUE]
            ]
            kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(attribute) for attribute in attributes])


def _is_shared_memory(op: Operation) -> bool:
    return op.name == "llvm.mlir.addressof" and str(op.results[0].type) == _SHARED_POINTER


def _check_stored(op: Operation) -> None:
    """Raise RelaxError for vectors of elements below a byte in memory, on which LLVM ends the process."""
    if op.name not in ("llvm.load", "llvm.store"):
        return
    type_ = op.results[0].type if op.name == "llvm.load" else op.operands[0].type
    element = type_.element_type if isinstance(type_, ir.VectorType) else None
    if isinstance(element, ir.IntegerType) and element.width % 8:
        text = f"a {type_} in memory: elements of less than a byte are stored as bytes on GPUs"
        raise RefusalError(text, location=str(op.location))


def _machine(llvm: ModuleType, arch: Arch, level: int) -> Any:
    _prepare(llvm)
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=arch.name, features=arch.features, opt=level)


def _link(llvm: ModuleType, code: Any, machine: Any, context: Any) -> None:
    """Link the used functions of libdevice, with internal linkage."""
    _set_machine(code, machine)
    used = sorted(each.name for each in code.functions if each.is_declaration and each.name.startswith(_LIBDEVICE))
    if not used:
        return
    own = {each.name for each in code.functions}
    library = llvm.parse_bitcode(libdevice_path(used[0]).read_bytes(), context)
    _set_machine(library, machine)
    code.link_in(library)
    for function in code.functions:
        if not function.is_declaration and (function.name not in own or function.name in used):
            function.linkage = "internal"
    # Removes most of libdevice, which optimizations would process in vain.
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(code, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


def _set_machine(code: Any, machine: Any) -> None:
    code.triple = TRIPLE
    code.data_layout = str(machine.target_data)


def _check_defined(code: Any, gpu_module: Operation) -> None:
    for function in code.functions:
        name = function.name
        if function.is_declaration and not name.startswith("llvm.") and name not in _OF_DEVICES:
            raise _make_undefined_error(name, gpu_module)


def _make_undefined_error(name: str, gpu_module: Operation) -> RelaxError:
    named = [op for op in operations_named(gpu_module, "llvm.call") if "callee" in op.attributes]
    calls = [op for op in named if callee_of(op) == name]
    place = str((calls[0] if calls else gpu_module).location)
    whose = "NVIDIA's libdevice has no such function" if name.startswith(_LIBDEVICE) else "no GPU has such a function"
    return RefusalError(f"a kernel calls '{name}', which is not defined: {whose}", location=place)
