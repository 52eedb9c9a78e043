# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters and buffers of a tensor program, from its signature, T.match_buffer and T.alloc_buffer."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...dialects.script.syntax import items_of
from .annotations import Annotations, arguments_of
from .buffer_parts import MatchedRegion, region_of
from .names import TIR, Names
from .program import Buffer, Scalar
from .scalar_types import shown
from .views import BufferView, view_of

_BUFFER_ARGUMENTS = ("shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor",
                     "buffer_type", "axis_separators", "layout", "annotations")  # fmt: skip
#: Functions that may declare a view of another buffer.
_VIEW_MAKERS = ("Buffer", "decl_buffer")
#: Arguments that would make a buffer a view of other memory.
_VIEWS = ("data", "strides", "elem_offset")


class Buffers:
    """Buffers and scalars of one function."""

    def __init__(self, names: Names, function: ast.FunctionDef):
        self.names, self.source = names.inside(function), names.source
        self.annotations = Annotations(self.names)
        #: Names in scope: buffers, and True for scalars.
        self.scope: dict[str, Buffer | bool] = {}
        self.handles: dict[str, int] = {}
        self.parameters: list[Buffer | Scalar | None] = []

    def parameter(self, argument: ast.arg) -> None:
        source, annotation = self.source, argument.annotation
        if annotation is None:
            raise source.problem(
                argument, f"parameter '{argument.arg}' has no type: expected T.Buffer(...), T.handle or T.int64"
            )
        kind, name = self.names.word(annotation)
        if kind != TIR:
            raise source.problem(
                annotation, "this is not a parameter's type: expected T.Buffer(...), T.handle or T.int64"
            )
        if name == "handle":
            self.handles[argument.arg] = len(self.parameters)
            self.parameters.append(None)
        elif name == "Buffer" and isinstance(annotation, ast.Call):
            self.parameters.append(self.declare(annotation, argument.arg))
        else:
            dtype = self.annotations.dtype(annotation.func if isinstance(annotation, ast.Call) else annotation)
            self.parameters.append(Scalar(argument, argument.arg, dtype))
            self.scope[argument.arg] = True
            self.annotations.add(argument, argument.arg)

    def declare(
        self, call: ast.Call, name: str, exprs: Mapping[str, ast.expr] | None = None, scope: str = "global"
    ) -> Buffer:
        """Declare the buffer that a call describes under its name."""
        arguments = arguments_of(self.names, call, _BUFFER_ARGUMENTS, 1) if exprs is None else exprs
        for view in _VIEWS:
            if view in arguments and not self._is_plain(view, arguments[view], arguments["shape"]):
                raise self.source.problem(
                    arguments[view], f"a buffer with '{view}=' is a view of other memory: not supported"
                )
        scope = self.names.text(arguments["scope"]) if "scope" in arguments else scope
        shape = arguments["shape"]
        sizes = tuple(items_of(shape))
        dims = self.annotations.shape(shape, new=True)
        if len(dims) != len(sizes):  # a constant from the environment
            sizes = tuple(ast.copy_location(ast.Constant(int(str(dim))), shape) for dim in dims)
        for symbol in self.annotations.symbols:
            self.scope.setdefault(symbol, True)
        dtype = self.annotations.dtype(arguments["dtype"]) if "dtype" in arguments else "f32"
        buffer = Buffer(call, name, sizes, dims, dtype, scope)
        self.scope[name] = buffer
        return buffer

    def _is_plain(self, what: str, node: ast.expr, shape: ast.expr) -> bool:
        """Check whether a layout argument states the default: row-major without gaps, from offset 0."""
        if what == "data":
            return isinstance(node, ast.Constant) and node.value is None
        if what == "elem_offset":
            value = self.names.found(node)
            return value == 0 if value is not None else isinstance(node, (ast.Name, ast.Constant))
        if not isinstance(node, (ast.Tuple, ast.List)):
            return isinstance(node, ast.Constant) and node.value is None
        if all(
            isinstance(each, ast.Name) and self.names.found(each) is None for each in node.elts
        ):  # strides that the caller passes, which are row-major
            return True
        strides = [self.names.found(each) for each in node.elts]
        wanted: list[object] = [1]
        for each in reversed(items_of(shape)[1:]):
            size = self.names.found(each)
            wanted.insert(0, size * wanted[0] if isinstance(size, int) and isinstance(wanted[0], int) else None)
        return None not in strides and strides == wanted

    def match(self, target: ast.Name, call: ast.Call) -> None:
        arguments = arguments_of(self.names, call, ("param", *_BUFFER_ARGUMENTS), 1)
        param = arguments.pop("param")
        name = param.id if isinstance(param, ast.Name) else ""
        if name not in self.handles:
            raise self.source.problem(param, "T.match_buffer takes a parameter that is a T.handle", self.handles, name)
        if "shape" not in arguments:
            raise self.source.problem(call, "T.match_buffer lacks the shape")
        position = self.handles[name]
        if self.parameters[position] is not None:
            raise self.source.problem(param, f"parameter '{name}' is matched twice")
        self.parameters[position] = self.declare(call, target.id, arguments)

    def _view(self, target: ast.expr, call: ast.Call) -> BufferView | None:
        """Return the view that a statement declares: `B = T.Buffer((16,), data=A.data)`."""
        arguments = arguments_of(self.names, call, _BUFFER_ARGUMENTS, 1)
        data = arguments.pop("data", None)
        base = data.value if isinstance(data, ast.Attribute) and data.attr == "data" else data
        if not isinstance(base, ast.Name) or not isinstance(target, ast.Name):
            return None
        if base.id in self.handles:
            position = self.handles[base.id]
            if (matched := self.parameters[position]) is None:
                return None
            base = ast.copy_location(ast.Name(matched.name, ast.Load()), base)
        if not isinstance(buffer := self.scope.get(base.id), Buffer):
            raise self.source.problem(base, f"there is no buffer '{base.id}' here", self.known(), base.id)
        strides, offset = arguments.pop("strides", None), arguments.pop("elem_offset", None)
        view = self.declare(call, target.id, arguments)
        del self.scope[target.id]
        if view.dtype != buffer.dtype:
            raise self.source.problem(call, f"'{buffer.name}' is of {shown(buffer.dtype)}, not {shown(view.dtype)}")
        if not buffer.sizes or not view.sizes:
            raise self.source.problem(call, "a buffer without dimensions has no other view")
        steps = list(strides.elts) if isinstance(strides, (ast.Tuple, ast.List)) and strides.elts else None
        if steps is not None and len(steps) != len(view.sizes):
            raise self.source.problem(call, f"{len(steps)} strides for {len(view.sizes)} dimensions")
        is_begin = offset is None or self.names.found(offset) == 0
        return view_of(target.id, buffer, base, view, steps, None if is_begin else offset)

    def region(self, node: ast.stmt, word: str, call: ast.Call) -> MatchedRegion | BufferView | None:
        """Return the region or view that a statement declares: `A_sub = T.match_buffer(A[0:16], (16,))`."""
        if word in _VIEW_MAKERS and isinstance(node, ast.Assign):
            return self._view(node.targets[0], call)
        if word != "match_buffer" or not isinstance(node, ast.Assign):
            return None
        target = node.targets[0]
        arguments = arguments_of(self.names, call, ("param", *_BUFFER_ARGUMENTS), 2)
        param = arguments["param"]
        base = param.value if isinstance(param, ast.Subscript) else param
        buffer = self.scope.get(base.id) if isinstance(base, ast.Name) else None
        if not isinstance(buffer, Buffer) or not isinstance(target, ast.Name):
            return None
        if "data" in arguments:
            raise self.source.problem(arguments["data"], "a region is of the buffer that it is matched with")
        dtype = self.annotations.dtype(arguments["dtype"]) if "dtype" in arguments else "f32"
        if dtype != buffer.dtype:
            raise self.source.problem(call, f"'{buffer.name}' is of {shown(buffer.dtype)}, not {shown(dtype)}")
        return region_of(self.names, target.id, arguments, buffer)

    def is_pointed(self, target: ast.Name, call: ast.Call) -> bool:
        """Return True if a call declares the buffer of a pointer parameter: `A = T.Buffer((16,), data=a)`."""
        arguments = arguments_of(self.names, call, _BUFFER_ARGUMENTS, 1)
        data = arguments.pop("data", None)
        if not isinstance(data, ast.Name) or data.id not in self.handles:
            return False
        self.parameters[self.handles[data.id]] = self.declare(call, target.id, arguments)
        return True

    def known(self) -> list[str]:
        return [name for name, value in self.scope.items() if isinstance(value, Buffer)]
