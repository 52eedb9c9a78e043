# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of matrices by LAPACK's C interface, which the program's code calls without Python.

Without LAPACK on this machine, the default rules apply: loops, or a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeAlias

from ...bindings.ir import Type, Value
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.opdef import Call
from ...dialects.tir import dialect as tir
from ...emit import linalg, loops
from ...emit.matrices import Matrix, for_each_matrix
from ...emit.numbers import Number, Size, constant, minimum, number, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ...support.lapack import INSTALL, PACKAGE, find_lapack
from ..core.registry import host_chain

_BY_ROWS, _BY_COLUMNS = 101, 102
#: Letters of LAPACK's functions, by the element type and whether numbers are complex.
_LETTERS = {("f32", False): "s", ("f64", False): "d", ("f32", True): "c", ("f64", True): "z"}
#: Options of cblas_trsm.
_UPLO, _DIAGONAL = (122, 121), (131, 132)
_FORMS = {"none": 111, "transpose": 112, "adjoint": 113}

#: Kernel of one matrix: `kernel(lapack, *matrices)` returns LAPACK's info, if the function has one.
Kernel: TypeAlias = Callable[..., "Number | None"]


class Lapack:
    """Calls of LAPACK for the operands of one operator."""

    def __init__(self, inferred: Call, element: Type) -> None:
        self.options = inferred
        self.is_complex: bool = inferred.attributes.get("complex", False)
        self._element = element
        self._letter = _LETTERS[str(element), self.is_complex]
        self._memory: list[Value] = []

    def scratch(self, sizes: Sequence[Size], element: Type | None = None) -> Matrix:
        """Return uninitialized memory, which `free` frees."""
        self._memory.append(loops.allocated(sizes, element or self._element))
        return Matrix(self._memory[-1])

    def copy(self, a: Matrix) -> Matrix:
        """Return scratch memory with the elements of a matrix."""
        work = self.scratch(a.sizes)
        work.copy(a)
        return work

    def free(self) -> None:
        for memory in self._memory:
            ir.Operation.create("memref.dealloc", operands=[memory])

    def by_rows(self, names: str, *arguments: object) -> Number:
        """Call a function for matrices in row-major order. Complex numbers use the second of two names.

        Arguments are characters, sizes, and matrices, which are passed by address.
        """
        return self._call(names, _BY_ROWS, arguments)

    def by_columns(self, names: str, *arguments: object) -> Number:
        """Call a function for matrices in column-major order."""
        return self._call(names, _BY_COLUMNS, arguments)

    def uplo(self, *, flipped: bool = False) -> str:
        """Return the letter of the triangle that is read, or of the other one."""
        return "U" if self.options.upper != flipped else "L"

    def _call(self, names: str, order: int, arguments: Sequence[object]) -> Number:
        """Call a function unless a size is 0, for which it would return an error."""
        name = names.split()[-1 if self.is_complex else 0]
        sizes = [size for size in arguments if isinstance(size, (int, Number)) and _is_size(size)]
        values = [constant(order, "i32"), *map(_argument, arguments)]
        i32 = ir.IntegerType.get_signless(32)
        symbol = f"scipy_LAPACKE_{self._letter}{name}"
        call = lambda: number(tir.call_extern(symbol, values, i32, library=PACKAGE))  # noqa: E731
        return loops.when(_are_positive(sizes), call, lambda: constant(0, "i32"), [i32])[0]

    def solve_triangular(self, a: Matrix, x: Matrix) -> None:
        """Call cblas_trsm, which takes real factors by value and complex ones by address."""
        options = self.options
        codes = (_BY_ROWS, 141, _UPLO[options.upper], _FORMS[options.transpose], _DIAGONAL[options.unit_diagonal])
        rows, columns = x.sizes[:2]
        factor: Matrix | Number = x.real(1.0)
        if self.is_complex:
            factor = self.scratch([2])
            factor[0], factor[1] = x.real(1.0), x.real(0.0)
        arguments = (*(constant(code, "i32") for code in codes), rows, columns, factor, a, rows, x, columns)
        values = list(map(_argument, arguments))
        symbol = f"scipy_cblas_{self._letter}trsm"
        loops.when(_are_positive([rows, columns]), lambda: tir.call_extern(symbol, values, (), library=PACKAGE))


def _is_size(value: int | Number) -> bool:
    return isinstance(value, int) or isinstance(value.type, ir.IndexType)


