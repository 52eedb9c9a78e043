# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-compile: imports, lowers stage by stage, generates code, and writes one file atomically."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from ... import Module, __version__
from ...bindings.diagnostics import Diagnostic, PassWarning, reporting
from ...bindings.navigation import functions_in, operations_in
from ...compilation.device_targets import target_of_machine
from ...compilation.options import CompileOptions
from ...compilation.program_cache import CachedProgram, cached_program
from ...compilation.steps import check, fit, lower_in_place, lowered_for_code, working
from ...dialects.core.elements import print_short
from ...frontends.front_end import front_end_named
from ...passes.core.options import quoted, split_list
from ...passes.core.pipeline import Pipeline
from ...passes.core.stages import Stages
from ...runtime.artifact import Artifact, artifact_bytes, write_artifact
from ...runtime.signing import SUFFIX, private_key, sign
from ...support.disk_cache import DiskCache
from ...support.errors import OptionError, RefusalError, RelaxError
from ...support.files import is_special, refuse_overwriting, refuse_unwritable, write_all, write_whole
from ...support.plugins import load_plugin
from ...support.registry import names_of
from ...targets.core.code import build, find_backend, stages_of
from ...targets.core.code_options import CodeOptions
from ..common.command_line import (
    Arguments,
    make_folder,
    model_shape,
    parse_shapes,
    plugin_warnings,
    terminal_width,
    write_text,
)
from ..common.guard import tell_long_stages
from ..common.models import MODULE, ONNX, TORCH, kind_of, read_model, trusted
from ..opt.information import shows_information
from ..opt.listing import made_by
from .lists import LISTS
from .model_programs import ModelProgram
from .options import HELP_HEAD, INPUT, OPTIONS, SOURCE, STAGE
from .progress import KernelProgress, Progress
from .reporting import Recording

if TYPE_CHECKING:
    from ...frontends.core.limits import Limits
    from ...frontends.onnx.inputs import InputShape
    from ...passes.graph.relax_partition import Partition

# Constants with more elements, or longer text, are elided in files for inspection.
_SHOWN_ELEMENTS = 256
# Stage that moves large constants out of the code.
_CONSTANTS = "constants"
# Minimum size of a model in bytes for which kernel processes start while the model is read.
_LARGE_MODEL = 100_000


