# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of the compiler in the code of narrow kernels, which the draw of the sweep must find.

    narrow_faults.py --draws 1 2 3              each fault in a copy of the tree, by three draws of `make test`
    narrow_faults.py --only '*zero*' --draws 7

Each fault is one replaced text. A draw finds a fault if it fails with the fault and passes without.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_REPOSITORY / "tools" / "dev"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutants import Copy  # noqa: E402
from narrow_cases import DRAWN  # noqa: E402

#: Faults that a draw may miss.
_MISSED = 1
_PATIENCE_S = 1800


#: Patterns of the cases to run first, by the beginning of faults' names.
_FIRST = {
    "packed": "*last*constant*",
    "every second": "*strides*",
    "tail": "*8*",
    "dot product": "*8*",
    "correction": "*8*",
    "pairs of bytes": "*8*constant*",
    "zero points": "*_zero*",
    "channels in fours": "conv*last*_zero*",
    "requantize": "*requantize*",
    "few bits": "nbits*",
    "f8": "*f8*",
}


class Fault(NamedTuple):
    name: str
    file: str
    old: str
    new: str

    @property
    def first(self) -> str:
        """Return a pattern of the cases to run first. The others follow if these do not find the fault."""
        return next((pattern for part, pattern in _FIRST.items() if self.name.startswith(part)), "*")


_ACCESS, _STEP, _DOTS = (f"passes/kernels/schedule/{name}.py" for name in ("vector_access", "vector_step", "dots"))
_PAIRS, _PACKED = "passes/kernels/schedule/byte_pairs.py", "passes/kernels/schedule/packed_plans.py"
_ZEROS, _ROUNDING = "passes/graph/quantization/products.py", "targets/default/legalize_requantize.py"
_NBITS, _FLOATS = "targets/llvm/nbits_kernel.py", "emit/small_floats.py"

FAULTS = (
    Fault("packed weights: columns without the group", _ACCESS,
          "row // self._group, column * self._group]", "row // self._group, column]"),
    Fault("packed panels: offset in a panel without the group", _ACCESS,
          "inside = (start - round_down(start, width) + column) * self._group",
          "inside = (start - round_down(start, width)) * self._group + column"),
    Fault("packed panels: row without the group", _ACCESS,
          "self._starts[dim] // self._group + point[dim], inside]", "self._starts[dim] + point[dim], inside]"),
    Fault("packed weights: steps of a group reversed", _PACKED,
          "return apart.reshape(*outer, steps, columns * group)",
          "return apart[..., ::-1].reshape(*outer, steps, columns * group)"),
    Fault("mask of the remaining lanes: that of the first vector", _ACCESS,
          "else self._mask(self._rest - point[self._vector] * self._lanes)", "else self._mask(self._rest)"),
    Fault("tail of a group: no mask", _ACCESS,
          "mask = None if tail is None else self._mask(tail, self._group)", "mask = None"),
    Fault("tail of a group: one step too many", _ACCESS, "if step < tail else", "if step <= tail else"),
    Fault("every second element: the first vector's for the second", _ACCESS,
          "place if place < lanes else place + 1 for", "place for"),
    Fault("interleaved rows swapped", _ACCESS,
          "left, right = interleaved(rows[::2]), interleaved(rows[1::2])",
          "right, left = interleaved(rows[::2]), interleaved(rows[1::2])"),
    Fault("dot product: operands never swapped", _DOTS,
          "factors = [columns, rows] if self.is_swapped else [rows, columns]", "factors = [rows, columns]"),
    Fault("dot product: unsigned halves widened as signed", _DOTS,
          'unsigned=kind.startswith("u"))', "unsigned=False)"),
    Fault("dot product: no correction of flipped signs", _DOTS,
          "return self.is_turned or self.pairs == MASKED", "return self.pairs == MASKED"),
    Fault("dot product: zeros not flipped", _DOTS,
          "return self.turned(None, type_) if self.is_turned else constant_value(0, type_)",
          "return constant_value(0, type_)"),
    Fault("correction of rows of zeros added", _STEP,
          'return result_of("arith.subi", [first, of_zeros[place]], first.type)',
          'return result_of("arith.addi", [first, of_zeros[place]], first.type)'),
    Fault("correction of rows of zeros: the first column's", _STEP,
          "place = tuple(at if self.op.uses(dots.columns, dim) else 0 for", "place = tuple(0 for"),
    Fault("pairs of bytes: no pair saturates", _PAIRS, "> _LARGEST\n\n", "> 4 * _LARGEST\n\n"),
    Fault("pairs of bytes: masks do not complement", _PAIRS, "both[1, negated] ^= -1", "both[1, negated] ^= 0"),
    Fault("pairs of bytes: masks keep the sign bit", _PAIRS, '-_LARGEST if kind == "s8" else 0', "0"),
    Fault("zero points: correction with the wrong sign", _ZEROS,
          'return _constant(-(one.astype("int64") * other), "int32")',
          'return _constant(one.astype("int64") * other, "int32")'),
    Fault("zero points: no product of both", _ZEROS,
          "(left, right, axes[1])):", "(left, Shifted(right.numbers), axes[1])):"),
    Fault("zero points: padding with 0", _ZEROS, "pad_value=float(zero)", "pad_value=0.0"),
    Fault("zero points: unsigned weights shifted the wrong way", _ZEROS,
          "shifted = (0 if zero is None else zero) - TO_UNSIGNED",
          "shifted = (0 if zero is None else zero) + TO_UNSIGNED"),
    Fault("channels in fours: weights padded in front", _ZEROS,
          "behind = [(0, missing if axis == inputs else 0)", "behind = [(missing if axis == inputs else 0, 0)"),
    Fault("requantize: ties to even go down", _ROUNDING,
          "bias = below + ((number >> places) & (mask & 1))", "bias = below"),
    Fault("requantize: ties away from zero go up", _ROUNDING, "bias = select(number < 0, below, tie)", "bias = tie"),
    Fault("requantize: the high product is cut", _ROUNDING, 'multiplier.to("i64") + (1 << 30)) >> 31',
          'multiplier.to("i64")) >> 31'),
    Fault("requantize: no lower limit", _ROUNDING, "whole = maximum(minimum(whole, high), low)",
          "whole = minimum(whole, high)"),
    Fault("few bits: the zero point of the default is one too small", _NBITS,
          "-float(2 ** (self.matrix.bits - 1))", "-float(2 ** (self.matrix.bits - 1) - 1)"),
    Fault("few bits: the last columns have no mask", _NBITS,
          "[matrix.columns - first], flags", "[first + matrix.lanes], flags"),
    Fault("f8: subnormal numbers widened as normal ones", _FLOATS,
          "bits = select(magnitude < 1 << layout.mantissa, bits_of(subnormal), normal)", "bits = normal"),
)  # fmt: skip


