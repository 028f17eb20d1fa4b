"""The distinct keys of each group of rows, by their hashes; for `sde.banks.distinct_keys`."""

import numpy as np

from sde.kernels.compiling import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def distinct_keys(keys, group_of, seed, row, end, count, numbers, table, found, found_groups):
    """numbers[i] = which distinct (group, key) row i has, -1 without a group; how many there are.

    Goes from `row` to `end` with `count` of them known, which are in `found` and `found_groups`;
    -1 if these have no room for all. The table, all zeros at first, has a power of two places, at
    least twice as many as they: each the number + 1 of a pair.

    The seed changes where pairs lie in the table and nothing else: who does not know it cannot
    choose keys that all lie in one place.
    """
    mask = np.uint64(table.size - 1)
    while row < end:
        group = group_of[row]
        number = np.int64(-1)
        if group >= 0:
            first, second = keys[row, 0], keys[row, 1]
            at = first ^ seed ^ (np.uint64(group) * _GOLDEN)
            at = (at ^ (at >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            at = (at ^ (at >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            at = (at ^ (at >> np.uint64(31))) & mask
            while table[at]:
                known = np.int64(table[at]) - 1
                if (
                    found[known, 0] == first
                    and found[known, 1] == second
                    and found_groups[known] == group
                ):
                    number = known
                    break
                at = (at + np.uint64(1)) & mask
            if number < 0:
                if count == found_groups.size:
                    return np.int64(-1)
                number = count
                found[count, 0], found[count, 1] = first, second
                found_groups[count] = group
                count += 1
                table[at] = count
        numbers[row] = number
        row += 1
    return count
