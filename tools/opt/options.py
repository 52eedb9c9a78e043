# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-opt, with mlir-opt's names where mlir-opt has the option."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...support.errors import OptionError
from ...support.suggest import suggest
from ..common.command_line import (
    COMMON_OPTIONS,
    Arguments,
    Option,
    parse_arguments,
    plugin_option,
    refuse_together,
    spelling,
)
from .split_input import SCRIPT_MARKER, SPLIT_MARKER

_GENERAL, _PRINT, _WATCH, _LIST = "General", "Printing", "Watching passes", "Information"

OPTIONS: dict[str, Option] = {
    "o": Option("text", _GENERAL, "output: a file, written whole or not at all, or standard output ('-', the default)", "file", "-"),
    "pass-pipeline": Option("text", _GENERAL, "passes to run, as builtin.module(a{opt=1},func.func(b,c)); passes without nesting can be flags instead: --a=opt=1", "pipeline"),
    "split-input-file": Option("text", _GENERAL, f"split the input after each line that ends in the marker ({SPLIT_MARKER} by default, {SCRIPT_MARKER} in a script) and process each part separately; an error in one part does not stop the others", "marker", bare=SPLIT_MARKER),
    "output-split-marker": Option("text", _GENERAL, f"line between the outputs of the parts; {SPLIT_MARKER} is the default, {SCRIPT_MARKER} between scripts", "marker", SPLIT_MARKER),
    "verify-diagnostics": Option("text", _GENERAL, "for tests: succeed if the input's comments, as '// expected-error {{text}}', in a script '# expected-error {{text}}', match all reported diagnostics, and each comment is matched; with only-expected, further diagnostics are accepted", "all|only-expected", choices=("all", "only-expected"), bare="all"),
    "verify-each": Option("flag", _GENERAL, "do not verify the IR after each pass: faster, but a pass that breaks the IR is found later or never", default=True),
    "verify-roundtrip": Option("flag", _GENERAL, "fail if the input, printed as text or written as bytecode, is not read back as the same IR; with --print-script also if its script is not read back as the same script", default=False),
    "allow-unregistered-dialect": Option("flag", _GENERAL, "accept operations, types and attributes of undefined dialects; nothing checks them", default=False),
    "no-implicit-module": Option("flag", _GENERAL, "run the passes on the input's only outermost operation; without this option, an input that is no module is wrapped in one", default=False),
    "irdl-file": Option("text", _GENERAL, "before the input is read, define the dialects that this file describes in IRDL", "file"),
    "irdl-names": Option("flag", _GENERAL, "for tools that know this project's dialects by --dump-irdl: read and write relax.nn.x as relax.nn_x, the spelling that IRDL allows", default=False),
    "load-plugin": plugin_option(_GENERAL, "passes, dialects and targets"),
    "mlir-disable-threading": Option("flag", _GENERAL, "no effect, accepted for scripts written for mlir-opt: relax-opt uses no threads", default=False),
    "print-script": Option("flag", _PRINT, "print all IR as TVMScript instead of MLIR's syntax; relax-opt reads TVMScript from *.py files and from standard input", default=False),
    "emit-bytecode": Option("flag", _PRINT, "write MLIR's binary form instead of text", default=False),
    "emit-bytecode-version": Option("number", _PRINT, "write an older version of the binary form, for older tools; the newest is the default", "version"),
    "mlir-print-op-generic": Option("flag", _PRINT, "print each operation as \"name\"(operands) {attributes} : types, even if it has a custom syntax", default=False),
    "mlir-print-debuginfo": Option("flag", _PRINT, "print the location behind each operation: loc(\"file\":line:column)", default=False),
    "mlir-pretty-debuginfo": Option("flag", _PRINT, "print locations in a shorter form, which cannot be read back", default=False),
    "mlir-print-local-scope": Option("flag", _PRINT, "print types, attributes and locations in place, not as aliases (#map, #loc1)", default=False),
    "mlir-print-unique-ssa-ids": Option("flag", _PRINT, "give all values different names, even across functions", default=False),
    "mlir-print-value-users": Option("flag", _PRINT, "print the users of results behind each operation, and of arguments before each block; users without results have numbers, printed behind them as id", default=False),
    "mlir-print-skip-regions": Option("flag", _PRINT, "print ... in place of the contents of regions", default=False),
    "mlir-use-nameloc-as-prefix": Option("flag", _PRINT, "name values as their locations do, loc(\"name\"): %name in place of %0", default=False),
    "color": Option("flag", _PRINT, "color errors, warnings and carets; without it a terminal gets colors, unless NO_COLOR is set, and a file none", default=None),
    "mlir-print-op-on-diagnostic": Option("flag", _PRINT, "leave out the note 'see current operation' that MLIR adds to errors about operations", default=True),
    "mlir-elide-elementsattrs-if-larger": Option("number", _PRINT, "print __elided__ for constants with more than n elements; the output cannot be read back; a script leaves out constants of more than a line for any n", "n"),
    "mlir-elide-resource-strings-if-larger": Option("number", _PRINT, "leave out the data of resources that take more than n characters as text; a script leaves out all of them", "n"),
    "mlir-print-ir-before": Option("names", _WATCH, "print the IR, to standard error, before each run of these passes (separated by commas)", "pass"),
    "mlir-print-ir-after": Option("names", _WATCH, "print the IR after each run of these passes", "pass"),
    "mlir-print-ir-before-all": Option("flag", _WATCH, "print the IR before every pass", default=False),
    "mlir-print-ir-after-all": Option("flag", _WATCH, "print the IR after every pass", default=False),
    "mlir-print-ir-after-change": Option("flag", _WATCH, "print the IR after each pass that changed it", default=False),
    "mlir-print-ir-after-failure": Option("flag", _WATCH, "print the IR after a failing pass, in generic form", default=False),
    "mlir-print-ir-module-scope": Option("flag", _WATCH, "print the whole module, even for passes on functions", default=False),
    "mlir-print-ir-tree-dir": Option("text", _WATCH, "write what the options above print to files in this folder: a folder for each operation that passes run on, builtin_module_m/func_func_f/0_1_cse.mlir, or .py with --print-script", "folder"),
    "check-numerics": Option("flag", _WATCH, "from llvm-order-reductions on, check after each pass that floating-point results do not depend on the machine, like tir-check-numerics: orders of sums, fast-math flags, calls of the C library", default=False),
    "mlir-timing": Option("flag", _WATCH, "print the times of parsing, passes and printing to standard error", default=False),
    "mlir-pass-statistics": Option("flag", _WATCH, "print statistics of each pass: the number of anchor operations, the change in the number of each operation, and the applications of each pattern in Python; MLIR's wheel lacks the statistics of upstream's passes", default=False),
    "mlir-pass-statistics-display": Option("text", _WATCH, "order of the statistics: by pass name (list), or by pipeline and nesting (pipeline, the default)", "list|pipeline", "pipeline", ("list", "pipeline")),
    "dump-pass-pipeline": Option("flag", _WATCH, "print the passes that will run as a pipeline, with nesting and non-default options", default=False),
    "mlir-pass-pipeline-crash-reproducer": Option("text", _WATCH, "if a pass fails or crashes, write the IR from before the passes, with the pipeline, to this file", "file"),
    "mlir-generate-reproducer": Option("text", _WATCH, "write the reproducer also if no pass fails", "file"),
    "mlir-pass-pipeline-local-reproducer": Option("flag", _WATCH, "with --mlir-pass-pipeline-crash-reproducer: write the IR before the failing pass, and only this pass", default=False),
    "debug-only": Option("text", _WATCH, "refused, with the reason: MLIR's wheel has no debug output", "type"),
    "debug": Option("flag", _WATCH, "the same", default=False),
    "run-reproducer": Option("flag", _WATCH, "run the pipeline in a reproducer that these options wrote", default=False),
    "list-passes": Option("flag", _LIST, "list all passes with a line on each: this project's, installed plug-ins', upstream's", default=False),
    "show-dialects": Option("flag", _LIST, "list the dialects that the input may use", default=False),
    "list-ops": Option("flag", _LIST, "list the operators of the dialects written in Python, with a line on each", default=False),
    "explain-op": Option("text", _LIST, "describe an operator of ONNX or of a dialect written in Python: arguments, properties that passes use, and the locations of its inference, gradient and rules", "operator"),
    "list-legalizations": Option("text", _LIST, "list the legalization rules: operator, target and source location; with a target, its first rule for each operator", "target", bare=""),
    "list-intrinsics": Option("text", _LIST, "list the rules of intrinsics in kernels, such as tir.exp", "target", bare=""),
    "list-schedules": Option("text", _LIST, "list the schedule rules of operators, structures (@) and patterns: target and source location; with a target, in the order of trial", "target", bare=""),
    "list-primitives": Option("flag", _LIST, "list the steps of rx.Schedule, and the intrinsics that tensorize takes", default=False),
    "dump-irdl": Option("text", _LIST, "print a dialect written in Python as IRDL, for --irdl-file of mlir-opt", "dialect"),
    "help-list": Option("flag", _LIST, "list all options and passes in one alphabet, without groups", default=False),
    **COMMON_OPTIONS,
}  # fmt: skip

