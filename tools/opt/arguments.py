# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-opt's options as a table, and the command line against it. mlir-opt's names where mlir-opt has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...bindings.errors import RelaxError
from ...bindings.suggest import suggest


class Option(NamedTuple):
    """`kind`: "flag" (true or false), "text", "number", "list" (may be given several times, commas separate)."""

    kind: str
    group: str
    help: str
    value: str = "value"
    default: Any = None
    #: What the option means without a value, where the value may be left out.
    bare: Any = None


_GENERAL, _PRINT, _WATCH, _LIST = "General", "Printing", "Watching passes", "Information"

OPTIONS: dict[str, Option] = {
    "o": Option("text", _GENERAL, "write to this file ('-': standard output)", "file", "-"),
    "pass-pipeline": Option("text", _GENERAL, "the passes to run: builtin.module(a{opt=1},func.func(b))", "pipeline"),
    "split-input-file": Option("text", _GENERAL, "process the parts between marker lines on their own", "marker", bare="// -----"),
    "output-split-marker": Option("text", _GENERAL, "the line between the parts of the output", "marker", "// -----"),
    "verify-diagnostics": Option("text", _GENERAL, "check errors against expected-error comments", "all|only-expected", bare="all"),
    "verify-each": Option("flag", _GENERAL, "verify the IR after each pass", default=True),
    "verify-roundtrip": Option("flag", _GENERAL, "check that text and bytecode read back to the same IR", default=False),
    "allow-unregistered-dialect": Option("flag", _GENERAL, "accept operations of unknown dialects", default=False),
    "load-plugin": Option("list", _GENERAL, "import this Python module or file first: it registers passes, dialects, ...", "module"),
    "irdl-names": Option("flag", _GENERAL, "read and write relax.nn.x as relax.nn_x, as --dump-irdl spells it", default=False),
    "mlir-disable-threading": Option("flag", _GENERAL, "accepted for mlir-opt's sake: nothing runs in threads", default=False),
    "traceback": Option("flag", _GENERAL, "print Python's traceback with an internal error", default=False),
    "print-script": Option("flag", _PRINT, "print in a compact TVMScript-like form, for people", default=False),
    "emit-bytecode": Option("flag", _PRINT, "write MLIR bytecode instead of text", default=False),
    "emit-bytecode-version": Option("number", _PRINT, "the version of bytecode to write", "version"),
    "mlir-print-op-generic": Option("flag", _PRINT, "print operations in generic form", default=False),
    "mlir-print-debuginfo": Option("flag", _PRINT, "print locations", default=False),
    "mlir-pretty-debuginfo": Option("flag", _PRINT, "print locations for people", default=False),
    "mlir-print-local-scope": Option("flag", _PRINT, "print without aliases", default=False),
    "mlir-elide-elementsattrs-if-larger": Option("number", _PRINT, "leave out constants with more elements", "n"),
    "mlir-elide-resource-strings-if-larger": Option("number", _PRINT, "leave out resources with more characters", "n"),
    "mlir-print-ir-before": Option("list", _WATCH, "print the IR before these passes", "pass"),
    "mlir-print-ir-after": Option("list", _WATCH, "print the IR after these passes", "pass"),
    "mlir-print-ir-before-all": Option("flag", _WATCH, "print the IR before each pass", default=False),
    "mlir-print-ir-after-all": Option("flag", _WATCH, "print the IR after each pass", default=False),
    "mlir-print-ir-after-change": Option("flag", _WATCH, "with -after: only when the pass changed it", default=False),
    "mlir-print-ir-after-failure": Option("flag", _WATCH, "print the IR after a pass that failed", default=False),
    "mlir-print-ir-module-scope": Option("flag", _WATCH, "print the whole module around", default=False),
    "mlir-timing": Option("flag", _WATCH, "print how long each pass took", default=False),
    "dump-pass-pipeline": Option("flag", _WATCH, "print the pipeline that will run", default=False),
    "mlir-pass-pipeline-crash-reproducer": Option("text", _WATCH, "on failure, write IR and pipeline to this file", "file"),
    "mlir-generate-reproducer": Option("text", _WATCH, "write IR and pipeline to this file in any case", "file"),
    "run-reproducer": Option("flag", _WATCH, "run the pipeline that the input file holds", default=False),
    "list-passes": Option("flag", _LIST, "list the passes, this project's and upstream's", default=False),
    "show-dialects": Option("flag", _LIST, "list the dialects", default=False),
    "list-ops": Option("flag", _LIST, "list the operators of the dialects defined in Python", default=False),
    "list-legalizations": Option("text", _LIST, "list the legalization rules, or those that a target tries first", "target", bare=""),
    "list-intrinsics": Option("text", _LIST, "the same for intrinsics' rules", "target", bare=""),
    "dump-irdl": Option("text", _LIST, "print a dialect in IRDL, for upstream's --irdl-file", "dialect"),
    "version": Option("flag", _LIST, "print the versions", default=False),
    "help": Option("flag", _LIST, "print this help", default=False),
}  # fmt: skip


