# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulated cuBLASLt: checks descriptors as strictly as NVIDIA's documentation, and multiplies with numpy."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import ml_dtypes
import numpy

from .libraries import EmulatedLibrary, Refused, exported

NOT_SUPPORTED = 15
#: cudaDataType_t
DTYPES: dict[int, Any] = {0: numpy.float32, 1: numpy.float64, 2: numpy.float16, 3: numpy.int8, 10: numpy.int32,
                          14: ml_dtypes.bfloat16}  # fmt: skip
_F32, _F64, _F16, _I8, _I32, _BF16 = DTYPES
_COMPUTE_32F, _FAST_TF32, _COMPUTE_64F, _COMPUTE_32I = 68, 77, 70, 72
#: Supported products: compute and scale types, operands, result.
_SUPPORTED = {
    (_COMPUTE_32F, _F32, _F32, _F32), (_FAST_TF32, _F32, _F32, _F32), (_COMPUTE_64F, _F64, _F64, _F64),
    (_COMPUTE_32F, _F32, _F16, _F16), (_COMPUTE_32F, _F32, _BF16, _BF16), (_COMPUTE_32F, _F32, _F16, _F32),
    (_COMPUTE_32F, _F32, _BF16, _F32), (_COMPUTE_32I, _I32, _I8, _I32),
}  # fmt: skip
_TRANSA, _TRANSB, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8
_DESC_ATTRIBUTES: dict[int, Any] = {_TRANSA: ctypes.c_int32, _TRANSB: ctypes.c_int32, _EPILOGUE: ctypes.c_uint32,
                                    _BIAS_POINTER: ctypes.c_uint64}  # fmt: skip
_LAYOUT_ATTRIBUTES: dict[int, Any] = {5: ctypes.c_int32, 6: ctypes.c_int64}
_PREFERENCES: dict[int, Any] = {1: ctypes.c_uint64, **dict.fromkeys((5, 6, 7, 8), ctypes.c_uint32)}
_DEFAULT, _RELU, _BIAS, _GELU = 1, 2, 4, 32
#: How a kernel is distinguished in an algorithm's 64 bytes.
_MAGIC = 0x6C742D616C676F21
_RESULT_BYTES, _NEEDS = 96, 4096


@dataclass
class Handle:
    context: int


@dataclass
class Desc:
    compute: int
    scale: int
    attributes: dict[int, int] = field(default_factory=dict)

    def get(self, which: int) -> int:
        return self.attributes.get(which, _DEFAULT if which == _EPILOGUE else 0)


@dataclass
class Layout:
    type: int
    rows: int
    columns: int
    leading: int
    attributes: dict[int, int] = field(default_factory=dict)

    @property
    def batch(self) -> tuple[int, int]:
        return self.attributes.get(5, 1), self.attributes.get(6, 0)


@dataclass
class Preference:
    attributes: dict[int, int] = field(default_factory=dict)


