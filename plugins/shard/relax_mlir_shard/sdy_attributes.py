# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of Shardy's attributes as meshes and shardings: `<["x"=2, "y"=4]>` and `<@mesh, [{"x"}, {}]>`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from relax_mlir.support.errors import OptionError

from .mesh import Mesh, Sharding

_AXIS_SIZE = re.compile(r'"([^"]*)"\s*=\s*(\d+)')
_DEVICES = re.compile(r"device_ids\s*=\s*\[([^\]]*)\]")
_SHARDING = re.compile(
    r'<\s*(?:@(?P<name>"[^"]+"|[\w.$-]+)|mesh<(?P<mesh>[^>]*)>)\s*,\s*\[(?P<dimensions>[^\]]*)\](?P<rest>[^<>]*)>'
)
_DIMENSION = re.compile(r"\{([^}]*)\}")
#: Name of an axis, and what follows the name of a part of an axis.
_AXIS = re.compile(r'"([^"]*)"\s*(:\(\d+\)\s*\d+)?')


class MeshSharding(NamedTuple):
    """Sharding of a tensor, and its mesh."""

    mesh: Mesh
    sharding: Sharding

    def restrict(self, axes: frozenset[str]) -> Sharding:
        """Return the sharding along no other axes."""
        return tuple(tuple(axis for axis in dimension if axis in axes) for dimension in self.sharding)


def parse_mesh(text: str) -> Mesh:
    """Return the mesh of a text such as `<["x"=2, "y"=4]>`. Raise OptionError if devices have another order."""
    mesh = Mesh.from_sizes({name: int(size) for name, size in _AXIS_SIZE.findall(text)})
    if devices := _DEVICES.search(text):
        order = [int(device) for device in devices[1].split(",") if device.strip()]
        if order != list(range(mesh.size)):
            raise OptionError(f"sdy.mesh {text}: ranks are in the order of the mesh, and its devices are not")
    return mesh


def parse_sharding(text: str, meshes: Mapping[str, Mesh]) -> MeshSharding:
    """Return the sharding of a text such as `#sdy.sharding<@mesh, [{"x", ?}, {}]>`. `meshes` has the module's meshes.

    Marks of open dimensions, priorities and explicitly replicated axes do not change the sharding.
    """
    shardings = parse_shardings(text, meshes)
    if len(shardings) != 1:
        raise OptionError(f'sdy.sharding {text}: expected one sharding, as in <@mesh, [{{"x"}}, {{}}]>')
    return shardings[0]


def parse_shardings(text: str, meshes: Mapping[str, Mesh]) -> list[MeshSharding]:
    """Return the shardings of a list such as `[<@mesh, [{"x"}]>, <@mesh, []>]`."""
    return [_read_sharding(match, meshes) for match in _SHARDING.finditer(text)]


def parse_axes(text: str) -> frozenset[str]:
    """Return the axes of a set such as `{"x", "y"}`."""
    return frozenset(name for name, _ in _AXIS.findall(text))


def _read_sharding(match: re.Match[str], meshes: Mapping[str, Mesh]) -> MeshSharding:
    text = match[0]
    if match["mesh"] is not None:
        mesh = parse_mesh(match["mesh"])
    elif (name := match["name"].strip('"')) in meshes:
        mesh = meshes[name]
    else:
        raise OptionError(f"sdy.sharding {text}: the module has no sdy.mesh @{name}")
    if "unreduced" in match["rest"]:
        raise OptionError(f"sdy.sharding {text}: partial sums (unreduced axes) are not supported")
    dimensions = []
    for dimension in _DIMENSION.findall(match["dimensions"]):
        axes = _AXIS.findall(dimension)
        if parts := [name for name, part in axes if part]:
            raise OptionError(f"sdy.sharding {text}: a part of axis '{parts[0]}' divides it, expected a whole axis")
        dimensions.append(tuple(name for name, _ in axes))
    mesh.check(tuple(dimensions), f"sdy.sharding {text}")
    return MeshSharding(mesh, tuple(dimensions))
