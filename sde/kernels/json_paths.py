"""The paths of records and their numbers; `sde.decoding.path_tree` makes the arrays.

An edge leads from a path, by a name, to another path; several may lead to one, since a name may
hold points. The elements of an array are a list, in order of their numbers. A tree that is open
grows by every name that is met; one that is closed has the paths that somebody reads, and what
leads to them.

    names, name_bounds        the name of each edge, with the quote behind it
    edge_parents, edge_paths  where each edge begins and leads to
    edge_table                edges by the hash of parent and name, -1 where none is
    texts, text_bounds        each path
    text_table                paths by the hash of their text, -1 where none is
    first_element             of each path, the path of its first element, -1 if it has none
    next_element              of each element, the one after it
    element_number            of each element
    inner                     of each path, whether nested values there are looked into
    follows                   the edge that came last behind each edge (number + 1), or at first (0)
    seen                      when each path was last met
    counts                    edges, paths, the last moment for `seen`, a seed for hashes

Behind the last name there is room for eight bytes more. Tables have more slots than there can be
edges or paths.
"""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load_byte, load_word

UNREAD, FULL = -1, -2  # no path: nobody reads it; there is no room for it
ROOT = 0
EDGES, PATHS, MOMENT, SEED = 0, 1, 2, 3  # in `counts`

_POINT, _OPEN_BRACKET, _CLOSE_BRACKET, _ZERO = 46, 91, 93, 48


@njit(inline="always")
def _hash(buffer, start, end, seed):
    h = np.uint64(seed) ^ np.uint64(end - start)
    p = start
    while p < end:
        if p + 8 <= buffer.size:
            word = load_word(buffer, p)
            if end - p < 8:
                word &= (np.uint64(1) << np.uint64(8 * (end - p))) - np.uint64(1)
        else:
            word = np.uint64(0)
            for i in range(end - p):
                word |= np.uint64(load_byte(buffer, p + i)) << np.uint64(8 * i)
        h = (h ^ word) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
        p += 8
    return h ^ (h >> np.uint64(32))


@njit(inline="always")
def same_name(buffer, start, end, names, name_bounds, edge):
    """Whether the name of that edge and its closing quote stand at `start`."""
    at = name_bounds[edge]
    size = name_bounds[edge + 1] - at
    if start + size > end:
        return False
    i = 0
    while i < size and start + i + 8 <= buffer.size:
        differing = load_word(buffer, start + i) ^ load_word(names, at + i)
        if size - i < 8:
            differing &= (np.uint64(1) << np.uint64(8 * (size - i))) - np.uint64(1)
        if differing:
            return False
        i += 8
    while i < size:
        if load_byte(buffer, start + i) != names[at + i]:
            return False
        i += 1
    return True


@njit(inline="always")
def edge_slot(buffer, start, end, parent, tree):
    """The slot of the edge from `parent` by the name buffer[start:end], or the free one for it."""
    names, name_bounds, edge_parents, _, table = tree[:5]
    counts = tree[14]
    mask = table.size - 1
    seed = counts[SEED] + parent * 0x5851F42D4C957F2D
    slot = np.int64(_hash(buffer, start, end, seed) & np.uint64(mask))
    while table[slot] >= 0:
        edge = table[slot]
        if (
            edge_parents[edge] == parent
            and name_bounds[edge + 1] - name_bounds[edge] == end - start + 1
            and same_name(buffer, start, end + 1, names, name_bounds, edge)
        ):
            break
        slot = (slot + 1) & mask
    return slot


@kernel
def add_edge(buffer, start, end, parent, path, tree):
    """An edge to `path`, if none leads there by that name; a quote follows it in the buffer.

    Its number, FULL if there is no room.
    """
    names, name_bounds, edge_parents, edge_paths, table = tree[:5]
    counts = tree[14]
    slot = edge_slot(buffer, start, end, parent, tree)
    if table[slot] >= 0:
        return table[slot]
    edge = counts[EDGES]
    at = name_bounds[edge]
    if edge >= edge_paths.size or at + end - start + 1 + 8 > names.size:
        return FULL
    for i in range(end - start + 1):
        names[at + i] = load_byte(buffer, start + i)
    name_bounds[edge + 1] = at + end - start + 1
    edge_parents[edge] = parent
    edge_paths[edge] = path
    table[slot] = edge
    counts[EDGES] = edge + 1
    return edge


