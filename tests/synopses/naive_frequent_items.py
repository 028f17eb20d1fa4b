"""Counters of the heaviest keys the obvious way: a dict."""


class NaiveCounters:
    def __init__(self, counters):
        self.counters, self.floor, self.total, self.entries = counters, 0, 0, {}

    def add(self, keys, weights):
        for key, weight in zip(keys, weights, strict=True):
            if weight <= 0:
                continue
            self.total += weight
            if key not in self.entries and len(self.entries) == self.counters:
                self._raise_floor(sorted(u for u, _ in self.entries.values())[self.counters // 2])
            upper, error = self.entries.get(key, (self.floor, self.floor))
            self.entries[key] = (upper + weight, error)

    def _raise_floor(self, floor):
        self.floor = floor
        self.entries = {key: e for key, e in self.entries.items() if e[0] > floor}

    def merge(self, other):
        merged = {}
        for key in [*self.entries, *(k for k in other.entries if k not in self.entries)]:
            mine = self.entries.get(key, (self.floor, self.floor))
            theirs = other.entries.get(key, (other.floor, other.floor))
            merged[key] = (mine[0] + theirs[0], mine[1] + theirs[1])
        self.total += other.total
        self.floor += other.floor
        self.entries = merged
        if len(merged) > self.counters:
            self._raise_floor(sorted((u for u, _ in merged.values()), reverse=True)[self.counters])

    def state(self):
        return [(key, *entry) for key, entry in self.entries.items()]