#: Options that only print information.
INFORMATION = tuple(name for name, option in OPTIONS.items() if option.group == _LIST and name != "traceback")

_NAMING_PASSES = ("mlir-print-ir-before", "mlir-print-ir-after")
_PRINTING_IR = (*_NAMING_PASSES, *(f"mlir-print-ir-{when}" for when in ("before-all", "after-all", "after-change", "after-failure")))  # fmt: skip


#: Options of other tools that are looked for here: tools/opt imports no other tool.
_ELSEWHERE = {
    **dict.fromkeys(
        "bind check donate emit numerics observe partition precision report target".split(), "relax-compile"
    ),
    **dict.fromkeys("benchmark compare each input profile random threads".split(), "relax-run"),
}


def tool_with(name: str) -> str:
    """Return the tool that has an option which relax-opt lacks, such as --emit, or an empty text."""
    return _ELSEWHERE.get(name, "")


def parse(argv: Sequence[str], is_pass: Callable[[str], bool], pass_names: Callable[[], list[str]]) -> Arguments:
    """Raises RelaxError that names the argument at fault."""
    parsed = parse_arguments(argv, OPTIONS, is_pass=is_pass, pass_names=pass_names, tool_with=tool_with)
    if len(parsed.files) > 1:
        raise OptionError(f"one input file at a time, got {', '.join(parsed.files)}")
    parsed.files = parsed.files or ["-"]
    for name in _NAMING_PASSES:
        for unknown in [given for given in parsed[name] or () if not is_pass(given)]:
            raise OptionError(f"option --{name}: unknown pass '{unknown}'{suggest(unknown, pass_names())}")
    _check_together(parsed)
    return parsed


