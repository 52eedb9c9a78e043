# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the operator tables (`make generate`): do not edit.
from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex

from typing_extensions import Unpack

from ..core.dialect import Dialect
from ..core.operands import At, BoundLike, DTypeLike, ScalarLike, ShapeLike, TypesLike, Value
from .constants import const as const

dialect: Dialect

def abs(x: Value, **at: Unpack[At]) -> Value:
    """Absolute value."""

def acos(x: Value, **at: Unpack[At]) -> Value:
    """Inverse cosine."""

def acosh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic cosine."""

def add(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 + x2."""

def append_pages(pages: Value, rows: Value, slots: Value, **at: Unpack[At]) -> Value:
    """Pages with rows [tokens, heads, size] at slots: page * places of a page + place. Slots differ. A negative slot drops its row; a slot behind the last page is an IndexError. With donate=, rx.compile writes in place."""

def append_pages_quantized(
    pages: Value,
    scales: Value,
    rows: Value,
    slots: Value,
    **at: Unpack[At],
) -> tuple[Value, Value]:
    """append_pages for pages of i8: each row of a head is divided by its scale, its largest magnitude / 127. Rows are finite."""

def arange(
    start: ScalarLike,
    end: ScalarLike | None = ...,
    step: ScalarLike = ...,
    dtype: DTypeLike | None = ...,
    **at: Unpack[At],
) -> Value:
    """Evenly spaced numbers in [start, end); `arange(n)` is `arange(0, n, 1)`."""

def argmax(x: Value, axis: SupportsIndex | None = ..., keepdims: bool = ..., **at: Unpack[At]) -> Value:
    """Index of the first maximum, as int64."""

def argmin(x: Value, axis: SupportsIndex | None = ..., keepdims: bool = ..., **at: Unpack[At]) -> Value:
    """Index of the first minimum, as int64."""

