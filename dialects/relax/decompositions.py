# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorizations and eigenvalues of matrices, with LAPACK's conventions, for f32 and f64.

The last two dimensions are a matrix, dimensions in front of them a batch. A complex matrix has real and imaginary parts
in an additional last dimension. `info` is 0 for a matrix where LAPACK succeeds, otherwise positive.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.attributes import AttrKind, Bool, Str
from ..core.equalities import contradict
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, dim_max, dim_min, dim_sub
from .dialect import op
from .infer.sizes import check_min_rank, most_precise

_ELEMENTS = ("f32", "f64")
#: Element types of results, by the letter behind the shape: integers, real numbers, pairs of real and imaginary parts.
_PAIRS, _INTEGERS = "p", "i"


def _infer(call: Call, operands: str, results: str) -> list[TensorInfo]:
    """Infer results by shapes in letters: `values:n/p` is a vector of pairs for a matrix `a:nn`."""
    is_complex = call.attributes.get("complex", False)
    sizes: dict[str, Dim] = {}
    batch: tuple[Dim, ...] | None = None
    for operand in operands.split():
        name, letters, is_pair, dtype = _parse(operand, is_complex)
        info = call.operands[name]
        allowed = ("i32",) if dtype else _ELEMENTS
        call.require(info.dtype in allowed, f"{call.describe(name)} must have elements of type {' or '.join(allowed)}")
        rank = len(letters) + is_pair
        check_min_rank(call, name, rank)
        if info.shape is None:
            continue
        lead, own = info.shape[: len(info.shape) - rank], info.shape[len(info.shape) - rank :]
        is_alike = batch is None or (len(batch) == len(lead) and not any(map(contradict, batch, lead)))
        call.require(is_alike, f"{call.describe(name)} must have the batch of the other operands, {batch}")
        batch = lead if batch is None else tuple(most_precise(pair) for pair in zip(batch, lead, strict=True))
        for letter, size in zip(letters + "2" * is_pair, own, strict=True):
            known = 2 if letter == "2" else sizes.get(letter)
            call.require(
                not contradict(known, size), f"{call.describe(name)} must have size {known} where it has {size}"
            )
            sizes[letter] = most_precise([known, size])
    n = sizes.get("n")
    sizes.setdefault("k", dim_min(sizes.get("m"), n))
    sizes["l"] = dim_max(dim_sub(n, 1), 0)
    sizes["2"] = 2
    element = call.operands[operands.partition(":")[0]].dtype
    infos = []
    for result in results.split():
        _, letters, is_pair, dtype = _parse(result, is_complex)
        own = tuple(sizes.get(letter) for letter in letters + "2" * is_pair)
        infos.append(TensorInfo(None if batch is None else (*batch, *own), dtype or element))
    return infos


def _parse(text: str, is_complex: bool) -> tuple[str, str, bool, str]:
    """Return the name, the letters of the shape, True for pairs, and the dtype if it is not that of the matrix."""
    name, _, shape = text.partition(":")
    letters, _, kind = shape.partition("/")
    return name, letters, kind == _PAIRS or (is_complex and not kind), "i32" if kind == _INTEGERS else ""


def _by_shapes(operands: str, results: str) -> Callable[[Call], list[TensorInfo]]:
    return lambda call: _infer(call, operands, results)


def _names(shapes: str) -> str:
    return " ".join(shape.partition(":")[0] for shape in shapes.split())


def _decomposition(name: str, operands: str, results: str, doc: str, is_real: bool = False, **attrs: AttrKind) -> None:
    """Declare an operator. Shapes of operands and results are letters, as in `_infer`."""
    whole = attrs if is_real else {**attrs, "complex": _COMPLEX}
    op(f"linalg.{name}", _names(operands), attrs=whole, results=_names(results), own=True,
       infer=_by_shapes(operands, results), doc=doc)  # fmt: skip


def eigh(call: Call) -> list[TensorInfo]:
    return _infer(call, "a:nn", "values:n/r info:/i" + " vectors:nn" * call.compute_vectors)


def svd(call: Call) -> list[TensorInfo]:
    vectors = " u:mm vh:nn" if call.full_matrices else " u:mk vh:kn"
    return _infer(call, "a:mn", "values:k/r info:/i" + vectors * call.compute_uv)