def _are_positive(sizes: Sequence[int | Number]) -> Number:
    product = linalg.product(sizes)
    return constant(product > 0, "i1") if isinstance(product, int) else product > 0


def _argument(argument: object) -> Value:
    """Return an argument of a C function: the address of a matrix, or a number."""
    if isinstance(argument, Matrix):
        return argument.address
    if isinstance(argument, str):
        return constant(ord(argument), "i32")
    assert isinstance(argument, (int, Number))
    if isinstance(argument, int):
        return constant(argument, "i32")
    return argument.to("i32") if isinstance(argument.type, ir.IndexType) else argument


def _lapack(name: str) -> Callable[[Kernel], Kernel]:
    """Register a kernel as the rule of `relax.linalg.<name>`."""

    def register(kernel: Kernel) -> Kernel:
        @register_legalize(f"relax.linalg.{name}", target="llvm")
        @wraps(kernel)
        def rule(call: LegalizeCall) -> Legalized:
            return _legalize(kernel, call)

        return kernel

    return register


def _legalize(kernel: Kernel, call: LegalizeCall) -> Legalized:
    if "llvm" not in {target.name for target in host_chain(call.target.name)}:  # C sources have no libraries.
        return call.decline("the target's programs cannot call LAPACK")
    if not find_lapack():
        return call.decline(INSTALL)
    inferred = call.inferred
    batch = max(len(call.shape(operand)) for operand in call.operands) - 2 - inferred.attributes.get("complex", False)
    operands = len(call.operands)

    def run(*matrices: Matrix) -> None:
        results = matrices[operands:]
        lapack = Lapack(inferred, matrices[0].element)
        code = kernel(lapack, *matrices)
        lapack.free()
        if code is not None:
            loops.when(code < 0, lambda: _fill_with_nan(results))
            _store_info(code, results)

    return call.loops(lambda *buffers: for_each_matrix(buffers, run, batch))


def _fill_with_nan(results: Sequence[Matrix]) -> None:
    """Fill the results of a matrix that LAPACK refuses."""
    for result in results:
        if isinstance(result.element, ir.FloatType):
            result.fill(lambda *_, result=result: result.real(float("nan")))


def _store_info(code: Number, results: Sequence[Matrix]) -> None:
    for result in results:
        if not result.sizes:
            result[()] = select(code < 0, 1, code)


def _write_identity(matrix: Matrix) -> None:
    """Write an identity matrix."""
    one, zero = matrix.real(1.0), matrix.real(0.0)
    matrix.fill(lambda i, j, *part: select((i == j) & (part[0] == 0) if part else i == j, one, zero))


def _copy_triangle(a: Matrix, target: Matrix, *, is_upper: bool) -> None:
    """Copy a triangle, and write zeros beside it."""
    zero = a.real(0.0)
    target.fill(lambda i, j, *part: select(j < i if is_upper else j > i, zero, a[[i, j, *part]]))


# ---- factorizations and systems ----


@_lapack("cholesky")
def _cholesky(lapack: Lapack, a: Matrix, factor: Matrix, info: Matrix) -> Number:
    """Factor in column-major order, in which the lower triangle of rows is the upper one."""
    _copy_triangle(a, factor, is_upper=lapack.options.upper)
    n = a.rows
    return lapack.by_columns("potrf_work", lapack.uplo(flipped=True), n, factor, n)


@_lapack("lu_factor")
def _lu_factor(lapack: Lapack, a: Matrix, lu: Matrix, pivots: Matrix, info: Matrix) -> Number:
    lu.copy(a)
    return lapack.by_rows("getrf_work", a.rows, a.columns, lu, a.columns, pivots)


@_lapack("solve_triangular")
def _solve_triangular(lapack: Lapack, a: Matrix, b: Matrix, x: Matrix) -> None:
    x.copy(b)
    lapack.solve_triangular(a, x)


@_lapack("qr_factor")
def _qr_factor(lapack: Lapack, a: Matrix, qr: Matrix, tau: Matrix) -> Number:
    qr.copy(a)
    return lapack.by_rows("geqrf", a.rows, a.columns, qr, a.columns, tau)


@_lapack("pivoted_qr")
def _pivoted_qr(lapack: Lapack, a: Matrix, chosen: Matrix, qr: Matrix, order: Matrix, tau: Matrix) -> Number:
    qr.copy(a)
    order.copy(chosen)
    return lapack.by_rows("geqp3", a.rows, a.columns, qr, a.columns, order, tau)