def argsort(
    data: Value,
    axis: SupportsIndex = ...,
    descending: bool = ...,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """Indices that sort the elements along an axis."""

def asin(x: Value, **at: Unpack[At]) -> Value:
    """Inverse sine."""

def asinh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic sine."""

def assert_op(
    condition: Value,
    format_args: Value | Sequence[Value] = ...,
    format: str = ...,
    kind: str = ...,
    **at: Unpack[At],
) -> None:
    """Raises an exception if the condition is False."""

def astype(x: Value, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """Converts the elements to another type."""

def atan(x: Value, **at: Unpack[At]) -> Value:
    """Inverse tangent."""

def atan2(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Angle of the point (x2, x1)."""

def atanh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic tangent."""

def bitcast(x: Value, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """Reinterprets the bits as a type of the same width. A bool is True if any bit is set."""

def bitwise_and(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Bitwise AND."""

def bitwise_not(x: Value, **at: Unpack[At]) -> Value:
    """Bitwise NOT."""

def bitwise_or(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Bitwise OR."""

def bitwise_xor(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Bitwise XOR."""

def broadcast_to(x: Value, shape: ShapeLike, **at: Unpack[At]) -> Value:
    """Broadcasts to a shape."""

def bucketize(
    input_tensor: Value,
    boundaries: Value,
    out_int32: bool = ...,
    right: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Index of each element's bucket between sorted boundaries."""

def call_dps_packed(func: str, args: Value | Sequence[Value] = ..., *, out_ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls an external function in destination-passing style."""

def call_external(func: str, args: Value | Sequence[Value] = ..., *, out_ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a function of an external module, which a codegen compiles."""

def call_inplace_packed(
    func: str,
    args: Value | Sequence[Value] = ...,
    *,
    inplace_indices: SupportsIndex | Sequence[SupportsIndex],
    ty_args: TypesLike,
    **at: Unpack[At],
) -> Any:
    """Calls a packed function that writes results into some of its arguments."""

def call_packed(func: str, args: Value | Sequence[Value] = ..., *, ty_args: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a packed function that may have side effects."""

def call_pure_packed(func: str, args: Value | Sequence[Value] = ..., *, ty_args: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a packed function without side effects."""

def call_tir(func: str, args: Value | Sequence[Value] = ..., *, out_ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a PrimFunc in destination-passing style."""

def call_tir_inplace(
    func: str,
    args: Value | Sequence[Value] = ...,
    *,
    inplace_indices: SupportsIndex | Sequence[SupportsIndex],
    out_ty: TypesLike,
    **at: Unpack[At],
) -> Any:
    """Calls a PrimFunc that writes results into some of its arguments."""

def ceil(x: Value, **at: Unpack[At]) -> Value:
    """Smallest integer >= x."""

def clip(x: Value, min: ScalarLike, max: ScalarLike, **at: Unpack[At]) -> Value:
    """Limits x to [min, max]."""

def collapse_sum_like(data: Value, collapse_target: Value, **at: Unpack[At]) -> Value:
    """Sums data to the shape of collapse_target, the inverse of a broadcast."""

def collapse_sum_to(data: Value, shape: ShapeLike, **at: Unpack[At]) -> Value:
    """Sums data to a shape, the inverse of a broadcast."""

def concat(tensors: Value | Sequence[Value] = ..., axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """Concatenates tensors along an axis."""

def constant(value: Any, **at: Unpack[At]) -> Value:
    """Constant tensor of unsigned integers, which upstream's arith.constant does not support."""

def cos(x: Value, **at: Unpack[At]) -> Value:
    """Cosine."""

def cosh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic cosine."""

def cumprod(
    data: Value,
    axis: SupportsIndex | None = ...,
    dtype: DTypeLike | None = ...,
    exclusive: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Cumulative product along the axis."""

def cumsum(
    data: Value,
    axis: SupportsIndex | None = ...,
    dtype: DTypeLike | None = ...,
    exclusive: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Cumulative sum along the axis."""

def dequantize(
    data: Value,
    scale: Value,
    zero_point: Value,
    axis: SupportsIndex = ...,
    out_dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """(data - zero_point) * scale."""

def divide(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 / x2; integers round toward zero."""

def dynamic_strided_slice(x: Value, begin: Value, end: Value, strides: Value, **at: Unpack[At]) -> Value:
    """x[begin:end:strides] with dynamic bounds and strides, one for each dimension."""

def einsum(operands: Value | Sequence[Value] = ..., *, subscripts: str, **at: Unpack[At]) -> Value:
    """Sum of products over the labels that the result lacks, as numpy.einsum."""

def equal(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 == x2."""

def erf(x: Value, **at: Unpack[At]) -> Value:
    """Error function."""

def ewise_fma(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """x1 * x2 + x3, rounded once; no broadcasting."""

def exp(x: Value, **at: Unpack[At]) -> Value:
    """e to the power of x."""

def expand_dims(x: Value, axis: SupportsIndex | Sequence[SupportsIndex], **at: Unpack[At]) -> Value:
    """Inserts dimensions of size 1."""

def eye(
    n: ScalarLike,
    m: ScalarLike | None = ...,
    k: ScalarLike = ...,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """Matrix of shape (n, m), by default (n, n), with 1 on the k-th diagonal and 0 elsewhere."""

def eye_like(x: Value, k: ScalarLike = ..., dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """Matrix of x's shape with 1 on the k-th diagonal and 0 elsewhere."""

def flatten(x: Value, **at: Unpack[At]) -> Value:
    """Flattens to one dimension, in row-major order."""

def flip(data: Value, axis: SupportsIndex, **at: Unpack[At]) -> Value:
    """Reverses the elements along an axis."""

def floor(x: Value, **at: Unpack[At]) -> Value:
    """Largest integer <= x."""

def floor_divide(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 / x2, rounded down."""

def floor_mod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Remainder of x1 / x2 with the sign of x2."""

def full(shape: ShapeLike, fill_value: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """Tensor filled with the value of a 0-D tensor."""

def full_like(x: Value, fill_value: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """Tensor of x's shape, filled with the value of a 0-D tensor."""

def gather_elements(data: Value, indices: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """Selects an element along the axis for each index, as numpy.take_along_axis."""

def gather_nd(data: Value, indices: Value, batch_dims: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """Selects elements or slices by the index tuples in the last dimension of indices."""


class _grad:
    @staticmethod
    def end_checkpoint(input: Value, **at: Unpack[At]) -> Value:
        """Identity whose input the backward pass recomputes from the results of start_checkpoint."""

    @staticmethod
    def no_grad(input: Value, **at: Unpack[At]) -> Value:
        """Identity that gradients treat as a constant."""

    @staticmethod
    def start_checkpoint(input: Value, **at: Unpack[At]) -> Value:
        """Identity whose input is stored: the backward pass recomputes the operators up to end_checkpoint."""


grad: _grad

def greater(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 > x2."""

def greater_equal(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 >= x2."""

def hamming_window(
    window_size: ScalarLike,
    periodic: ScalarLike,
    alpha: ScalarLike,
    beta: ScalarLike,
    dtype: DTypeLike,
    **at: Unpack[At],
) -> Value:
    """Hamming window: alpha - beta * cos(2 * pi * i / N), N = window_size if periodic, else one less."""


class _image:
    @staticmethod
    def affine_grid(data: Value, size: ShapeLike, align_corners: bool = ..., **at: Unpack[At]) -> Value:
        """Grid [batch, coordinates, height, width] of sampling positions, from affine matrices."""

    @staticmethod
    def grid_sample(
        data: Value,
        grid: Value,
        method: Literal['bilinear', 'nearest', 'bicubic'] = ...,
        layout: str = ...,
        padding_mode: Literal['zeros', 'border', 'reflection'] = ...,
        align_corners: bool = ...,
        **at: Unpack[At],
    ) -> Value:
        """Samples images at the positions in a grid [batch, coordinates, height, width]."""

    @staticmethod
    def resize2d(
        data: Value,
        size: ShapeLike,
        roi: SupportsFloat | Sequence[SupportsFloat] | None = ...,
        layout: str = ...,
        method: Literal['nearest_neighbor', 'linear', 'cubic'] = ...,
        coordinate_transformation_mode: Literal['half_pixel', 'align_corners', 'asymmetric', 'pytorch_half_pixel', 'tf_half_pixel_for_nn', 'tf_crop_and_resize'] = ...,
        rounding_method: Literal['round', 'floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil', ''] = ...,
        cubic_alpha: SupportsFloat = ...,
        cubic_exclude: SupportsIndex = ...,
        extrapolation_value: SupportsFloat = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Resizes images."""

    @staticmethod
    def resize3d(
        data: Value,
        size: ShapeLike,
        roi: SupportsFloat | Sequence[SupportsFloat] | None = ...,
        layout: str = ...,
        method: Literal['nearest_neighbor', 'linear', 'cubic'] = ...,
        coordinate_transformation_mode: Literal['half_pixel', 'align_corners', 'asymmetric', 'pytorch_half_pixel', 'tf_half_pixel_for_nn', 'tf_crop_and_resize'] = ...,
        rounding_method: Literal['round', 'floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil', ''] = ...,
        cubic_alpha: SupportsFloat = ...,
        cubic_exclude: SupportsIndex = ...,
        extrapolation_value: SupportsFloat = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Resizes volumes."""


image: _image

def index_put(
    data: Value,
    indices: Value | Sequence[Value] = ...,
    accumulate: bool = ...,
    *,
    values: Value,
    **at: Unpack[At],
) -> Value:
    """Copy of data with data[indices[0], indices[1], ...] = values."""

def index_tensor(data: Value, indices: Value | Sequence[Value] = ..., **at: Unpack[At]) -> Value:
    """data[indices[0], indices[1], ...]."""

def isfinite(x: Value, **at: Unpack[At]) -> Value:
    """True where x is neither infinite nor NaN."""

def isinf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is infinite."""

def isnan(x: Value, **at: Unpack[At]) -> Value:
    """True where x is NaN."""

def layout_transform(x: Value, index_map: Any, pad_value: float | None = ..., **at: Unpack[At]) -> Value:
    """Moves each element to the indices that the map computes. The rest is padding."""

def left_shift(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 shifted left by x2 bits."""

def less(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 < x2."""

def less_equal(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 <= x2."""


class _linalg:
    @staticmethod
    def cholesky(a: Value, upper: bool = ..., complex: bool = ..., **at: Unpack[At]) -> tuple[Value, Value]:
        """Cholesky factor of positive definite matrices, with zeros in the other triangle."""

    @staticmethod
    def eig(a: Value, left: bool = ..., right: bool = ..., complex: bool = ..., **at: Unpack[At]) -> Any:
        """Eigenvalues and eigenvectors of any square matrices, as pairs of real and imaginary parts."""

    @staticmethod
    def eigh(a: Value, upper: bool = ..., compute_vectors: bool = ..., complex: bool = ..., **at: Unpack[At]) -> Any:
        """Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns."""

    @staticmethod
    def hessenberg(a: Value, complex: bool = ..., **at: Unpack[At]) -> tuple[Value, Value]:
        """Hessenberg form, with its reflections below the first subdiagonal, as gehrd."""

    @staticmethod
    def ldl_factor(a: Value, **at: Unpack[At]) -> tuple[Value, Value, Value]:
        """L and D of A = L D Lᵀ from the lower triangle of symmetric matrices, with pivots, as sytrf."""

    @staticmethod
    def ldl_solve(ld: Value, pivots: Value, b: Value, **at: Unpack[At]) -> Value:
        """Solution of A X = B by ldl_factor."""

    @staticmethod
    def lu_factor(a: Value, complex: bool = ..., **at: Unpack[At]) -> tuple[Value, Value, Value]:
        """L and U of A = P L U in one matrix. `pivots` counts the swapped rows from 1."""

    @staticmethod
    def multiply_q(
        qr: Value,
        tau: Value,
        c: Value,
        adjoint: bool = ...,
        complex: bool = ...,
        **at: Unpack[At],
    ) -> Value:
        """Q C for the reflections of qr_factor."""

    @staticmethod
    def pivoted_qr(a: Value, chosen: Value, complex: bool = ..., **at: Unpack[At]) -> tuple[Value, Value, Value]:
        """qr_factor with the columns in `order`, counted from 1, as geqp3. Columns with a nonzero `chosen` come first."""

    @staticmethod
    def qr_factor(a: Value, complex: bool = ..., **at: Unpack[At]) -> tuple[Value, Value]:
        """R of A = Q R, below it the vectors of Q's reflections I - tau v vᴴ, as geqrf."""

    @staticmethod
    def schur(a: Value, complex: bool = ..., **at: Unpack[At]) -> tuple[Value, Value, Value, Value]:
        """Schur form of A = Z T Zᴴ. Blocks of two rows of a real T have complex eigenvalues."""

    @staticmethod
    def solve_triangular(
        a: Value,
        b: Value,
        upper: bool = ...,
        unit_diagonal: bool = ...,
        transpose: Literal['none', 'transpose', 'adjoint'] = ...,
        complex: bool = ...,
        **at: Unpack[At],
    ) -> Value:
        """Solution of A X = B for a triangular A."""

    @staticmethod
    def solve_tridiagonal(
        lower: Value,
        diagonal: Value,
        upper: Value,
        b: Value,
        complex: bool = ...,
        **at: Unpack[At],
    ) -> tuple[Value, Value, Value, Value, Value]:
        """Tridiagonal systems, as gtsv. The first element of `lower` is not read. `second`, `pivots` and `first` are the upper factor's diagonals."""

    @staticmethod
    def svd(a: Value, full_matrices: bool = ..., compute_uv: bool = ..., complex: bool = ..., **at: Unpack[At]) -> Any:
        """Descending singular values, then U and Vᴴ of A = U S Vᴴ."""

    @staticmethod
    def tridiagonal(
        a: Value,
        upper: bool = ...,
        complex: bool = ...,
        **at: Unpack[At],
    ) -> tuple[Value, Value, Value, Value]:
        """Tridiagonal form of Hermitian matrices, with its reflections, as sytrd and hetrd."""


linalg: _linalg

def log(x: Value, **at: Unpack[At]) -> Value:
    """Natural logarithm."""

def log_add_exp(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """log(exp(x1) + exp(x2)), without overflow."""

def logical_and(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Logical AND."""

def logical_not(x: Value, **at: Unpack[At]) -> Value:
    """Logical NOT."""

def logical_or(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Logical OR."""

def logical_xor(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Logical XOR."""

def match_cast(value: Value, ty: TypesLike, **at: Unpack[At]) -> Value:
    """Casts to a more precise type, checked at run time, and defines new symbols."""

def matmul(x1: Value, x2: Value, out_dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """Matrix product over the last two dimensions. A vector is a row on the left, else a column."""

def matmul_nbits(
    x: Value,
    codes: Value,
    scale: Value,
    zero_point: Value | None = ...,
    bias: Value | None = ...,
    offset: Value | None = ...,
    outer_scale: Value | None = ...,
    outer_offset: Value | None = ...,
    bits: SupportsIndex = ...,
    block_size: SupportsIndex = ...,
    activation_bits: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Product of x and a matrix with columns (codes - zero_point) * scale, or codes * scale + offset, accumulated in f32. A row of codes [columns, blocks, bytes] is a column. Default zero point: half of the codes' range. outer_scale and outer_offset [columns, parts] are factors for parts of the blocks."""

def matmul_nbits_panels(
    x: Value,
    codes: Value,
    scale: Value,
    zero_point: Value | None = ...,
    bias: Value | None = ...,
    offset: Value | None = ...,
    outer_scale: Value | None = ...,
    outer_offset: Value | None = ...,
    bits: SupportsIndex = ...,
    block_size: SupportsIndex = ...,
    rows: SupportsIndex = ...,
    activation_bits: SupportsIndex = ...,
    *,
    columns: SupportsIndex,
    lanes: SupportsIndex,
    **at: Unpack[At],
) -> Value:
    """matmul_nbits of codes packed in the order of vector loads: [panels, words, bytes]."""

def max(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Maximum over axes."""

def maximum(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Elementwise maximum."""

def mean(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Mean over axes, in x's element type."""

def median(
    data: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Any:
    """Median over axes (the lower of two). A single axis adds its index, as int64."""

def meshgrid(tensors: Value | Sequence[Value] = ..., indexing: Literal['ij', 'xy'] = ..., **at: Unpack[At]) -> Any:
    """Coordinate grids: each 1-D tensor, repeated along all other axes."""

def min(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Minimum over axes."""

def minimum(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Elementwise minimum."""

def mod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Remainder of x1 / x2 with the sign of x1."""

def multinomial_from_uniform(
    prob: Value,
    uniform_sample: Value,
    sample_indices: Value,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """Class that each uniform sample draws from the row of probabilities at its index."""

def multiply(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 * x2."""

def negative(x: Value, **at: Unpack[At]) -> Value:
    """-x."""


class _nn:
    @staticmethod
    def adaptive_avg_pool1d(
        data: Value,
        output_size: SupportsIndex | Sequence[SupportsIndex] | None = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Means of windows over W, as many as output_size."""

    @staticmethod
    def adaptive_avg_pool2d(
        data: Value,
        output_size: SupportsIndex | Sequence[SupportsIndex] | None = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Means of windows over H and W, as many as output_size."""

    @staticmethod
    def adaptive_avg_pool3d(
        data: Value,
        output_size: SupportsIndex | Sequence[SupportsIndex] | None = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Means of windows over D, H and W, as many as output_size."""

    @staticmethod
    def attention(
        query: Value,
        key: Value,
        value: Value,
        bias: Value | None = ...,
        scale: SupportsFloat | None = ...,
        causal_mask: Literal['TopLeft', 'BottomRight'] | None = ...,
        window_size: SupportsIndex | None = ...,
        blind: Literal['zeros', 'nan'] = ...,
        **at: Unpack[At],
    ) -> Value:
        """softmax(query @ key^T * scale) @ value for each head."""

    @staticmethod
    def attention_bias(
        query: Value,
        key: Value,
        value: Value,
        bias: Value,
        scale: SupportsFloat | None = ...,
        causal_mask: Literal['TopLeft', 'BottomRight'] | None = ...,
        window_size: SupportsIndex | None = ...,
        blind: Literal['zeros', 'nan'] = ...,
        **at: Unpack[At],
    ) -> Value:
        """Attention with a bias [batch, heads, queries, keys], broadcast and added to the scores."""

    @staticmethod
    def attention_cached(
        query: Value,
        key: Value,
        value: Value,
        bias: Value | None = ...,
        scale: SupportsFloat | None = ...,
        causal_mask: Literal['TopLeft', 'BottomRight'] | None = ...,
        window_size: SupportsIndex | None = ...,
        blind: Literal['zeros', 'nan'] = ...,
        *,
        length: ScalarLike,
        **at: Unpack[At],
    ) -> Value:
        """Attention to the first `length` rows of cached keys and values [batch, heads, rows, size]."""

    @staticmethod
    def attention_var_len(
        query: Value,
        key: Value,
        value: Value,
        seqstart_q: Value,
        max_seqlen_q: Value,
        seqstart_k: Value | None = ...,
        max_seqlen_k: Value | None = ...,
        scale: SupportsFloat | None = ...,
        causal_mask: Literal['TopLeft', 'BottomRight'] | None = ...,
        window_size: SupportsIndex | None = ...,
        blind: Literal['zeros', 'nan'] = ...,
        **at: Unpack[At],
    ) -> Value:
        """Attention over concatenated sequences. The lengths of keys default to those of queries."""

    @staticmethod
    def avg_pool1d(
        data: Value,
        pool_size: SupportsIndex | Sequence[SupportsIndex] = ...,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        ceil_mode: bool = ...,
        count_include_pad: bool = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Mean of each window over W."""

    @staticmethod
    def avg_pool2d(
        data: Value,
        pool_size: SupportsIndex | Sequence[SupportsIndex] = ...,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        ceil_mode: bool = ...,
        count_include_pad: bool = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Mean of each window over H and W."""

    @staticmethod
    def avg_pool3d(
        data: Value,
        pool_size: SupportsIndex | Sequence[SupportsIndex] = ...,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        ceil_mode: bool = ...,
        count_include_pad: bool = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Mean of each window over D, H and W."""

    @staticmethod
    def batch_flatten(data: Value, **at: Unpack[At]) -> Value:
        """Flattens all dimensions but the first."""

    @staticmethod
    def batch_norm(
        data: Value,
        gamma: Value,
        beta: Value,
        moving_mean: Value,
        moving_var: Value,
        axis: SupportsIndex,
        epsilon: SupportsFloat = ...,
        center: bool = ...,
        scale: bool = ...,
        momentum: SupportsFloat = ...,
        training: bool = ...,
        **at: Unpack[At],
    ) -> tuple[Value, Value, Value]:
        """Normalizes each channel over the batch; returns the moving mean and variance, too."""

    @staticmethod
    def conv1d(
        data: Value,
        weight: Value,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        groups: SupportsIndex = ...,
        data_layout: str = ...,
        kernel_layout: str = ...,
        out_layout: str | None = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Convolution over W."""

    @staticmethod
    def conv1d_transpose(
        data: Value,
        weight: Value,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        output_padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        groups: SupportsIndex = ...,
        data_layout: str = ...,
        kernel_layout: str = ...,
        out_layout: str | None = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Transposed convolution over W."""

    @staticmethod
    def conv2d(
        data: Value,
        weight: Value,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        groups: SupportsIndex = ...,
        data_layout: str = ...,
        kernel_layout: str = ...,
        out_layout: str | None = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Convolution over H and W."""

    @staticmethod
    def conv2d_transpose(
        data: Value,
        weight: Value,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        output_padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        groups: SupportsIndex = ...,
        data_layout: str = ...,
        kernel_layout: str = ...,
        out_layout: str | None = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Transposed convolution over H and W."""

    @staticmethod
    def conv2d_winograd(
        data: Value,
        weight: Value,
        bias: Value | None = ...,
        residual: Value | None = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        relu: bool = ...,
        rows: SupportsIndex = ...,
        tiles: SupportsIndex = ...,
        **at: Unpack[At],
    ) -> Value:
        """conv2d of 3x3 taps in layouts like NCHW4c, with a transformed kernel: [panels, points of a tile, channels, columns]. Adds bias for each column, then residual."""

    @staticmethod
    def conv3d(
        data: Value,
        weight: Value,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        groups: SupportsIndex = ...,
        data_layout: str = ...,
        kernel_layout: str = ...,
        out_layout: str | None = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Convolution over D, H and W."""

    @staticmethod
    def conv3d_transpose(
        data: Value,
        weight: Value,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        output_padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        groups: SupportsIndex = ...,
        data_layout: str = ...,
        kernel_layout: str = ...,
        out_layout: str | None = ...,
        out_dtype: DTypeLike | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Transposed convolution over D, H and W."""

    @staticmethod
    def cross_entropy_with_logits(predictions: Value, labels: Value, **at: Unpack[At]) -> Value:
        """Sum of -predictions * labels, divided by the batch size if there is a batch."""

    @staticmethod
    def dropout(data: Value, rate: SupportsFloat = ..., **at: Unpack[At]) -> tuple[Value, Value]:
        """Sets random elements to 0 and scales the others; lowers to the identity. Returns the mask, too."""

    @staticmethod
    def gelu(x: Value, **at: Unpack[At]) -> Value:
        """x * (1 + erf(x / sqrt(2))) / 2."""

    @staticmethod
    def gelu_tanh(x: Value, **at: Unpack[At]) -> Value:
        """Approximation of gelu by tanh."""

    @staticmethod
    def group_norm(
        data: Value,
        gamma: Value,
        beta: Value,
        num_groups: SupportsIndex,
        channel_axis: SupportsIndex,
        axes: SupportsIndex | Sequence[SupportsIndex],
        epsilon: SupportsFloat = ...,
        center: bool = ...,
        scale: bool = ...,
        **at: Unpack[At],
    ) -> Value:
        """Normalizes over the axes and the channels of each group."""

    @staticmethod
    def instance_norm(
        data: Value,
        gamma: Value,
        beta: Value,
        channel_axis: SupportsIndex,
        axes: SupportsIndex | Sequence[SupportsIndex],
        epsilon: SupportsFloat = ...,
        center: bool = ...,
        scale: bool = ...,
        **at: Unpack[At],
    ) -> Value:
        """Normalizes each channel over the axes."""

    @staticmethod
    def layer_norm(
        data: Value,
        gamma: Value,
        beta: Value,
        axes: SupportsIndex | Sequence[SupportsIndex],
        epsilon: SupportsFloat = ...,
        center: bool = ...,
        scale: bool = ...,
        **at: Unpack[At],
    ) -> Value:
        """Normalizes over the axes. gamma and beta have their sizes."""

    @staticmethod
    def leakyrelu(data: Value, alpha: SupportsFloat = ..., **at: Unpack[At]) -> Value:
        """data where data > 0, else alpha * data."""

    @staticmethod
    def log_softmax(data: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
        """Logarithm of softmax."""

    @staticmethod
    def max_pool1d(
        data: Value,
        pool_size: SupportsIndex | Sequence[SupportsIndex] = ...,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        ceil_mode: bool = ...,
        count_include_pad: bool = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Maximum of each window over W."""

    @staticmethod
    def max_pool2d(
        data: Value,
        pool_size: SupportsIndex | Sequence[SupportsIndex] = ...,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        ceil_mode: bool = ...,
        count_include_pad: bool = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Maximum of each window over H and W."""

    @staticmethod
    def max_pool3d(
        data: Value,
        pool_size: SupportsIndex | Sequence[SupportsIndex] = ...,
        strides: SupportsIndex | Sequence[SupportsIndex] = ...,
        padding: SupportsIndex | Sequence[SupportsIndex] = ...,
        dilation: SupportsIndex | Sequence[SupportsIndex] = ...,
        ceil_mode: bool = ...,
        count_include_pad: bool = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """Maximum of each window over D, H and W."""

    @staticmethod
    def nll_loss(
        predictions: Value,
        targets: Value,
        weights: Value | None = ...,
        reduction: Literal['none', 'sum', 'mean'] = ...,
        ignore_index: SupportsIndex = ...,
        **at: Unpack[At],
    ) -> Value:
        """Negative log likelihood of each target class, weighted by class, then reduced."""

    @staticmethod
    def pad(
        data: Value,
        pad_width: SupportsIndex | Sequence[SupportsIndex],
        pad_mode: Literal['constant', 'reflect', 'replicate', 'circular'] = ...,
        pad_value: float = ...,
        **at: Unpack[At],
    ) -> Value:
        """Pads data."""

    @staticmethod
    def pixel_shuffle(data: Value, upscale_factor: SupportsIndex, **at: Unpack[At]) -> Value:
        """Moves channels to height and width: (..., C*r*r, H, W) becomes (..., C, H*r, W*r)."""

    @staticmethod
    def prelu(data: Value, alpha: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
        """data where data > 0, else alpha * data, with an alpha for each channel."""

    @staticmethod
    def relu(x: Value, **at: Unpack[At]) -> Value:
        """max(x, 0)."""

    @staticmethod
    def rms_norm(
        data: Value,
        weight: Value,
        axes: SupportsIndex | Sequence[SupportsIndex] = ...,
        epsilon: SupportsFloat = ...,
        **at: Unpack[At],
    ) -> Value:
        """data / sqrt(mean(data * data) + epsilon) * weight."""

    @staticmethod
    def selu(x: Value, **at: Unpack[At]) -> Value:
        """Scaled exponential linear unit."""

    @staticmethod
    def silu(x: Value, **at: Unpack[At]) -> Value:
        """x * sigmoid(x)."""

    @staticmethod
    def softmax(data: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
        """exp(data) / sum(exp(data)) along the axis."""

    @staticmethod
    def softplus(data: Value, beta: SupportsFloat = ..., threshold: SupportsFloat = ..., **at: Unpack[At]) -> Value:
        """log(1 + exp(beta * data)) / beta."""


nn: _nn

def nonzero(x: Value, **at: Unpack[At]) -> Value:
    """Indices of the nonzero elements, with a row for each dimension."""

def not_equal(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 != x2."""

def one_hot(
    indices: Value,
    on_value: ScalarLike,
    off_value: ScalarLike,
    depth: SupportsIndex,
    axis: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """One-hot vectors along a new axis: on_value at the index, off_value elsewhere."""

def ones(shape: ShapeLike, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """Tensor filled with 1."""

def ones_like(x: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """Tensor of x's shape, filled with 1."""

def outer(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Outer product of two vectors."""

def paged_attention(
    q: Value,
    k_pages: Value,
    v_pages: Value,
    table: Value,
    sequences: Value,
    lengths: Value,
    k_scale: Value | None = ...,
    v_scale: Value | None = ...,
    sinks: Value | None = ...,
    scale: SupportsFloat | None = ...,
    window_size: SupportsIndex | None = ...,
    softcap: SupportsFloat | None = ...,
    **at: Unpack[At],
) -> Value:
    """Attention of tokens [tokens, heads, size] of any sequences. A token sees the first `lengths` keys of the sequence in row `sequences` of the table; with length 0 its result is 0. `sinks` are further scores without values, one a head. A result does not depend on the other tokens, nor on the choice of pages."""

def permute_dims(x: Value, axes: SupportsIndex | Sequence[SupportsIndex] | None = ..., **at: Unpack[At]) -> Value:
    """Permutes the dimensions."""

def power(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 to the power of x2."""

def prim_value(value: BoundLike, **at: Unpack[At]) -> Value:
    """Value of a symbolic expression, as a 64-bit integer."""

def print(values: Value | Sequence[Value] = ..., format: str = ..., **at: Unpack[At]) -> None:
    """Prints values."""

def prod(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Product over axes; logical AND of booleans."""

def quantize(
    data: Value,
    scale: Value,
    zero_point: Value,
    axis: SupportsIndex = ...,
    out_dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """round(data / scale) + zero_point, clipped to the result's range."""

def random_key(**at: Unpack[At]) -> Value:
    """Seed for random numbers: 0, 1, 2, ... at successive calls in a loaded program."""

def repeat(data: Value, repeats: SupportsIndex, axis: SupportsIndex | None = ..., **at: Unpack[At]) -> Value:
    """Repeats each element."""

def requantize(
    data: Value,
    multiplier: Value,
    shift: Value,
    zero_point: Value,
    axis: SupportsIndex = ...,
    form: Literal['float', 'q31', 'q15', 'power_of_two'] = ...,
    rounding: Literal['half_even', 'half_up', 'half_down', 'half_away', 'half_to_zero', 'up', 'down', 'to_zero'] = ...,
    saturate: bool = ...,
    double_rounding: bool = ...,
    out_dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """round(data * multiplier / 2 ** (bits + shift)) + zero_point, as rx.Requantize.apply computes from i32 sums. bits is 31 for form q31, and 15 for q15. A shift below -31 or above 31 counts as the nearest limit. Form float ignores shift, and power_of_two ignores multiplier."""

def reshape(x: Value, shape: ShapeLike, **at: Unpack[At]) -> Value:
    """Changes the shape, not the elements. In a Python shape, -1 is inferred and 0 copies a size."""

def reverse_sequence(
    data: Value,
    seq_lengths: Value,
    seq_axis: SupportsIndex = ...,
    batch_axis: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Reverses the first seq_lengths elements of each batch."""

def right_shift(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 shifted right by x2 bits, arithmetically if signed."""

def round(x: Value, **at: Unpack[At]) -> Value:
    """Nearest integer; ties to even."""

def rsqrt(x: Value, **at: Unpack[At]) -> Value:
    """1 / sqrt(x)."""

def scalar_to_tensor(value: ScalarLike, **at: Unpack[At]) -> Value:
    """Converts a scalar to a 0-D tensor, also implicitly for operands that must be tensors."""

def scatter_elements(
    data: Value,
    indices: Value,
    updates: Value,
    axis: SupportsIndex = ...,
    reduction: Literal['update', 'add', 'mul', 'mean', 'max', 'min'] = ...,
    **at: Unpack[At],
) -> Value:
    """Copy of data with each update written at its index along the axis."""

def scatter_nd(
    data: Value,
    indices: Value,
    updates: Value,
    reduction: Literal['update', 'add', 'mul', 'max', 'min'] = ...,
    **at: Unpack[At],
) -> Value:
    """Copy of data with updates written at the index tuples in the last dimension of indices."""

def shape_expr(dims: Any, **at: Unpack[At]) -> Value:
    """Shape with sizes that are integers or expressions over the function's symbols."""

def shape_of(input: Value, **at: Unpack[At]) -> Value:
    """Shape of a tensor."""

def shape_to_tensor(input: ShapeLike, **at: Unpack[At]) -> Value:
    """Converts a shape to a 1-D int64 tensor."""

def sigmoid(x: Value, **at: Unpack[At]) -> Value:
    """1 / (1 + exp(-x))."""

def sign(x: Value, **at: Unpack[At]) -> Value:
    """Sign of x: -1, 0 or 1."""

def sin(x: Value, **at: Unpack[At]) -> Value:
    """Sine."""

def sinh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic sine."""

def size(input: Value, **at: Unpack[At]) -> Value:
    """Number of elements of a tensor, as a 0-D int64 tensor."""

def slice_scatter(
    input: Value,
    src: Value,
    start: ScalarLike,
    end: ScalarLike,
    step: ScalarLike,
    axis: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Copy of input with input[start:end:step] = src along the axis."""

def sort(data: Value, axis: SupportsIndex = ..., descending: bool = ..., **at: Unpack[At]) -> Value:
    """Sorts the elements along an axis."""

def split(x: Value, indices_or_sections: Any, axis: SupportsIndex = ..., **at: Unpack[At]) -> Any:
    """Splits a tensor along an axis."""

def sqrt(x: Value, **at: Unpack[At]) -> Value:
    """Square root."""

def square(x: Value, **at: Unpack[At]) -> Value:
    """x * x."""

def squeeze(x: Value, axis: SupportsIndex | Sequence[SupportsIndex] | None = ..., **at: Unpack[At]) -> Value:
    """Removes dimensions of size 1. Other sizes are an error, as in numpy and ONNX."""

def stack(tensors: Value | Sequence[Value] = ..., axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """Stacks tensors of one shape along a new axis."""

def std(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Standard deviation over axes: the square root of the variance."""

def strided_slice(
    x: Value,
    axes: SupportsIndex | Sequence[SupportsIndex],
    begin: Sequence[BoundLike],
    end: Sequence[BoundLike],
    strides: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    assume_inbound: bool = ...,
    **at: Unpack[At],
) -> Value:
    """x[begin:end:strides] along the axes, as in Python."""

def subtract(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - x2."""

def sum(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Sum over axes; logical OR of booleans."""

def take(
    x: Value,
    indices: ScalarLike,
    axis: SupportsIndex | None = ...,
    mode: Literal['fast', 'nan', 'wrap', 'clip'] = ...,
    **at: Unpack[At],
) -> Value:
    """Selects slices of x along an axis."""

def tan(x: Value, **at: Unpack[At]) -> Value:
    """Tangent."""

def tanh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic tangent."""

def tensor_to_shape(input: Value, **at: Unpack[At]) -> Value:
    """Converts a 1-D int64 tensor to a shape."""

def tile(data: Value, repeats: SupportsIndex | Sequence[SupportsIndex], **at: Unpack[At]) -> Value:
    """Repeats the whole tensor along each axis."""

def topk(
    data: Value,
    k: SupportsIndex = ...,
    axis: SupportsIndex = ...,
    ret_type: Literal['both', 'values', 'indices'] = ...,
    largest: bool = ...,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Any:
    """Selects the k largest elements along an axis, in order, and their indices."""

def tril(x: Value, k: ScalarLike = ..., **at: Unpack[At]) -> Value:
    """Lower triangle, with 0 above diagonal k."""

def triu(x: Value, k: ScalarLike = ..., **at: Unpack[At]) -> Value:
    """Upper triangle, with 0 below diagonal k."""

def trunc(x: Value, **at: Unpack[At]) -> Value:
    """Integer part of x."""

def unique(
    x: Value,
    sorted: ScalarLike = ...,
    return_index: ScalarLike = ...,
    return_inverse: ScalarLike = ...,
    return_counts: ScalarLike = ...,
    axis: ScalarLike | None = ...,
    **at: Unpack[At],
) -> Any:
    """Unique elements, or slices along an axis. Constant flags add first indices, inverse and counts."""

def variance(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Variance over axes: the mean squared distance to the mean."""


class _vision:
    @staticmethod
    def all_class_non_max_suppression(
        boxes: Value,
        scores: Value,
        max_output_boxes_per_class: Value,
        iou_threshold: Value,
        score_threshold: Value,
        output_format: Literal['onnx', 'tensorflow'] = ...,
        **at: Unpack[At],
    ) -> Any:
        """Selects the best boxes of each class that do not overlap. Returns (indices, count) for onnx, (indices, scores, counts) of fixed size for tensorflow."""

    @staticmethod
    def get_valid_counts(
        data: Value,
        score_threshold: SupportsFloat = ...,
        id_index: SupportsIndex = ...,
        score_index: SupportsIndex = ...,
        **at: Unpack[At],
    ) -> tuple[Value, Value, Value]:
        """Moves boxes with scores above the threshold to the front, and counts them."""

    @staticmethod
    def multibox_transform_loc(
        cls_pred: Value,
        loc_pred: Value,
        anchor: Value,
        clip: bool = ...,
        threshold: SupportsFloat = ...,
        variances: SupportsFloat | Sequence[SupportsFloat] = ...,
        keep_background: bool = ...,
        apply_softmax: bool = ...,
        **at: Unpack[At],
    ) -> tuple[Value, Value]:
        """Decodes boxes and scores from predicted classes, predicted offsets and anchors."""

    @staticmethod
    def non_max_suppression(
        data: Value,
        valid_count: Value,
        indices: Value,
        max_output_size: SupportsIndex = ...,
        iou_threshold: SupportsFloat = ...,
        force_suppress: bool = ...,
        top_k: SupportsIndex = ...,
        coord_start: SupportsIndex = ...,
        score_index: SupportsIndex = ...,
        id_index: SupportsIndex = ...,
        return_indices: bool = ...,
        invalid_to_bottom: bool = ...,
        soft_nms_sigma: SupportsFloat = ...,
        score_threshold: SupportsFloat = ...,
        **at: Unpack[At],
    ) -> Any:
        """Selects the best boxes that do not overlap."""

    @staticmethod
    def roi_align(
        data: Value,
        rois: Value,
        pooled_size: SupportsIndex | Sequence[SupportsIndex],
        spatial_scale: SupportsFloat,
        sample_ratio: SupportsIndex = ...,
        aligned: bool = ...,
        layout: Literal['NCHW', 'NHWC'] = ...,
        mode: Literal['avg', 'max', 'max_share'] = ...,
        **at: Unpack[At],
    ) -> Value:
        """Interpolates each region to a fixed size."""

    @staticmethod
    def roi_pool(
        data: Value,
        rois: Value,
        pooled_size: SupportsIndex | Sequence[SupportsIndex],
        spatial_scale: SupportsFloat,
        layout: Literal['NCHW'] = ...,
        **at: Unpack[At],
    ) -> Value:
        """Maxima of a fixed number of parts of each region."""


vision: _vision

def where(condition: Value, x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 where the condition is True, else x2, with broadcasting."""

def zeros(shape: ShapeLike, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """Tensor filled with 0."""

def zeros_like(x: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """Tensor of x's shape, filled with 0."""
