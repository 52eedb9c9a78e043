# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-tune: search faster plans for the kernels of a model, and keep the files of winners in order."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

import relax_mlir as rx
from relax_mlir.support.plugins import load_plugin
from relax_mlir.tools.common.models import read_model

from .files import kernels_in, measured_again, merged, pruned, table_of
from .placement import PlacementProgress, tune_placement
from .program_files import check_programs, list_programs
from .progress_line import ProgressLine
from .trials import FILE
from .tune import EFFORTS, Stopped, tune

_EPILOG = """\
relax-tune model.onnx -o tuned/               search; Ctrl-C keeps what was found, and the next call continues
relax-compile model.onnx --tuned tuned/       compile with the winners
relax-tune model.onnx --partition dnnl,onnxruntime -o tuned/        measure which codegen gets which part
relax-compile model.onnx --partition=measured --tuned tuned/        compile with these parts
relax-tune --list -o tuned/                   a line for each tuned kernel
relax-tune model.onnx --replay -o tuned/      measure the model's tuned kernels again; remove those that are not faster
relax-tune model.onnx --prune -o tuned/       remove files of kernels that the model does not have
relax-tune --merge other/ -o tuned/           add the files of another folder; the faster one of two stays
relax-tune --report report.html -o tuned/     a page of all trials of the folder
relax-tune --check 1000                       compare results of random plans with the default's and with NumPy's
"""


def main() -> None:
    """Run the tool."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str], stdout: TextIO = sys.stdout, stderr: TextIO = sys.stderr) -> int:
    """Run the tool on its arguments. Return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the compiler warned when the model was written
            return _run(options, stdout, stderr)
    except rx.RelaxError as error:
        notes = "".join(f"\n  note: {note}" for note in error.notes)
        stderr.write(f"relax-tune: error: {error.message}{notes}\n")
        return 1
    except KeyboardInterrupt as stopped:
        if isinstance(stopped, Stopped):
            stdout.write(f"{stopped.found.table()}\n")
        stderr.write("\nrelax-tune: stopped; trials and winners so far are kept, the same command continues\n")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="relax-tune",
        description=__doc__.partition(": ")[2],
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="?", help="a model in any format of relax-compile")
    parser.add_argument("-o", metavar="folder", default="tuned", help="folder of tuned kernels; default tuned")
    parser.add_argument("--target", default="llvm", help="target with options, as of relax-compile; default llvm")
    parser.add_argument("--trials", type=int, default=64, help="plans to measure per kernel; default 64")
    parser.add_argument("--effort", choices=sorted(EFFORTS), default="full", help="quick: a quarter of the trials")
    parser.add_argument("--graph", action="store_true", help="search layouts and fusion of the whole program first")
    parser.add_argument("--inexact", action="store_true", help="with --graph: also choices that change last bits")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--bind", action="append", default=[], metavar="n:8", help="value of a symbolic size")
    parser.add_argument(
        "--size", action="append", default=[], metavar="n:8", help="size to measure dynamic kernels with"
    )
    parser.add_argument("--precision", default="f32", choices=("f32", "bf16", "f16"), help="as of relax-compile")
    parser.add_argument("--threads", type=int, default=1, help="threads of a call; default 1")
    parser.add_argument("--scheduler", metavar="tcp://host:8786", help="Dask scheduler with workers that measure")
    parser.add_argument("--board", metavar="a53", help="name or tag of the workers that measure; the others compile")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search")
    parser.add_argument("--partition", metavar="codegens", help="measure which of these codegens gets which part")
    parser.add_argument(
        "--load-plugin", action="append", default=[], metavar="module", help="module or file that registers extensions"
    )
    parser.add_argument("--report", metavar="file.html", help="write a page of the folder's trials")
    parser.add_argument("--check", type=int, metavar="N", help="compare results of N random plans of small kernels")
    parser.add_argument("--trust", action="store_true", help="let a .pt2 file run code of its author")
    parser.add_argument("-q", action="store_true", help="no progress")
    parser.add_argument("--version", action="version", version=f"relax-mlir {rx.__version__}")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--list", action="store_true", help="list the tuned kernels of the folder")
    other.add_argument("--replay", action="store_true", help="measure tuned kernels again; remove slow ones")
    other.add_argument("--prune", action="store_true", help="remove files of kernels that the model does not have")
    other.add_argument("--merge", metavar="folder", help="add the files of another folder")
    return parser


