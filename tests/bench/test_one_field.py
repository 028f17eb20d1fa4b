"""bench.one_field: the shard of one process runs, and every contender is told."""

import sys

from bench import one_field


def test_every_contender_is_compared_with_the_first(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["one_field", "--tuples", "2000", "--rounds", "1"])
    one_field.main()
    lines = capsys.readouterr().out.splitlines()
    names = list(one_field.contenders())
    assert len(lines) == len(names)
    assert all(line.startswith(name) for line, name in zip(lines, names, strict=True))