def failure(copy: Copy, draw: str, only: str = "*") -> str | None:
    """Return the first failure of a draw, or None. Raise SystemExit if the sweep could not run."""
    command = [sys.executable, "test/fuzz/narrow_kernels.py", "--draw", draw, "--cases", str(DRAWN), "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": str(copy.root.parent / "package"), "PYTHONDONTWRITEBYTECODE": "1"}
    command += ["--only", only, "--fail-fast", "--json"]
    done = subprocess.run(command, cwd=copy.root, env=environment, capture_output=True, text=True, timeout=_PATIENCE_S)
    if done.returncode == 0:
        return None
    lines = done.stdout.splitlines()
    failures = json.loads(lines[-1])["failures"] if lines and lines[-1].startswith("{") else []
    if not failures:  # the sweep has not run: no case has found anything
        raise SystemExit(f"the sweep ended with code {done.returncode}: {done.stderr[-400:]}")
    return str(failures[0][1])


def plant(copy: Copy, fault: Fault) -> str:
    """Insert a fault into the copy, and return the file's text without the fault."""
    path = copy.root / fault.file
    text = path.read_text()
    if text.count(fault.old) != 1:
        raise SystemExit(f"{fault.file} has {fault.old!r} {text.count(fault.old)} times, expected once: {fault.name}")
    path.write_text(text.replace(fault.old, fault.new))
    return text


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", nargs="+", default=["1"], help="draws, as RELAX_MLIR_DRAW names them (1)")
    parser.add_argument("--only", default="*", help="pattern of faults' names")
    options = parser.parse_args(argv)
    chosen = [each for each in FAULTS if fnmatch.fnmatchcase(each.name, options.only)]
    missed = dict.fromkeys(options.draws, 0)
    with tempfile.TemporaryDirectory(prefix="relax-faults-") as folder:
        copy = Copy(Path(folder))
        for draw in options.draws:
            problem = failure(copy, draw)
            if problem is not None:
                raise SystemExit(f"draw {draw} fails without a fault: {problem}")
        for fault in chosen:
            before = plant(copy, fault)
            for draw in options.draws:
                problem = failure(copy, draw, fault.first)
                if problem is None and fault.first != "*":
                    problem = failure(copy, draw)
                missed[draw] += problem is None
                print(
                    f"{'MISSED' if problem is None else 'found'} by draw {draw}: {fault.name}: {problem or ''}",
                    flush=True,
                )
            (copy.root / fault.file).write_text(before)
    for draw, count in missed.items():
        print(f"draw {draw}: {len(chosen) - count} of {len(chosen)} faults found")
    return 1 if max(missed.values()) > _MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