@kernel
def add_edges(buffer, bounds, parents, paths, tree):
    """Edges by the names buffer[bounds[i] : bounds[i + 1] - 1], each with a quote behind it."""
    for i in range(paths.size):
        add_edge(buffer, bounds[i], bounds[i + 1] - 1, parents[i], paths[i], tree)


@kernel
def _number_of_text(size, is_nested, tree):
    """The number of the path whose text stands behind the last one; it becomes one if it is new."""
    texts, text_bounds, table = tree[5:8]
    inner, counts = tree[11], tree[14]
    path = counts[PATHS]
    start = text_bounds[path]
    mask = table.size - 1
    slot = np.int64(_hash(texts, start, start + size, counts[SEED]) & np.uint64(mask))
    while table[slot] >= 0:
        known = table[slot]
        at = text_bounds[known]
        if text_bounds[known + 1] - at == size:
            i = 0
            while i < size and texts[at + i] == texts[start + i]:
                i += 1
            if i == size:
                return known
        slot = (slot + 1) & mask
    if path >= inner.size:
        return FULL
    text_bounds[path + 1] = start + size
    inner[path] = is_nested
    table[slot] = path
    counts[PATHS] = path + 1
    return path


@kernel
def path_number(buffer, start, end, parent, is_nested, longest, tree):
    """The number of the path buffer[start:end] below `parent`, which is added if it is new.

    The root, and what is not nested, adds nothing to the names below it. FULL if there is no
    room, or the path has more bytes than `longest`.
    """
    texts, text_bounds, _ = tree[5:8]
    counts = tree[14]
    at = text_bounds[counts[PATHS]]
    size = end - start
    above = 0
    if is_nested and parent != ROOT:
        above = text_bounds[parent + 1] - text_bounds[parent]
        size += above + 1
    if size > longest or at + size > texts.size:
        return FULL
    if size > end - start:
        for i in range(above):
            texts[at + i] = texts[text_bounds[parent] + i]
        texts[at + above] = _POINT
        at += above + 1
    for i in range(end - start):
        texts[at + i] = load_byte(buffer, start + i)
    return _number_of_text(size, is_nested, tree)


@kernel
def new_edge(buffer, start, end, parent, is_nested, longest, tree):
    """The edge from `parent` by the name buffer[start:end], behind which a quote follows, and the
    path it leads to if that is new; FULL if there is no room."""
    path = path_number(buffer, start, end, parent, is_nested, longest, tree)
    return FULL if path < 0 else add_edge(buffer, start, end, parent, path, tree)


@kernel
def add_paths(buffer, bounds, is_nested, tree):
    """Paths with the texts buffer[bounds[i] : bounds[i + 1]]."""
    for i in range(bounds.size - 1):
        path_number(buffer, bounds[i], bounds[i + 1], ROOT, is_nested, buffer.size, tree)


@kernel
def add_element(parent, number, previous, following, longest, tree):
    """The path of an element, a number below 100, put into the list of `parent` between two others.

    UNREAD where there is no other; FULL if there is no room.
    """
    texts, text_bounds, _, first_element, next_element, element_number = tree[5:11]
    counts = tree[14]
    at = text_bounds[counts[PATHS]]
    above = text_bounds[parent + 1] - text_bounds[parent]
    size = above + 3 + (number > 9)
    if size > longest or at + size > texts.size:
        return FULL
    for i in range(above):
        texts[at + i] = texts[text_bounds[parent] + i]
    texts[at + above] = _OPEN_BRACKET
    if number > 9:
        texts[at + above + 1] = _ZERO + number // 10
    texts[at + size - 2] = _ZERO + number % 10
    texts[at + size - 1] = _CLOSE_BRACKET
    path = _number_of_text(size, True, tree)
    if path >= 0:
        element_number[path] = number
        next_element[path] = following
        if previous < 0:
            first_element[parent] = path
        else:
            next_element[previous] = path
    return path
