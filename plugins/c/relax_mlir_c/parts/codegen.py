# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `c`: lowers all operators with PrimFuncs to C, and compiles the C to objects by the system's compiler."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from relax_mlir.bindings.ir import Attribute
from relax_mlir.bindings.navigation import symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import all_ops
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.passes.core.pipeline import Pipeline
from relax_mlir.passes.graph.partition.codegen import Codegen, ObjectCode, PatternRow, register_codegen
from relax_mlir.passes.graph.partition.options import CodegenOption
from relax_mlir.passes.patterns.matched import Match
from relax_mlir.passes.patterns.operator_patterns import is_op
from relax_mlir.runtime.cpu import cpu_identity
from relax_mlir.support.c_compiler import USUAL_FLAGS, compile_objects, compiler_version, find_compiler
from relax_mlir.targets.core.code import find_backend, stages_of
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.default.legalize_decompositions import WITHOUT_LOOPS, needs_lapack

from .constants import lift_constants

_DIALECT = "relax"
#: Files besides the sources, for users who compile by hand.
_FOR_PEOPLE = ("main.c", "Makefile")
#: Constants become parameters between these stages: after constant folding, before the first kernels.
_LAST_OF_GRAPHS, _FIRST_OF_KERNELS = "fold", "legalize"


def can_write(match: Match) -> bool | str:
    """Return True if results can be allocated before the call, else the reason why not."""
    for result in match.root.results:
        if not isinstance(info := decode(result.type), TensorInfo):
            return "a result is not a tensor"
        if info.shape is None or None in info.shape:
            return "the sizes of a result are known at run time only"
    return "LAPACK computes it" if needs_lapack(call_of(match.op().definition, match.root)) else True


def _patterns() -> list[PatternRow]:
    """Return a pattern for each pure operator. Operators with a role, such as calls and shape checks, have none."""
    rows = [row for row in all_ops() if row.dialect.name == _DIALECT and row.pure and not row.role]
    rows = [row for row in rows if row.full_name not in WITHOUT_LOOPS]
    return [PatternRow(f"c.{row.name}", is_op(row.full_name), can_write) for row in rows]


@register_codegen("c")
class CCodegen(Codegen):
    """Codegen that compiles parts to native objects through C."""

    patterns = _patterns()
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "cc": CodegenOption("command of the compiler; by default $CC, else cc"),
        "flags": CodegenOption(f"flags of the compiler, instead of {' '.join(USUAL_FLAGS)}", shlex.split, USUAL_FLAGS),
    }

    def compile(self, module: object, options: Mapping[str, Any]) -> Callable[[], ObjectCode]:
        """Return a function that compiles each file of the part to an object.

        Raise RelaxError without a compiler. The returned function raises RelaxError with the compiler's message.
        """
        command = find_compiler(options["cc"])
        files, constants = part_sources(module)
        return lambda: ObjectCode(tuple(compile_objects(files, command, options["flags"])), constants)

    def fingerprint(self, options: Mapping[str, Any]) -> str:
        """Return the compiler's version and the identity of the CPU that it compiles for."""
        return f"{compiler_version(find_compiler(options['cc']))}\n{cpu_identity()}"


def part_sources(module: Any) -> tuple[dict[str, str], dict[str, list[Attribute]]]:
    """Return the C sources of a part by file name, and the large constants that each function receives.

    The function lowers the module in place. Symbols contain the part's name, because a program links several parts.
    """
    owner = module.owner
    part = symbol_name(owner.operation) or "part"
    name = re.sub(r"\W", "_", part, flags=re.ASCII)
    target = parse_target(f"c{{name=part_{name} memory=heap constants=text ffi={part}}}")
    Pipeline("relax-inline{include-composites=true}").run(owner)
    stages = stages_of(str(target))
    stages.until(_LAST_OF_GRAPHS).run(owner, target.name)
    constants = {name: lift_constants(function) for name, function in Codegen.functions(module).items()}
    stages.between(start=_FIRST_OF_KERNELS).run(owner, target.name)
    files = find_backend(target.name).sources(owner, target, "")
    texts = {file: text for file, text in files.items() if isinstance(text, str) and file not in _FOR_PEOPLE}
    return texts, constants
