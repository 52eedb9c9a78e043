# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Description of functions in an artifact's manifest: arguments, results, and the kernels that they call.

In the file the manifest is JSON, written from these values and checked when it is read. All other code uses the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from .errors import ArtifactError

_Kind = TypeVar("_Kind")


class PassedValue(NamedTuple):
    """Argument or result of a function."""

    #: "tensor", "scalar", "object", "list", or "nothing": None, because the program was compiled without the argument.
    kind: str
    #: Every input has a name; a result has one if the model names it.
    name: str = ""
    #: Element type of a tensor in DLPack's and NumPy's spelling, or type of a scalar in MLIR's.
    dtype: str = ""
    #: Shape of a tensor: numbers, and texts over symbols; None for a size without a name.
    shape: tuple[int | str | None, ...] = ()
    #: Name in ml_dtypes of the smaller element that each byte of a tensor holds: "int4".
    holds: str = ""
    #: Items of a list, and the description of any number of further tensors if the list may have them.
    items: tuple[PassedValue, ...] = ()
    rest: PassedValue | None = None
    #: True for an input that a call writes to.
    written: bool = False
    #: True for a result that may be None.
    optional: bool = False
    #: Strings that the elements of a result index.
    labels: tuple[str, ...] = ()

    def content(self) -> dict[str, object]:
        """Return the fields for the manifest: the ones that all values of the kind have, and the ones that are not
        defaults."""
        always, usual = _ALWAYS[self.kind], self._field_defaults
        fields = self._asdict().items()
        return {name: _plain(value) for name, value in fields if name in always or value != usual.get(name)}


class KeptBuffer(NamedTuple):
    """Input that callers keep from call to call, with spare capacity. A call appends new rows to its rows."""

    #: Position of the input, and of the input that states the number of rows.
    input: int
    length: int
    axis: int
    #: Number of new rows: a number, or the symbol that determines it.
    added: str
    #: Position among all results of the grown value, or -1, and the name of that result.
    result: int
    name: str


class Site(NamedTuple):
    """Call site of a kernel: the number of its clock, and the first fields of KernelTime."""

    place: int
    name: str
    nodes: tuple[str, ...]
    node_operators: tuple[str, ...]
    operators: tuple[str, ...]
    main: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes: int | None = None
    engine: str = ""


class Recorded(NamedTuple):
    """Recorded launch of a function, such as a CUDA graph."""

    #: Number of kernels that a call launches.
    launches: int
    #: Number of copies of arguments and results around the graph, and their bytes.
    copies: int
    bytes: int
    #: Bytes of the graph's own memory: tensors and temporaries.
    memory: int
    #: Number of arguments and results that are tensors; 0 in programs of format version 3.
    tensors: int = 0


class Signature(NamedTuple):
    """Function with its name, arguments and results."""

    name: str
    inputs: tuple[PassedValue, ...]
    outputs: tuple[PassedValue, ...]
    #: Call sites of kernels in the function, or None if the program has no clocks.
    sites: tuple[Site, ...] | None = None
    #: Inputs that grow in place, which are not results.
    grown: tuple[KeptBuffer, ...] = ()
    #: Recorded launch, if all calls launch the same kernels on a device.
    graph: Recorded | None = None
    #: Structure of the model's arguments and results, unless they are individual tensors (runtime/call_structure.py).
    structure: Mapping[str, Any] | None = None

    def content(self) -> dict[str, object]:
        """Return the fields for the manifest without the sites: see profile_content."""
        return {"name": self.name, "inputs": _plain(self.inputs), "outputs": _plain(self.outputs)}


#: Fields that values of each kind always have.
_ALWAYS = {"tensor": ("dtype", "shape"), "scalar": ("dtype",), "object": (), "list": ("items",), "nothing": ()}
#: Kinds of items of a list.
_HELD = ("tensor", "scalar", "object")
_FIELDS = {"name": str, "dtype": str, "shape": list, "holds": str, "items": list, "written": bool, "optional": bool,
           "labels": list}  # fmt: skip
