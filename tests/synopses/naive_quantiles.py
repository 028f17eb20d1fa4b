"""KLL the obvious way: a list for each level."""

import struct

WORD = 2**64 - 1


def _mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


class NaiveKll:
    def __init__(self, k):
        self.k, self.levels, self.coins = k, [[]], 0

    def _cap(self, level, n_levels):
        return max(8, round(self.k * (2 / 3) ** (n_levels - 1 - level)))

    def _room(self):
        return sum(self._cap(h, len(self.levels)) for h in range(len(self.levels)))

    def held(self):
        return sum(map(len, self.levels))

    def _compact(self):
        h = next(
            h for h, level in enumerate(self.levels) if len(level) >= self._cap(h, len(self.levels))
        )
        if h == len(self.levels) - 1:
            self.levels.append([])
        level = sorted(self.levels[h])
        self.coins += 1
        bits = struct.unpack("<Q", struct.pack("<d", level[len(level) // 2]))[0]
        coin = _mix(((self.coins * 0x9E3779B97F4A7C15) & WORD) ^ bits) >> 63
        odd = len(level) % 2
        self.levels[h] = level[:odd]
        self.levels[h + 1] = sorted(self.levels[h + 1] + level[odd + coin :: 2])

    def add(self, values):
        for value in values:
            if self.held() >= self._room():
                self._compact()
            self.levels[0].append(value + 0.0)

    def merge(self, other):
        n_levels = max(len(self.levels), len(other.levels))
        mine = self.levels + [[]] * (n_levels - len(self.levels))
        theirs = other.levels + [[]] * (n_levels - len(other.levels))
        self.levels = [mine[0] + theirs[0]]
        self.levels += [sorted(a + b) for a, b in zip(mine[1:], theirs[1:], strict=True)]
        self.coins += other.coins
        while self.held() > self._room():
            self._compact()
