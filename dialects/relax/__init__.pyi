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

def arange(
    start: ScalarLike,
    end: ScalarLike | None = ...,
    step: ScalarLike = ...,
    dtype: DTypeLike | None = ...,
    **at: Unpack[At],
) -> Value:
    """Numbers from start up to before end in steps; `arange(n)` is `arange(0, n, 1)`."""

def argmax(x: Value, axis: SupportsIndex | None = ..., keepdims: bool = ..., **at: Unpack[At]) -> Value:
    """Where the first largest element is, as int64."""

def argmin(x: Value, axis: SupportsIndex | None = ..., keepdims: bool = ..., **at: Unpack[At]) -> Value:
    """Where the first smallest element is, as int64."""

def argsort(
    data: Value,
    axis: SupportsIndex = ...,
    descending: bool = ...,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """The positions of the elements in their order along an axis."""

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
    """Stops the program unless the condition holds."""

def astype(x: Value, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """Each element converted to another type."""

def atan(x: Value, **at: Unpack[At]) -> Value:
    """Inverse tangent."""

def atan2(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The angle of the point (x2, x1)."""

def atanh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic tangent."""

def bitcast(x: Value, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """The same bits as elements of another type of as many bits; to bool: whether any bit is set."""

def bitwise_and(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The bits set in both."""

def bitwise_not(x: Value, **at: Unpack[At]) -> Value:
    """Every bit inverted."""

def bitwise_or(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The bits set in either."""

def bitwise_xor(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The bits set in exactly one."""

def broadcast_to(x: Value, shape: ShapeLike, **at: Unpack[At]) -> Value:
    """Copies along dimensions of size 1."""

def bucketize(
    input_tensor: Value,
    boundaries: Value,
    out_int32: bool = ...,
    right: bool = ...,
    **at: Unpack[At],
) -> Value:
    """Between which of the sorted boundaries each element is."""

def call_dps_packed(func: str, args: Value | Sequence[Value] = ..., *, out_ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls an external function in destination-passing style."""

def call_external(func: str, args: Value | Sequence[Value] = ..., *, out_ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a function of an external module, which a codegen makes code of."""

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
    """Calls a packed function without side effects; it returns its value."""

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
    """The smallest integer not below x."""

def clip(x: Value, min: ScalarLike, max: ScalarLike, **at: Unpack[At]) -> Value:
    """x, but not below min and not above max."""

def collapse_sum_like(data: Value, collapse_target: Value, **at: Unpack[At]) -> Value:
    """Sums over the dimensions that a broadcast from collapse_target's shape to data's made."""

def collapse_sum_to(data: Value, shape: ShapeLike, **at: Unpack[At]) -> Value:
    """Sums over the dimensions that a broadcast from the shape to data's made."""

def concat(tensors: Value | Sequence[Value] = ..., axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """Tensors one after the other along an axis."""

def constant(value: Any, **at: Unpack[At]) -> Value:
    """A constant tensor of a type that upstream's arith.constant refuses: unsigned integers."""

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
    """The product of each element and all before it."""

def cumsum(
    data: Value,
    axis: SupportsIndex | None = ...,
    dtype: DTypeLike | None = ...,
    exclusive: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The sum of each element and all before it."""

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
    """x1 / x2; integers round towards zero."""

def dynamic_strided_slice(x: Value, begin: Value, end: Value, strides: Value, **at: Unpack[At]) -> Value:
    """x[begin:end:strides] with bounds and strides known at run time only, one for each dimension."""

def einsum(operands: Value | Sequence[Value] = ..., *, subscripts: str, **at: Unpack[At]) -> Value:
    """Products of elements, summed over the labels that the result does not have."""

def equal(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 == x2."""

def erf(x: Value, **at: Unpack[At]) -> Value:
    """The error function."""

def ewise_fma(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """x1 * x2 + x3, rounded once; no broadcasting."""

def exp(x: Value, **at: Unpack[At]) -> Value:
    """e to the power of x."""

def expand_dims(x: Value, axis: SupportsIndex | Sequence[SupportsIndex], **at: Unpack[At]) -> Value:
    """New dimensions of size 1."""

def eye(
    n: ScalarLike,
    m: ScalarLike | None = ...,
    k: ScalarLike = ...,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """An n x m matrix (n x n if m is left out) with 1 on the k-th diagonal and 0 elsewhere."""

def eye_like(x: Value, k: ScalarLike = ..., dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """A matrix of x's shape with 1 on the k-th diagonal and 0 elsewhere."""

def flatten(x: Value, **at: Unpack[At]) -> Value:
    """The elements in row-major order as one dimension."""

def flip(data: Value, axis: SupportsIndex, **at: Unpack[At]) -> Value:
    """The elements along an axis in reversed order."""

def floor(x: Value, **at: Unpack[At]) -> Value:
    """The largest integer not above x."""

def floor_divide(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 / x2, rounded down."""

def floor_mod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The remainder of x1 / x2 with the sign of x2."""

def full(shape: ShapeLike, fill_value: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """A tensor filled with the value of a 0-D tensor."""

def full_like(x: Value, fill_value: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """A tensor of x's shape, filled with the value of a 0-D tensor."""

def gather_elements(data: Value, indices: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """At each place the element whose index along the axis stands there."""

def gather_nd(data: Value, indices: Value, batch_dims: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """The elements or slices at the index tuples in the last dimension of indices."""


class _grad:
    @staticmethod
    def end_checkpoint(input: Value, **at: Unpack[At]) -> Value:
        """The input, which is computed again on the way back, from what start_checkpoint gives."""

    @staticmethod
    def no_grad(input: Value, **at: Unpack[At]) -> Value:
        """The input, which counts as a constant when it is differentiated."""

    @staticmethod
    def start_checkpoint(input: Value, **at: Unpack[At]) -> Value:
        """The input, which is kept: from here to end_checkpoint all is computed again on the way back."""


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
    """alpha - beta * cos(2 * pi * i / N); N is window_size if periodic, else one less."""


class _image:
    @staticmethod
    def affine_grid(data: Value, size: ShapeLike, align_corners: bool = ..., **at: Unpack[At]) -> Value:
        """The grid [batch, coordinates, height, width] that affine matrices make of an image."""

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
        """Images sampled at the positions of a grid [batch, coordinates, height, width]."""

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
        """Images of another height and width."""

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
        """Volumes of another depth, height and width."""


image: _image

def index_put(
    data: Value,
    indices: Value | Sequence[Value] = ...,
    accumulate: bool = ...,
    *,
    values: Value,
    **at: Unpack[At],
) -> Value:
    """data with data[indices[0], indices[1], ...] = values."""

def index_tensor(data: Value, indices: Value | Sequence[Value] = ..., **at: Unpack[At]) -> Value:
    """data[indices[0], indices[1], ...]."""

def isfinite(x: Value, **at: Unpack[At]) -> Value:
    """True where x is neither infinite nor NaN."""

def isinf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is infinite."""

def isnan(x: Value, **at: Unpack[At]) -> Value:
    """True where x is NaN."""

def layout_transform(x: Value, index_map: Any, pad_value: float | None = ..., **at: Unpack[At]) -> Value:
    """Each element at the place that the map gives for its indices; other places are padding."""

def left_shift(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 shifted left by x2 bits."""

def less(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 < x2."""

def less_equal(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where x1 <= x2."""

def log(x: Value, **at: Unpack[At]) -> Value:
    """Natural logarithm."""

def log_add_exp(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """log(exp(x1) + exp(x2)), without overflow."""

def logical_and(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where both are."""

def logical_not(x: Value, **at: Unpack[At]) -> Value:
    """True where x is false."""

def logical_or(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where either is."""

def logical_xor(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """True where exactly one is."""

def match_cast(value: Value, ty: TypesLike, **at: Unpack[At]) -> Value:
    """The value with a more precise type, checked at run time; new symbols get their values."""

def matmul(x1: Value, x2: Value, out_dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """The product of matrices in the last two dimensions; a vector is a row on the left, else a column."""

def matmul_nbits(
    x: Value,
    codes: Value,
    scale: Value,
    zero_point: Value | None = ...,
    bias: Value | None = ...,
    bits: SupportsIndex = ...,
    block_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """x times a matrix that has (codes - zero_point) * scale in its columns, which are codes' rows: [columns, blocks, bytes]. Zero points are else half of the codes' range. Sums are of f32."""

def matmul_nbits_panels(
    x: Value,
    codes: Value,
    scale: Value,
    zero_point: Value | None = ...,
    bias: Value | None = ...,
    bits: SupportsIndex = ...,
    block_size: SupportsIndex = ...,
    rows: SupportsIndex = ...,
    *,
    columns: SupportsIndex,
    lanes: SupportsIndex,
    **at: Unpack[At],
) -> Value:
    """matmul_nbits of codes that are packed as vectors read them: [panels, words, bytes]."""

def max(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The largest element over axes."""

def maximum(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The larger of both."""

def mean(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The mean over axes, of x's element type."""

def median(
    data: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Any:
    """The median over axes (the lower of two); over one axis also where it is, as int64."""

def meshgrid(tensors: Value | Sequence[Value] = ..., indexing: Literal['ij', 'xy'] = ..., **at: Unpack[At]) -> Any:
    """For each 1-D tensor a grid that repeats it along all other axes."""

def min(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The smallest element over axes."""

def minimum(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The smaller of both."""

def mod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The remainder of x1 / x2 with the sign of x1."""

def multinomial_from_uniform(
    prob: Value,
    uniform_sample: Value,
    sample_indices: Value,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Value:
    """For each uniform sample, the class it draws from the row of probabilities that its index names."""

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
        """The means of windows over W, chosen so that the result has the given size."""

    @staticmethod
    def adaptive_avg_pool2d(
        data: Value,
        output_size: SupportsIndex | Sequence[SupportsIndex] | None = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """The means of windows over H and W, chosen so that the result has the given size."""

    @staticmethod
    def adaptive_avg_pool3d(
        data: Value,
        output_size: SupportsIndex | Sequence[SupportsIndex] | None = ...,
        layout: str = ...,
        out_layout: str | None = ...,
        **at: Unpack[At],
    ) -> Value:
        """The means of windows over D, H and W, chosen so that the result has the given size."""

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
        """Attention to the first `length` rows of keys and values [batch, heads, rows, size], as calls keep them from one to the next."""

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
        """Attention over sequences of several lengths, end to end; those of the keys default to the queries'."""

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
        """The mean of each window over W."""

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
        """The mean of each window over H and W."""

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
        """The mean of each window over D, H and W."""

    @staticmethod
    def batch_flatten(data: Value, **at: Unpack[At]) -> Value:
        """All dimensions but the first made one."""

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
        """Normalizes each channel over the batch; also gives the moving mean and variance."""

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
        """conv2d of 3x3 taps, of NCHW4c and the like, with a kernel that is transformed: [panels, points of a tile, channels, columns]. A number for each column is added, then residual."""

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
        """The sum of -predictions * labels, divided by the batch size where there is a batch."""

    @staticmethod
    def dropout(data: Value, rate: SupportsFloat = ..., **at: Unpack[At]) -> tuple[Value, Value]:
        """Some elements set to 0, the others scaled up; also gives the mask."""

    @staticmethod
    def gelu(x: Value, **at: Unpack[At]) -> Value:
        """x * (1 + erf(x / sqrt(2))) / 2."""

    @staticmethod
    def gelu_tanh(x: Value, **at: Unpack[At]) -> Value:
        """gelu approximated with tanh."""

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
        """Normalizes over the axes; gamma and beta have the data's sizes along them."""

    @staticmethod
    def leakyrelu(data: Value, alpha: SupportsFloat = ..., **at: Unpack[At]) -> Value:
        """data where it is positive, alpha * data elsewhere."""

    @staticmethod
    def log_softmax(data: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
        """The logarithm of softmax."""

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
        """The maximum of each window over W."""

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
        """The maximum of each window over H and W."""

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
        """The maximum of each window over D, H and W."""

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
        """Elements added around the data."""

    @staticmethod
    def pixel_shuffle(data: Value, upscale_factor: SupportsIndex, **at: Unpack[At]) -> Value:
        """Channels moved to height and width: (..., C*r*r, H, W) becomes (..., C, H*r, W*r)."""

    @staticmethod
    def prelu(data: Value, alpha: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
        """data where it is positive, alpha * data elsewhere, with an alpha for each channel."""

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
        """The self-normalizing exponential linear unit."""

    @staticmethod
    def silu(x: Value, **at: Unpack[At]) -> Value:
        """x * sigmoid(x)."""

    @staticmethod
    def softmax(data: Value, axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
        """exp(data), divided by its sum along the axis."""

    @staticmethod
    def softplus(data: Value, beta: SupportsFloat = ..., threshold: SupportsFloat = ..., **at: Unpack[At]) -> Value:
        """log(1 + exp(beta * data)) / beta."""


nn: _nn

def nonzero(x: Value, **at: Unpack[At]) -> Value:
    """Where elements are not zero: a row for each dimension."""

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
    """Along a new axis, on_value at the place that the index names, else off_value."""

def ones(shape: ShapeLike, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """A tensor filled with 1."""

def ones_like(x: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """A tensor of x's shape, filled with 1."""

def outer(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The product of each element of one vector with each of another."""

def permute_dims(x: Value, axes: SupportsIndex | Sequence[SupportsIndex] | None = ..., **at: Unpack[At]) -> Value:
    """The dimensions in another order."""

def power(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 to the power of x2."""

def prim_value(value: BoundLike, **at: Unpack[At]) -> Value:
    """The value of a symbolic expression as a 64-bit integer."""

def print(values: Value | Sequence[Value] = ..., format: str = ..., **at: Unpack[At]) -> None:
    """Prints values."""

def prod(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The product over axes; of booleans, whether all are."""

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
    """What random numbers are made of: 0, 1, 2 and so on, each time that a loaded program asks."""

def repeat(data: Value, repeats: SupportsIndex, axis: SupportsIndex | None = ..., **at: Unpack[At]) -> Value:
    """Each element several times in a row."""

def reshape(x: Value, shape: ShapeLike, **at: Unpack[At]) -> Value:
    """The same elements under a new shape. In a Python shape, one -1 is inferred and 0 copies a size."""

def reverse_sequence(
    data: Value,
    seq_lengths: Value,
    seq_axis: SupportsIndex = ...,
    batch_axis: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Reverses the first seq_lengths elements of each batch."""

def right_shift(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 shifted right by x2 bits, arithmetically where signed."""

def round(x: Value, **at: Unpack[At]) -> Value:
    """The nearest integer, halves to even."""

def rsqrt(x: Value, **at: Unpack[At]) -> Value:
    """1 / sqrt(x)."""

def scalar_to_tensor(value: ScalarLike, **at: Unpack[At]) -> Value:
    """A scalar as a 0-D tensor: what a scalar becomes where a tensor is expected."""

def scatter_elements(
    data: Value,
    indices: Value,
    updates: Value,
    axis: SupportsIndex = ...,
    reduction: Literal['update', 'add', 'mul', 'mean', 'max', 'min'] = ...,
    **at: Unpack[At],
) -> Value:
    """data with each update at the place whose index along the axis stands there."""

def scatter_nd(
    data: Value,
    indices: Value,
    updates: Value,
    reduction: Literal['update', 'add', 'mul', 'max', 'min'] = ...,
    **at: Unpack[At],
) -> Value:
    """data with updates at the index tuples in the last dimension of indices."""

def shape_expr(dims: Any, **at: Unpack[At]) -> Value:
    """A shape as a value; its sizes are integers and expressions over the function's symbols."""

def shape_of(input: Value, **at: Unpack[At]) -> Value:
    """The shape of a tensor."""

def shape_to_tensor(input: ShapeLike, **at: Unpack[At]) -> Value:
    """A shape as a 1-D int64 tensor."""

def sigmoid(x: Value, **at: Unpack[At]) -> Value:
    """1 / (1 + exp(-x))."""

def sign(x: Value, **at: Unpack[At]) -> Value:
    """-1, 0 or 1 by the sign of x."""

def sin(x: Value, **at: Unpack[At]) -> Value:
    """Sine."""

def sinh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic sine."""

def size(input: Value, **at: Unpack[At]) -> Value:
    """The number of elements of a tensor, as a 0-D int64 tensor."""

def slice_scatter(
    input: Value,
    src: Value,
    start: ScalarLike,
    end: ScalarLike,
    step: ScalarLike,
    axis: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """input with input[start:end:step] along the axis = src."""

def sort(data: Value, axis: SupportsIndex = ..., descending: bool = ..., **at: Unpack[At]) -> Value:
    """The elements in order along an axis."""

def split(x: Value, indices_or_sections: Any, axis: SupportsIndex = ..., **at: Unpack[At]) -> Any:
    """The parts of a tensor along an axis."""

def sqrt(x: Value, **at: Unpack[At]) -> Value:
    """Square root."""

def square(x: Value, **at: Unpack[At]) -> Value:
    """x * x."""

def squeeze(x: Value, axis: SupportsIndex | Sequence[SupportsIndex] | None = ..., **at: Unpack[At]) -> Value:
    """Without dimensions of size 1. An axis of another size is refused, as numpy and ONNX do."""

def stack(tensors: Value | Sequence[Value] = ..., axis: SupportsIndex = ..., **at: Unpack[At]) -> Value:
    """Tensors of one shape along a new axis."""

def std(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The square root of the variance over axes."""

def strided_slice(
    x: Value,
    axes: SupportsIndex | Sequence[SupportsIndex],
    begin: Sequence[BoundLike],
    end: Sequence[BoundLike],
    strides: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    assume_inbound: bool = ...,
    **at: Unpack[At],
) -> Value:
    """x[begin:end:strides] along the named axes, by Python's rules."""

def subtract(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - x2."""

def sum(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The sum over axes; of booleans, whether any is true."""

def take(
    x: Value,
    indices: ScalarLike,
    axis: SupportsIndex | None = ...,
    mode: Literal['fast', 'nan', 'wrap', 'clip'] = ...,
    **at: Unpack[At],
) -> Value:
    """The slices of x along an axis at the indices."""

def tan(x: Value, **at: Unpack[At]) -> Value:
    """Tangent."""

def tanh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic tangent."""

def tensor_to_shape(input: Value, **at: Unpack[At]) -> Value:
    """A 1-D int64 tensor as a shape."""

def tile(data: Value, repeats: SupportsIndex | Sequence[SupportsIndex], **at: Unpack[At]) -> Value:
    """The whole tensor several times along each axis."""

def topk(
    data: Value,
    k: SupportsIndex = ...,
    axis: SupportsIndex = ...,
    ret_type: Literal['both', 'values', 'indices'] = ...,
    largest: bool = ...,
    dtype: DTypeLike = ...,
    **at: Unpack[At],
) -> Any:
    """The k largest elements along an axis in order, and their positions."""

def tril(x: Value, k: ScalarLike = ..., **at: Unpack[At]) -> Value:
    """Matrices with 0 above the k-th diagonal."""

def triu(x: Value, k: ScalarLike = ..., **at: Unpack[At]) -> Value:
    """Matrices with 0 below the k-th diagonal."""

def trunc(x: Value, **at: Unpack[At]) -> Value:
    """x without its fraction."""

def unique(
    x: Value,
    sorted: ScalarLike = ...,
    return_index: ScalarLike = ...,
    return_inverse: ScalarLike = ...,
    return_counts: ScalarLike = ...,
    axis: ScalarLike | None = ...,
    **at: Unpack[At],
) -> Any:
    """The unique elements, or slices along an axis; as constant flags ask, where they first are, which of them each element is, and how many there are of each."""

def variance(
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    keepdims: bool = ...,
    **at: Unpack[At],
) -> Value:
    """The mean squared distance to the mean over axes."""


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
        """The best boxes of each class that do not overlap: (indices, count) for onnx, (indices, scores, counts) of fixed size for tensorflow."""

    @staticmethod
    def get_valid_counts(
        data: Value,
        score_threshold: SupportsFloat = ...,
        id_index: SupportsIndex = ...,
        score_index: SupportsIndex = ...,
        **at: Unpack[At],
    ) -> tuple[Value, Value, Value]:
        """Boxes that score above the threshold, moved to the front, and how many there are."""

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
        """Boxes and scores from predicted classes, predicted offsets and anchors."""

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
        """The best boxes that do not overlap."""

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
        """Each region, interpolated to a fixed size."""

    @staticmethod
    def roi_pool(
        data: Value,
        rois: Value,
        pooled_size: SupportsIndex | Sequence[SupportsIndex],
        spatial_scale: SupportsFloat,
        layout: Literal['NCHW'] = ...,
        **at: Unpack[At],
    ) -> Value:
        """The maxima of each region's parts, a fixed number of them."""


vision: _vision

def where(condition: Value, x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 where the condition is true, else x2; all are broadcast."""

def zeros(shape: ShapeLike, dtype: DTypeLike, **at: Unpack[At]) -> Value:
    """A tensor filled with 0."""

def zeros_like(x: Value, dtype: DTypeLike | None = ..., **at: Unpack[At]) -> Value:
    """A tensor of x's shape, filled with 0."""
