# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a device's program with arrays of the CPU: they are copied to the device, and the results back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..arguments import prepared
from ..arrays import CPU, empty_on_host, share
from ..cache import function_of
from ..foreign_types import Exporter, PackedFunction, Tensor
from ..function import Function
from ..manifest import PassedValue, Signature
from .copies import Copies
from .device_rows import DeviceRows


class CopyingFunctions(Mapping[str, Function]):
    """A program's functions by name."""

    def __init__(
        self, signatures: Mapping[str, Signature], packed: Callable[[str], PackedFunction], copies: Copies
    ) -> None:
        """`packed` gives a function as the program has it."""
        self._signatures, self._packed, self._copies = signatures, packed, copies
        self._functions: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        """As an executable's function: it raises UnknownFunction for others."""
        if name not in self._functions:
            copying: Any = _CopyingCall(self._packed(name), self._signatures[name], self._copies)
            self._functions[name] = function_of(copying, self._signatures[name], DeviceRows(self._copies))
        return self._functions[name]

    def upload(self, array: Exporter) -> Tensor:
        """A tensor on the device with the elements of an array of the CPU, for functions that copy nothing."""
        with self._copies.on_device():
            found = self._copies.upload(share(array))
            self._copies.wait()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)


class _CopyingCall:
    """A function in the place of tvm-ffi's: tensors of the CPU in and out."""

    def __init__(self, packed: PackedFunction, signature: Signature, copies: Copies) -> None:
        self._packed, self._signature, self._copies = packed, signature, copies

    def __call__(self, *arguments: object) -> object:
        passed, written = self._uploaded(prepared(self._signature, arguments))
        result = self._packed(*passed)
        self._copies.synchronize()
        with self._copies.on_device():
            for host, device in written:
                self._copies.download(host, device)
            found = self._given(result)
            self._copies.wait()
        return found

    def ready(self, arguments: Sequence[object]) -> Callable[[], object]:
        """The call with arguments that are copied once; it ends when its results, on the device, are there."""
        passed, _ = self._uploaded(arguments)

        def call() -> object:
            result = self._packed(*passed)
            self._copies.synchronize()
            return result

        return call

    def _uploaded(self, given: Sequence[object]) -> tuple[list[object], list[tuple[Tensor, Tensor]]]:
        """Arguments on the device, and of those that are written to what they are copies of."""
        written: list[tuple[Tensor, Tensor]] = []
        with self._copies.on_device():
            described = [*self._signature.inputs, *[None] * (len(given) - len(self._signature.inputs))]
            passed = [self._passed(*pair, written) for pair in zip(described, given, strict=False)]
            self._copies.wait()
        return passed, written

    def _passed(self, described: PassedValue | None, value: object, written: list[tuple[Tensor, Tensor]]) -> object:
        """An argument on the device; those that are written to go back from there."""
        if described is None or described.kind not in ("tensor", "list"):
            return value
        if described.kind == "list":
            if not isinstance(value, Sequence) or len(value) != len(described.items):
                return value
            items = [each._replace(written=described.written) for each in described.items]
            return [self._passed(*pair, written) for pair in zip(items, value, strict=True)]
        if not hasattr(value, "__dlpack__"):
            return value
        host = share(value, described.written)
        if host.__dlpack_device__()[0] != CPU:
            return value
        device = self._copies.upload(host)
        if described.written:
            written.append((host, device))
        return device

    def _given(self, value: object) -> object:
        from ..ffi import tvm_ffi

        if isinstance(value, tvm_ffi.Array):
            return tvm_ffi.convert([self._given(each) for each in value])
        if not isinstance(value, tvm_ffi.Tensor) or value.__dlpack_device__()[0] == CPU:
            return value
        host = empty_on_host(value)
        self._copies.download(host, value)
        return host