@_lapack("multiply_q")
def _multiply_q(lapack: Lapack, qr: Matrix, tau: Matrix, c: Matrix, out: Matrix) -> Number:
    out.copy(c)
    form = "N" if not lapack.options.adjoint else "C" if lapack.is_complex else "T"
    rows, columns = c.sizes[:2]
    # The rows hold no more reflections.
    count = minimum(minimum(qr.rows, qr.columns), tau.rows)
    return lapack.by_rows("ormqr unmqr", "L", form, rows, columns, count, qr, qr.columns, tau, out, columns)


@_lapack("solve_tridiagonal")
def _solve_tridiagonal(lapack: Lapack, *matrices: Matrix) -> Number:
    low, d, up, b, second, pivots, first, x, _ = matrices
    last = d.rows - 1
    zero = d.real(0.0)
    second.fill(lambda i, *part: loops.when(i < last, lambda: low[[i + 1, *part]], lambda: zero, [d.element])[0])
    for result, operand in ((pivots, d), (first, up), (x, b)):
        result.copy(operand)
    return lapack.by_rows("gtsv", d.rows, b.columns, second, pivots, first, x, b.columns)


@_lapack("ldl_factor")
def _ldl_factor(lapack: Lapack, a: Matrix, ld: Matrix, pivots: Matrix, info: Matrix) -> Number:
    _copy_triangle(a, ld, is_upper=False)
    return lapack.by_rows("sytrf", "L", a.rows, ld, a.rows, pivots)


@_lapack("ldl_solve")
def _ldl_solve(lapack: Lapack, ld: Matrix, pivots: Matrix, b: Matrix, x: Matrix) -> Number:
    x.copy(b)
    solve = lambda: lapack.by_rows("sytrs", "L", b.rows, b.columns, ld, b.rows, pivots, x, b.columns)  # noqa: E731
    return _call_if(_are_valid(pivots), solve)


def _are_valid(pivots: Matrix) -> Number:
    """Return true for pivots that name rows. LAPACK would read out of bounds with others.

    A negative pivot of a block of two rows occurs twice.
    """
    zero = constant(0, "i32")

    def step(i: Number, is_valid: Number, first: Number) -> list[Number]:
        pivot = pivots[i]
        row = select(pivot < 0, -pivot, pivot)
        is_row = (row > i.to("i32")) & (row <= number(_argument(pivots.rows)))
        is_second = first != 0
        return [is_valid & select(is_second, pivot == first, is_row), select(is_second | (pivot > 0), zero, pivot)]

    is_valid, first = loops.for_range(0, pivots.rows, step, constant(True, "i1"), zero)
    return is_valid & (first == 0)


def _call_if(condition: Number, call: Callable[[], Number]) -> Number:
    """Call LAPACK on a condition, and return its code or that of a refusal."""
    refusal = lambda: constant(-1, "i32")  # noqa: E731
    return loops.when(condition, call, refusal, [ir.IntegerType.get_signless(32)])[0]


# ---- eigenvalues and singular values ----


def _if_finite(a: Matrix, call: Callable[[], Number]) -> Number:
    """Call LAPACK if all elements are finite. Of others its loops need not end, and results need not be NaN."""
    add = lambda *at: at[-1] + (a[at[:-1]] - a[at[:-1]])  # noqa: E731
    distance: Number = loops.nest(a.sizes, add, a.real(0.0))[0]
    return _call_if(distance == 0.0, call)


@register_legalize("relax.linalg.eigh", target="llvm")
def eigh(call: LegalizeCall) -> Legalized:
    """Transpose the kernel's vectors: its rows are eigenvectors, of the conjugate matrix if that is complex."""
    legalized = _legalize(_eigh, call)
    if not isinstance(legalized, list) or len(legalized) < 3:
        return legalized
    values, info, rows = legalized
    rank = rows.type.rank
    is_complex = call.inferred.complex
    first = rank - 2 - is_complex
    vectors = relax.permute_dims(rows, axes=[*range(first), first + 1, first, *range(first + 2, rank)])
    if is_complex:
        vectors = relax.multiply(vectors, relax.const([1, -1], call.dtype(rows)))
    return [values, info, vectors]