class CompileDriver:
    """Single run of the tool on these streams."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr

    def run(self, arguments: Arguments, cache: DiskCache | None = None, program: ModelProgram | None = None) -> int:
        """Run the tool and return the exit code. Results are cached, also as `program` if given. Raise RelaxError."""
        try:
            return self._run(arguments, cache, program)
        except RelaxError as error:
            # MLIR uses the name "-" for text without a file.
            if error.location.startswith("-:"):
                name = "<stdin>" if arguments.files[0] == "-" else arguments.files[0]
                error.location = name + error.location[1:]
            raise

    def _run(self, arguments: Arguments, cache: DiskCache | None, program: ModelProgram | None) -> int:
        if shows_information(arguments, self.stdout, "relax-compile", HELP_HEAD, OPTIONS, has_mlir=True):
            return 0
        for name in arguments["load-plugin"] or ():
            load_plugin(name)
        for option, text in LISTS.items():
            if arguments[option]:
                write_text(self.stdout, text(arguments[option]))
                self.stderr.write(plugin_warnings("relax-compile"))
                return 0
        source = arguments.files[0]
        if arguments["check"]:
            return self._check(source, arguments)
        progress = Progress(self.stderr, verbose=arguments["v"])
        if arguments["v"]:
            tell_long_stages()
        compilation = Compilation(arguments, self, progress, cache, program)
        compilation.run(source)
        if program is not None and not compilation.has_warned:
            program.keep(compilation.files, None if compilation.place is None else compilation.place.key)
        if arguments["v"]:
            progress.tell("machine", find_backend(compilation.target.name).machine(compilation.target).summary)
            progress.finish()
        note = cache.new_note() if cache is not None else ""
        if note:
            self.stderr.write(f"relax-compile: note: {note}\n")
        return 0

    def _check(self, source: str, arguments: Arguments) -> int:
        """List the nodes of a model that cannot be imported, and return the exit code."""
        kind, shapes = kind_of(source), parse_shapes(arguments["shape"], model_shape)
        options: dict[str, Any] = dict(trusted(kind, arguments["trust"]))
        if kind == MODULE:
            raise OptionError("--check is for models: what a module holds needs no import")
        if kind == ONNX:
            options = {"shapes": shapes, "limits": _limits(arguments)}
        else:
            _refuse_shapes(kind, shapes)
        front_end = front_end_named(kind)
        with front_end.guarded():
            if (problems_of := front_end.load().problems_of) is None:
                raise OptionError(f"--check: the front end '{kind}' does not list what it cannot import")
            problems = problems_of(source, **options)
        table = (
            problems.table(terminal_width(self.stdout)) if problems.found else f"{source}: all nodes can be imported"
        )
        write_text(self.stdout, f"{table}\n")
        return 1 if problems.found else 0


class Compilation:
    """Compilation from an input file to an output file."""

    def __init__(
        self,
        arguments: Arguments,
        driver: CompileDriver,
        progress: Progress,
        cache: DiskCache | None = None,
        program: ModelProgram | None = None,
    ) -> None:
        """Prepare the compilation. `program` is the cache location of a plain model's program."""
        self.arguments, self.driver, self.progress = arguments, driver, progress
        self.emit: str = arguments["emit"]
        #: Data files of the model.
        self.files: list[str] = []
        #: True if the compilation has issued warnings, which a repeated compilation must issue again.
        self.has_warned = False
        self._program = program
        #: Location of the program in the cache, if any.
        self.place: CachedProgram | None = None
        # Created before reading the model, so that a misspelt target is reported at once.
        self._recording = Recording(arguments)
        self.options = _options(arguments, cache, self._recording)
        self.target = self.options.chosen
        self.code_options = replace(
            self.options.code(), instruments=(KernelProgress(progress),), one_object=self.emit == "obj"
        )
        # The stages of a measured placement depend on the module.
        emit = "relax" if self.options.is_measured else self.emit
        self.stages: Stages = _stages_for(emit, self.options, arguments)
        self._shapes = parse_shapes(arguments["shape"], model_shape)
        self._saved = 0

    def run(self, source: str) -> None:
        self._prepare_output(source)
        self._prepare_processes(source)
        with working(self.options, self.code_options), warnings.catch_warnings():
            warnings.simplefilter("ignore", PassWarning)  # the table lists the declined parts
            artifact = self._run(source)
        self._tell_partition()
        self._tell_schedules()
        if artifact is not None and self._recording.page is not None:
            with self.progress.step("report"):
                self._recording.page.write(self._recording.journal, artifact, source)

    def _tell_warning(self, diagnostic: Diagnostic) -> None:
        self.has_warned = True
        self.driver.stderr.write(f"relax-compile: warning: {diagnostic.place}: {diagnostic.message}\n")

    def _tell_partition(self) -> None:
        if self.arguments["partition"]:
            from ...passes.graph.partition.table import explanation, partition_table

            facts = self._recording.journal.facts
            explained = explanation(facts) if self.arguments["explain-partition"] else ""
            self.driver.stderr.write(partition_table(facts) + explained)

    def _tell_schedules(self) -> None:
        if self.arguments["explain-schedules"]:
            from ...passes.kernels.schedule.explanation import explain

            self.driver.stderr.write(explain(self._recording.journal.facts))

    def _run(self, source: str) -> Artifact | None:
        """Run the compilation. Return the program if one was written."""
        self.progress.count = len(self.stages.stages) + (4 if self.emit in ("asm", "obj", "artifact") else 3)
        self.progress.count += self._recording.page is not None
        with self.progress.step("import"):
            module = self._import(source)
            self._divide(module)
        if self.options.is_measured:
            self._use_placement(module)
        # Plug-ins may change anything: their programs are keyed by the files of the model and the plug-ins only.
        if self._program is not None and not self.arguments["load-plugin"]:
            self.place = cached_program(module.owner, self.options, self.code_options)
        if self._program is not None and self.place is not None:
            is_unchanged = partial(self._program.is_unchanged, self.files)
            with reporting(self._tell_warning):
                return self._written(self.place.found_or(partial(self._build, module), is_unchanged))
        if self.emit == "artifact" and self.arguments["save-ir-dir"] is None:
            return self._written(self._build(module))
        self._lower(module)
        if self.emit in ("llvm", "ll"):
            find_backend(self.target.name).complete(module.owner, self.target)
        if self.emit in ("relax", INPUT, "tir", "llvm", STAGE):
            module.verify()  # not verified elsewhere after the last stage
            # Locations are kept for --start: programs name the nodes of the model.
            head = made_by("the LLVM dialect") if self.emit == "llvm" else ""
            self._write(
                lambda: head + module.print(debug_info=self.emit == STAGE, assume_verified=True).rstrip("\n") + "\n"
            )
            return None
        if self.emit == "schedules":
            from ...compilation.schedules import chosen_schedules

            schedules = chosen_schedules(module.operation, self.options.target, self._recording.journal)
            self._write(lambda: schedules)
            return None
        if self.emit == "ll":
            text = made_by("LLVM IR", ";") + _llvm_ir(module)
            self._write(lambda: text)
            return None
        if self.emit == SOURCE:
            self._write_sources(module)
            return None
        return self._write_code(module)

    def _divide(self, module: Module) -> None:
        """Make the program of one rank, by the plug-in shard, if options or functions name a mesh."""
        options = {name: self.arguments[name] for name in ("mesh", "specs", "sums", "network")}
        chosen = [f"{name}={quoted(','.join(names_of(value)))}" for name, value in options.items() if value is not None]
        if chosen or any("ccl.mesh" in function.attributes for function in functions_in(module.operation)):
            self.has_warned = True  # programs of several ranks come with a note
            binding = f"relax-bind-symbolic-vars{{vars={','.join(self.arguments['bind'] or ())}}}"
            Pipeline(f"{binding},relax-localize{{{' '.join(chosen)}}}").run(module.owner)
            self.options = replace(self.options, bind={})  # sizes of the whole program
            self.driver.stderr.write("relax-compile: note: the program is for several ranks: relax-run starts them\n")

    def _use_placement(self, module: Module) -> None:
        from ...compilation.claimed_regions import with_placement  # most compilations have no measured placement

        with reporting(self._tell_warning):
            self.options = with_placement(self.options, module)
        self.stages = _stages_for(self.emit, self.options, self.arguments)
        self.progress.count += len(self.stages.stages)

    def _build(self, module: Module) -> Artifact:
        self._fit(module)
        around = partial(self._show, module=module)
        with lowered_for_code(module.owner, self.options, self.stages, self.code_options, around) as code:
            return self._code(module, code)

    def _lower(self, module: Module) -> None:
        self._fit(module)
        lower_in_place(module.owner, self.options, self.stages, partial(self._show, module=module))

    def _fit(self, module: Module) -> None:
        with self.progress.step("check"):
            if self.stages.stages:
                check(module.owner)
            with reporting(self._tell_warning):
                fit(module.owner, self.options)
        self._save_ir("import", module)

    @contextmanager
    def _show(self, name: str, module: Module) -> Iterator[None]:
        """Report the progress of a stage, and save the IR after it."""
        # The partition's table lists the parts that codegens decline.
        telling = nullcontext() if name.startswith("partition") else reporting(self._tell_warning)
        with self.progress.step(name), telling:
            yield
        self._save_ir(name, module)

    def _keep_inputs(self, *files: str) -> None:
        """Raise RelaxError if an output file is an input file."""
        written = {"-o": self.arguments["o"], "--report": self.arguments["report"]}
        if self.arguments["sign"] is not None:
            written["--sign"] = f"{self.arguments['o']}{SUFFIX}"
        refuse_overwriting(written, files)

    def _prepare_output(self, source: str) -> None:
        """Raise RelaxError before the work if the output cannot be written."""
        if self.emit != SOURCE:
            refuse_unwritable(self.arguments["o"])
        refuse_unwritable(self.arguments["report"])
        self._keep_inputs(source, *filter(None, [self.arguments["schedules"]]))
        if self.arguments["sign"] is not None:
            self._keep_inputs(self.arguments["sign"])
            private_key(self.arguments["sign"])
        if (folder := self.arguments["save-ir-dir"]) is not None:
            make_folder("--save-ir-dir", folder)

    def _prepare_processes(self, source: str) -> None:
        """Start processes for the kernels of a large model early, so that they are ready when the kernels are."""
        if self.emit == "artifact" and _size_of(source) >= _LARGE_MODEL:
            find_backend(self.target.name).prepare(self.target, self.code_options)

    def _import(self, source: str) -> Module:
        kind, trust = kind_of(source), self.arguments["trust"]
        trusted(kind, trust)
        if kind == ONNX:
            from ... import from_onnx
            from ...frontends.onnx.model import read_model as read_onnx

            model = read_onnx(source, _limits(self.arguments), is_mapped=True)
            module = from_onnx(model, shapes=self._shapes)
            self.files = [str(path) for path in model.data.files]
            self._keep_inputs(*self.files)
            return module
        _refuse_shapes(kind, self._shapes)
        if source != "-":
            return read_model(source, trust=trust)
        # Copy the module: MLIR's engine does not accept the class of the parser's handle.
        return Module.parse(_read_all(self.driver.stdin), "<stdin>").copy()

    def _save_ir(self, name: str, module: Module) -> None:
        if (folder := self.arguments["save-ir-dir"]) is None:
            return
        text = print_short(module.operation, _SHOWN_ELEMENTS)
        path = os.path.join(folder, f"{self._saved:02}-{name}.mlir")
        refuse_overwriting({"--save-ir-dir": path}, [self.arguments.files[0], *self.files])
        write_whole(path, text.encode("utf-8", "surrogateescape"))
        self._saved += 1

    def _write_code(self, module: Module) -> Artifact | None:
        if self.emit == "asm":
            with self.progress.step("code"):
                text = find_backend(self.target.name).assembly(module.owner, self.target, self.code_options)
            self._write(lambda: text)
            return None
        return self._written(self._code(module, self.code_options))

    def _code(self, module: Module, options: CodeOptions) -> Artifact:
        with self.progress.step("code"):
            artifact = build(module.owner, self.target, options, __version__)
        return self.options.observation.added(artifact) if self.options.observation is not None else artifact

    def _written(self, artifact: Artifact) -> Artifact:
        if self._recording.page is not None:
            self._recording.page.check(artifact)
        with self.progress.step("write"):
            path = self.arguments["o"]
            if self.emit == "obj":
                write_whole(path, b"".join(artifact.objects))
            elif is_special(path):
                write_whole(path, artifact_bytes(artifact))
            else:
                write_artifact(artifact, os.path.realpath(path))
            if self.arguments["sign"] is not None:
                sign(path, self.arguments["sign"])
        return artifact

    def _write_sources(self, module: Module) -> None:
        folder: str = self.arguments["o"]
        with self.progress.step("code"):
            files = find_backend(self.target.name).sources(module.owner, self.target, __version__)
        paths = {os.path.join(folder, name): text for name, text in files.items()}
        for path in paths:
            refuse_overwriting({"-o": path}, [self.arguments.files[0], *self.files])
        with self.progress.step("write"):
            make_folder("-o", folder)
            write_all({path: text if isinstance(text, bytes) else text.encode() for path, text in paths.items()})

    def _write(self, text: Callable[[], str]) -> None:
        path = self.arguments["o"] or "-"
        with self.progress.step("write"):
            if path == "-":
                write_text(self.driver.stdout, text())
            else:
                write_whole(path, text().encode("utf-8", "surrogateescape"))


