"""The frame around a record whose schema is in a registry: a zero, and the schema's number."""

from sde.kernels.compiling import kernel, load_byte

SIZE = 5
NO_SCHEMA = -1


@kernel
def schema_numbers(buffer, starts, ends, which, out):
    """out[j]: the number in message which[j], NO_SCHEMA if it has no frame."""
    for j in range(which.size):
        start = starts[which[j]]
        number = NO_SCHEMA
        if ends[which[j]] - start >= SIZE and load_byte(buffer, start) == 0:
            number = 0
            for i in range(1, SIZE):
                number = (number << 8) | load_byte(buffer, start + i)
        out[j] = number
