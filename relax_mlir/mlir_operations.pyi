# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .bindings.diagnostics import made_at as made_at
from .bindings.ir import Attribute as Attribute
from .bindings.ir import Block as Block
from .bindings.ir import Location as Location
from .bindings.ir import Module as Module
from .bindings.ir import OpView as OpView
from .bindings.ir import Type as Type
from .bindings.mlir import DYNAMIC as DYNAMIC
from .bindings.mlir import string_value as string_value
from .bindings.navigation import body_of as body_of
from .bindings.navigation import callee_of as callee_of
from .bindings.navigation import constant_of as constant_of
from .bindings.navigation import functions_in as functions_in
from .bindings.navigation import has_body as has_body
from .bindings.navigation import is_private as is_private
from .bindings.navigation import operations_named as operations_named
from .bindings.navigation import operations_of as operations_of
from .bindings.navigation import symbol_name as symbol_name
from .bindings.navigation import users_of as users_of
from .dialects.core.elements import elements_bytes as elements_bytes
