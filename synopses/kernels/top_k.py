"""The keys with the best single values over a bank, each slot sorted, the best first."""

from numba import njit


@njit(cache=True, nogil=True)
def _better(value, h1, h2, other_value, other_h1, other_h2):
    """Whether a value beats another; equal values are ordered by the hashes of their keys."""
    if value != other_value:
        return value > other_value
    if h1 != other_h1:
        return h1 < other_h1
    return h2 < other_h2


@njit(cache=True, nogil=True)
def add(
    keys, scores, lengths, texts, held,
    slots, hashes, buffer, starts, text_lengths, new_scores,
):  # fmt: skip
    """Keep for each slot the keys with the highest scores, and each key's highest."""
    capacity, width = texts.shape[1], texts.shape[2]
    for i in range(slots.size):
        slot = slots[i]
        score = new_scores[i] + 0.0  # -0.0 and 0.0 are one value
        h1, h2 = hashes[i, 0], hashes[i, 1]
        last = held[slot] - 1
        if held[slot] == capacity and not _better(
            score, h1, h2, scores[slot, last], keys[slot, last, 0], keys[slot, last, 1]
        ):
            continue
        place = 0
        while place <= last and not (keys[slot, place, 0] == h1 and keys[slot, place, 1] == h2):
            place += 1
        if place <= last:
            if score <= scores[slot, place]:
                continue
        elif held[slot] < capacity:
            held[slot] += 1
        else:
            place = last
        while place > 0 and _better(
            score, h1, h2,
            scores[slot, place - 1], keys[slot, place - 1, 0], keys[slot, place - 1, 1],
        ):  # fmt: skip
            scores[slot, place] = scores[slot, place - 1]
            keys[slot, place, 0] = keys[slot, place - 1, 0]
            keys[slot, place, 1] = keys[slot, place - 1, 1]
            lengths[slot, place] = lengths[slot, place - 1]
            for j in range(width):
                texts[slot, place, j] = texts[slot, place - 1, j]
            place -= 1
        scores[slot, place] = score
        keys[slot, place, 0] = h1
        keys[slot, place, 1] = h2
        lengths[slot, place] = text_lengths[i]
        shown = min(text_lengths[i], width)
        for j in range(shown):
            texts[slot, place, j] = buffer[starts[i] + j]
        for j in range(shown, width):
            texts[slot, place, j] = 0
