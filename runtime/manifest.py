# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an artifact's manifest says of its functions: what each takes and gives, which kernels it reaches.

It is JSON in the file, which is made of these values and checked when it is read: everybody else sees the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from .errors import ArtifactError

_Kind = TypeVar("_Kind")


class PassedValue(NamedTuple):
    """What callers pass or get as one."""

    #: "tensor", "scalar", "object", "list", or "nothing": None, as the program was made without it.
    kind: str
    #: Every input has one; a result does where the model has a name for it.
    name: str = ""
    #: Of a tensor's elements as DLPack and numpy call it, of a scalar as MLIR does.
    dtype: str = ""
    #: Of a tensor: numbers, and text over symbols; None where a size has no name.
    shape: tuple[int | str | None, ...] = ()
    #: Where each byte of a tensor holds one smaller element, what ml_dtypes calls its type: "int4".
    holds: str = ""
    #: Of a list; and what each of any number of further tensors is like, where there may be such.
    items: tuple[PassedValue, ...] = ()
    rest: PassedValue | None = None
    #: Of an input that a call writes to.
    written: bool = False
    #: Of a result that may be None.
    optional: bool = False
    #: Of a result whose elements are places among strings: these.
    labels: tuple[str, ...] = ()

    def content(self) -> dict[str, object]:
        """As the manifest has it: what all of its kind have, and what is not as usual."""
        always, usual = _ALWAYS[self.kind], self._field_defaults
        fields = self._asdict().items()
        return {name: _plain(value) for name, value in fields if name in always or value != usual.get(name)}


class KeptBuffer(NamedTuple):
    """An input that callers keep from call to call, with room: a call writes new rows behind those that it has."""

    #: The places of the input, and of that which says how many rows there are.
    input: int
    length: int
    axis: int
    #: How many rows are new: a number, or the symbol that is one.
    added: str
    #: The place among all results that what it has then would have; -1 for none. And that one's name.
    result: int
    name: str


class Site(NamedTuple):
    """A place in the program where a kernel is called: the number of its clock, and what KernelTime begins with."""

    place: int
    name: str
    nodes: tuple[str, ...]
    node_operators: tuple[str, ...]
    operators: tuple[str, ...]
    main: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes: int | None = None


class Recorded(NamedTuple):
    """What a function has that can be launched as one: a CUDA graph, commands that Vulkan keeps."""

    #: Kernels that a call launches.
    launches: int
    #: Copies of arguments and results around the graph, and their bytes.
    copies: int
    bytes: int
    #: Bytes that the graph has for itself: tensors and temporaries.
    memory: int
    #: Arguments and results that are tensors; 0 in programs of format version 3.
    tensors: int = 0


class Signature(NamedTuple):
    """A function by its name, and what callers pass and get."""

    name: str
    inputs: tuple[PassedValue, ...]
    outputs: tuple[PassedValue, ...]
    #: Where a call of it may reach kernels; None where the program has no clocks.
    sites: tuple[Site, ...] | None = None
    #: Of inputs that grow in place, which are no results.
    grown: tuple[KeptBuffer, ...] = ()
    #: Where all calls launch the same kernels on a device.
    graph: Recorded | None = None
    #: How the model is called and what it gives, where that is not tensors one by one (runtime/call_structure.py).
    structure: Mapping[str, Any] | None = None

    def content(self) -> dict[str, object]:
        """As the manifest has it, but for the sites: see profile_content."""
        return {"name": self.name, "inputs": _plain(self.inputs), "outputs": _plain(self.outputs)}


#: What values of each kind always have.
_ALWAYS = {"tensor": ("dtype", "shape"), "scalar": ("dtype",), "object": (), "list": ("items",), "nothing": ()}
#: Kinds of what a list holds.
_HELD = ("tensor", "scalar", "object")
_FIELDS = {"name": str, "dtype": str, "shape": list, "holds": str, "items": list, "written": bool, "optional": bool,
           "labels": list}  # fmt: skip
_OF_KERNELS = ("name", "operators", "main")


def _plain(value: object) -> object:
    if isinstance(value, PassedValue):
        return value.content()
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def profile_content(sites: Iterable[Site]) -> dict[str, object]:
    """Sites as the manifest has them: what several have in common, their kernel, is said once."""
    kernels: list[dict[str, object]] = []
    places: list[dict[str, object]] = []
    for site in sites:
        fields = site._asdict()
        kernel = {name: _plain(fields.pop(name)) for name in _OF_KERNELS}
        if kernel not in kernels:
            kernels.append(kernel)
        stated = {name: _plain(value) for name, value in fields.items() if isinstance(value, int) or any(value or ())}
        places.append({**stated, "kernel": kernels.index(kernel)})
    return {"kernels": kernels, "sites": places}


# ---- reading ----


class Fields:
    """Typed access to a JSON object of the manifest."""

    def __init__(self, content: object, what: str) -> None:
        if not isinstance(content, dict):
            raise ArtifactError(f"damaged: its {what} is no JSON object")
        self._content = content
        self._what = what

    def get(self, key: str, kind: type[_Kind]) -> _Kind:
        value = self._content.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ArtifactError(f"damaged: '{key}' in its {self._what} is not of type {kind.__name__}")
        return value

    def items(self, key: str, kind: type[_Kind]) -> list[_Kind]:
        values: list[_Kind] = self.get(key, list)
        if not {kind}.issuperset(map(type, values)):
            raise ArtifactError(f"damaged: '{key}' in its {self._what} holds more than {kind.__name__}")
        return values


