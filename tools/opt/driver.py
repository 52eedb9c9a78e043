# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-opt: reads and splits the input, runs the pipeline on each part, and writes the output."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Sequence
from typing import TextIO

from ... import targets  # noqa: F401  # importing the package makes its targets known
from ...bindings.diagnostics import Diagnostic, render, reporting, with_file_name
from ...bindings.upstream_passes import upstream_passes
from ...dialects import relax, tir  # noqa: F401  # importing a dialect registers it
from ...dialects.parsing import BYTECODE_MAGIC, decode_source
from ...passes.core.registry import all_passes, find_pass
from ...support.errors import OptionError, RelaxError
from ...support.files import refuse_overwriting, write_whole
from ...support.plugins import load_plugin, load_plugins
from ..common.command_line import Arguments, plugin_warnings, spelling
from ..common.guard import announce
from ..common.verify_diagnostics import DiagnosticVerifier
from .job import Job
from .options import INFORMATION, OPTIONS, parse
from .split_input import SCRIPT_MARKER, SPLIT_MARKER, near_split_markers, split_input

# Options that name output files.
_WRITTEN = ("o", "mlir-pass-pipeline-crash-reproducer", "mlir-generate-reproducer")
# Beginning of a script. MLIR's text has no name directly behind `#`. Comments and empty lines may come first.
_SCRIPT = re.compile(r"(?:[ \t]*(?:#[ !][^\n]*|#)?\r?\n)*(?:from |import |@\w|r?\"{3})")
_PLACE = re.compile(r"(?P<file>.*):(?P<line>\d+):(?P<column>\d+)$")


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool and return the exit code."""
    return Driver(stdin, stdout, stderr).run(argv)


class Driver:
    """One run of the tool on given streams."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO):
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.show_traceback = False
        self.input_name = "-"
        self.shows_operations = True
        self.is_colored = False

    def run(self, argv: Sequence[str]) -> int:
        """Run the tool and return the exit code."""
        self.show_traceback = "--traceback" in argv
        self.is_colored = is_colored(argv, self.stderr)
        try:
            return self._run(argv)
        except RelaxError as error:
            self._print_error(error, {})
            return 1

    def _run(self, argv: Sequence[str]) -> int:
        load_named_plugins(argv)
        arguments = parse(argv, is_pass, lambda: [*all_passes(), *upstream_passes()])
        if (information := _information(arguments)) is not None:
            self._print_output(information.encode())
            self.stderr.write(plugin_warnings("relax-opt"))
            return 0
        self.shows_operations = arguments["mlir-print-op-on-diagnostic"]
        (source,) = arguments.files
        # MLIR takes only UTF-8, but a file's name can be any bytes.
        printable = source.encode("utf-8", "backslashreplace").decode()
        self.input_name = name = "<stdin>" if source == "-" else printable
        read = [each for each in (source, arguments["irdl-file"]) if each is not None]
        refuse_overwriting({spelling(name): arguments[name] for name in _WRITTEN}, read)
        job = Job(arguments, name, self.stderr)
        data = self._read(source)
        if data.startswith(BYTECODE_MAGIC):
            if arguments["verify-diagnostics"]:
                raise OptionError("--verify-diagnostics needs text: bytecode has no comments", location=name)
            return self._process(job, [data], arguments)
        text = decode_source(data, name)
        job.reads_scripts = is_script(source, text)
        marker = _marker(arguments["split-input-file"], job.reads_scripts)
        for line in near_split_markers(text, marker) if marker else ():
            warning = Diagnostic("warning", "near miss with file split marker", name, line, 1)
            self._print_diagnostic(warning, {name: text})
        chunks: list[str | bytes] = [chunk.text for chunk in split_input(text, marker)] if marker else [text]
        return self._process(job, chunks, arguments)

    def _process(self, job: Job, chunks: Sequence[str | bytes], arguments: Arguments) -> int:
        outputs: list[str | bytes] = []
        failed = False
        process = self._verify_chunk if arguments["verify-diagnostics"] else self._run_chunk
        for chunk in chunks:
            good, output = process(job, chunk)
            failed |= not good
            if output is not None:
                outputs.append(output)
        announce("writing the output")
        # A file is written completely or not at all. A stream gets the successful parts, as from mlir-opt.
        if not failed or arguments["o"] == "-":
            marker = _marker(arguments["output-split-marker"], arguments["print-script"])
            self._write(_join(outputs, marker), arguments["o"])
        self.stderr.write(job.reports())
        return 1 if failed else 0

    def _run_chunk(self, job: Job, chunk: str | bytes) -> tuple[bool, str | bytes | None]:
        sources = {job.name: chunk} if isinstance(chunk, str) else {}
        try:
            with reporting(lambda diagnostic: self._print_diagnostic(diagnostic, sources)):
                return True, job.run(chunk)
        except RelaxError as error:
            self._print_error(error, sources)
            return False, None

    def _verify_chunk(self, job: Job, chunk: str | bytes) -> tuple[bool, str | bytes | None]:
        """Run a part and compare its diagnostics, like mlir-opt. Any output is written."""
        assert isinstance(chunk, str)
        output = None
        only_expected = job.arguments["verify-diagnostics"] == "only-expected"
        verifier = DiagnosticVerifier(chunk, job.name, only_expected=only_expected)

        def handle(diagnostic: Diagnostic) -> None:
            line = diagnostic.line or None
            verifier.handle(diagnostic.severity, line, diagnostic.message, column=diagnostic.column)
            for note in diagnostic.notes:
                if not _is_operation_note(note):
                    handle(note)

        try:
            with reporting(handle):
                output = job.run(chunk)
        except RelaxError as error:
            for diagnostic in error.diagnostics or [as_diagnostic(error)]:
                handle(diagnostic)
        problems = verifier.finish()
        for problem in problems:
            self.stderr.write(problem.rstrip("\n") + "\n")
        return not problems, output

    def _read(self, path: str) -> bytes:
        announce(f"reading {path}")
        try:
            if path == "-":
                return self.stdin.buffer.read()
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise OptionError(f"cannot open input file '{path}': {error.strerror}") from None

    def _write(self, output: str | bytes, path: str) -> None:
        data = output.encode("utf-8", "surrogateescape") if isinstance(output, str) else output
        if path == "-":
            self._print_output(data)
        else:
            write_whole(path, data)

    def _print_output(self, data: bytes) -> None:
        try:
            self.stdout.flush()
            self.stdout.buffer.write(data)
            self.stdout.buffer.flush()
        except BrokenPipeError:
            pass  # `| head`: the reader has enough output
        except OSError as error:
            raise OptionError(f"cannot write to standard output: {error.strerror}") from None

    def _print_diagnostic(self, diagnostic: Diagnostic, sources: dict[str, str]) -> None:
        if not self.shows_operations:
            kept = tuple(note for note in diagnostic.notes if not _is_operation_note(note))
            diagnostic = diagnostic._replace(notes=kept)
        shown = render(with_file_name(diagnostic, self.input_name), sources, colored=self.is_colored)
        self.stderr.write(shown + "\n")

    def _print_error(self, error: RelaxError, sources: dict[str, str]) -> None:
        for diagnostic in error.diagnostics or [as_diagnostic(error)]:
            self._print_diagnostic(diagnostic, sources)
        # Notes of a diagnostic are shown with it. Without diagnostics, all notes belong to the one created above.
        shown = {note.message for each in error.diagnostics for note in each.notes}
        notes = [note for note in error.notes if note not in shown] if error.diagnostics else []
        for note in notes:
            self.stderr.write(render(Diagnostic("note", note, "relax-opt"), {}, colored=self.is_colored) + "\n")
        if self.show_traceback:
            self.stderr.write("".join(traceback.format_exception(error)))