class EmulatedCublas(EmulatedLibrary):
    INVALID: ClassVar[int] = 7
    INTERNAL: ClassVar[int] = 14
    version: int = 131000
    #: Computed with, in the order of calls.
    computed: list[int]

    @exported("cublasLtGetVersion", ":n")
    def _version(self) -> int:
        return self.version

    @exported("cublasLtGetStatusString", "i:s")
    def _status_string(self, status: int) -> bytes:
        known = {7: b"an unsupported value or parameter", NOT_SUPPORTED: b"the functionality is not supported"}
        return known.get(status, b"unknown")

    @exported("cublasLtCreate", "p")
    def _create(self, to: int) -> None:
        self.give(to, Handle(self.context()))

    @exported("cublasLtMatmulDescCreate", "pii")
    def _desc(self, to: int, compute: int, scale: int) -> None:
        self.give(to, Desc(compute, scale))

    @exported("cublasLtMatmulDescDestroy", "p")
    def _drop_desc(self, handle: int) -> None:
        self.drop(handle, Desc)

    @exported("cublasLtMatmulDescSetAttribute", "pipn")
    def _set_desc(self, handle: int, which: int, value: int, size: int) -> None:
        self._set(self.known(handle, Desc), _DESC_ATTRIBUTES, which, value, size)

    @exported("cublasLtMatrixLayoutCreate", "piqqq")
    def _layout(self, to: int, kind: int, rows: int, columns: int, leading: int) -> None:
        self.require(kind in DTYPES, f"data type {kind}")
        self.require(rows > 0 and columns > 0, f"a matrix of {rows} x {columns}")
        self.require(leading >= rows, f"a leading dimension of {leading} for columns of {rows}")
        self.give(to, Layout(kind, rows, columns, leading))

    @exported("cublasLtMatrixLayoutDestroy", "p")
    def _drop_layout(self, handle: int) -> None:
        self.drop(handle, Layout)

    @exported("cublasLtMatrixLayoutSetAttribute", "pipn")
    def _set_layout(self, handle: int, which: int, value: int, size: int) -> None:
        self._set(self.known(handle, Layout), _LAYOUT_ATTRIBUTES, which, value, size)

    @exported("cublasLtMatmulPreferenceCreate", "p")
    def _preference(self, to: int) -> None:
        self.give(to, Preference())

    @exported("cublasLtMatmulPreferenceDestroy", "p")
    def _drop_preference(self, handle: int) -> None:
        self.drop(handle, Preference)

    @exported("cublasLtMatmulPreferenceSetAttribute", "pipn")
    def _set_preference(self, handle: int, which: int, value: int, size: int) -> None:
        self._set(self.known(handle, Preference), _PREFERENCES, which, value, size)

    def _set(self, thing: Any, kinds: dict[int, Any], which: int, value: int, size: int) -> None:
        self.require(which in kinds, f"attribute {which} of a {type(thing).__name__}")
        wanted = ctypes.sizeof(kinds[which])
        self.require(size == wanted, f"attribute {which} has {wanted} bytes, not {size}")
        thing.attributes[which] = kinds[which].from_address(value).value

    @exported("cublasLtMatmulAlgoGetHeuristic", "pppppppipp")
    def _heuristic(self, handle: int, desc: int, *rest: Any) -> None:
        layouts, (preference, asked, results, count) = rest[:4], rest[4:]
        self.known(handle, Handle)
        self.require(asked >= 1 and bool(results) and bool(count), "no place for results")
        product, laid_out = self._checked(desc, layouts)
        wanted = self.known(preference, Preference).attributes
        alignments = [wanted.get(each, 256) for each in (5, 6, 7, 8)]
        needs = min(wanted.get(1, 0), _NEEDS)
        ctypes.memset(results, 0, _RESULT_BYTES * asked)
        key = hash(_key(product, laid_out)) & 0xFFFFFFFF
        algorithm = (ctypes.c_uint64 * 8).from_address(results)
        algorithm[:] = [_MAGIC, needs, *alignments, key, _MAGIC]
        ctypes.c_size_t.from_address(results + 64).value = needs
        ctypes.c_int.from_address(count).value = 1

    def _checked(self, desc: int, handles: Any) -> tuple[Desc, list[Layout]]:
        """Return the product's descriptor and layouts, after a check that there is a kernel for it."""
        product: Desc = self.known(desc, Desc)
        a, b, c, d = layouts = [self.known(each, Layout) for each in handles]
        kinds = product.compute, product.scale, a.type, d.type
        self.require(kinds in _SUPPORTED and a.type == b.type, f"types {kinds}, {b.type}", NOT_SUPPORTED)
        self.require((c.type, c.rows, c.columns) == (d.type, d.rows, d.columns), "C and D differ")
        (m, k), (k2, n) = _seen(a, product.get(_TRANSA)), _seen(b, product.get(_TRANSB))
        self.require((m, n) == (d.rows, d.columns) and k == k2, f"{m}x{k} by {k2}x{n} is not {d.rows}x{d.columns}")
        self.require(len({each.batch[0] for each in layouts}) == 1, "batches differ")
        self.require(d.batch[0] == 1 or d.batch[1] >= d.leading * (d.columns - 1) + d.rows, "results overlap")
        self._check_epilogue(product, d)
        if a.type == _I8:
            is_tn = product.get(_TRANSA) == 1 and product.get(_TRANSB) == 0
            self.require(is_tn, "IMMA kernels multiply transposed by plain", NOT_SUPPORTED)
            odd = [each for each in (m, k, a.leading, b.leading, d.leading) if each % 4]
            self.require(not odd, f"{odd} are no multiples of 4", NOT_SUPPORTED)
        return product, layouts

    def _check_epilogue(self, product: Desc, d: Layout) -> None:
        epilogue = product.get(_EPILOGUE)
        known = {_DEFAULT, _RELU, _BIAS, _GELU, _RELU | _BIAS, _GELU | _BIAS}
        self.require(epilogue in known, f"epilogue {epilogue}")
        self.require(epilogue == _DEFAULT or d.type not in (_F64, _I32), "epilogue is not supported", NOT_SUPPORTED)
        if epilogue & _BIAS:
            pointer, width = product.get(_BIAS_POINTER), numpy.dtype(DTYPES[d.type]).itemsize
            self.require(bool(pointer) and pointer % width == 0, f"a bias at {pointer}")

    @exported("cublasLtMatmul", "ppppppppppppppnp")
    def _matmul(self, handle: int, desc: int, alpha: int, *rest: Any) -> None:
        a, of_a, b, of_b, beta, c, of_c, d, of_d, algorithm, workspace, size, stream = rest
        found = self.known(handle, Handle)
        self.require(found.context == self.context(), "the handle is of another device")
        product, layouts = self._checked(desc, (of_a, of_b, of_c, of_d))
        self._check_algorithm(algorithm, product, layouts, (a, b, c, d), size)
        scale = {_F32: ctypes.c_float, _F64: ctypes.c_double, _I32: ctypes.c_int32}[product.scale]
        numbers = [scale.from_address(each).value for each in (alpha, beta)]
        self.require(numbers == [1, 0], f"the emulator multiplies by 1 and adds 0, not {numbers}")
        if size:
            self.scribble(workspace, size, "the workspace")
        self.driver.do(stream, lambda: self._compute(product, layouts, a, b, d))

    def _check_algorithm(self, address: int, product: Desc, layouts: list[Layout], places: Any, size: int) -> None:
        first, needs, *alignments, key, last = (ctypes.c_uint64 * 8).from_address(address)
        self.require(first == _MAGIC == last, "this is no algorithm")
        self.require(key == hash(_key(product, layouts)) & 0xFFFFFFFF, "the algorithm is for another product")
        self.require(size >= needs, f"{size} bytes of workspace of {needs}")
        wrong = [f"{place:#x}" for place, each in zip(places, alignments, strict=True) if place % each]
        self.require(not wrong, f"{wrong} are not aligned as the heuristic was asked: {alignments}")

    def _compute(self, product: Desc, layouts: list[Layout], a: int, b: int, d: int) -> None:
        operands = []
        for address, layout, which in zip((a, b), layouts, (_TRANSA, _TRANSB), strict=False):
            matrices = self.read(self._matrices(address, layout), "an operand")
            operands.append(matrices.swapaxes(1, 2) if product.get(which) else matrices)
        wide = {_F64: numpy.float64, _I8: numpy.int32}.get(layouts[0].type, numpy.float32)
        values = operands[0].astype(wide) @ operands[1].astype(wide)
        epilogue, result = product.get(_EPILOGUE), self._matrices(d, layouts[3])
        if epilogue & _BIAS:
            dtype = DTYPES[layouts[3].type]
            bias = self.tensor(product.get(_BIAS_POINTER), dtype, (layouts[3].rows,), (1,))
            values = values + self.read(bias, "the bias").astype(wide)[None, :, None]
        if epilogue & _RELU:
            values = numpy.maximum(values, 0)
        if epilogue & _GELU:
            inner = math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)
            values = 0.5 * values * (1 + numpy.tanh(inner))
        self.write(result, values.astype(result.dtype))

    def _matrices(self, address: int, layout: Layout) -> Any:
        """Return [batch, rows, columns] with contiguous columns."""
        count, step = layout.batch
        sizes = count, layout.rows, layout.columns
        return self.tensor(address, DTYPES[layout.type], sizes, (step, 1, layout.leading))


def _seen(layout: Layout, transposed: int) -> tuple[int, int]:
    if transposed not in (0, 1):
        raise Refused(EmulatedCublas.INVALID, f"operation {transposed}")
    return (layout.columns, layout.rows) if transposed else (layout.rows, layout.columns)


def _key(product: Desc, layouts: list[Layout]) -> Any:
    set_ = (product.compute, product.scale, *(product.get(each) for each in (_TRANSA, _TRANSB, _EPILOGUE)))
    return set_, tuple((each.type, each.rows, each.columns, each.leading, each.batch) for each in layouts)