def _eigh(lapack: Lapack, a: Matrix, values: Matrix, info: Matrix, *vectors: Matrix) -> Number:
    work, n = vectors[0] if vectors else lapack.scratch(a.sizes), a.rows
    _copy_triangle(a, work, is_upper=lapack.options.upper)
    mode, uplo = "V" if vectors else "N", lapack.uplo(flipped=True)
    return _if_finite(work, lambda: lapack.by_columns("syevd heevd", mode, uplo, n, work, n, values))


@_lapack("svd")
def _svd(lapack: Lapack, a: Matrix, values: Matrix, info: Matrix, *vectors: Matrix) -> Number:
    """Decompose the transposed matrix, as the memory is in column-major order. Its left vectors are the rows of Vᴴ."""
    m, n = a.sizes[:2]
    mode = "N" if not vectors else "A" if lapack.options.full_matrices else "S"
    if mode == "A":
        for matrix in vectors:  # results for a matrix without elements
            _write_identity(matrix)
    u, vh = vectors or (values, values)
    rows = m if not vectors else u.columns
    work = lapack.copy(a)
    return _if_finite(work, lambda: lapack.by_columns("gesdd", mode, n, m, work, n, values, vh, n, u, rows))


@_lapack("eig")
def _eig(lapack: Lapack, a: Matrix, values: Matrix, info: Matrix, *vectors: Matrix) -> Number:
    n = a.rows
    modes = ["V" if is_asked else "N" for is_asked in (lapack.options.left, lapack.options.right)]
    computed = vectors if lapack.is_complex else tuple(lapack.scratch(a.sizes) for _ in vectors)
    sides = iter(computed)
    left, right = (next(sides) if mode == "V" else values for mode in modes)
    parts, work = _parts_of_values(lapack, values), lapack.copy(a)
    code = _if_finite(work, lambda: lapack.by_rows("geev", *modes, n, work, n, *parts, left, n, right, n))
    if not lapack.is_complex:
        _interleave(parts, values)
        for matrix, result in zip(computed, vectors, strict=True):
            _spread_pairs(matrix, parts[1], result)
    return code


def _parts_of_values(lapack: Lapack, values: Matrix) -> list[Matrix]:
    """Return the memory that LAPACK writes eigenvalues to: real matrices have real and imaginary parts apart."""
    return [values] if lapack.is_complex else [lapack.scratch([values.rows]) for _ in range(2)]


def _interleave(parts: Sequence[Matrix], values: Matrix) -> None:
    values.fill(lambda i, part: select(part == 0, parts[0][i], parts[1][i]))


def _spread_pairs(matrix: Matrix, imag: Matrix, vectors: Matrix) -> None:
    """Write complex eigenvectors. Two columns of LAPACK's matrix are the parts of a pair of conjugate vectors."""

    def store(i: Number, j: Number) -> None:
        first = select(imag[j] < 0.0, j - 1, j)
        second = select(imag[j] > 0.0, j + 1, j)
        other = matrix[i, second]
        vectors[i, j, 0] = matrix[i, first]
        vectors[i, j, 1] = select(imag[j] == 0.0, matrix.real(0.0), select(imag[j] < 0.0, -other, other))

    loops.nest(matrix.sizes, store)


@_lapack("schur")
def _schur(lapack: Lapack, a: Matrix, t: Matrix, values: Matrix, info: Matrix, z: Matrix) -> Number:
    t.copy(a)
    n, null = a.rows, constant(0, "i64")
    selected = lapack.scratch([1], ir.IntegerType.get_signless(32))
    parts = _parts_of_values(lapack, values)
    code = _if_finite(t, lambda: lapack.by_rows("gees", "V", "N", null, n, t, n, selected, *parts, z, n))
    if not lapack.is_complex:
        _interleave(parts, values)
    return code


@_lapack("hessenberg")
def _hessenberg(lapack: Lapack, a: Matrix, h: Matrix, tau: Matrix) -> Number:
    h.copy(a)
    return lapack.by_rows("gehrd", a.rows, constant(1, "i32"), a.rows, h, a.rows, tau)


@_lapack("tridiagonal")
def _tridiagonal(lapack: Lapack, a: Matrix, form: Matrix, diagonal: Matrix, beside: Matrix, tau: Matrix) -> Number:
    form.copy(a)
    return lapack.by_rows("sytrd hetrd", lapack.uplo(), a.rows, form, a.rows, diagonal, beside, tau)
