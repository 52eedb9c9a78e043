# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Body of a group's PrimFunc: one linalg.generic for all elementwise work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....bindings.affine import compose, identity, plain_dim
from ....bindings.ir import AffineExpr, AffineMap, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import body_of, constant_of, operations_in, operations_of, users_of
from ....emit import linalg, numbers
from ....emit.generic import GenericOp
from .fusion_group import FusionGroup, Member, asked_map, written_by_host


def group_body(group: FusionGroup, outputs: Sequence[Value], parameters: Sequence[Value]) -> list[Value]:
    """Emit the body and return the values of the outputs. The parameters are the group's inputs, then its outputs."""
    inputs = group.inputs()
    given = dict(zip(inputs, parameters, strict=False))
    destinations = dict(zip(outputs, parameters[len(inputs) :], strict=True))
    if group.head is not None:
        value = group.head.sink.call.results[0]
        ((output, destination),) = destinations.items()
        element = group.head.sink.info.outputs[0].element_type
        is_in_place = destination.type.element_type == element
        place = destination if is_in_place else linalg.empty(linalg.sizes(destination), element)
        (begun,) = _GroupBody(group.head, given, {value: place}).emit()
        given[value] = begun
        destinations = {output: begun if is_in_place else destination}
    return _GroupBody(group, given, destinations).emit()


