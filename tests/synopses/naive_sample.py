"""Samplers the obvious way: rank all items, sort, take the first."""

import struct

WORD = 2**64 - 1


def _mix(x):
    x &= WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def _bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def _records(items):
    return [
        {"key": items.texts[i], "value": float(items.values[i]), "time": int(items.times[i])}
        for i in range(len(items))
    ]


def sample(items, k, weighted, seed):
    """The k records of the smallest rank, and the rank of the next."""
    ranked = {}
    for i, record in enumerate(_records(items)):
        if weighted and record["value"] <= 0:
            continue
        who = _mix(int(items.ids[i]) + 0x9E3779B97F4A7C15) ^ int(items.keys[i, 0])
        who = _mix(who + (record["time"] & WORD)) ^ _bits(record["value"])
        who = _mix(who + seed)
        rank = ((who >> 11) + 0.5) / 2**53 / (record["value"] if weighted else 1.0)
        ranked[rank, who] = record
    order = sorted(ranked)
    return [ranked[place] for place in order[:k]], order[k][0] if len(order) > k else None


def chain_sample(items, k, window, seed):
    """The k records of the highest priority among the last `window`, in the order they came."""
    priorities = []
    for i, record in enumerate(_records(items)):
        x = _mix((i + 1) * 0x9E3779B97F4A7C15 + seed) ^ int(items.keys[i, 0])
        priorities.append(_mix(_mix(x + (record["time"] & WORD)) ^ _bits(record["value"])))
    inside = range(max(0, len(items) - window), len(items))
    highest = sorted(inside, key=lambda i: priorities[i], reverse=True)[:k]
    return [_records(items)[i] for i in sorted(highest)]