_OF_KERNELS = ("name", "operators", "main")


def _plain(value: object) -> object:
    if isinstance(value, PassedValue):
        return value.content()
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def profile_content(sites: Iterable[Site]) -> dict[str, object]:
    """Return the sites for the manifest. The common part of several sites, their kernel, is stored once."""
    kernels: list[dict[str, object]] = []
    places: list[dict[str, object]] = []
    for site in sites:
        fields = site._asdict()
        if (kernel := {name: _plain(fields.pop(name)) for name in _OF_KERNELS}) not in kernels:
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
    """Parse an entry of the manifest. Additional fields belong to the target. Raises ArtifactError."""
    fields = Fields(entry, "entry")
    name = fields.get("name", str)
    inputs, outputs = (tuple(map(_value, fields.items(key, dict))) for key in ("inputs", "outputs"))
    if any(not input_.name for input_ in inputs):
        raise ArtifactError(f"damaged: its manifest has an input of '{name}' without a name")
    sites = _sites(fields, name) if "profile" in entry else None
    grown = tuple(_buffer(each, inputs) for each in fields.items("grown", dict)) if "grown" in entry else ()
    graph = _read_recorded(fields.get("graph", dict)) if "graph" in entry else None
    structure = fields.get("structure", dict) if "structure" in entry else None
    return Signature(name, inputs, outputs, sites, grown, graph, structure)


def _read_recorded(content: dict[str, object]) -> Recorded:
    fields = Fields(content, "graphs")
    found = Recorded(*[fields.get(name, int) for name in Recorded._fields if name != "tensors" or name in content])
    if min(found) < 0:
        raise ArtifactError("damaged: what its manifest says of graphs")
    return found


def _buffer(content: dict[str, object], inputs: Sequence[PassedValue]) -> KeptBuffer:
    fields = Fields(content, "grown inputs")
    place, length, axis, result = (fields.get(name, int) for name in ("input", "length", "axis", "result"))
    buffer = KeptBuffer(place, length, axis, fields.get("added", str), result, fields.get("name", str))
    is_there = 0 <= buffer.input < len(inputs) and 0 <= buffer.length < len(inputs) and buffer.result >= -1
    if not is_there or not 0 <= buffer.axis < len(inputs[buffer.input].shape):
        raise ArtifactError("damaged: what its manifest says of inputs that grow")
    if len(inputs[buffer.length].shape) != 2 or not isinstance(inputs[buffer.length].shape[0], str):
        raise ArtifactError("damaged: its manifest has no input that says how far others have grown")
    return buffer


def _value(content: Mapping[str, Any], kinds: Iterable[str] = _ALWAYS) -> PassedValue:
    fields = Fields(content, "entry")
    if (kind := fields.get("kind", str)) not in kinds:
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
    """Parse all sites field by field: a program that loads in a millisecond has hundreds."""
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
    engines = [engine or "" for engine in _column(sites, "engine", str, NoneType)]
    return tuple(map(Site._make, zip(places, names, *nodes, operators, mains, *types, moved, engines, strict=True)))


def _column(objects: Sequence[Mapping[str, object]], name: str, *kinds: type) -> list[Any]:
    """Return a field of all objects, with None where an optional field is missing."""
    values = [each.get(name) for each in objects]
    if not {*kinds}.issuperset(map(type, values)):
        raise ArtifactError(f"damaged: '{name}' in its profile is not of type {kinds[0].__name__}")
    return values


def _texts(objects: Sequence[Mapping[str, object]], name: str, *kinds: type) -> list[tuple[str, ...]]:
    values = [tuple(value or ()) for value in _column(objects, name, *kinds)]
    if not {str}.issuperset(map(type, chain.from_iterable(values))):
        raise ArtifactError(f"damaged: '{name}' in its profile holds more than str")
    return values