class _GroupBody:
    """Emitter of a group's loops at the insertion point, which must be the end of a block."""

    def __init__(self, group: FusionGroup, given: dict[Value, Value], destinations: dict[Value, Value]):
        self._group = group
        self._given = given
        self._destinations = destinations
        self._made = {result: member for member in group.members for result in member.call.results}
        self._block = ir.InsertionPoint.current.block
        self._copies = {member.position: _Copy(member) for member in group.members}
        #: Operands of the loops, each with the map from the loops to its elements.
        self._operands: dict[tuple[Value, AffineMap], int] = {}
        self._sizes: dict[int, Value] = {}

    def emit(self) -> list[Value]:
        for member in self._group.members:
            self._bind(member)
        host = self._group.host
        for member in self._group.members:
            if member is not host:
                self._move_around(self._copies[member.position])
        parallel = [linalg.PARALLEL] * len(self._group.sizes)
        values = self._emit_loops(parallel) if host is None else self._emit_host(host)
        for copy in self._copies.values():
            copy.drop()
        return values

    # ---- parameters ----

    def _bind(self, member: Member) -> None:
        """Replace the copy's parameters by parameters of the fused function.

        Other parameters give way to computed sizes.
        """
        copy = self._copies[member.position]
        values = [*member.call.operands, *member.call.results]
        for place, (argument, value) in enumerate(zip(copy.arguments, values, strict=True)):
            is_output = place >= member.info.input_count
            if (passed := (self._destinations if is_output else self._given).get(value)) is not None:
                argument.replace_all_uses_with(passed)
            else:
                self._tell_sizes(member, place, argument)

    def _tell_sizes(self, member: Member, place: int, argument: Value) -> None:
        if not (asking := [user for user in users_of(argument) if user.name == "tensor.dim"]):
            return
        map_ = asked_map(member, place, self._made, list(self._destinations))
        for op in asking:
            axis = constant_of(op.operands[1])
            op.results[0].replace_all_uses_with(self._size(map_.results[axis], argument.type.shape[axis]))
            op.erase()

    def _size(self, expression: AffineExpr, known: int) -> Value:
        if known != DYNAMIC:
            return numbers.as_index(known)
        loop = plain_dim(expression)
        assert loop is not None
        if loop not in self._sizes:
            self._sizes[loop] = linalg.size(*self._find_size_source(loop))
        return self._sizes[loop]

    def _find_size_source(self, loop: int) -> tuple[Value, int]:
        """Return a parameter and its axis with the size of a loop. The group's checks guarantee that there is one."""
        return next(
            (value, axis)
            for value, map_ in self._yield_sized()
            for axis, expression in enumerate(map_.results)
            if plain_dim(expression) == loop
        )

    def _yield_sized(self) -> Iterator[tuple[Value, AffineMap]]:
        """Yield parameters with the maps from the loops to their elements."""
        if self._group.host is None:
            yield from ((value, self._group.out_map) for value in self._destinations.values())
        for result, map_ in written_by_host(self._group):
            yield self._destinations[result], map_
        for member in self._group.members:
            for operand, value in enumerate(member.call.operands):
                read = member.info.reads.get(operand)
                if value in self._given and read is not None and read.generic == member.generic:
                    yield from ((self._given[value], map_) for map_ in member.read_maps(operand))

    # ---- loops ----

    def _move_around(self, copy: _Copy) -> None:
        """Move scalar computations from outside of the loops before the group's loops."""
        for op in copy.operations[:-1]:
            if op != copy.generic:
                self._block.append(op)

    def _emit_host(self, host: Member) -> list[Value]:
        """Emit the host's operations. The loops that read the producers' results compute them, too."""
        copy = self._copies[host.position]
        for op in copy.operations[:-1]:
            if copy.generic is None or op != copy.generic:
                self._block.append(op)
                continue
            for result, value in zip(op.results, self._emit_loops(GenericOp(op).kinds), strict=True):
                result.replace_all_uses_with(value)
        return list(copy.operations[-1].operands)

    def _emit_loops(self, iterators: Sequence[str]) -> list[Value]:
        for member in self._group.members:
            for _, value, map_ in self._inputs_of(member):
                if value is not None:
                    self._operands.setdefault((value, map_), len(self._operands))
        if (host := self._group.host) is None:
            outputs = list(self._destinations.values())
            maps = [self._group.out_map] * len(outputs)
        else:
            generic = GenericOp(self._copies[host.position].generic)
            outputs, maps = list(generic.outputs), list(generic.output_maps)
        inputs = [value for value, _ in self._operands]
        read = [map_ for _, map_ in self._operands]
        return linalg.generic(inputs, outputs, [*read, *maps], iterators, self._scalar_body)

    def _inputs_of(self, member: Member) -> Iterator[tuple[int, Value | None, AffineMap]]:
        """Yield the inputs of a member's operation as (index, value, map).

        The value is in the fused function, or None if the loops compute it. The map leads from the loops to the
        elements.
        """
        copy = self._copies[member.position]
        generic = GenericOp(copy.generic)
        for index, (value, map_) in enumerate(zip(generic.inputs, generic.maps, strict=False)):
            yield index, None if copy.parameter_of(value) is not None else value, compose(map_, member.place)

    def _scalar_body(self, *scalars: Value) -> list[Value]:
        """Emit the members' bodies in order. Each value is computed once."""
        block = ir.InsertionPoint.current.block
        computed: dict[Value, Value] = {}
        for member in self._group.members:
            generic = self._copies[member.position].generic
            self._bind_scalars(member, scalars, computed)
            _replace_indices(generic, member.place)
            *operations, end = operations_of(body_of(generic))
            for op in operations:
                block.append(op)
            yielded = list(end.operands)
            if not member.is_pointwise:
                return yielded
            computed[member.call.results[0]] = yielded[0]
        return [computed[value] for value in self._destinations]

    def _bind_scalars(self, member: Member, scalars: Sequence[Value], computed: dict[Value, Value]) -> None:
        """Bind the scalars of a member's body: elements of operands, and results of earlier members."""
        copy = self._copies[member.position]
        arguments = list(body_of(copy.generic).arguments)
        for index, value, map_ in self._inputs_of(member):
            if value is None:
                place = copy.parameter_of(copy.generic.operands[index])
                assert place is not None
                scalar = computed[member.call.operands[place]]
            else:
                scalar = scalars[self._operands[value, map_]]
            arguments[index].replace_all_uses_with(scalar)
        if not member.is_pointwise:
            outputs = arguments[GenericOp(copy.generic).input_count :]
            for argument, scalar in zip(outputs, scalars[len(self._operands) :], strict=True):
                argument.replace_all_uses_with(scalar)


class _Copy:
    """A copy of a member's function, outside of any module. Emission moves operations out of the copy."""

    def __init__(self, member: Member):
        self._function = member.info.function.clone(ip=False)
        self._block = body_of(self._function)
        self.arguments = list(self._block.arguments)
        #: The operation with the group's loops. A host without producers needs none.
        self.generic: Any = None if member.generic is None else self.operations[member.generic]

    @property
    def operations(self) -> list[Operation]:
        """Return the operations that have not been moved out."""
        return operations_of(self._block)

    def parameter_of(self, value: Value) -> int | None:
        """Return the position of a value among the function's parameters, or None."""
        return next((place for place, argument in enumerate(self.arguments) if argument == value), None)

    def drop(self) -> None:
        for op in reversed(self.operations):
            op.erase()


def _replace_indices(generic: Operation, place: AffineMap) -> None:
    """Express an operation's loop indices in the group's loop indices."""
    if place == identity(place.n_dims):
        return
    for op in operations_in(generic):
        if op.name == "linalg.index":
            expression = place.results[op.attributes["dim"].value]
            with op.location, ir.InsertionPoint(op):
                op.results[0].replace_all_uses_with(linalg.affine_value(expression, linalg.index))
            op.erase()