def parse_signature(entry: Mapping[str, object]) -> Signature:
    """What an entry of the manifest says; fields that a target has added are its own. Raises ArtifactError."""
    fields = Fields(entry, "entry")
    name = fields.get("name", str)
    inputs, outputs = (tuple(map(_value, fields.items(key, dict))) for key in ("inputs", "outputs"))
    if any(not each.name for each in inputs):
        raise ArtifactError(f"damaged: its manifest has an input of '{name}' without a name")
    sites = _sites(fields, name) if "profile" in entry else None
    grown = tuple(_buffer(each, inputs) for each in fields.items("grown", dict)) if "grown" in entry else ()
    graph = _recorded(fields.get("graph", dict)) if "graph" in entry else None
    structure = fields.get("structure", dict) if "structure" in entry else None
    return Signature(name, inputs, outputs, sites, grown, graph, structure)


def _recorded(content: dict[str, object]) -> Recorded:
    fields = Fields(content, "graphs")
    found = Recorded(*[fields.get(name, int) for name in Recorded._fields if name != "tensors" or name in content])
    if min(found) < 0:
        raise ArtifactError("damaged: what its manifest says of graphs")
    return found


def _buffer(content: dict[str, object], inputs: Sequence[PassedValue]) -> KeptBuffer:
    fields = Fields(content, "grown inputs")
    place, length, axis, result = (fields.get(name, int) for name in ("input", "length", "axis", "result"))
    found = KeptBuffer(place, length, axis, fields.get("added", str), result, fields.get("name", str))
    is_there = 0 <= found.input < len(inputs) and 0 <= found.length < len(inputs) and found.result >= -1
    if not is_there or not 0 <= found.axis < len(inputs[found.input].shape):
        raise ArtifactError("damaged: what its manifest says of inputs that grow")
    if len(inputs[found.length].shape) != 2 or not isinstance(inputs[found.length].shape[0], str):
        raise ArtifactError("damaged: its manifest has no input that says how far others have grown")
    return found


def _value(content: Mapping[str, Any], kinds: Iterable[str] = _ALWAYS) -> PassedValue:
    fields = Fields(content, "entry")
    kind = fields.get("kind", str)
    if kind not in kinds:
        raise ArtifactError(f"damaged: its manifest has a '{kind}' where there can be {', '.join(kinds)}")
    known = {*content, *_ALWAYS[kind]}
    found: dict[str, Any] = {name: fields.get(name, type_) for name, type_ in _FIELDS.items() if name in known}
    if not all(size is None or type(size) in (int, str) for size in found.get("shape", ())):
        raise ArtifactError("damaged: its manifest has a shape of more than numbers and text")
    found["shape"] = tuple(found.get("shape", ()))
    found["labels"] = tuple(fields.items("labels", str)) if "labels" in content else ()
    found["items"] = tuple(_value(each, _HELD) for each in found.get("items", ()))
    return PassedValue(kind, rest=_value(content["rest"], ("tensor",)) if "rest" in content else None, **found)


def _sites(entry: Fields, function: str) -> tuple[Site, ...]:
    """Field by field of all sites: there are hundreds in a program that loads in a millisecond."""
    profile = Fields(entry.get("profile", dict), "profile")
    kernels, sites = profile.items("kernels", dict), profile.items("sites", dict)
    places, numbers = _column(sites, "place", int), _column(sites, "kernel", int)
    if min([*places, *numbers], default=0) < 0 or max(numbers, default=-1) >= len(kernels):
        raise ArtifactError(f"damaged: what its manifest says of the kernels of '{function}'")
    columns = _column(kernels, "name", str), _texts(kernels, "operators", list), _column(kernels, "main", str)
    names, operators, mains = ([values[number] for number in numbers] for values in columns)
    nodes = [_texts(sites, name, list, NoneType) for name in ("nodes", "node_operators")]
    types = [_texts(sites, name, list, NoneType) for name in ("inputs", "outputs")]
    moved = _column(sites, "bytes", int, NoneType)
    return tuple(map(Site._make, zip(places, names, *nodes, operators, mains, *types, moved, strict=True)))


def _column(objects: Sequence[Mapping[str, object]], name: str, *kinds: type) -> list[Any]:
    """A field of all objects; None where it is missing, if that may be."""
    values = [each.get(name) for each in objects]
    if not {*kinds}.issuperset(map(type, values)):
        raise ArtifactError(f"damaged: '{name}' in its profile is not of type {kinds[0].__name__}")
    return values


def _texts(objects: Sequence[Mapping[str, object]], name: str, *kinds: type) -> list[tuple[str, ...]]:
    values = [tuple(value or ()) for value in _column(objects, name, *kinds)]
    if not {str}.issuperset(map(type, chain.from_iterable(values))):
        raise ArtifactError(f"damaged: '{name}' in its profile holds more than str")
    return values