def _is_operation_note(note: Diagnostic) -> bool:
    """Check whether a note prints an operation."""
    return note.message.startswith("see current operation")


def is_colored(argv: Sequence[str], stream: TextIO) -> bool:
    """Return the last value of --color, also for command-line errors, or else whether a terminal wants colors."""
    for argument in reversed(argv):
        if argument.lstrip("-").partition("=")[0] == "color" and argument.startswith("-"):
            return argument.partition("=")[2] in ("", "true", "1")
    return stream.isatty() and not os.environ.get("NO_COLOR")


def load_named_plugins(argv: Sequence[str]) -> None:
    """Load the plug-ins of the command line first, because other options may name their passes."""
    for position, argument in enumerate(argv):
        name, equals, value = argument.lstrip("-").partition("=")
        if name == "load-plugin" and argument.startswith("-"):
            value = value if equals else argv[position + 1] if position + 1 < len(argv) else ""
            for module in filter(None, value.split(",")):
                load_plugin(module)


def is_pass(name: str) -> bool:
    return name in upstream_passes() or find_pass(name) is not None


def _information(arguments: Arguments) -> str | None:
    """Return the text of --help and similar options, or None if there is work to do."""
    if not any(arguments[name] not in (None, False) for name in INFORMATION):
        return None
    from . import listing
    from .information import information

    if arguments["help"]:
        return listing.help_text()
    if arguments["help-list"]:
        return listing.help_list()
    asked = information(arguments, "relax-opt", (), OPTIONS, has_mlir=True, has_passes=True)
    if asked is not None:
        return asked
    name = next(name for name in listing.TEXTS if arguments[name] not in (None, False))
    if name in ("explain-op", "dump-irdl", "show-dialects", "list-ops"):
        load_plugins("dialect")
    return listing.TEXTS[name](arguments[name])


def as_diagnostic(error: RelaxError) -> Diagnostic:
    match = _PLACE.match(error.location)
    file = match["file"] if match else error.location or "relax-opt"
    line, column = (int(match["line"]), int(match["column"])) if match else (0, 0)
    notes = tuple(Diagnostic("note", note, file) for note in error.notes)
    return Diagnostic("error", error.message, file, line, column, notes=notes)


def is_script(path: str, text: str) -> bool:
    """Check for a script by the file's name, or by the beginning of standard input."""
    return path.endswith(".py") or path == "-" and _SCRIPT.match(text) is not None


def _marker(marker: str | None, in_script: bool) -> str:
    """Return the comment line between parts, empty if there are none."""
    return SCRIPT_MARKER if in_script and marker == SPLIT_MARKER else marker or ""


def _join(outputs: Sequence[str | bytes], marker: str) -> str | bytes:
    if any(isinstance(output, bytes) for output in outputs):
        return b"".join(output for output in outputs if isinstance(output, bytes))
    texts = [output for output in outputs if isinstance(output, str)]
    return f"{marker}\n".join(text if text.endswith("\n") or not text else text + "\n" for text in texts)
