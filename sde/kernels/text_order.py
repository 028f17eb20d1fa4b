"""The order of texts, byte by byte, which for UTF-8 is the order of their characters' numbers."""

from sde.kernels.compiling import kernel


@kernel
def compare_spans(a_buffer, a_starts, a_ends, b_buffer, b_starts, b_ends, orders):
    """orders[i]: -1, 0 or 1 as a's text is before, equal to or behind b's."""
    for i in range(orders.size):
        a = a_starts[i]
        b = b_starts[i]
        a_size = a_ends[i] - a
        b_size = b_ends[i] - b
        shared = min(a_size, b_size)
        p = 0
        while p < shared and a_buffer[a + p] == b_buffer[b + p]:
            p += 1
        if p < shared:
            orders[i] = -1 if a_buffer[a + p] < b_buffer[b + p] else 1
        else:
            orders[i] = (a_size > b_size) - (a_size < b_size)
