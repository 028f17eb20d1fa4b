"""An Avro schema becomes the program by which `sde.kernels.avro` reads its records.

Records inside records are just more values. The elements of an array that are read have
instructions of their own, the others share those that read nothing. A record that is not read is
called, so that one that has itself inside it needs no endless program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.decoding.avro_schema import Array, AvroSchema, Leaf, Map, Node, RecordName, Union
from sde.decoding.paths import Paths, member
from sde.kernels import avro as kernel
from sde.wire.faults import Code, Refusal

_OPS = {
    "int": kernel.INT,
    "long": kernel.LONG,
    "boolean": kernel.BOOLEAN,
    "float": kernel.FLOAT,
    "double": kernel.DOUBLE,
    "string": kernel.TEXT,
    "bytes": kernel.BYTES,
    "fixed": kernel.FIXED,
    "enum": kernel.ENUM,
}
_NULL = Leaf("null")
_MOST_VALUES = 100_000  # in a program; by names a short schema may have any number


class NotFixed(Exception):
    """The paths of the values are known only with the values: those of arrays and maps."""


@dataclass(frozen=True, slots=True)
class Program:
    """Column i has the values of columns[i]; several may have the same path, of a union."""

    instructions: NDArray[np.int64]
    targets: NDArray[np.int64]
    paths: list[str]  # what each instruction is about
    columns: list[tuple[str, Leaf]]


def compile_schema(schema: AvroSchema, paths: frozenset[str] | None, most_fields: int) -> Program:
    """The program that reads `paths` (None: all). NotFixed, or Refusal if it becomes too large."""
    _require_records(schema.root)
    compiler = _Compiler(schema, Paths(paths), paths is None, most_fields)
    compiler.value(schema.root, "")
    compiler.emit(kernel.END)
    compiler.called_records()
    return Program(
        np.array(compiler.instructions, np.int64).reshape(-1),
        np.array(compiler.targets or [0], np.int64),
        compiler.paths,
        compiler.columns,
    )


def _require_records(root: Node) -> None:
    branches = root.branches if isinstance(root, Union) else (root,)
    if not branches or not all(isinstance(branch, RecordName) for branch in branches):
        text = "the Avro schema cannot be used: expected a record with named fields"
        raise Refusal(Code.BAD_SCHEMA, text)


class _Compiler:
    def __init__(self, schema: AvroSchema, wanted: Paths, every: bool, most_fields: int) -> None:
        self._schema, self._wanted, self._every, self._most = schema, wanted, every, most_fields
        self.instructions: list[list[int]] = []
        self.paths: list[str] = []
        self.targets: list[int] = []
        self.columns: list[tuple[str, Leaf]] = []
        self._path, self._values = "", 0
        self._inside: list[str] = []  # records whose fields are being compiled
        self._calls: dict[str, list[int]] = {}  # instructions that call a record, by its name

    def emit(self, op: int, first: int = 0, second: int = 0, third: int = 0) -> int:
        """Where the instruction stands."""
        self.instructions.append([op, first, second, third])
        self.paths.append(self._path)
        return len(self.instructions) - 1

    def value(self, node: Node, path: str, read: bool = True) -> None:
        """Instructions for one value; it is not `read` if it is checked only."""
        self._values += 1
        if self._values > _MOST_VALUES:
            text = f"the Avro schema cannot be used: more than {_MOST_VALUES:,} values in a record"
            raise Refusal(Code.TOO_LARGE, text)
        read = not path or (read and self._wanted.touch(path))
        self._path = path
        match node:
            case Leaf():
                self._leaf(node, path, read)
            case RecordName(name):
                self._record(name, path, read)
            case Union(branches):
                self._union(branches, path, read)
            case Array(items):
                self._loop(items, path, read, is_map=False)
            case Map(values):
                self._loop(values, path, read, is_map=True)

    def _leaf(self, leaf: Leaf, path: str, read: bool) -> None:
        if leaf.kind == "null":
            return
        column = -1
        if read and self._wanted.have(path):
            column = len(self.columns)
            if column == self._most:
                text = f"the Avro schema cannot be used: more than {self._most} values in a record"
                raise Refusal(Code.TOO_LARGE, text)
            self.columns.append((path, leaf))
        op = _OPS[leaf.kind]
        if op in (kernel.INT, kernel.LONG):
            self.emit(op, column, leaf.factor, leaf.divisor)
        else:
            self.emit(op, column, len(leaf.symbols) or leaf.size)

    def _record(self, name: str, path: str, read: bool) -> None:
        if not read:
            self._calls.setdefault(name, []).append(self.emit(kernel.CALL))
            return
        if self._every and name in self._inside:
            raise NotFixed
        self._inside.append(name)
        for field, node in self._schema.records[name].fields:
            self.value(node, member(path, field), read)
        self._inside.pop()

    def called_records(self) -> None:
        """The records that are called, behind everything else; they may call more of them."""
        starts: dict[str, int] = {}
        while to_do := sorted(self._calls.keys() - starts.keys()):
            for name in to_do:
                starts[name] = len(self.instructions)
                for field, node in self._schema.records[name].fields:
                    self.value(node, f"{name}.{field}", read=False)
                self.emit(kernel.RETURN)
        for name, callers in self._calls.items():
            for caller in callers:
                self.instructions[caller][1] = starts[name]

    def _union(self, branches: tuple[Node, ...], path: str, read: bool) -> None:
        base = len(self.targets)
        self.targets += [0] * len(branches)
        self.emit(kernel.UNION, len(branches), base)
        jumps, nulls = [], [i for i, branch in enumerate(branches) if branch == _NULL]
        for i in range(len(branches)):
            if i not in nulls:
                self.targets[base + i] = len(self.instructions)
                self.value(branches[i], path, read)
                jumps.append(self.emit(kernel.JUMP))
        behind = len(self.instructions)
        for jump in jumps:
            self.instructions[jump][1] = behind
        for i in nulls:
            self.targets[base + i] = behind

    def _loop(self, items: Node, path: str, read: bool, is_map: bool) -> None:
        elements = self._wanted.elements(path) if read and not is_map else []
        if read and (self._every or is_map):
            raise NotFixed
        own = {element: f"{path}[{element}]" for element in elements}
        count = max(elements, default=-1) + 1
        base = len(self.targets)
        self.targets += [0] * (count + 1)
        loop = self.emit(kernel.LOOP, base, count)
        others = len(self.instructions)
        self._body(items, path, False, is_map)
        for i in range(count + 1):
            self.targets[base + i] = others
        for element, element_path in own.items():
            self.targets[base + element] = len(self.instructions)
            self._body(items, element_path, True, is_map)
        self.instructions[loop][3] = len(self.instructions)

    def _body(self, items: Node, path: str, read: bool, is_map: bool) -> None:
        if is_map:
            self._path = path
            self.emit(kernel.TEXT, -1)
        self.value(items, path, read)
        self.emit(kernel.NEXT)