_NAMING_PASSES = ("mlir-print-ir-before", "mlir-print-ir-after")
_LARGEST_NUMBER = 2**31 - 1


class Arguments:
    """A parsed command line: `values[name]` for every option, the input file, the passes named as flags."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
        self.input = "-"
        self.passes: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def parse_arguments(
    argv: Sequence[str], is_pass: Callable[[str], bool], pass_names: Callable[[], list[str]]
) -> Arguments:
    """Raises RelaxError that names the argument at fault. Options may be written with one or two dashes."""
    parsed = Arguments()
    inputs: list[str] = []
    rest = list(argv)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            inputs += rest
            break
        if argument == "-" or not argument.startswith("-"):
            inputs.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        option = OPTIONS.get(name)
        if option is not None:
            parsed.values[name] = _value(name, option, value if equals else None, rest, parsed.values[name])
        elif is_pass(name):
            # The wheel's own tools take a pass's options as the flag's value.
            parsed.passes.append(f"{name}{{{value}}}" if value else name)
        else:
            hint = suggest(name, [*OPTIONS, *pass_names()])
            raise RelaxError(f"unknown option '{argument}'{hint} (--help lists them)")
    if len(inputs) > 1:
        raise RelaxError(f"one input file at a time, got {', '.join(inputs)}")
    parsed.input = inputs[0] if inputs else "-"
    for name in _NAMING_PASSES:
        for unknown in [given for given in parsed[name] or () if not is_pass(given)]:
            raise RelaxError(f"option --{name}: unknown pass '{unknown}'{suggest(unknown, pass_names())}")
    _check_together(parsed)
    return parsed


def _value(name: str, option: Option, value: str | None, rest: list[str], previous: Any) -> Any:
    if option.kind == "flag":
        if value not in (None, "true", "false", "1", "0"):
            raise RelaxError(f"option --{name} expects true or false, got '{value}'")
        return value in (None, "true", "1")
    if value is None and option.bare is not None:
        return option.bare
    if value is None:
        if not rest:
            raise RelaxError(f"option --{name} needs a value: --{name}=<{option.value}>")
        value = rest.pop(0)
    if option.kind == "number":
        if not value.isdecimal() or len(value) > 10 or int(value) > _LARGEST_NUMBER:
            raise RelaxError(f"option --{name} expects a number from 0 to {_LARGEST_NUMBER}, got '{value}'")
        return int(value)
    if option.kind == "list":
        return [*(previous or ()), *filter(None, value.split(","))]
    return value


def _check_together(parsed: Arguments) -> None:
    if parsed.passes and parsed["pass-pipeline"] is not None:
        raise RelaxError("--pass-pipeline cannot be used together with single passes; put them into the pipeline")
    if parsed["run-reproducer"] and (parsed.passes or parsed["pass-pipeline"] is not None):
        raise RelaxError("--run-reproducer takes the pipeline from the input file; give no other")
    if parsed["verify-diagnostics"] not in (None, "all", "only-expected"):
        given = parsed["verify-diagnostics"]
        raise RelaxError(f"option --verify-diagnostics expects all or only-expected, got '{given}'")
    if parsed["print-script"] and parsed["emit-bytecode"]:
        raise RelaxError("--print-script and --emit-bytecode exclude each other")
