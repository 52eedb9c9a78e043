# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of operators that change the shape, order or place of elements."""

from __future__ import annotations

from tflite_cases import Case, case, f32, flags, i32, numbers, quantized, random_floats
from tflite_model import Tensor


def _reshaping() -> list[Case]:
    return [
        case("RESHAPE", [f32(2, 6), numbers([3, -1])], f32(3, 4)),
        case("RESHAPE", [f32(2, 6)], f32(4, 3), note="option", new_shape=[4, 3]),
        case("RESHAPE", [quantized(2, 6), numbers([12])], quantized(12)),
        case("SQUEEZE", [f32(1, 3, 1)], f32(3), note="all", squeeze_dims=[]),
        case("SQUEEZE", [f32(1, 3, 1)], f32(1, 3), squeeze_dims=[-1]),
        case("EXPAND_DIMS", [f32(2, 3), numbers(1)], f32(2, 1, 3)),
        case("EXPAND_DIMS", [f32(2, 3), numbers(-1)], f32(2, 3, 1), note="last"),
        case("TRANSPOSE", [f32(2, 3, 4), numbers([2, 0, 1])], f32(4, 2, 3)),
        case("TRANSPOSE", [quantized(2, 3, 4), numbers([2, 0, 1])], quantized(4, 2, 3)),
        case("TILE", [f32(2, 3), numbers([2, 3])], f32(4, 9)),
        case("BROADCAST_TO", [f32(2, 1), numbers([3, 2, 4])], f32(3, 2, 4), version=2),
        case("REVERSE_V2", [f32(2, 3, 4), numbers([1])], f32(2, 3, 4)),
        case("REVERSE_SEQUENCE", [f32(3, 5, 2), numbers([2, 5, 1])], f32(3, 5, 2), seq_dim=1, batch_dim=0),
        case("SPACE_TO_DEPTH", [f32(1, 4, 6, 3)], f32(1, 2, 3, 12), block_size=2),
        case("DEPTH_TO_SPACE", [f32(1, 2, 3, 12)], f32(1, 4, 6, 3), block_size=2),
        case("DEPTH_TO_SPACE", [quantized(1, 2, 3, 4)], quantized(1, 4, 6, 1), block_size=2),
        case("SPACE_TO_BATCH_ND", [f32(1, 4, 5, 2), numbers([2, 3]), numbers([[0, 0], [1, 0]])], f32(6, 2, 2, 2)),
        case("SPACE_TO_BATCH_ND", [quantized(2, 4, 3), numbers([2]), numbers([[1, 1]])], quantized(4, 3, 3)),
        case("BATCH_TO_SPACE_ND", [f32(6, 2, 2, 2), numbers([2, 3]), numbers([[0, 0], [1, 0]])], f32(1, 4, 5, 2)),
    ]


def _joining() -> list[Case]:
    return [
        case("CONCATENATION", [f32(2, 3), f32(2, 4)], f32(2, 7), axis=1, fused_activation_function=0),
        case("CONCATENATION", [f32(2, 3), f32(1, 3)], f32(3, 3), note="rows", axis=-2, fused_activation_function=0),
        case("CONCATENATION", [quantized(2, 3), quantized(2, 4)], quantized(2, 7), axis=1),
        case("CONCATENATION", [quantized(2, 3, dtype="uint8", scale=0.1), quantized(2, 4, dtype="uint8")],
             quantized(2, 7, dtype="uint8", scale=0.1), axis=1),
        case("PACK", [f32(2, 3), f32(2, 3)], f32(2, 2, 3), values_count=2, axis=1),
        case("PACK", [i32(3), i32(3), i32(3)], i32(3, 3), values_count=3, axis=-1),
        case("UNPACK", [f32(2, 3, 4)], f32(2, 4), f32(2, 4), f32(2, 4), num=3, axis=1),
        case("SPLIT", [numbers(1), f32(2, 6)], f32(2, 3), f32(2, 3), num_splits=2),
        case("SPLIT_V", [f32(2, 6), numbers([1, -1, 2]), numbers(1)], f32(2, 1), f32(2, 3), f32(2, 2), kind="SplitV",
             num_splits=3),
    ]  # fmt: skip


def _strided(note: str, shape: tuple[int, ...], slices: list[list[int]], result: tuple[int, ...], **masks: int) -> Case:
    operands = [f32(*shape), *(numbers(each) for each in slices)]
    return case("STRIDED_SLICE", operands, f32(*result), note=note, kind="StridedSlice", **masks)


