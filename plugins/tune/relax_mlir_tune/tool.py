# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-tune: search faster plans for the kernels of a model, and keep the files of winners in order."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import relax_mlir as rx
from relax_mlir.tuning import TunedFolder, read_model

from .files import measured_again, merged, pruned, table_of
from .placement import PlacementProgress, tune_placement
from .tune import EFFORTS, Progress, tune

_EPILOG = """\
relax-tune model.onnx -o tuned/               search; Ctrl-C keeps what was found, and the next call continues
relax-compile model.onnx --tuned tuned/       compile with the winners
relax-tune model.onnx --partition dnnl,onnxruntime -o tuned/        measure which codegen gets which part
relax-compile model.onnx --partition=measured --tuned tuned/        compile with these parts
relax-tune --list -o tuned/                   a line for each tuned kernel
relax-tune model.onnx --replay -o tuned/      measure the model's tuned kernels again; remove those that are not faster
relax-tune model.onnx --prune -o tuned/       remove files of kernels that the model does not have
relax-tune --merge other/ -o tuned/           add the files of another folder; the faster one of two stays
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
    except KeyboardInterrupt:
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
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--bind", action="append", default=[], metavar="n:8", help="value of a symbolic size")
    parser.add_argument(
        "--size", action="append", default=[], metavar="n:8", help="size to measure dynamic kernels with"
    )
    parser.add_argument("--precision", default="f32", choices=("f32", "bf16", "f16"), help="as of relax-compile")
    parser.add_argument("--threads", type=int, default=1, help="threads of a call; default 1")
    parser.add_argument("--scheduler", metavar="tcp://host:8786", help="Dask scheduler with workers that measure")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search")
    parser.add_argument("--partition", metavar="codegens", help="measure which of these codegens gets which part")
    parser.add_argument("--load-plugin", action="append", default=[], metavar="module", help="as of relax-compile")
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
    if options.list:
        stdout.write(table_of(TunedFolder(folder).all()))
        return 0
    if options.merge is not None:
        stdout.write(f"{merged(Path(options.merge), folder)} files added to {folder}\n")
        return 0
    if options.model is None:
        raise rx.OptionError("expected a model, such as model.onnx, or --list or --merge")
    module, bind = read_model(options.model, trust=options.trust), _sizes(options.bind, "--bind")
    sizes = _sizes(options.size, "--size")
    if options.partition is not None:
        stdout.write(_placed(options, module, bind, sizes, stderr))
        return 0
    if options.prune:
        removed = pruned(folder, module, options.target, bind, options.precision)
        stdout.write(f"{removed} files removed from {folder}\n")
        return 0
    if options.replay:
        stdout.write(measured_again(folder, module, options.target, bind, sizes, options.precision, options.threads))
        return 0
    found = tune(
        module,
        options.target,
        trials=options.trials,
        effort=options.effort,
        minutes=options.minutes,
        scheduler=options.scheduler,
        folder=folder,
        bind=bind,
        sizes=sizes,
        precision=options.precision,
        threads=options.threads,
        seed=options.seed,
        progress=None if options.q else _Line(stderr),
    )
    stdout.write(f"{found.table()}\n")
    return 0


def _placed(
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
    pairs = [each.partition(":") for each in given]
    for name, colon, size in pairs:
        if not (name and colon and size.isdigit() and int(size)):
            raise rx.OptionError(f"{option} {name}{colon}{size}: expected name:size, such as batch:8")
    return {name: int(size) for name, _, size in pairs}


class _Line:
    """Progress on one line of a terminal, or a line per kernel elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._kernel = stream, ""

    def __call__(self, progress: Progress) -> None:
        at = f"{progress.number + 1} of {progress.kernels}"
        text = f"kernel {at} {progress.kernel}: trial {progress.trial} of {progress.trials}, best {progress.best:.3f}"
        left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[K{text}{left}")
        elif progress.kernel != self._kernel:
            self._stream.write(f"kernel {at} {progress.kernel}\n")
        self._kernel = progress.kernel
        self._stream.flush()