def _refuse_shapes(kind: str, shapes: Mapping[str, InputShape]) -> None:
    if shapes and kind == TORCH:
        raise OptionError("--shape is for ONNX models: dynamic_shapes of torch.export.export say which sizes change")
    if shapes:
        raise OptionError("--shape is for ONNX models: a module's own types tell the shapes of its inputs")


def _llvm_ir(module: Module) -> str:
    """Return the LLVM IR of a module. Raise RelaxError if operations of other dialects remain."""
    from ...bindings.execution import to_llvm_ir

    if others := {op.name for op in operations_in(module.operation) if not op.name.startswith("llvm.")}:
        shown = ", ".join(sorted(others)[:3])
        raise RefusalError(f"--emit=ll: {shown} is left, which LLVM IR cannot say: --emit=llvm shows the module")
    return to_llvm_ir(module.owner)


def _limits(arguments: Arguments) -> Limits:
    """Return the limits of a model's growth during import."""
    from ...frontends.core.limits import Limits

    return Limits(arguments["most-nodes"], arguments["most-growth"])


def _options(arguments: Arguments, cache: DiskCache | None, recording: Recording) -> CompileOptions:
    is_program = arguments["emit"] == "artifact" and not arguments["check"]
    return CompileOptions(
        target=target_of_machine(arguments["target"]) if is_program else arguments["target"],
        opt_level=arguments["O"],
        journal=recording.journal if recording.is_needed else None,
        jobs=arguments["jobs"],
        cache=cache or False,
        bind=_sizes(arguments["bind"]),
        donate=arguments["donate"] or (),
        precision=arguments["precision"],
        numerics=arguments["numerics"],
        partition=_partition(arguments) if arguments["partition"] else (),
        strict_partition=arguments["strict-partition"],
        partition_elsewhere=arguments["partition-elsewhere"],
        schedules=arguments["schedules"],
        tuned=False if arguments["no-tuned"] else arguments["tuned"],
        observe=arguments["observe"],
    )


