"""Merge-and-reduce the obvious way: a list of weighted points for each level."""

import math

WORD = 2**64 - 1


def _mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def _square(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) * (x - y)
    return total


class NaiveCoreset:
    def __init__(self, size, levels=21):
        self.size, self.coins = size, 0
        self.levels = [[] for _ in range(levels)]  # of (point, weight)
        self.moved = [0.0] * levels

    def _toss(self):
        self.coins += 1
        return ((_mix((self.coins * 0x9E3779B97F4A7C15) & WORD) >> 11) + 0.5) / 2**53

    def _reduce(self, bucket):
        masses = [weight for _, weight in bucket]
        squares, nearest = [math.inf] * len(bucket), [0] * len(bucket)
        chosen = []
        while len(chosen) < self.size:
            total = 0.0
            for mass in masses:
                total += mass
            if total <= 0:
                break
            left = self._toss() * total
            for i, mass in enumerate(masses):
                if mass > 0:
                    centre = i
                    left -= mass
                    if left < 0:
                        break
            for i, (point, weight) in enumerate(bucket):
                square = _square(point, bucket[centre][0])
                if square < squares[i]:
                    squares[i], nearest[i], masses[i] = square, len(chosen), weight * square
            chosen.append(bucket[centre][0])
        weights, moved = [0.0] * len(chosen), 0.0
        for i, (_, weight) in enumerate(bucket):
            weights[nearest[i]] += weight
            moved += weight * squares[i]
        return list(zip(chosen, weights, strict=True)), math.sqrt(moved)

    def _carry(self, level, bucket, moved):
        while self.levels[level]:
            bucket, step = self._reduce(bucket + self.levels[level])
            moved = math.sqrt(moved**2 + self.moved[level] ** 2) + step
            self.levels[level], self.moved[level] = [], 0.0
            level = min(level + 1, len(self.levels) - 1)
        self.levels[level], self.moved[level] = bucket, moved

    def add(self, points):
        for point in points:
            self.levels[0].append((point, 1.0))
            if len(self.levels[0]) == self.size:
                full, self.levels[0] = self.levels[0], []
                self._carry(1, full, 0.0)

    def merge(self, other):
        self.coins += other.coins
        for level in range(1, len(self.levels)):
            if other.levels[level]:
                self._carry(level, other.levels[level], other.moved[level])
        self.add([point for point, _ in other.levels[0]])
