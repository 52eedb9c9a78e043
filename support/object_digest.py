# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hash of the behaviour of Python objects: functions with code, defaults, closures and referenced globals.

The hash is part of the cache key of programs that rules of other packages have transformed. An opaque object (a file,
a lock, a C object without a name) has no hash. An object that refers to an opaque object has none either.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import hashlib
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_PACKAGE = __name__.partition(".")[0]
#: Packages that are hashed by name alone: callers include their versions in the key.
_KNOWN = frozenset({_PACKAGE, "mlir", "torch_mlir", "numpy", "ml_dtypes", "onnx", "torch", "llvmlite"})
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice)
#: Class members that do not affect behaviour.
_SILENT = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __annotations__ __firstlineno__ __static_attributes__ _abc_impl".split()
)
_MOST_OBJECTS = 20_000
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


class _Unknown(Exception):
    """Object that cannot be inspected."""


def digest_of(*objects: object) -> str | None:
    """Return a hash of the objects in order, or None if an object is opaque."""
    try:
        return _Walk().digest(objects)
    except Exception:  # foreign objects may raise anything
        return None


class _Walk:
    """Computation of one hash. Objects may refer to each other in cycles, so visited objects are numbered."""

    def __init__(self) -> None:
        self._hashed = hashlib.blake2b(digest_size=20)
        #: Numbers of visited objects by identity. `_alive` keeps the objects alive so that identities are not reused.
        self._seen: dict[int, int] = {}
        self._alive: list[object] = []

    def digest(self, objects: Iterable[object]) -> str:
        self._all("objects", objects)
        return self._hashed.hexdigest()

    def _word(self, *words: object) -> None:
        for word in words:
            data = str(word).encode("utf-8", "surrogateescape")
            self._hashed.update(len(data).to_bytes(8, "little") + data)

    def _all(self, what: str, objects: Iterable[object]) -> None:
        listed = list(objects)
        self._word(what, len(listed))
        for each in listed:
            self._add(each)

    def _add(self, each: Any) -> None:
        if type(each) in _PLAIN:
            self._word(type(each).__name__, repr(each))
            return
        number = self._seen.setdefault(id(each), len(self._seen))
        self._word("object", number)
        if number < len(self._alive):
            return
        self._alive.append(each)
        if number > _MOST_OBJECTS:
            raise _Unknown
        handler = next((handler for kinds, handler in _HANDLERS if isinstance(each, kinds)), _Walk._instance)
        handler(self, each)

    def _plain(self, each: Any) -> None:
        """Add a number or string of a user-defined class, whose methods are part of the hash."""
        base: Any = next(base for base in type(each).__mro__ if base in _PLAIN)
        self._word(base.__name__, base.__repr__(each))
        self._own_class(each)

    def _own_class(self, each: Any) -> None:
        """Add the class and attributes of an object that is also a number, a string or a container."""
        self._add(type(each))
        self._mapping(dict(_fields(each)))

    # ---- containers ----

    def _sequence(self, each: Any) -> None:
        self._word(type(each).__name__)
        self._all("items", each)
        if type(each) not in (tuple, list):
            self._own_class(each)

    def _set(self, each: Any) -> None:
        # Hash each item separately: the order of a set differs between processes.
        self._word(type(each).__name__, *sorted(_Walk().digest([item]) for item in each))
        if type(each) not in (set, frozenset):
            self._own_class(each)

    def _mapping(self, each: Mapping[Any, Any]) -> None:
        self._word("mapping")
        self._all("keys", each.keys())
        self._all("values", each.values())
        if type(each) not in (dict, types.MappingProxyType):
            self._own_class(each)

    # ---- callables ----

    def _function(self, type_: types.FunctionType) -> None:
        self._word("function", type_.__module__, type_.__qualname__)
        self._all("cells", map(_content, type_.__closure__ or ()))
        if _is_known(type_.__module__):
            return
        self._all("defaults", [type_.__defaults__, type_.__kwdefaults__, vars(type_)])
        self._code(type_.__code__)
        names = set(_names(type_.__code__))
        self._globals(type_.__globals__, names)

    def _globals(self, held: Mapping[str, object], names: set[str]) -> None:
        for name in sorted(names & held.keys()):
            self._word(name)
            self._name(held[name], names)
        # A later definition of a missing name could mean anything.
        self._word("missing", sorted(names - held.keys() - vars(builtins).keys()))

    def _name(self, value: object, names: set[str]) -> None:
        """Add a global, and the members of a module that the code names together with it."""
        self._add(value)
        if isinstance(value, types.ModuleType) and not _is_known(value.__name__):
            for name in sorted(names & vars(value).keys()):
                self._word(name)
                if vars(value)[name] is not value:
                    self._name(vars(value)[name], names - {name})

    def _code(self, code: types.CodeType) -> None:
        self._word("code", code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        self._all("constants", code.co_consts)
        # A function that imports a module uses names that no global holds.
        imported = (
            instruction.argval for instruction in dis.get_instructions(code) if instruction.opname == "IMPORT_NAME"
        )
        if not all(map(_is_known, imported)):
            raise _Unknown

    def _method(self, method_type: types.MethodType) -> None:
        self._all("method", [method_type.__func__, method_type.__self__])

    def _builtin(self, type_: types.BuiltinFunctionType) -> None:
        owner = type_.__self__
        self._word("builtin", type_.__qualname__)
        self._add(owner)

    def _wrap(self, each: Any) -> None:
        self._word(type(each).__name__)
        self._all("wrapped", [getattr(each, "__wrapped__", None) or each.__func__])

    def _property(self, property_: property) -> None:
        self._all("property", [property_.fget, property_.fset, property_.fdel])

    def _cached_property(self, property_: functools.cached_property[object]) -> None:
        self._all("cached property", [property_.func])

    def _partial(self, partial: functools.partial[object]) -> None:
        self._all("partial", [partial.func, partial.args, partial.keywords])

    # ---- classes, modules, instances ----

    def _module(self, module_type: types.ModuleType) -> None:
        self._word("module", module_type.__name__)

    def _class(self, each: type) -> None:
        self._word("class", each.__module__, each.__qualname__)
        if _is_known(each.__module__):
            return
        self._all("bases", each.__bases__)
        members = {name: value for name, value in sorted(vars(each).items()) if name not in _SILENT}
        members.pop("__dataclass_fields__", None)
        self._mapping({name: value for name, value in members.items() if not isinstance(value, _DESCRIPTORS)})
        if dataclasses.is_dataclass(each):
            fields = ((field.name, field.default, field.default_factory) for field in dataclasses.fields(each))
            self._all("fields", (None if part is dataclasses.MISSING else part for field in fields for part in field))

    def _pattern(self, pattern: re.Pattern[str]) -> None:
        self._word("pattern", pattern.pattern, pattern.flags)

    def _enum(self, each: enum.Enum) -> None:
        self._word("enum", each.name)
        self._add(type(each))

    def _instance(self, each: Any) -> None:
        if hasattr(each, "tobytes") and hasattr(each, "dtype"):  # a NumPy array, recognised without importing NumPy
            self._word("array", each.dtype, getattr(each, "shape", ()), hashlib.blake2b(each.tobytes()).hexdigest())
            return
        kind = type(each)
        if _is_mlir(kind):
            self._word("mlir", kind.__name__, each)
            return
        if not (hasattr(each, "__dict__") or any("__slots__" in vars(base) for base in kind.__mro__[:-1])):
            raise _Unknown
        object.__reduce_ex__(each, 2)  # raises TypeError for objects with hidden C state
        self._word("instance")
        self._add(kind)
        # `_hash` differs in each process
        self._mapping({name: value for name, value in _fields(each) if name != "_hash"})


class _Named(NamedTuple):
    field: int


#: Descriptors that Python creates for slots and for the fields of named tuples.
_DESCRIPTORS = (
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    type(vars(_Named)["field"]),
)
_HANDLERS: tuple[tuple[Any, Callable[[_Walk, Any], None]], ...] = (
    ((tuple, list), _Walk._sequence),
    ((set, frozenset), _Walk._set),
    ((dict, types.MappingProxyType), _Walk._mapping),
    (types.FunctionType, _Walk._function),
    (types.CodeType, _Walk._code),
    (types.MethodType, _Walk._method),
    (types.BuiltinFunctionType, _Walk._builtin),
    ((staticmethod, classmethod, functools._lru_cache_wrapper), _Walk._wrap),
    (property, _Walk._property),
    (functools.cached_property, _Walk._cached_property),
    (functools.partial, _Walk._partial),
    (types.ModuleType, _Walk._module),
    (type, _Walk._class),
    (re.Pattern, _Walk._pattern),
    (enum.Enum, _Walk._enum),
    (_PLAIN, _Walk._plain),
)


def _is_known(module: str | None) -> bool:
    """Check whether a module belongs to a package hashed by name. A user's own "test" or "profile" module does not."""
    if (root := (module or "").partition(".")[0]) not in sys.stdlib_module_names:
        return root in _KNOWN
    origin = getattr(getattr(sys.modules.get(root), "__spec__", None), "origin", None)
    return origin in ("built-in", "frozen") or (origin or "").startswith(_STANDARD_LIBRARY)


def _is_mlir(kind: type) -> bool:
    """Check whether objects are MLIR types or attributes, whose text describes them completely."""
    return any(
        base.__module__.endswith("._mlir.ir") and base.__name__ in ("Type", "Attribute") for base in kind.__mro__
    )


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return "no value yet"


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes that code and its nested functions refer to."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _fields(each: Any) -> Iterator[tuple[str, object]]:
    """Yield the instance attributes of an object, by name."""
    yield from sorted(getattr(each, "__dict__", {}).items())
    for base in type(each).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(each, name):
                yield name, getattr(each, name)