def _stages_for(emit: str, options: CompileOptions, arguments: Arguments) -> Stages:
    """Return the stages from the input to the requested output."""
    if emit == "relax":
        return replace(stages_of(options.target, options.opt_level), stages=())
    last = "fuse" if emit == "tir" else arguments["stop"] or ""
    stages = options.stages()
    if emit == INPUT:
        from ...passes.graph.partition_stages import before_partition

        stages = before_partition(stages)
    if emit == "schedules":
        from ...compilation.schedules import until_planned

        stages = until_planned(stages)
    chosen = stages.between(arguments["start"] or "", last)
    # Object files have no other place for constants.
    return chosen.drop(_CONSTANTS) if emit == "obj" and _CONSTANTS in chosen.names else chosen


def _partition(arguments: Arguments) -> Partition:
    """Return the codegens and options of --partition and related options."""
    from ...passes.graph.relax_partition import Partition

    codegens = tuple(name for text in arguments["partition"] for name in split_list(text))
    return Partition(codegens=codegens, plan=arguments["partition-plan"], explain=arguments["explain-partition"])


def _sizes(texts: Sequence[str] | None) -> dict[str, str]:
    """Parse the --bind options, such as n:8 and n:1..64."""
    sizes: dict[str, str] = {}
    for text in texts or ():
        name, colon, size = text.partition(":")
        if not colon or name in sizes:
            problem = f"size '{name}' is given twice" if colon else f"expected name:size, got '{text}'"
            raise OptionError(f"option --bind: {problem}")
        sizes[name] = size
    return sizes


def _size_of(source: str) -> int:
    """Return a file's size, or 0 for a missing file, which reading reports better."""
    try:
        return os.stat(source).st_size
    except (OSError, ValueError):
        return 0


def _read_all(stream: TextIO) -> str | bytes:
    try:
        return stream.buffer.read() if hasattr(stream, "buffer") else stream.read()
    except OSError as error:
        raise OptionError(f"cannot read standard input: {error.strerror}") from None