def _run(options: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    folder = Path(options.o)
    list_programs(options, folder, stdout, stderr)
    if options.list:
        kernels, problems = kernels_in(folder)
        stdout.write(table_of(kernels))
        return _tell(problems, stderr)
    if options.merge is not None:
        count, problems = merged(Path(options.merge), folder)
        stdout.write(f"{count} files added to {folder}\n")
        return _tell(problems, stderr)
    for each in options.load_plugin:
        load_plugin(each)
    if options.check is not None:
        return _check(options, stdout)
    if options.model is None and options.report is not None:
        return _report(options.report, folder, stderr)
    if options.model is None:
        raise rx.OptionError("expected a model, such as model.onnx, or --list, --merge, --report or --check")
    module, bind = read_model(options.model, trust=options.trust), _sizes(options.bind, "--bind")
    sizes = _sizes(options.size, "--size")
    if options.partition is not None:
        stdout.write(_place(options, module, bind, sizes, stderr))
        return 0
    check_programs(options, folder, module, bind, sizes, stdout)
    if options.prune:
        removed, problems = pruned(folder, module, options.target, bind, options.precision)
        stdout.write(f"{removed} files removed from {folder}\n")
        return _tell(problems, stderr)
    if options.replay:
        measuring = options.precision, options.threads, options.scheduler, options.board
        stdout.write(measured_again(folder, module, options.target, bind, sizes, *measuring))
        return 0
    return _search(options, module, bind, sizes, stdout, stderr)


def _search(
    options: argparse.Namespace,
    module: rx.Module,
    bind: Mapping[str, int],
    sizes: Mapping[str, int],
    stdout: TextIO,
    stderr: TextIO,
) -> int:
    """Search, and write the table of winners and the report, also after an interruption."""
    folder, line = Path(options.o), ProgressLine(stderr)
    try:
        found = tune(
            module,
            options.target,
            trials=options.trials,
            effort=options.effort,
            minutes=options.minutes,
            scheduler=options.scheduler,
            board=options.board,
            folder=folder,
            bind=bind,
            sizes=sizes,
            precision=options.precision,
            threads=options.threads,
            graph=options.graph,
            inexact=options.inexact,
            seed=options.seed,
            progress=None if options.q else line,
        )
    except Stopped:
        if options.report is not None and (folder / FILE).is_file():
            _report(options.report, folder, stderr)
        raise
    finally:
        line.end()
    stdout.write(f"{found.table()}\n")
    return _report(options.report, folder, stderr) if options.report is not None else 0


def _check(options: argparse.Namespace, stdout: TextIO) -> int:
    """Check random plans. Return 1 if one is wrong."""
    from .random_plans import check_random_plans  # most commands check none

    if options.check < 1:
        raise rx.OptionError(f"--check {options.check}: expected at least 1")
    random_plans = check_random_plans(
        options.check, options.seed, options.target, lambda text: stdout.write(f"{text}\n")
    )
    stdout.write(f"{random_plans.summary()}\n")
    return 1 if random_plans.wrong else 0


def _report(path: str, folder: Path, stderr: TextIO) -> int:
    """Write the page of a folder's trials."""
    from .report import page_of  # most commands write no page

    text, problems = page_of(folder)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise rx.RelaxError(f"--report '{path}' cannot be written: {error.strerror}") from None
    return _tell(problems, stderr)


def _tell(problems: Sequence[str], stderr: TextIO) -> int:
    """Write a line for each file that cannot be used. Return the exit code."""
    for problem in problems:
        stderr.write(f"relax-tune: warning: {problem}\n")
    return 0


def _place(
    options: argparse.Namespace, module: rx.Module, bind: dict[str, int], sizes: dict[str, int], stderr: TextIO
) -> str:
    """Choose codegens for the parts of a model. Return a table."""

    def tell(progress: PlacementProgress) -> None:
        stderr.write(f"trial {progress.trial}, best {progress.best:.3f}: {progress.step}\n")

    found = tune_placement(
        module,
        options.partition,
        options.target,
        trials=options.trials,
        minutes=options.minutes,
        folder=options.o,
        bind=bind,
        sizes=sizes,
        precision=options.precision,
        threads=options.threads,
        plugins=options.load_plugin,
        progress=None if options.q else tell,
    )
    return f"{found.table()}\n{found.path}\n"


def _sizes(given: Sequence[str], option: str) -> dict[str, int]:
    pairs = [text.partition(":") for text in given]
    for name, colon, size in pairs:
        if not (name and colon and size.isdigit() and int(size)):
            raise rx.OptionError(f"{option} {name}{colon}{size}: expected name:size, such as batch:8")
    return {name: int(size) for name, _, size in pairs}
