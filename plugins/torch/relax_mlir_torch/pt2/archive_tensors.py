# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights and constants of a .pt2 archive, from raw records and a JSON index."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .checked_names import check_path
from .records import ArchiveRecords
from .refusals import UnreadableError, refuse, shortened

if TYPE_CHECKING:
    import torch

WEIGHTS, CONSTANTS = "data/weights/", "data/constants/"
_STRIDED = 7
_MOST_ELEMENTS = 1 << 46
#: Growth limit in bytes for tensors that read records repeatedly, for instance by strides of 0.
_MOST_GROWTH = 1 << 30


class _TensorPlace(NamedTuple):
    """Element type and places of a tensor in a record. Offset and strides count elements."""

    dtype: torch.dtype
    sizes: list[int]
    strides: list[int]
    offset: int

    @property
    def elements(self) -> int:
        return math.prod(self.sizes)

    @property
    def end(self) -> int:
        """Return the number of elements of the record that the tensor reaches to."""
        last = sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True))
        return self.offset + last + 1 if self.elements else 0


class TensorReader:
    """Reader of an archive's tensors. Tensors of one record share its memory, as when they were saved."""

    def __init__(self, records: ArchiveRecords) -> None:
        self._records = records
        self._storages: dict[str, torch.Tensor] = {}
        self._growth = 0

    def state(self, model: str) -> dict[str, torch.Tensor]:
        """Return the parameters and persistent buffers of a model by their names."""
        return self._tensors(WEIGHTS, model, f"{WEIGHTS}{model}_weights_config.json")

    def constants(self, model: str) -> dict[str, torch.Tensor]:
        """Return the constants and other buffers of a model by their names."""
        return self._tensors(CONSTANTS, model, f"{CONSTANTS}{model}_constants_config.json")

    def _tensors(self, folder: str, model: str, config: str) -> dict[str, torch.Tensor]:
        if f"{folder}{model}.pt" in self._records:
            refuse(
                f"its record '{folder}{model}.pt' is a pickle, as torch 2.8 writes it, and pickles are code",
                "torch.export.save of torch 2.9 or newer writes tensors as data",
            )
        entries = _mapping(_mapping(self._records.json(config), config).get("config"), config)
        return {name: self._tensor(check_path(name), folder, _mapping(entry, name)) for name, entry in entries.items()}

    def _tensor(self, name: str, folder: str, entry: Mapping[str, Any]) -> torch.Tensor:
        import torch

        record = entry.get("path_name")
        if not isinstance(record, str) or record.startswith(("custom_obj_", "opaque_obj_")):
            refuse(f"'{name}' is an object of its author's class, which only code can make again")
        if entry.get("use_pickle") is not False:
            refuse(f"tensor '{name}' is a pickle, as those of subclasses of torch.Tensor are, and pickles are code")
        meta = _mapping(entry.get("tensor_meta"), name)
        layout = _layout_of(name, meta)
        if (device := _mapping(meta.get("device"), name).get("type")) not in ("cpu", "meta"):
            raise UnreadableError(
                f"tensor '{name}' is on device {shortened(device)}: export the model from the CPU, model.cpu(); the "
                "program runs where its target says"
            )
        if device == "meta":
            tensor = torch.empty_strided(layout.sizes, layout.strides, dtype=layout.dtype, device="meta")
        else:
            tensor = self._read_strided(name, folder + record, layout)
        requires_grad = meta.get("requires_grad") is True
        if entry.get("is_param") is True:
            return torch.nn.Parameter(tensor, requires_grad=requires_grad)
        return tensor.requires_grad_(requires_grad)

    def _read_strided(self, name: str, record: str, layout: _TensorPlace) -> torch.Tensor:
        import torch

        size = self._records.size(record)
        width = layout.dtype.itemsize
        if layout.end * width > size:
            refuse(
                f"tensor '{name}' reaches to byte {layout.end * width} of the record {shortened(record)}, which has "
                f"{size} bytes; a program that was exported without the values of its weights cannot be imported"
            )
        if layout.elements == 0:
            return torch.empty_strided(layout.sizes, layout.strides, dtype=layout.dtype)
        self._take(name, max(0, layout.elements * width - size))
        storage = self._storage(record).untyped_storage()
        return torch.empty(0, dtype=layout.dtype).set_(storage, layout.offset, layout.sizes, layout.strides)

    def _take(self, name: str, growth: int) -> None:
        self._growth += growth
        if self._growth > _MOST_GROWTH:
            refuse(
                f"with tensor '{name}' the tensors have {self._growth} bytes more than the records that they are in: "
                f"at most {_MOST_GROWTH >> 20} MiB are allowed"
            )

    def _storage(self, record: str) -> torch.Tensor:
        import torch

        if record not in self._storages:
            self._storages[record] = torch.from_numpy(self._records.array(record))
        return self._storages[record]


def _layout_of(name: str, meta: Mapping[str, Any]) -> _TensorPlace:
    sizes, strides = (_numbers(name, meta.get(key)) for key in ("sizes", "strides"))
    if len(sizes) != len(strides):
        refuse(f"tensor '{name}' has {len(sizes)} sizes and {len(strides)} strides")
    if meta.get("layout") != _STRIDED:
        refuse(f"tensor '{name}' has the layout {shortened(meta.get('layout'))}, expected {_STRIDED}, strided")
    if math.prod(sizes) > _MOST_ELEMENTS:
        refuse(f"tensor '{name}' has {math.prod(sizes)} elements, at most {_MOST_ELEMENTS} are allowed")
    return _TensorPlace(_dtype(name, meta.get("dtype")), sizes, strides, _number(name, meta.get("storage_offset")))


def _dtype(name: str, number: object) -> torch.dtype:
    from torch._export.serde import serialize

    known = serialize._SERIALIZE_TO_TORCH_DTYPE
    if type(number) is not int or number not in known:
        refuse(f"tensor '{name}' has an unknown element type, number {shortened(number)}")
    dtype: torch.dtype = known[number]
    return dtype


def _numbers(name: str, value: object) -> list[int]:
    if not isinstance(value, list):
        refuse(f"the shape of tensor '{name}' is {shortened(value)}, expected a list")
    return [_number(name, each) for each in value]


def _number(name: str, value: object) -> int:
    """Return a size, stride or offset from its JSON form {"as_int": 4}."""
    number = value.get("as_int") if isinstance(value, dict) and len(value) == 1 else None
    if type(number) is not int or not 0 <= number < 1 << 62:
        refuse(f"a size, stride or offset of tensor '{name}' is {shortened(value)}, expected a number")
    return number


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        refuse(f"{shortened(place)}: expected an object of JSON, got {shortened(value)}")
    return value
