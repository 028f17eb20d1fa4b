from docs.generate.kinds_table import END, README, SPEED, START, replaced, table


def without_speeds(markdown):
    rows = [line.replace("\\|", "").split("|") for line in markdown.strip().splitlines()]
    return [row[: SPEED + 1] + row[SPEED + 2 :] for row in rows]


def test_the_table_in_the_readme_is_what_the_kinds_declare():
    text = README.read_text(encoding="utf-8")
    shown = text.partition(START)[2].partition(END)[0]
    assert without_speeds(shown) == without_speeds(table({})), (
        "run python -m docs.generate.kinds_table --write"
    )


def test_only_what_is_between_the_marks_is_replaced():
    assert replaced(f"a {START}\nold\n{END} b", "new") == f"a {START}\nnew\n{END} b"


def test_speeds_are_shown_in_millions():
    found = table({("fm", "one"): 12_345_678.0, ("fm", "bank"): 2e6})
    assert "| 12.3, 2 |" in next(line for line in found.splitlines() if "`fm`" in line)