#: Print options that cannot show the users of values.
_PLAIN_ONLY = (
    "print-script", "emit-bytecode", "mlir-print-debuginfo", "mlir-pretty-debuginfo", "mlir-print-unique-ssa-ids",
    "mlir-print-skip-regions",
)  # fmt: skip


def _check_together(parsed: Arguments) -> None:
    if parsed["debug"] or parsed["debug-only"] is not None:
        name = "debug" if parsed["debug"] else "debug-only"
        raise OptionError(
            f"--{name}: MLIR's wheel is built without debug output (LLVM_DEBUG is compiled out of release builds)",
            notes=["--mlir-print-ir-after-change, --mlir-pass-statistics and --mlir-timing show what passes do"],
        )
    if parsed["mlir-pass-pipeline-local-reproducer"] and parsed["mlir-pass-pipeline-crash-reproducer"] is None:
        raise OptionError("--mlir-pass-pipeline-local-reproducer needs --mlir-pass-pipeline-crash-reproducer=<file>")
    for other in _PLAIN_ONLY:
        refuse_together(parsed, "mlir-print-value-users", other)
    for name in ("mlir-print-skip-regions", "mlir-use-nameloc-as-prefix"):
        if parsed[name] and (parsed["print-script"] or parsed["emit-bytecode"]):
            raise OptionError(f"--{name} is for MLIR's syntax")
    refuse_together(parsed, "mlir-print-unique-ssa-ids", "mlir-use-nameloc-as-prefix")
    if parsed.passes and parsed["pass-pipeline"] is not None:
        raise OptionError("--pass-pipeline cannot be used together with single passes; put them into the pipeline")
    if parsed["run-reproducer"] and (parsed.passes or parsed["pass-pipeline"] is not None):
        raise OptionError("--run-reproducer takes the pipeline from the input file; give no other")
    refuse_together(parsed, "print-script", "emit-bytecode")
    if parsed["mlir-print-unique-ssa-ids"] and parsed["print-script"]:
        raise OptionError("--print-script has names of its own: --mlir-print-unique-ssa-ids is for MLIR's syntax")
    if parsed["mlir-print-ir-tree-dir"] is not None and not any(parsed[name] for name in _PRINTING_IR):
        which = ", ".join(map(spelling, _PRINTING_IR))
        raise OptionError(f"--mlir-print-ir-tree-dir says where to print, not when: give one of {which} too")
