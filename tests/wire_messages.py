"""Messages that tests send."""


def tuples(dataset, rows):
    return [{"dataset": dataset, "stream": s, "values": v} for s, v in rows]


def create(uid, kind="count_min", key="k", **fields):
    return {
        "id": f"c-{uid}",
        "op": "create",
        "uid": uid,
        "dataset": "d",
        "kind": kind,
        "key": key,
        **fields,
    }
