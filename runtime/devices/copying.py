# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a device's program with arrays of the CPU: arguments are copied to the device, and results back."""

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
from .device_memory import DeviceMemory
from .device_rows import DeviceRows


class CopyingFunctions(Mapping[str, Function]):
    """Functions of a program by name."""

    def __init__(
        self, signatures: Mapping[str, Signature], packed: Callable[[str], PackedFunction], copies: Copies
    ) -> None:
        """Create the functions. `packed` returns a function of the program by name."""
        self._signatures, self._packed, self._copies = signatures, packed, copies
        self._functions: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        """Return the function like an executable. Raises UnknownFunction for unknown names."""
        if name not in self._functions:
            copying: Any = _CopyingCall(self._packed(name), self._signatures[name], self._copies)
            self._functions[name] = function_of(copying, self._signatures[name], DeviceRows(self._copies))
        return self._functions[name]

    def upload(self, array: Exporter) -> Tensor:
        """Return a copy of a CPU array on the device."""
        return DeviceMemory(self._copies).upload(array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)


class _CopyingCall:
    """Replacement of a tvm-ffi function, with tensors of the CPU as arguments and results."""

    def __init__(self, packed: PackedFunction, signature: Signature, copies: Copies) -> None:
        self._packed, self._signature, self._copies = packed, signature, copies

    def __call__(self, *arguments: object) -> object:
        passed, written = self._upload(prepared(self._signature, arguments))
        result = self._packed(*passed)
        self._copies.synchronize()
        with self._copies.on_device():
            for host, device in written:
                self._copies.download(host, device)
            found = self._give(result)
            self._copies.wait()
        return found

    def ready(self, arguments: Sequence[object]) -> Callable[[], object]:
        """Return a call with arguments that are copied once.

        The call returns when its results are ready on the device.
        """
        passed, _ = self._upload(arguments)

        def call() -> object:
            result = self._packed(*passed)
            self._copies.synchronize()
            return result

        return call

    def _upload(self, given: Sequence[object]) -> tuple[list[object], list[tuple[Tensor, Tensor]]]:
        """Return arguments on the device, and pairs of each written argument with its source."""
        written: list[tuple[Tensor, Tensor]] = []
        with self._copies.on_device():
            described = [*self._signature.inputs, *[None] * (len(given) - len(self._signature.inputs))]
            passed = [self._pass(*pair, written) for pair in zip(described, given, strict=False)]
            self._copies.wait()
        return passed, written

    def _pass(self, described: PassedValue | None, value: object, written: list[tuple[Tensor, Tensor]]) -> object:
        """Return an argument on the device. Arguments that the call writes to are copied back later."""
        if described is None or described.kind not in ("tensor", "list"):
            return value
        if described.kind == "list":
            if not isinstance(value, Sequence) or len(value) != len(described.items):
                return value
            items = [each._replace(written=described.written) for each in described.items]
            return [self._pass(*pair, written) for pair in zip(items, value, strict=True)]
        if not hasattr(value, "__dlpack__"):
            return value
        host = share(value, described.written)
        if host.__dlpack_device__()[0] != CPU:
            return value
        device = self._copies.upload(host)
        if described.written:
            written.append((host, device))
        return device

    def _give(self, value: object) -> object:
        from ..ffi import tvm_ffi

        if isinstance(value, tvm_ffi.Array):
            return tvm_ffi.convert([self._give(each) for each in value])
        if not isinstance(value, tvm_ffi.Tensor) or value.__dlpack_device__()[0] == CPU:
            return value
        host = empty_on_host(value)
        self._copies.download(host, value)
        return host
