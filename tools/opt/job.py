# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One part of the input through parser, pipeline and printer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TextIO

from ... import Callback, Instrument, Module, Pipeline, PrintIR, Timing
from ...bindings.context import new_context
from ...bindings.errors import RelaxError
from ...bindings.pass_manager import required_anchor
from ...passes.core.registry import find_pass
from .arguments import Arguments
from .guard import announce
from .reproducer import reproducer_pipeline, reproducer_text


class Job:
    """The tool's arguments applied to one module after the other."""

    def __init__(self, arguments: Arguments, name: str, stderr: TextIO):
        self.arguments = arguments
        self.name = name
        self.stderr = stderr

    def run(self, source: str | bytes) -> str | bytes:
        """The output for one source. Raises RelaxError."""
        arguments = self.arguments
        timing = Timing() if arguments["mlir-timing"] else None
        pipeline = self._pipeline(source, timing)
        if arguments["dump-pass-pipeline"]:
            self.stderr.write(f"Pass Manager with passes:\n{pipeline}\n")
        announce(f"parsing {self.name}")
        module = self._timed("Parser", timing, lambda: self._parse(source))
        if arguments["verify-roundtrip"]:
            check_roundtrip(module, arguments["allow-unregistered-dialect"])
        self._run_pipeline(module, pipeline)
        announce("printing the output")
        output = self._timed("Output", timing, lambda: self._print(module))
        if timing is not None:
            self.stderr.write(timing.report())
        return output

    @staticmethod
    def _timed(name: str, timing: Timing | None, work: Any) -> Any:
        start = time.perf_counter()
        result = work()
        if timing is not None:
            timing.add(name, time.perf_counter() - start)
        return result

    def _parse(self, source: str | bytes) -> Module:
        if self.arguments["irdl-names"] and isinstance(source, str):
            from .irdl_names import from_irdl

            source = from_irdl(source)
        return Module.parse(source, self.name, allow_unregistered=self.arguments["allow-unregistered-dialect"])

    def _pipeline(self, source: str | bytes, timing: Timing | None) -> Pipeline:
        arguments = self.arguments
        verify_each = arguments["verify-each"]
        passes: str | Sequence[str] = arguments["pass-pipeline"] or [self._anchored(text) for text in arguments.passes]
        if arguments["run-reproducer"]:
            if isinstance(source, bytes):
                raise RelaxError("--run-reproducer needs text", location=self.name)
            passes, verify_each = reproducer_pipeline(source, self.name)
        instruments = [*self._printers(), *([timing] if timing else []), Callback(before=_announce_pass)]
        watched = any(not isinstance(instrument, Callback) for instrument in instruments)
        return Pipeline(passes, instruments=instruments if watched else [], verify_each=verify_each)

    @staticmethod
    def _anchored(text: str) -> str:
        """A pass given as a flag runs wherever it belongs: on functions for a pass on functions."""
        own = find_pass(text.partition("{")[0])
        anchor = own.anchor if own is not None else required_anchor(text, new_context())
        return text if anchor in ("any", "builtin.module") else f"{anchor}({text})"

    def _printers(self) -> list[Instrument]:
        arguments = self.arguments
        before: Any = arguments["mlir-print-ir-before-all"] or arguments["mlir-print-ir-before"] or ()
        after: Any = arguments["mlir-print-ir-after-all"] or arguments["mlir-print-ir-after"] or ()
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
                show=lambda op: op.get_asm(**self._print_options()),
            )
        ]

    def _print_options(self) -> dict[str, Any]:
        arguments = self.arguments
        pretty = arguments["mlir-pretty-debuginfo"]
        return {
            "print_generic_op_form": arguments["mlir-print-op-generic"],
            "enable_debug_info": arguments["mlir-print-debuginfo"] or pretty,
            "pretty_debug_info": pretty,
            "use_local_scope": arguments["mlir-print-local-scope"],
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
            pipeline.run(module)
            return
        # Written before the run, because a crash leaves nobody to write it afterwards.
        from .driver import write_whole

        text = reproducer_text(str(module), str(pipeline), pipeline.verify_each).encode()
        for path in filter(None, (always, on_failure)):
            write_whole(path, text)
        try:
            pipeline.run(module)
        except RelaxError:
            if on_failure:
                self.stderr.write(f"relax-opt: note: a reproducer was written to {on_failure}\n")
            raise
        if on_failure and on_failure != always:
            import os

            os.unlink(on_failure)

    def _print(self, module: Module) -> str | bytes:
        arguments = self.arguments
        if arguments["emit-bytecode"]:
            return module.bytecode(arguments["emit-bytecode-version"])
        if arguments["print-script"]:
            from ...dialects.script import print_script

            return print_script(module.operation)
        if not arguments["irdl-names"]:
            return str(module.operation.get_asm(**self._print_options())).rstrip("\n") + "\n"
        from .irdl_names import add_run_sizes, to_irdl

        add_run_sizes(module.operation)
        return to_irdl(str(module.operation.get_asm(**self._print_options())).rstrip("\n") + "\n")


def _announce_pass(name: str, op: Any) -> None:
    announce(f"running pass {name} on {op.name}")


def check_roundtrip(module: Module, allow_unregistered: bool) -> None:
    """Raises RelaxError when text or bytecode does not read back to the same IR."""
    text = module.print(generic=True, debug_info=True)
    for what, data in (("text", text), ("bytecode", module.bytecode())):
        again = Module.parse(data, what, allow_unregistered=allow_unregistered)
        if again.print(generic=True, debug_info=True) != text:
            raise RelaxError(f"the module does not survive a round trip through {what}")
