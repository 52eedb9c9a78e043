# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-run: loads a program, calls a function, and shows, stores, times and compares its results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TextIO

from ...runtime import ArtifactError, Executable, UnknownFunction, UnsupportedArray, load
from ...runtime.device_kinds import devices_text
from ...runtime.foreign_types import Array
from ...runtime.manifest import parse_signature
from ...runtime.noise import clock_cost, notes_on_calls
from ...runtime.threads import notes_on_threads
from ...support.array_files import write_npz
from ...support.errors import RelaxError
from ...support.files import refuse_overwriting, refuse_unwritable, write_whole
from ...support.plugins import load_plugin
from ..common.command_line import Arguments, known_shape, parse_shapes, terminal_width, write_text
from ..common.guard import announce
from ..common.models import read_model
from ..opt.information import shows_information
from . import compare, outputs
from .inputs import Given, gathered_inputs, make_inputs, passed, read_inputs, spread_inputs
from .options import HELP_HEAD, OPTIONS, parse
from .peer import COMPARISONS, Compared, Peer
from .peers import peer_of
from .timing import time_in_turns, times_against, times_text

#: Options that name output files.
_WRITTEN = ("output", "profile-json", "inputs", "report")


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run relax-run and return the exit code. Raise RelaxError for the user's errors."""
    arguments = parse(argv)
    if shows_information(arguments, stdout, "relax-run", HELP_HEAD, OPTIONS, has_mlir=False):
        return 0
    if arguments["list-devices"]:
        write_text(stdout, devices_text())
        return 0
    driver = RunDriver(stdout, stderr)
    try:
        with driver.ending:
            return driver.run(arguments)
    except (UnknownFunction, UnsupportedArray) as error:
        raise RelaxError(str(error)) from error


