# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/tir-intrinsics-llvm.md: the measured errors of tir's intrinsics on llvm, in ulp.

f32 functions of one operand are measured on every number of the relevant binades, against f64; all others as far as
mpmath's speed allows. Takes half an hour. `--check` only compares the checksum of the lowered code with the checksum in
the file.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import ndarray

REPOSITORY = Path(__file__).resolve().parents[2]
FILE = REPOSITORY / "docs" / "tir-intrinsics-llvm.md"
DTYPES = ("f16", "bf16", "f32", "f64")
POINTS = 3000
# Binades of f32 that are measured number by number: 2**-5 up to 2**7.
DENSE = range(-5, 7)
_FAST_COLUMNS = 4  # bars in a row of the second table
# In the other binades, every 256th number.
SPARSE_STEP = 256


class Case(NamedTuple):
    """Reference of an intrinsic by mpmath, and the interval of useful operands."""

    name: str
    reference: Callable[..., float]
    low: dict[str, float]
    high: dict[str, float]
    operands: int = 1
    note: str = ""

    def contains(self, dtype: str, array: ndarray) -> ndarray:
        import numpy as np

        with np.errstate(invalid="ignore", over="ignore"):
            return (array >= self.low[dtype]) & (array <= self.high[dtype])


def mpmath() -> ModuleType:
    """Return mpmath, which is not among the project's dependencies, and not needed for --check."""
    return importlib.import_module("mpmath")


def jit() -> ModuleType:
    """Return the tests' helper that runs an intrinsic."""
    return importlib.import_module("intrinsic_jit")


def oracle() -> ModuleType:
    """Return the tests' references by NumPy and SciPy, in the longest float of their operands."""
    return importlib.import_module("intrinsic_oracle")


def everywhere(low: float, high: float) -> tuple[dict[str, float], dict[str, float]]:
    return dict.fromkeys(DTYPES, low), dict.fromkeys(DTYPES, high)


