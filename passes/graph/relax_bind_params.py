# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameter binding: constants replace parameters with values that are known at compile time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ...bindings.ir import Location, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo, describe, dtype_name
from ...dialects.core.symbols import Dim, SymExpr
from ...dialects.relax.constants import elements_attribute
from ...dialects.relax.function_attributes import argument_names
from ...dialects.relax.known_constants import NUMPY_NAME, STORAGE_NAME, constant_op
from ...support.errors import OptionError, RelaxError
from ...support.suggest import suggest
from ..core.base import Pass
from ..core.options import PYTHON_ONLY
from ..core.registry import register_pass
from .params.signature import bind_sizes, changing_copy, check_removable, graph_function, remove_arguments

if TYPE_CHECKING:
    from numpy import ndarray


@register_pass
@dataclass(frozen=True)
class BindParams(Pass):
    """Replace a function's parameters by constants of the same names, from a file that numpy.savez wrote.

    From Python, `BindParams(arrays={"weight": array})`. A symbolic size becomes the number that the array has.
    """

    name: ClassVar[str] = "relax-bind-params"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: The .npz file with the values, by parameter name.
    params: str = ""
    #: Function with the parameters.
    function: str = "main"
    arrays: Mapping[str, Any] = field(default_factory=dict, metadata={PYTHON_ONLY: True})

    def run(self, op: Operation) -> None:
        what = f"pass '{self.name}'"
        function = graph_function(op, self.function, what)
        arrays = {**self._read(), **{name: self._array(name, value) for name, value in self.arrays.items()}}
        names = argument_names(function)
        # Each access builds the list of arguments anew, and a model may have thousands of arguments.
        places = {name: place for place, name in reversed(list(enumerate(names)))}
        for name in arrays:
            if name not in places:
                known = ", ".join(names) or "none"
                raise OptionError(
                    f"{what}: @{self.function} has no parameter '{name}'; it has: {known}{suggest(name, names)}"
                )
        parameters = list(body_of(function).arguments)
        given = {places[name]: array for name, array in arrays.items()}
        # Arrays of one element type and shape, for parameters of one type, need one check: that of the first.
        kinds: dict[Hashable, tuple[str, Type, ndarray]] = {}
        for place, array in given.items():
            type_ = parameters[place].type
            kinds.setdefault((type_, array.dtype, array.shape), (names[place], type_, array))
        sizes: dict[str, Dim] = {}
        for name, type_, array in kinds.values():
            self._check_type(name, type_, array, sizes)
        for name, type_, array in kinds.values():
            self._check_sizes(name, type_, array, sizes)
        check_removable(function, given, what)
        with changing_copy(function, what, retypes=bool(sizes)) as copy:
            bind_sizes(copy, sizes, what)
            body = body_of(copy)
            arguments = list(body.arguments)
            around = copy.location
            with ir.InsertionPoint.at_block_begin(body):
                for place, array in given.items():
                    argument = arguments[place]
                    argument.replace_all_uses_with(
                        _constant(argument.type, array, ir.Location.name(names[place], around))
                    )
            remove_arguments(copy, given)

    def _read(self) -> dict[str, ndarray]:
        if not self.params:
            return {}
        import zipfile

        import numpy

        try:
            if isinstance(found := numpy.load(self.params, allow_pickle=False), numpy.ndarray):
                raise self._unreadable(
                    "the file contains one array without a name: write named arrays with numpy.savez"
                )
            with found:
                arrays = {name: found[name] for name in found}
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from None
        except (ValueError, EOFError, zipfile.BadZipFile):
            raise self._unreadable(
                "the file was not written by numpy.savez, is damaged, or contains Python objects"
            ) from None
        for array in arrays.values():
            array.flags.writeable = False  # no other owner: the constants alias this memory
        return arrays

    def _unreadable(self, reason: str) -> RelaxError:
        return OptionError(f"pass '{self.name}': cannot read '{self.params}': {reason}")

    def _array(self, name: str, value: object) -> ndarray:
        import numpy

        array = numpy.asarray(value)
        if array.dtype == object:
            raise OptionError(f"pass '{self.name}': '{name}' is a {type(value).__name__}, not an array of numbers")
        return array.copy() if array.flags.writeable else array

    def _check_type(self, name: str, type_: Type, array: ndarray, sizes: dict[str, Dim]) -> None:
        """Raise an error if the array has another element type or rank. Add the sizes of symbols."""
        if not isinstance(info := decode(type_), TensorInfo):
            raise OptionError(
                f"pass '{self.name}': parameter '{name}' is {describe(info)}: only tensors can become constants"
            )
        if dtype_name(array.dtype) != info.dtype and not _holds(array, info.dtype):
            raise self._unfit(name, info, f"element type {array.dtype.name}")
        if info.shape is not None and len(info.shape) != array.ndim:
            raise self._unfit(name, info, f"shape {array.shape}")
        for dim, size in zip(info.shape or (), array.shape, strict=False):
            if isinstance(dim, SymExpr) and str(dim) in dim.variables:
                known = sizes.setdefault(str(dim), size)
                if known != size:
                    raise self._unfit(name, info, f"shape {array.shape}", f"'{dim}' is {known} already")

    def _check_sizes(self, name: str, type_: Type, array: ndarray, sizes: dict[str, Dim]) -> None:
        info = decode(type_)
        assert isinstance(info, TensorInfo)
        for dim, size in zip(info.shape or (), array.shape, strict=False):
            found = dim.substitute(sizes) if isinstance(dim, SymExpr) else dim
            if isinstance(found, SymExpr):
                help_ = f"'{found}' is not known to be {size}: bind its symbols with relax-bind-symbolic-vars"
                raise self._unfit(name, info, f"shape {array.shape}", help_)
            if found not in (None, size):
                raise self._unfit(name, info, f"shape {array.shape}", f"'{dim}' is {found}" if found != dim else "")

    def _unfit(self, name: str, info: TensorInfo, got: str, reason: str = "") -> RelaxError:
        reason = f" ({reason})" if reason else ""
        return OptionError(f"pass '{self.name}': parameter '{name}' is {describe(info)}, the array has {got}{reason}")


def _holds(array: ndarray, dtype: str) -> bool:
    """Check whether the array's bytes encode this dtype.

    NumPy's files store types that NumPy does not know, such as bfloat16, as raw bytes.
    """
    stored = STORAGE_NAME.get(dtype)
    is_raw = array.dtype.kind == "V" and array.dtype.name.startswith("void")
    return is_raw and dtype not in NUMPY_NAME and stored == f"uint{array.dtype.itemsize * 8}"


def _constant(type_: Type, array: ndarray, location: Location) -> Value:
    """Return a constant of the parameter's type."""
    attribute = elements_attribute(array, type_.element_type)
    constant: Value = constant_op(attribute, loc=location).result
    if attribute.type == type_:
        return constant
    # The array has sizes that the parameter's type does not state.
    return ir.Operation.create("relax.match_cast", results=[type_], operands=[constant], loc=location).result
