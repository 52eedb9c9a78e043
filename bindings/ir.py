# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's classes by name for annotations. The wheel has no stubs; ir.pyi declares the parts in use."""

from __future__ import annotations

from .wheel_modules import ir as _ir

SymbolTable = _ir.SymbolTable
Attribute, Type, Location, Context = _ir.Attribute, _ir.Type, _ir.Location, _ir.Context
Value, OpResult, BlockArgument = _ir.Value, _ir.OpResult, _ir.BlockArgument
Operation, OpView, OperationBase, Attributes = _ir.Operation, _ir.OpView, _ir._OperationBase, _ir.OpAttributeMap
Block, Region, InsertionPoint, Module = _ir.Block, _ir.Region, _ir.InsertionPoint, _ir.Module
AffineMap, AffineExpr, MlirDiagnostic = _ir.AffineMap, _ir.AffineExpr, _ir.Diagnostic