def eig(call: Call) -> list[TensorInfo]:
    return _infer(call, "a:nn", "values:n/p info:/i" + " left:nn/p" * call.left + " right:nn/p" * call.right)


_COMPLEX = Bool(False, doc="if True, matrices have pairs of real and imaginary parts")
_UPPER = Bool(False, doc="if True, reads the upper triangle")

_decomposition("cholesky", "a:nn", "factor:nn info:/i", upper=_UPPER,
   doc="Cholesky factor of positive definite matrices, with zeros in the other triangle.")  # fmt: skip
_decomposition("lu_factor", "a:mn", "lu:mn pivots:k/i info:/i",
   doc="L and U of A = P L U in one matrix. `pivots` counts the swapped rows from 1.")  # fmt: skip
_decomposition("solve_triangular", "a:nn b:np", "x:np", upper=_UPPER,
   unit_diagonal=Bool(False, doc="if True, the diagonal counts as 1"),
   transpose=Str("none", choices=("none", "transpose", "adjoint"), doc="form of A in the system"),
   doc="Solution of A X = B for a triangular A.")  # fmt: skip
_decomposition("qr_factor", "a:mn", "qr:mn tau:k",
   doc="R of A = Q R, below it the vectors of Q's reflections I - tau v vᴴ, as geqrf.")  # fmt: skip
_decomposition("pivoted_qr", "a:mn chosen:n/i", "qr:mn order:n/i tau:k",
   doc="qr_factor with the columns in `order`, counted from 1, as geqp3. Columns with a nonzero `chosen` come first."
   )  # fmt: skip
_decomposition("multiply_q", "qr:mr tau:q c:mp", "result:mp",
   adjoint=Bool(False, doc="if True, multiplies by Q's adjoint"),
   doc="Q C for the reflections of qr_factor.")  # fmt: skip
op("linalg.eigh", "a", attrs={"upper": _UPPER, "compute_vectors": Bool(True), "complex": _COMPLEX},
   results="values info vectors?", own=True, infer=eigh,
   doc="Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.")  # fmt: skip
op("linalg.svd", "a", attrs={"full_matrices": Bool(True), "compute_uv": Bool(True), "complex": _COMPLEX},
   results="values info *vectors", own=True, infer=svd,
   doc="Descending singular values, then U and Vᴴ of A = U S Vᴴ.")  # fmt: skip
op("linalg.eig", "a", attrs={"left": Bool(False), "right": Bool(True), "complex": _COMPLEX},
   results="values info *vectors", own=True, infer=eig,
   doc="Eigenvalues and eigenvectors of any square matrices, as pairs of real and imaginary parts.")  # fmt: skip
_decomposition("schur", "a:nn", "t:nn values:n/p info:/i z:nn",
   doc="Schur form of A = Z T Zᴴ. Blocks of two rows of a real T have complex eigenvalues.")  # fmt: skip
_decomposition("hessenberg", "a:nn", "h:nn tau:l",
   doc="Hessenberg form, with its reflections below the first subdiagonal, as gehrd.")  # fmt: skip
_decomposition("tridiagonal", "a:nn", "form:nn diagonal:n/r beside:l/r tau:l", upper=_UPPER,
   doc="Tridiagonal form of Hermitian matrices, with its reflections, as sytrd and hetrd.")  # fmt: skip
_decomposition("solve_tridiagonal", "lower:n diagonal:n upper:n b:np", "second:n pivots:n first:n x:np info:/i",
   doc="Tridiagonal systems, as gtsv. The first element of `lower` is not read. `second`, `pivots` and `first` are the "
       "upper factor's diagonals.")  # fmt: skip
_decomposition("ldl_factor", "a:nn", "ld:nn pivots:n/i info:/i", is_real=True,
   doc="L and D of A = L D Lᵀ from the lower triangle of symmetric matrices, with pivots, as sytrf.")  # fmt: skip
_decomposition("ldl_solve", "ld:nn pivots:n/i b:np", "x:np", is_real=True,
   doc="Solution of A X = B by ldl_factor.")  # fmt: skip