def wide(f32: tuple[float, float], f64: tuple[float, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return an interval for f64 and one for the other types, which overflow earlier."""
    low, high = dict.fromkeys(DTYPES, f32[0]), dict.fromkeys(DTYPES, f32[1])
    low["f64"], high["f64"] = f64
    return low, high


def cases() -> list[Case]:
    mp = mpmath()
    largest = 1.7e308
    any_float = everywhere(-largest, largest)
    positive = everywhere(5e-324, largest)
    exponents = wide((-104, 88.8), (-745, 709.8))
    unit = everywhere(-1, 1)
    near_0 = "near results of 0 the error is absolute"
    return [
        Case("exp", mp.exp, *exponents),
        Case("exp2", lambda x: mp.mpf(2) ** x, *wide((-150, 128), (-1075, 1024))),
        Case("exp10", lambda x: mp.mpf(10) ** x, *wide((-45.2, 38.6), (-323.6, 308.3))),
        Case("expm1", mp.expm1, *wide((-200, 88.8), (-800, 709.8))),
        Case("log", mp.log, *positive),
        Case("log2", lambda x: mp.log(x, 2), *positive),
        Case("log10", mp.log10, *positive),
        Case("log1p", mp.log1p, *everywhere(-0.9999999, largest)),
        Case("sin", mp.sin, *any_float),
        Case("cos", mp.cos, *any_float),
        Case("tan", mp.tan, *any_float),
        Case("sinpi", mp.sinpi, *everywhere(-1e6, 1e6)),
        Case("cospi", mp.cospi, *everywhere(-1e6, 1e6)),
        Case("tanpi", lambda x: mp.sinpi(x) / mp.cospi(x) if mp.cospi(x) else mp.inf, *everywhere(-1e6, 1e6)),
        Case("sinc", mp.sincpi, *everywhere(-1e6, 1e6)),
        Case("asin", mp.asin, *unit),
        Case("acos", mp.acos, *unit),
        Case("atan", mp.atan, *any_float),
        Case("sinh", mp.sinh, *wide((-89.4, 89.4), (-710.4, 710.4))),
        Case("cosh", mp.cosh, *wide((-89.4, 89.4), (-710.4, 710.4))),
        Case("tanh", mp.tanh, *everywhere(-1000, 1000)),
        Case("asinh", mp.asinh, *any_float),
        Case("acosh", mp.acosh, *everywhere(1, largest)),
        Case("atanh", mp.atanh, *everywhere(-0.99999994, 0.99999994)),
        Case("erf", mp.erf, *everywhere(-100, 100)),
        Case("erfc", mp.erfc, *wide((-10, 10.05), (-10, 27.2))),
        Case("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), *wide((-103, 200), (-744, 800))),
        Case("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), *any_float),
        Case("sqrt", mp.sqrt, *positive),
        Case("rsqrt", lambda x: 1 / mp.sqrt(x), *positive),
        Case("i0", lambda x: mp.besseli(0, x), *wide((-88, 88), (-700, 700))),
        Case("tgamma", mp.gamma, *wide((0.1, 34), (0.1, 170)), note="the C library's tgamma, in f64"),
        Case("lgamma", mp.loggamma, *everywhere(2.5, 1e6), note="the C library's lgamma, in f64"),
        Case("pow", mp.power, *everywhere(0.01, 20), operands=2),
        Case("atan2", mp.atan2, *everywhere(-1e4, 1e4), operands=2),
        Case("hypot", mp.hypot, *everywhere(-1e4, 1e4), operands=2),
        Case("logaddexp", lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), *everywhere(0, 50), 2, near_0),
        Case("logaddexp2", lambda x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2), *everywhere(0, 50), 2, near_0),
    ]


FAST = ("exp", "sigmoid", "log", "sin", "cos", "tan", "tanh")
FAST_RANGE = {"sin": 100.0, "cos": 100.0, "tan": 100.0, "exp": 80.0, "sigmoid": 80.0, "tanh": 10.0, "log": 1e30}


def points(case: Case, dtype: str) -> list[ndarray]:
    """Return all numbers of a narrow type; for other types random bit patterns, and evenly spaced everyday numbers."""
    import numpy as np

    kind = jit().NUMPY_TYPES[dtype]
    bits = np.dtype(f"u{kind.itemsize}")
    low, high = case.low[dtype], case.high[dtype]
    arrays = []
    for seed in range(case.operands):
        rng = np.random.default_rng(seed)
        if kind.itemsize == 2 and case.operands == 1:
            array = np.arange(1 << 16, dtype=bits).view(kind)
        else:
            patterns = rng.integers(0, np.iinfo(bits).max, POINTS, dtype=bits, endpoint=True).view(kind)
            evenly = rng.uniform(max(low, -700), min(high, 700), POINTS)
            arrays_of = [patterns, evenly.astype(kind), rng.uniform(max(low, -3), min(high, 3), POINTS).astype(kind)]
            array = np.concatenate(arrays_of)
        inside = case.contains(dtype, array.astype(np.float64))
        arrays.append(np.where(inside, array, kind.type(min(high, 1.5) if high > 0.5 else low)))
    return arrays


def every_f32(case: Case) -> Iterator[ndarray]:
    """Yield all numbers of the binades between DENSE's ends, and a regular sample of all others, of both signs."""
    import numpy as np

    for sign in (0, 1 << 31):
        for exponent in range(255):
            step = 1 if exponent - 127 in DENSE else SPARSE_STEP
            bits = np.arange(0, 1 << 23, step, dtype=np.uint32) + np.uint32(sign + (exponent << 23))
            array = bits.view(np.float32)
            inside = array[case.contains("f32", array)]
            if inside.size:
                yield inside


def measure_f32(case: Case, fast_math: bool = False) -> float:
    """Return the largest error in ulp, against a reference in f64 with an error of about 2**-29 of an f32's ulp."""
    import numpy as np

    reference, jit_ = oracle().ORACLES[case.name].function, jit()
    text = jit_.loop_text("f", f"tir.{case.name}", ["f32"], ["f32"])
    program = jit_.compiled(text, fast_math=fast_math)
    worst = 0.0
    for array in every_f32(case):
        got = np.zeros_like(array)
        program("f", array, got)
        with np.errstate(all="ignore"):
            exact = reference(array.astype(np.float64)).astype(np.float64)
            ulps = np.abs(got - exact) / oracle().spacing(exact, got.dtype).astype(np.float64)
        counted = np.isfinite(exact) & (np.abs(exact) <= np.finfo(np.float32).max) & (exact != 0)
        worst = max(worst, float(ulps[counted].max(initial=0.0)))
    return worst


def measure(case: Case, dtype: str, fast_math: bool = False) -> float:
    """Return the largest error in ulp for finite results that are not beyond the largest number."""
    if dtype == "f32" and case.operands == 1:
        return measure_f32(case, fast_math)
    return measure_by_mpmath(case, dtype, fast_math)


def measure_by_mpmath(case: Case, dtype: str, fast_math: bool) -> float:
    import numpy as np

    arrays = [np.unique(array) if case.operands == 1 else array for array in points(case, dtype)]
    return worst_by_mpmath(case, jit().run_intrinsic(f"tir.{case.name}", *arrays, fast_math=fast_math), arrays)


def worst_by_mpmath(case: Case, got: ndarray, arrays: list[ndarray]) -> float:
    """Return the largest error of the results `got` for operands."""
    import ml_dtypes
    import numpy as np

    mp = mpmath()
    info = ml_dtypes.finfo(got.dtype)
    smallest, digits = mp.mpf(float(info.smallest_subnormal)), info.nmant
    largest = mp.mpf(float(info.max))
    worst = 0.0
    for row in zip(got.astype(np.float64), *(array.astype(np.float64) for array in arrays), strict=True):
        result, *operands = map(float, row)
        exact = case.reference(*map(mp.mpf, operands))
        if not mp.isfinite(exact) or abs(exact) > largest or exact == 0:
            continue
        _, exponent = mp.frexp(exact)
        ulp = max(mp.ldexp(1, int(exponent) - digits - 1), smallest)
        worst = max(worst, float(abs(mp.mpf(result) - exact) / ulp))
    return worst


def checksum(rows: list[str], target: str = "llvm") -> str:
    """Return a checksum of the code that the intrinsics in a page's rows are lowered to, which determines the
    results."""
    from relax_mlir.bindings.mlir import ir
    from relax_mlir.dialects.context import create_context
    from relax_mlir.passes.kernels.tir_lower_intrinsics import LowerIntrinsics

    digest = hashlib.sha256()
    for fast_math in (False, True):
        functions = [text for row in rows for text in _functions(row) if _is_fast(row) == fast_math]
        with create_context():
            module = ir.Module.parse("\n".join(functions))
        LowerIntrinsics(target=target, fast_math=fast_math)(module)
        digest.update(str(module).encode())
    return digest.hexdigest()


def _functions(row: str) -> list[str]:
    """Return a function for each type with a figure in a row."""
    from relax_mlir.dialects.core.dialect import find_op

    name = row.split("`")[1]
    operands = len(find_op(name).operands)
    texts = []
    for dtype in ("f32", "f64") if _is_fast(row) else DTYPES:
        arguments = ", ".join(f"%{index}: {dtype}" for index in range(operands))
        names, types = (", ".join(each) for each in ([f"%{index}" for index in range(operands)], [dtype] * operands))
        body = f'%r = "{name}"({names}) : ({types}) -> {dtype}\n  return %r : {dtype}'
        texts.append(f"func.func @{name.replace('.', '_')}_{dtype}({arguments}) -> {dtype} {{\n  {body}\n}}")
    return texts


def _is_fast(row: str) -> bool:
    return row.count("|") == _FAST_COLUMNS


def rows_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| `tir.")]


HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->
<!-- Generated by tools/dev/gen_intrinsics_table.py; measured for the lowered code with the checksum
     {checksum} -->
# Accuracy of tir's intrinsics on llvm

Largest error in units in the last place of the exact result; 0.5 is correct rounding. f16 and bf16 are measured on all
numbers. f32 functions of one operand are measured against f64 on all numbers from 2**-5 to 2**7, and on {others} evenly
spaced numbers in each other binade, of both signs. Errors marked *seen* are measured against mpmath on {points} random
operands; other operands may have larger errors. Overflow, underflow and undefined results follow C, which tests check.
Intrinsics are arithmetic that vectorizes, and call the C library only where a note says so.

| intrinsic | f16 | bf16 | f32 | f64 | note |
| --- | --- | --- | --- | --- | --- |
"""

FAST_HEAD = """
## With fast math

Fast math selects variants with fewer instructions. Subnormal results may become 0. The error of sine, cosine, tangent
and tanh is absolute, and large in ulp near their zeros. log takes only positive normal numbers.
Ranges: {ranges}.

| intrinsic | f32 | f64 |
| --- | --- | --- |
"""


def seen(case: Case, dtype: str) -> str:
    """Return the prefix of an error that was measured on random operands."""
    return "seen " if dtype == "f64" or case.operands > 1 else ""


def table() -> str:
    mpmath().mp.prec = 160
    sys.path.insert(0, str(REPOSITORY / "test" / "python" / "helpers"))
    lines = []
    for case in cases():
        errors = " | ".join(f"{seen(case, dtype)}{measure(case, dtype):.2f}" for dtype in DTYPES)
        lines.append(f"| `tir.{case.name}` | {errors} | {case.note} |\n")
    fast = []
    for case in cases():
        if case.name in FAST:
            bound = FAST_RANGE[case.name]
            low = 1e-30 if case.name == "log" else -bound
            bounded = case._replace(low=dict.fromkeys(DTYPES, low), high=dict.fromkeys(DTYPES, bound))
            errors = " | ".join(
                f"{seen(bounded, dtype)}{measure(bounded, dtype, fast_math=True):.3g}" for dtype in ("f32", "f64")
            )
            fast.append(f"| `tir.{case.name}` | {errors} |\n")
    ranges = ", ".join(f"{name} up to {FAST_RANGE[name]:g}" for name in FAST)
    return (
        HEAD.format(checksum=checksum([*lines, *fast]), points=3 * POINTS, others=(1 << 23) // SPARSE_STEP)
        + "".join(lines)
        + FAST_HEAD.format(ranges=ranges)
        + "".join(fast)
    )


def main(doc: str | None, file: Path, table: Callable[[], str], target: str, script: str) -> int:
    parser = argparse.ArgumentParser(prog=script, description=doc)
    parser.add_argument("--check", action="store_true", help="only compare the checksum of the lowered code")
    if not parser.parse_args().check:
        file.write_text(table(), encoding="utf-8")
        return 0
    page = file.read_text(encoding="utf-8")
    if checksum(rows_of(page), target) in page:
        return 0
    print(f"{file.name} was measured for other code: run tools/dev/{script}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(__doc__, FILE, table, "llvm", "gen_intrinsics_table.py"))
