# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Job of relax-opt: one part of the input through parser, pipeline and printer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, TextIO, TypeVar

from ... import Callback, Instrument, Module, Pipeline, PrintIR, Timing
from ...bindings.context import new_context
from ...bindings.ir import Context, Operation
from ...bindings.mlir import print_asm
from ...bindings.pass_manager import required_anchor
from ...bindings.pipeline_text import outermost_anchor
from ...dialects.parsing import decode_source, define_dialects, parse_module
from ...passes.core.registry import find_pass
from ...support.errors import RelaxError
from ...support.files import write_whole
from ..common.command_line import Arguments
from ..common.guard import announce, limited
from .reproducer import kept_on_failure, reproducer_pipeline, reproducer_text, without_reproducer

if TYPE_CHECKING:
    from ...passes.core.statistics import Statistics

_T = TypeVar("_T")

_PATIENCE_S = 20


class Job:
    """The tool's arguments, applied to one module after the other."""

    def __init__(self, arguments: Arguments, name: str, stderr: TextIO):
        self.arguments = arguments
        self.name = name
        self.stderr = stderr
        #: True if sources are TVMScript.
        self.reads_scripts = False
        self._timing = Timing() if arguments["mlir-timing"] else None
        self._statistics: Statistics | None = None
        if arguments["mlir-pass-statistics"]:
            from ...passes.core.statistics import Statistics  # imported here because statistics are rare

            self._statistics = Statistics()
        self._irdl = _read_irdl(arguments["irdl-file"]) if arguments["irdl-file"] is not None else None
        # Created before any input is read, so that a misspelt pass is reported at once, and only once.
        waits = arguments["run-reproducer"] or arguments["no-implicit-module"]
        self._pipeline = None if waits else self._make_pipeline()

    def run(self, source: str | bytes) -> str | bytes:
        """Return the output for one source. Raise RelaxError."""
        arguments = self.arguments
        announce(f"parsing {self.name}")
        module = self._time("Parser", lambda: self._parse(source))
        pipeline = self._pipeline or self._pipeline_for(module, source)
        if arguments["dump-pass-pipeline"]:
            self.stderr.write(f"Pass Manager with passes:\n{pipeline}\n")
        if arguments["verify-roundtrip"]:
            check_roundtrip(module, self._read)
            if arguments["print-script"]:
                check_script(module, self._read_script)
        self._run_pipeline(module, pipeline)
        announce("printing the output")
        return self._time("Output", lambda: self._print(module))

    def reports(self) -> str:
        """Return the reports of --mlir-timing and --mlir-pass-statistics, or an empty text."""
        timing = self._timing.report() if self._timing is not None else ""
        by_pass = self.arguments["mlir-pass-statistics-display"] == "list"
        return timing + (self._statistics.report(by_pass=by_pass) if self._statistics is not None else "")

    def _time(self, name: str, work: Callable[[], _T]) -> _T:
        start = time.perf_counter()
        result = work()
        if self._timing is not None:
            self._timing.add(name, time.perf_counter() - start)
        return result

    def _parse(self, source: str | bytes) -> Module:
        if self.arguments["no-implicit-module"] and isinstance(source, bytes):
            raise RelaxError("--no-implicit-module needs text: MLIR reads bytecode into a module", location=self.name)
        if self.arguments["run-reproducer"] and isinstance(source, str):
            source = without_reproducer(source)
        if self.arguments["irdl-names"] and isinstance(source, str) and not self.reads_scripts:
            from .irdl_names import from_irdl

            source = from_irdl(source)
        # Malformed bytecode can make MLIR's reader loop forever. The limit grows with the file.
        limit = limited(_PATIENCE_S + len(source) / 10_000) if isinstance(source, bytes) else nullcontext()
        with limit:
            if self.reads_scripts and isinstance(source, str):
                return self._read_script(source, self.name)
            return self._read(source, self.name)

    def _read(self, source: str | bytes, name: str) -> Module:
        """Parse a source with the tool's options."""
        arguments = self.arguments
        parsed = parse_module(
            source,
            name,
            allow_unregistered=arguments["allow-unregistered-dialect"],
            implicit_module=not arguments["no-implicit-module"],
            prepare=self._define_dialects,
        )
        return Module(parsed)

    def _read_script(self, source: str, name: str) -> Module:
        from . import scripts  # imported here because scripts are rare

        allow_unregistered = self.arguments["allow-unregistered-dialect"]
        return scripts.read(source, name, self._define_dialects, allow_unregistered=allow_unregistered)

    def _define_dialects(self, context: Context) -> None:
        if self._irdl is not None:
            define_dialects(context, self._irdl, self.arguments["irdl-file"])

    def _make_pipeline(self) -> Pipeline:
        arguments = self.arguments
        passes = arguments["pass-pipeline"] or [self._anchor(text) for text in arguments.passes]
        return self._watch(passes, arguments["verify-each"])

    def _pipeline_for(self, module: Module, source: str | bytes) -> Pipeline:
        """Return the pipeline of a reproducer, or a pipeline for the input's outermost operation."""
        arguments = self.arguments
        passes: str | Sequence[str] = arguments["pass-pipeline"] or arguments.passes
        verify_each: bool = arguments["verify-each"]
        if arguments["run-reproducer"]:
            if isinstance(source, bytes):
                raise RelaxError("--run-reproducer needs text", location=self.name)
            passes, verify_each = reproducer_pipeline(source, self.name)
        name = module.operation.name
        anchor = outermost_anchor(passes) if isinstance(passes, str) else None
        # In a module the anchor is a nested group. Any other outermost operation must match the anchor itself.
        if name != "builtin.module" and anchor not in (None, "any", name):
            raise RelaxError(f"the pipeline runs on {anchor}, and the input is a {name} (--no-implicit-module)")
        return self._watch(passes, verify_each, name)

    def _watch(self, passes: str | Sequence[str], verify_each: bool, anchor: str = "builtin.module") -> Pipeline:
        watching = [*self._printers(), *self._checks(), *filter(None, (self._timing, self._statistics))]
        announcing = Callback(before=lambda name, op: announce(f"running pass {name} on {op.name}"))
        instruments = [*watching, announcing] if watching else []
        return Pipeline(passes, anchor=anchor, instruments=instruments, verify_each=verify_each)

    @staticmethod
    def _anchor(text: str) -> str:
        """Nest a pass given as a flag under its anchor, such as func.func."""
        own = find_pass(text.partition("{")[0])
        anchor = own.anchor if own is not None else required_anchor(text, new_context())
        return text if anchor in ("any", "builtin.module") else f"{anchor}({text})"

    def _checks(self) -> list[Instrument]:
        if not self.arguments["check-numerics"]:
            return []
        from .numerics_check import CheckNumerics  # imported here because the option is rare

        return [CheckNumerics()]

    def _printers(self) -> list[Instrument]:
        arguments = self.arguments
        before: bool | Sequence[str] = arguments["mlir-print-ir-before-all"] or arguments["mlir-print-ir-before"] or ()
        after: bool | Sequence[str] = arguments["mlir-print-ir-after-all"] or arguments["mlir-print-ir-after"] or ()
        if arguments["mlir-print-ir-after-change"] and not after:
            after = True
        if not before and not after and not arguments["mlir-print-ir-after-failure"]:
            return []
        return [
            PrintIR(
                self.stderr,
                before=before,
                after=after,
                only_changes=arguments["mlir-print-ir-after-change"],
                after_failure=arguments["mlir-print-ir-after-failure"],
                module_scope=arguments["mlir-print-ir-module-scope"],
                show=self._show,
                shows_scripts=arguments["print-script"],
                folder=arguments["mlir-print-ir-tree-dir"],
            )
        ]

    def _show(self, op: Operation) -> str:
        if self.arguments["print-script"]:
            from .scripts import script_of

            limits = "mlir-elide-elementsattrs-if-larger", "mlir-elide-resource-strings-if-larger"
            return script_of(op, elide=any(self.arguments[name] is not None for name in limits))
        if self.arguments["mlir-print-value-users"]:
            from . import value_users  # imported here because the option is rare

            return value_users.print_asm(op, **self._print_options())
        if self.arguments["mlir-print-unique-ssa-ids"]:
            from ...bindings import unique_names  # imported here because the option is rare

            return unique_names.print_asm(op, **self._print_options())
        return str(print_asm(op, **self._print_options()))

    def _print_options(self) -> dict[str, object]:
        arguments = self.arguments
        pretty = arguments["mlir-pretty-debuginfo"]
        return {
            "print_generic_op_form": arguments["mlir-print-op-generic"],
            "enable_debug_info": arguments["mlir-print-debuginfo"] or pretty,
            "pretty_debug_info": pretty,
            "use_local_scope": arguments["mlir-print-local-scope"],
            "use_name_loc_as_prefix": arguments["mlir-use-nameloc-as-prefix"],
            "skip_regions": arguments["mlir-print-skip-regions"],
            "large_elements_limit": arguments["mlir-elide-elementsattrs-if-larger"],
            "large_resource_limit": arguments["mlir-elide-resource-strings-if-larger"],
            "assume_verified": True,
        }

    def _run_pipeline(self, module: Module, pipeline: Pipeline) -> None:
        always, on_failure = (
            self.arguments["mlir-generate-reproducer"],
            self.arguments["mlir-pass-pipeline-crash-reproducer"],
        )
        announce(f"running {pipeline}")
        if not always and not on_failure:
            pipeline.run(module, all_or_nothing=False)
            return
        if always:
            write_whole(always, _reproducer(module, pipeline))
        if not on_failure:
            pipeline.run(module, all_or_nothing=False)
            return
        is_local = self.arguments["mlir-pass-pipeline-local-reproducer"]
        for pass_ in pipeline.single_passes() if is_local else [pipeline]:
            with kept_on_failure(on_failure, _reproducer(module, pass_)):
                pass_.run(module, all_or_nothing=False)

    def _print(self, module: Module) -> str | bytes:
        arguments = self.arguments
        if arguments["emit-bytecode"]:
            return module.bytecode(arguments["emit-bytecode-version"])
        if arguments["irdl-names"]:
            from .irdl_names import add_run_sizes, to_irdl

            add_run_sizes(module.operation)
        text = self._show(module.operation).rstrip("\n") + "\n"
        return to_irdl(text) if arguments["irdl-names"] and not arguments["print-script"] else text


def _reproducer(module: Module, pipeline: Pipeline) -> bytes:
    return reproducer_text(str(module), str(pipeline), pipeline.verify_each).encode("utf-8", "surrogateescape")


def _read_irdl(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return decode_source(file.read(), path)
    except OSError as error:
        raise RelaxError(f"--irdl-file: cannot open '{path}': {error.strerror}") from None


def check_roundtrip(module: Module, read: Callable[[str | bytes, str], Module]) -> None:
    """Raise RelaxError if text or bytecode is not read back as the same IR."""
    text = module.print(generic=True, debug_info=True)
    sources: dict[str, str | bytes] = {"text": text}
    if module.operation.name == "builtin.module":  # bytecode is read into a module
        sources["bytecode"] = module.bytecode()
    for what, data in sources.items():
        again = read(data, what)
        if again.print(generic=True, debug_info=True) != text:
            raise RelaxError(f"the module does not survive a round trip through {what}")


def check_script(module: Module, read: Callable[[str, str], Module]) -> None:
    """Raise RelaxError if a script is not read back as the same script, with each constant once."""
    text = module.script()
    if read(text, "script").script() != text:
        raise RelaxError("the module does not survive a round trip through a script")
