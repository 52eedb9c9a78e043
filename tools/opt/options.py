# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-opt's options. mlir-opt's names where mlir-opt has one."""

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
    "o": Option("text", _GENERAL, "where the output goes: a file, which is written whole or not at all, or standard output ('-', the default)", "file", "-"),
    "pass-pipeline": Option("text", _GENERAL, "the passes to run, as builtin.module(a{opt=1},func.func(b,c)); passes without nesting may be flags instead: --a=opt=1", "pipeline"),
    "split-input-file": Option("text", _GENERAL, f"cut the input behind each line that ends in the marker (where none is given {SPLIT_MARKER}, in a script {SCRIPT_MARKER}) and process each part by itself; an error in one does not stop the others", "marker", bare=SPLIT_MARKER),
    "output-split-marker": Option("text", _GENERAL, f"the line between the outputs of the parts; {SPLIT_MARKER} is the default, {SCRIPT_MARKER} between scripts", "marker", SPLIT_MARKER),
    "verify-diagnostics": Option("text", _GENERAL, "for tests: succeed if the input's comments, as '// expected-error {{text}}', in a script '# expected-error {{text}}', announce all that is reported, and all that they announce is reported; with only-expected, others may be reported too", "all|only-expected", choices=("all", "only-expected"), bare="all"),
    "verify-each": Option("flag", _GENERAL, "do not check after each pass that the IR is valid: faster, and a pass that breaks it is found later or never", default=True),
    "verify-roundtrip": Option("flag", _GENERAL, "fail if the input, printed as text or written as bytecode, is not read back as the same IR; with --print-script also if its script is not read back as the same script", default=False),
    "allow-unregistered-dialect": Option("flag", _GENERAL, "accept operations, types and attributes of undefined dialects; nothing checks them", default=False),
    "no-implicit-module": Option("flag", _GENERAL, "run the passes on the input's one outermost operation as it is; without this option all that is not a module is put into one", default=False),
    "irdl-file": Option("text", _GENERAL, "before the input is read, define the dialects that this file describes in IRDL", "file"),
    "irdl-names": Option("flag", _GENERAL, "for tools that know this project's dialects by --dump-irdl: read and write relax.nn.x as relax.nn_x, which is how IRDL can spell it", default=False),
    "load-plugin": plugin_option(_GENERAL, "passes, dialects and targets"),
    "mlir-disable-threading": Option("flag", _GENERAL, "changes nothing, for scripts that pass it to mlir-opt: nothing runs in threads here", default=False),
    "print-script": Option("flag", _PRINT, "print TVMScript instead of MLIR's syntax, here and wherever the IR is shown: relax-opt reads it back as the same operations, from a file called *.py or from standard input", default=False),
    "emit-bytecode": Option("flag", _PRINT, "write MLIR's binary form instead of text", default=False),
    "emit-bytecode-version": Option("number", _PRINT, "write an older version of the binary form, for older tools; the newest is the default", "version"),
    "mlir-print-op-generic": Option("flag", _PRINT, "print each operation as \"name\"(operands) {attributes} : types, even if it has a syntax of its own", default=False),
    "mlir-print-debuginfo": Option("flag", _PRINT, "print behind each operation where it comes from: loc(\"file\":line:column)", default=False),
    "mlir-pretty-debuginfo": Option("flag", _PRINT, "the same in a shorter form, which cannot be read back", default=False),
    "mlir-print-local-scope": Option("flag", _PRINT, "print types, attributes and locations where they are used, not as aliases (#map, #loc1) around the IR", default=False),
    "mlir-print-unique-ssa-ids": Option("flag", _PRINT, "give no two values the same name, not even in different functions", default=False),
    "mlir-print-value-users": Option("flag", _PRINT, "print behind each operation which operations use its results, and before each block who uses its arguments; what uses one and has no result is named by a number, behind it as id", default=False),
    "mlir-print-skip-regions": Option("flag", _PRINT, "print of operations with regions ... in place of what is inside", default=False),
    "mlir-use-nameloc-as-prefix": Option("flag", _PRINT, "name values as their locations do, loc(\"name\"): %name in place of %0", default=False),
    "color": Option("flag", _PRINT, "color errors, warnings and carets; without it a terminal gets colors, unless NO_COLOR is set, and a file none", default=None),
    "mlir-print-op-on-diagnostic": Option("flag", _PRINT, "leave out the note 'see current operation' that MLIR adds to errors about operations", default=True),
    "mlir-elide-elementsattrs-if-larger": Option("number", _PRINT, "print __elided__ for constants with more than n elements; the output cannot be read back; a script leaves out those of more than a line, whatever n is", "n"),
    "mlir-elide-resource-strings-if-larger": Option("number", _PRINT, "leave out the data of resources that take more than n characters as text; a script's whatever n is", "n"),
    "mlir-print-ir-before": Option("names", _WATCH, "print the IR, to standard error, before each run of these passes (separated by commas)", "pass"),
    "mlir-print-ir-after": Option("names", _WATCH, "print the IR after each run of these passes", "pass"),
    "mlir-print-ir-before-all": Option("flag", _WATCH, "print the IR before every pass", default=False),
    "mlir-print-ir-after-all": Option("flag", _WATCH, "print the IR after every pass", default=False),
    "mlir-print-ir-after-change": Option("flag", _WATCH, "print the IR after passes that have changed it, and not after the others", default=False),
    "mlir-print-ir-after-failure": Option("flag", _WATCH, "print the IR that a failing pass leaves behind, in generic form", default=False),
    "mlir-print-ir-module-scope": Option("flag", _WATCH, "print all of the module, even if the pass runs on a function in it", default=False),
    "mlir-print-ir-tree-dir": Option("text", _WATCH, "write what the options above print to files in this folder: a folder for each operation that passes run on, builtin_module_m/func_func_f/0_1_cse.mlir, or .py with --print-script", "folder"),
    "mlir-timing": Option("flag", _WATCH, "print, to standard error, how long parsing, each pass, and printing took", default=False),
    "mlir-pass-statistics": Option("flag", _WATCH, "print what each pass did: on how many operations it ran, which operations are more or fewer behind it, and how often each pattern written in Python was applied; what upstream's passes count themselves is compiled out of MLIR's wheel", default=False),
    "mlir-pass-statistics-display": Option("text", _WATCH, "list the statistics by the passes' names (list), or in the order in which passes first ran, under what they ran on (pipeline, the default)", "list|pipeline", "pipeline", ("list", "pipeline")),
    "dump-pass-pipeline": Option("flag", _WATCH, "print the passes that will run as a pipeline, with what is nested and which options are not the defaults", default=False),
    "mlir-pass-pipeline-crash-reproducer": Option("text", _WATCH, "if a pass fails or crashes, write the IR from before the passes, with the pipeline, to this file", "file"),
    "mlir-generate-reproducer": Option("text", _WATCH, "write the same file in any case", "file"),
    "mlir-pass-pipeline-local-reproducer": Option("flag", _WATCH, "with --mlir-pass-pipeline-crash-reproducer: run the passes one after the other, so that the file holds the IR from before the one that failed, and that one alone", default=False),
    "debug-only": Option("text", _WATCH, "refused, with the reason: MLIR's wheel has no debug output", "type"),
    "debug": Option("flag", _WATCH, "the same", default=False),
    "run-reproducer": Option("flag", _WATCH, "run the pipeline in the input, which one of these two options has written", default=False),
    "list-passes": Option("flag", _LIST, "list all passes with a line on each: this project's, installed plug-ins', upstream's", default=False),
    "show-dialects": Option("flag", _LIST, "list the dialects that the input may use", default=False),
    "list-ops": Option("flag", _LIST, "list the operators of the dialects written in Python, with a line on each", default=False),
    "explain-op": Option("text", _LIST, "tell all that is known of an operator, of a dialect written in Python or of ONNX: arguments, what passes know of it, where its inference, gradient and rules are written", "operator"),
    "list-legalizations": Option("text", _LIST, "list which operator has a rule that lowers it, for which target, written where; with a target, the rule that it tries first", "target", bare=""),
    "list-intrinsics": Option("text", _LIST, "the same for scalar functions inside of kernels, as tir.exp", "target", bare=""),
    "list-schedules": Option("text", _LIST, "list for which operators, structures (@) and patterns there is a schedule, for which target, written where; with a target in the order in which they are tried", "target", bare=""),
    "list-primitives": Option("flag", _LIST, "list the steps of rx.Schedule, and the intrinsics that tensorize takes", default=False),
    "dump-irdl": Option("text", _LIST, "print a dialect written in Python as IRDL, for --irdl-file of mlir-opt", "dialect"),
    "help-list": Option("flag", _LIST, "list all options and passes in one alphabet, without groups", default=False),
    **COMMON_OPTIONS,
}  # fmt: skip

#: Options that ask for what the tool knows, not for work.
INFORMATION = tuple(name for name, option in OPTIONS.items() if option.group == _LIST and name != "traceback")

_NAMING_PASSES = ("mlir-print-ir-before", "mlir-print-ir-after")
_PRINTING_IR = (*_NAMING_PASSES, *(f"mlir-print-ir-{when}" for when in ("before-all", "after-all", "after-change", "after-failure")))  # fmt: skip


#: Options of other tools that are looked for here: tools/opt imports no other tool.
_ELSEWHERE = {
    **dict.fromkeys("bind check donate emit observe partition precision report target".split(), "relax-compile"),
    **dict.fromkeys("benchmark compare each input profile random threads".split(), "relax-run"),
}


def tool_with(name: str) -> str:
    """Return the tool that has an option which relax-opt lacks, such as --emit; an empty text if none is known."""
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


#: Of ways of printing that exclude each other: which of them can say who uses a value.
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
