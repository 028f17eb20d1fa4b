"""How kernels are compiled, in two forms of the same source, and how they reach into arrays.

    fast      what runs. `load_word`, `store` and the others below are single instructions: no
              check, no negative index that counts from the end.
    checked   with SDE_CHECKED_KERNELS=1 in the environment before the first import. The same
              functions raise IndexError where they would leave their array, and so does every
              `array[i]` beyond its end (numba's bounds checks). About half as fast.

Whatever feeds kernels with bytes from outside is fuzzed in the checked form: see
`bench.fuzz_scanner` and tests/sde/kernels/test_checked_form.py. There an IndexError is a defect
that would be a write into other memory, or a crash, in the fast form.

A kernel is a function with `@kernel`; a helper that has to be part of its caller keeps numba's
`@njit(inline="always")`. Machine code is kept in a cache on disk. Numba's notices an edit of the
file a kernel stands in, and of no other; the one here also tells the two forms apart, and notices
an edit of this file, of `utf8`, and of its family: the files beside it whose names begin with the
same word (`json_text`, `json_scan`). A kernel therefore uses helpers of these and of no other file.
"""

import functools
import hashlib
import os
from pathlib import Path

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

CHECKED = os.environ.get("SDE_CHECKED_KERNELS") == "1"

_SHARED = [Path(__file__), Path(__file__).with_name("utf8.py")]  # that every kernel may use
_INT64 = ir.IntType(64)


@functools.cache
def _digest(folder, first_word):
    """Of the shared files, and of those in that folder whose names begin with that word."""
    family = sorted(f for f in folder.glob("*.py") if f.stem.split("_")[0] == first_word)
    return hashlib.sha256(b"".join(f.read_bytes() for f in [*_SHARED, *family])).hexdigest()


class _Cache(FunctionCache):
    def __init__(self, function):
        super().__init__(function)
        file = Path(function.__code__.co_filename)
        self._form = (CHECKED, _digest(file.parent, file.stem.split("_")[0]))

    def _index_key(self, signature, codegen):
        return (*super()._index_key(signature, codegen), self._form)


def kernel(function):
    """Compile the function when it is first called with arguments of some types.

    Without numba's memory management: it counts references to an array, with atomic instructions,
    wherever a loop hands one to a helper. A kernel therefore makes no arrays; its caller does.
    """
    compiled = njit(nogil=True, boundscheck=CHECKED, _nrt=False)(function)
    compiled._cache = _Cache(function)
    return compiled


def kernel_of(signature):
    """Compile the function at once, for arguments of these types only."""

    def compile_now(function):
        compiled = kernel(function)
        compiled.compile(signature)
        compiled.disable_compile()
        return compiled

    return compile_now


def _place(context, builder, kind, array, at, count=1):
    """The address of array[at], whose `count` elements from there on are reached.

    An array with several dimensions is taken as one row after the other.
    """
    array = cgutils.create_struct_proxy(kind)(context, builder, array)
    if CHECKED:
        count = _INT64(count) if isinstance(count, int) else count
        outside = builder.or_(
            builder.or_(
                builder.icmp_signed("<", at, _INT64(0)), builder.icmp_signed("<", count, _INT64(0))
            ),
            builder.icmp_signed(">", at, builder.sub(array.nitems, count)),
        )
        with cgutils.if_unlikely(builder, outside):
            text = "a kernel would reach beyond an array"
            context.call_conv.return_user_exc(builder, IndexError, (text,))
    return builder.gep(array.data, [at])


@intrinsic
def unlikely(typing, condition):
    """The condition, which seldom holds: the compiler keeps what depends on it out of the way."""

    def generate(context, builder, signature, args):
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        expect = cgutils.get_or_insert_function(builder.module, kind, "llvm.expect.i1")
        return builder.call(expect, [args[0], bit(0)])

    return types.boolean(types.boolean), generate


@intrinsic
def load_word(typing, buffer, at):
    """The eight bytes buffer[at : at + 8], the first one lowest."""

    def generate(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], args[1], 8)
        return builder.load(builder.bitcast(place, _INT64.as_pointer()), align=1)

    return types.uint64(buffer, types.int64), generate


@intrinsic
def load_byte(typing, buffer, at):
    """buffer[at] as int64."""

    def generate(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], args[1])
        return builder.zext(builder.load(place), _INT64)

    return types.int64(buffer, types.int64), generate


@intrinsic
def load(typing, array, at):
    """array[at]."""

    def generate(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], args[1])
        return context.unpack_value(builder, array.dtype, place)

    return array.dtype(array, types.int64), generate


@intrinsic
def store(typing, array, at, value):
    """array[at] = value; of an array with columns, as if it had but one row."""

    def generate(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], args[1])
        context.pack_value(builder, array.dtype, args[2], place)
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype), generate


@intrinsic
def copy_word(typing, source, source_at, target, target_at):
    """target[target_at : target_at + 8] = source[source_at : source_at + 8]."""

    def generate(context, builder, signature, args):
        places = []
        for i in (0, 2):
            place = _place(context, builder, signature.args[i], args[i], args[i + 1], 8)
            places.append(builder.bitcast(place, _INT64.as_pointer()))
        builder.store(builder.load(places[0], align=1), places[1], align=1)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), generate


@intrinsic
def copy_bytes(typing, source, source_at, target, target_at, count):
    """target[target_at : target_at + count] = source[source_at : source_at + count]."""

    def generate(context, builder, signature, args):
        source, target = (
            _place(context, builder, signature.args[i], args[i], args[i + 1], args[4])
            for i in (0, 2)
        )
        cgutils.raw_memcpy(builder, target, source, args[4], 1)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64, types.int64), generate