def _slices() -> list[Case]:
    return [
        case("SLICE", [f32(4, 5, 6), numbers([1, 0, 2]), numbers([2, -1, 3])], f32(2, 5, 3)),
        case("SLICE", [quantized(4, 5), numbers([1, 2]), numbers([2, 2])], quantized(2, 2)),
        _strided("plain", (4, 5), [[0, 1], [4, 5], [2, 2]], (2, 2)),
        _strided("back", (4, 5), [[3, -1], [0, -6], [-1, -2]], (3, 3)),
        _strided("open", (4, 5), [[1, 2], [3, 4], [1, 1]], (3, 3), begin_mask=1, end_mask=3),
        _strided("open-back", (4, 5), [[1, 2], [3, 1], [-1, -1]], (4, 1), begin_mask=1, end_mask=1),
        _strided("shrink", (4, 5), [[2, 1], [3, 4], [1, 1]], (3,), shrink_axis_mask=1),
        _strided("shrink-last", (4, 5), [[0, -1], [4, 0], [1, 1]], (4,), shrink_axis_mask=2),
        _strided("new", (4, 5), [[0, 0, 1], [4, 0, 3], [1, 1, 1]], (4, 1, 2), new_axis_mask=2),
        _strided("ellipsis", (4, 5, 6), [[1, 0, 2], [3, 0, 5], [1, 1, 1]], (2, 5, 3), ellipsis_mask=2),
        _strided("all", (4, 5, 6), [[0, 0, 0, 1], [0, 0, 0, 4], [1, 1, 1, 2]], (1, 5, 2), new_axis_mask=1,
                 shrink_axis_mask=2, ellipsis_mask=4),
        case("PAD", [f32(2, 3), numbers([[1, 0], [2, 1]])], f32(3, 6)),
        case("PAD", [quantized(2, 3), numbers([[1, 0], [2, 1]])], quantized(3, 6)),
        case("PADV2", [f32(2, 3), numbers([[1, 0], [2, 1]]), numbers(2.5, "float32")], f32(3, 6)),
        case("PADV2", [f32(2, 3), numbers([[1, 0], [2, 1]]), f32(1)], f32(3, 6), note="given"),
        case("MIRROR_PAD", [f32(3, 4), numbers([[1, 2], [2, 1]])], f32(6, 7), kind="MirrorPad", mode=0),
        case("MIRROR_PAD", [f32(3, 4), numbers([[1, 2], [2, 1]])], f32(6, 7), note="symmetric", kind="MirrorPad",
             mode=1),
    ]  # fmt: skip


def _indexing() -> list[Case]:
    return [
        case("GATHER", [f32(4, 5), numbers([3, 0, 1])], f32(3, 5), axis=0),
        case("GATHER", [f32(4, 5), i32(2, 2, low=0, high=4)], f32(4, 2, 2), note="columns", axis=1),
        case("GATHER", [quantized(4, 5), numbers([3, 0])], quantized(2, 5), axis=0),
        case("GATHER", [f32(2, 4, 5), i32(2, 3, low=0, high=3)], f32(2, 3, 5), note="batch", axis=1, batch_dims=1),
        case("GATHER", [f32(2, 4, 5), i32(2, 3, low=0, high=4)], f32(2, 4, 3), note="batch-last", axis=2,
             batch_dims=1),
        case("GATHER_ND", [f32(4, 5), i32(3, 2, low=0, high=3)], f32(3)),
        case("GATHER_ND", [f32(4, 5, 2), i32(3, 1, low=0, high=3)], f32(3, 5, 2), note="slices"),
        case("SCATTER_ND", [numbers([[1], [3], [1]]), f32(3, 2), numbers([5, 2])], f32(5, 2)),
        case("SPARSE_TO_DENSE", [numbers([[0, 1], [2, 0]]), numbers([3, 2]), f32(2), numbers(-1.0, "float32")],
             f32(3, 2), validate_indices=False),
        case("SPARSE_TO_DENSE", [numbers([0, 3]), numbers([5]), f32(), numbers(0.0, "float32")], f32(5),
             note="flat", validate_indices=False),
        case("EMBEDDING_LOOKUP", [i32(3, low=0, high=4), random_floats(5, 6)], f32(3, 6)),
        case("ONE_HOT", [i32(2, 3, low=-1, high=4), numbers(4), numbers(2.0, "float32"), numbers(0.5, "float32")],
             f32(2, 3, 4), axis=-1),
        case("ONE_HOT", [i32(2, 3, low=0, high=3), numbers(4), f32(), f32()], f32(2, 4, 3), note="1", axis=1),
        case("WHERE", [flags(3, 4)], Tensor((0, 2), "int64")),
        case("SEGMENT_SUM", [f32(5, 3), numbers([0, 0, 1, 2, 2])], f32(3, 3)),
        *(
            case(f"UNSORTED_SEGMENT_{name}", [each(5, 3), numbers([3, 0, 1, 0, 1]), numbers(4)], each(4, 3))
            for name in ("PROD", "MAX", "MIN")
            for each in (f32, i32)
        ),
        case("BUCKETIZE", [f32(3, 4)], i32(3, 4), boundaries=[-1.0, 0.5, 2.0]),
        case("BROADCAST_ARGS", [numbers([3, 1]), numbers([2, 1, 4])], i32(3)),
        case("UNSORTED_SEGMENT_SUM", [f32(5, 3), numbers([3, 0, 1, 0, 1]), numbers(4)], f32(4, 3)),
        case("DYNAMIC_UPDATE_SLICE", [f32(5, 4), f32(2, 3), i32(2, low=-1, high=4)], f32(5, 4)),
        case("MATRIX_DIAG", [f32(2, 4)], f32(2, 4, 4)),
        case("MATRIX_SET_DIAG", [f32(2, 3, 4), f32(2, 3)], f32(2, 3, 4)),
        case("MATRIX_SET_DIAG", [f32(2, 4, 3), f32(2, 3)], f32(2, 4, 3), note="high"),
        case("SHAPE", [f32(2, 5)], i32(2), out_type=2),
        case("SHAPE", [f32(2, 5)], Tensor((2,), "int64"), out_type=4),
        case("RANK", [f32(2, 5)], i32()),
        case("FILL", [numbers([2, 3]), f32()], f32(2, 3)),
        case("RANGE", [numbers(1), numbers(9), numbers(3)], i32(3)),
        case("RANGE", [numbers(2.0, "float32"), numbers(0.0, "float32"), numbers(-0.5, "float32")], f32(4)),
    ]  # fmt: skip


CASES = [*_reshaping(), *_joining(), *_slices(), *_indexing()]