class RunDriver:
    """Single run of the tool on these streams."""

    def __init__(self, stdout: TextIO, stderr: TextIO) -> None:
        self.stdout, self.stderr = stdout, stderr
        #: Contexts that plug-ins enter for the run.
        self.ending = ExitStack()

    def run(self, arguments: Arguments) -> int:
        shapes = parse_shapes(arguments["shape"], known_shape)
        _check_numpy()
        if arguments["measure-network"]:
            return int(COMPARISONS.get("network")(self, arguments))
        path, name = arguments.files[0], arguments["function"]
        read = _files_read(arguments)
        written = {f"--{text}": arguments[text] for text in ("output", "profile-json", "trace", "inputs", "report")}
        refuse_overwriting(written, read)
        refuse_unwritable(arguments["trace"])
        for plugin in arguments["load-plugin"] or ():
            load_plugin(plugin)
        announce(f"loading {path}")
        executable = _interpret(path, arguments["trust"]) if arguments["reference"] else _load(path, arguments)
        if arguments["ranks"] is not None or "relax_sharding_plan" in executable:  # the plan of several ranks
            executable = COMPARISONS.get("ranks")(self, executable, arguments)
        if arguments["threads"] is not None:
            executable.threads = arguments["threads"]
        signature = parse_signature(executable.signature(name))

        spread = spread_inputs(signature)
        given = read_inputs(spread, arguments["input"] or ())

        def made(seed: int) -> tuple[dict[str, Given], list[str]]:
            values, notes = make_inputs(spread, given, shapes, seed)
            return gathered_inputs(signature, values), notes

        def called(inputs: Mapping[str, Given], program: Executable = executable) -> tuple[dict[str, Array], list[str]]:
            function, taken = program.copying()[name].packed, [*map(passed, inputs.values())]
            with _failures_of(name):
                returned = function(*taken)
            return outputs.named_arrays(signature, returned)

        inputs, notes = made(arguments["random"])
        self._note(notes)
        if arguments["each"]:
            announce(f"looking at each value of {name}")
            return int(COMPARISONS.get("each")(executable, name, inputs, arguments, self.stdout))
        problems = []
        if arguments["poison"]:  # before other calls, which may change the inputs
            from .poison import poison_problems  # imports NumPy

            problems = poison_problems(executable, signature, inputs, called)
        announce(f"running {name}")
        results, notes = called(inputs)
        self._note([*notes, *notes_on_threads(executable.threads)])
        self._show(results, arguments)
        self._keep(results, arguments)
        if problems:
            write_text(self.stdout, "".join(f"poison: {problem}\n" for problem in problems))
            return 1
        model = arguments["compare"]
        reference = None
        if model is not None:
            announce(f"running {model}")
            reference = peer_of(model, Compared(path, executable, name), inputs, trust=arguments["trust"])
        if arguments["benchmark"]:
            with _failures_of(name):
                self._benchmark(executable.ready(name, *map(passed, inputs.values())), reference, arguments)
        if arguments["profile"] or arguments["profile-json"] is not None:
            self._profile(executable, name, inputs, arguments)
        if arguments["trace"] is not None:
            self._trace(executable, name, inputs, arguments)
        if reference is None:
            return 0
        others: dict[str, Array] = {}
        if len(given) < len(spread.inputs):
            with suppress(RelaxError):  # the program may not accept random numbers
                others, _ = called(made(arguments["random"] + 1)[0])
        tolerance = compare.USUAL_TOLERANCE if arguments["tolerance"] is None else arguments["tolerance"]
        return self._compare(reference, results, others, tolerance)

    def _show(self, results: Mapping[str, Array], arguments: Arguments) -> None:
        write_text(self.stdout, outputs.table(results))
        if arguments["print"]:
            write_text(self.stdout, "".join(f"{name} =\n{array}\n" for name, array in results.items()))

    def _keep(self, results: Mapping[str, Array], arguments: Arguments) -> None:
        path, folder = arguments["output"], arguments["output-dir"]
        if folder is not None:
            outputs.write_folder(folder, results, _files_read(arguments))
        elif path is not None:
            (write_npz if path.endswith(".npz") else outputs.write_npy)(path, results)

    def _profile(self, executable: Executable, name: str, inputs: Mapping[str, Given], arguments: Arguments) -> None:
        from ...runtime.profile import profile_text  # rarely needed

        announce(f"profiling {name}")
        with _failures_of(name):
            profile = executable.profile(name, *map(passed, inputs.values()), **_counts(arguments))
        if arguments["profile"]:
            # Terminal width on a terminal, unlimited for a pipe or a file.
            write_text(self.stdout, profile_text(profile, terminal_width(self.stdout)))
        if arguments["profile-json"] is not None:
            write_whole(arguments["profile-json"], (json.dumps(profile.to_dict(), indent=1) + "\n").encode())
        self._note(profile.notes)

    def _trace(self, executable: Executable, name: str, inputs: Mapping[str, Given], arguments: Arguments) -> None:
        announce(f"tracing {name}")
        with _failures_of(name):
            found = executable.trace(name, *map(passed, inputs.values()), **_counts(arguments))
        found.write(arguments["trace"])
        write_text(self.stdout, f"{arguments['trace']}: {found}\n")
        self._note(found.notes)

    def _note(self, notes: Iterable[str]) -> None:
        for note in notes:
            self.stderr.write(f"relax-run: note: {note}\n")

    def _benchmark(self, ready: Callable[[], object], reference: Peer | None, arguments: Arguments) -> None:
        if reference is None:
            (seconds,) = time_in_turns([ready], **_counts(arguments))
            write_text(self.stdout, times_text(seconds))
        else:
            seconds, theirs = time_in_turns([ready, reference.run], **_counts(arguments))
            write_text(self.stdout, times_against(seconds, theirs, reference.name, reference.threads))
        self._note(notes_on_calls(seconds, clock_cost()))

    def _compare(
        self, reference: Peer, results: Mapping[str, Array], others: Mapping[str, Array], tolerance: float
    ) -> int:
        """Compare results and print a report.

        `others` are results for other random inputs, empty if all inputs are given.
        """
        differences = compare.differences(results, reference.outputs, tolerance)
        differences = [compare.with_doubt(difference, results, others, tolerance) for difference in differences]
        write_text(self.stdout, compare.report(differences))
        return 0 if all(difference.is_close for difference in differences) else 1


def _load(path: str, arguments: Arguments) -> Executable:
    trust = {"sha256": arguments["sha256"], "verify_key": arguments["verify-key"]}
    graphs = False if arguments["no-graphs"] else arguments["graphs"]
    return load(path, **trust, device=arguments["device"], graphs=graphs)


def _interpret(path: str, trust: bool) -> Executable:
    """Compile a model for the reference interpreter. Only this function needs the compiler."""
    from ...compilation.compiling import compile

    return compile(read_model(path, trust=trust), "reference")


def _files_read(arguments: Arguments) -> list[str]:
    """Return the files that the tool reads: program, inputs, model for comparison, key."""
    inputs = [text.partition("=")[2] or text for text in arguments["input"] or ()]
    return [*arguments.files, *inputs, *(arguments[name] for name in ("compare", "verify-key") if arguments[name])]


@contextmanager
def _failures_of(name: str) -> Iterator[None]:
    """Turn exceptions of the program into RelaxError."""
    try:
        yield
    except ArtifactError:
        raise
    except Exception as error:  # the program and the functions it calls may raise anything
        raise RelaxError(f"{name} failed: {type(error).__name__}: {error}") from error


def _counts(arguments: Arguments) -> dict[str, int]:
    """Return the values of `repeat` and `warmup`. Each measurement has its own defaults."""
    return {name: arguments[name] for name in ("repeat", "warmup") if arguments[name] is not None}


def _check_numpy() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise RelaxError("relax-run needs numpy for arrays: pip install numpy") from None
