"""Rows of JSON: as machines write them, made from a grammar, and mutated; messages of them."""

from __future__ import annotations

import json
from random import Random

from bench.fuzzing.mutations import mutated, over_lines, rearranged

NAMES = ("price", "StockID", "volume", "v", "a longer field name than sixteen", "\u00e9", "")
ENVELOPE = ("dataset", "dataSetkey", "stream", "streamID", "time", "values")
BYTES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\x00", b"\x1f")
TOKENS = BYTES + tuple(
    token.encode()
    for token in (
        *'{}[]:,"\\ \t\r\n0159-+.eE/\x7f', "null", "true", "false", '""', "{}", "[]", "{,", ",}",
        ",,", '"time":5', '"time":null,', '"time":7.5', '"values":{', '"values":1', '"values":{},',
        '"dataset":"e",', '"dataSetkey":"f",', '"stream":"t",', '"streamID":9,', '"v":1,',
        '"v":"x",', "00000000", "99999999", "1e308", "1e-320", "\\u0061", "\\ud800", '\\"',
        "\u20ac", "\\u00E9", "\\ud83d\\ude00", "\\n", "\\u00", "\\", '{"a":', "[1,", "[[", "]]",
        "}}", ',"n":{"m":[1]}', ',"n":[true,null]',
    )
)  # fmt: skip
NUMBERS = (
    "0", "-0", "-0.0", "1.50", "1e3", "1E+3", "1e-3", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616", "0.8444218515250481", "1.7976931348623157e308", "5e-324", "1e-400",
    "2.2250738585072011e-308", "1e22", "1e23", "12345678901234567890.5", "7.2057594037927933e16",
    "12345678", "1234567", "1.2345678", "1.12345678901234567", "0e0", "1e0009", "1e-0",
    "0.00000000000000000000000000000001", "100000000000000000000000000000000000000000",
)  # fmt: skip
TEXTS = (
    '""', '"x"', '"110.11"', '"12"', '"EURUSD and more than sixteen"', '"\u00e9\u20ac\U0001f600"',
    '"\\n"', '"\\u00e9"', '"\\ud83d\\ude00"', '"a\\"b"', '"\\\\"', '"\\/"', '"\x7f"',
    '"02/19/2019 06:07:14"', '"' + "n" * 513 + '"', '"' + "\u00e9" * 300 + '"', '"\\u0000"',
    '"\\b\\f\\n\\r\\t\\/"', '"\\uD83D\\uDE00 and \\u20aC"', '"\u20ac\\u20ac\u00e9\\n"',
    '"seven77\\n"', '"eight888\\u00e9"', '"' + "\\u00e9" * 20 + '"', '"' + "x\\\\" * 100 + '"',
)  # fmt: skip
OTHERS = (
    "null", "true", "false", "[]", "[1,2]", "{}", '{"a":{"b":[]}}', "[[[]]]", "[ ]", "{ }",
    '{"a":{"b":[1,{"c":"\\n"}]},"a":2}', '[true,null,"x",-1.5e3]', '[{},{"":""}]', '[ [1 ,2] , 3]',
    "[" * 30 + "]" * 30, "[" * 40 + "]" * 40, '{"\\u00e9":[12345678901234567890]}', "[1e-400]",
)  # fmt: skip
BROKEN = (
    "1.", ".5", "+1", "01", "-", "1e", "1e+", "NaN", "Infinity", "0x10", "1e999", "--1", "1.5.5",
    "1_0", "00", "-01", '"\\ud800"', '"\\x"', '"\x01"', "'x'", '"open', '"tab\there"', "nul",
    "True", "", "[", "}", "[1,]", "[,1]", '{"a":}', '{"a":1,}', "[1 2]", '{"a" 1}', "{1:2}", "[01]",
    '["\\x"]', '{"\\ud800":1}', "[nul]", "[1e999]", "[1}", '{"a":[}', '"\\u12"', '"\\ud83d\\u0041"',
    '"\\ude00"', '"\\', '"\\u', '["\x01"]',
)  # fmt: skip


# How a machine writes, beside the form of its tuples.
HABITS = (
    "blanks", "bytes", "accents", "controls", "nested", "literals", "reversed", "numbered"
)  # fmt: skip


class Rows:
    """Makes rows and messages of them."""

    def __init__(self, seed: int | str) -> None:
        self._rng = Random(seed)
        # What machines write stays the same for a while.
        self._form = 0
        self._habits: list[str] = []

    def rows(self, count: int) -> list[bytes]:
        """So many rows, most of them nearly like one a few places before."""
        rng, rows = self._rng, [self._row()]
        sound = rows[:]  # mutations of mutations would end up as noise
        while len(rows) < count:
            chance = rng.random()
            if chance < 0.4:
                rows.append(self._row())
                sound.append(rows[-1])
                continue
            near = sound if chance < 0.95 else rows
            recent = near[-1 - int(rng.random() * min(len(near), 20))]
            if chance > 0.8:
                recent = mutated(rng, recent, rows, TOKENS)
            elif chance > 0.55:  # else the same row: a shape that is learnt is met again
                recent = rearranged(rng, recent, TOKENS)
            rows.append(recent[:4000])
        return rows

    def messages(self, count: int) -> list[bytes]:
        """Messages of that many rows (one for each line): one row, lines, or one object in many."""
        rng, rows, messages = self._rng, self.rows(count), []
        while rows:
            chance = rng.random()
            size = 1 if chance < 0.7 else 1 + int(rng.random() * 60)
            some, rows = rows[:size], rows[size:]
            message = (b"\n" if chance < 0.9 else b"\r\n").join(some)
            if chance < 0.02:
                message = b"\xef\xbb\xbf" + message
            elif chance < 0.1:
                message = over_lines(message)
            if message[:4] != b"\xff\xff\xff\xff":  # that would be an Arrow frame
                messages.append(message)
        return messages

    def _pick(self, *choices: str) -> str:
        return choices[int(self._rng.random() * len(choices))]

    def _row(self) -> bytes:
        if self._rng.random() < 0.7:
            return self._machine()
        row = self._grammar() if self._rng.random() < 0.95 else self._crowded()
        return row.encode("utf-8", "surrogatepass")

    def _machine(self) -> bytes:
        """A valid row, in one of the forms that there are."""
        rng = self._rng
        if rng.random() < 0.03:
            self._form = int(rng.random() * 4)
            self._habits = [habit for habit in HABITS if rng.random() < 0.25]
        habits = self._habits
        name = f"S{int(rng.random() * 9)}"
        name += ("\u00e9\u20ac\U0001f600" if "accents" in habits else "") + (
            '\n"\\' if "controls" in habits else ""
        )
        stream: str | float = name
        if "numbered" in habits:
            stream = round(rng.random() * 100, int(rng.random() * 3)) or int(rng.random() * 1e6)
        price = round(rng.random() * 1000, 2)
        values = {"StockID": name, "price": price, "volume": int(rng.random() * 1e6)}
        if "nested" in habits:
            values["at"] = {"venue": [int(rng.random() * 9), {name: name}], "none": {}}
        if "literals" in habits:
            values["open"], values["note"] = rng.random() < 0.5, (None, name)[rng.random() < 0.5]
        at = 1_700_000_000_000 + int(rng.random() * 1e9)
        if self._form == 0:
            row = {"dataset": "Forex", "stream": stream, "time": at, "values": values}
        elif self._form == 1:
            row = {"dataset": "Forex", "stream": stream, **values, "x": rng.random()}
        else:
            infore = {"time": "02/19/2019 06:07:14", "StockID": name, "price": str(price)}
            written = json.dumps(infore) if self._form == 2 else infore
            row = {"dataSetkey": "Forex", "streamID": stream, "values": written}
        return json.dumps(
            dict(reversed(row.items())) if "reversed" in habits else row,
            separators=None if "blanks" in habits else (",", ":"),
            ensure_ascii="bytes" not in habits,
        ).encode()

    def _grammar(self) -> str:
        """An object that is nearly a tuple."""
        rng = self._rng
        members = []
        for name in ENVELOPE[:5]:
            if rng.random() < (0.3 if name in ("dataSetkey", "streamID") else 0.85):
                members.append(self._member(name))
        if rng.random() < 0.7:
            values = self._object([self._member() for _ in range(int(rng.random() * 5))])
            if rng.random() < 0.15:
                values = json.dumps(values, ensure_ascii=rng.random() < 0.5)
            members.append('"values":' + values)
        members += [self._member() for _ in range(int(rng.random() * 3))]
        if rng.random() < 0.3:
            rng.shuffle(members)
        if rng.random() < 0.2:
            members.append(self._pick(*members, '"values":{"values":1}', '"time":null'))
        return self._object(members)

    def _crowded(self) -> str:
        """A tuple with `values` several times, and many names in each."""
        rng = self._rng
        members = ['"dataset":"d"', '"stream":"s"', '"time":5']
        for _ in range(1 + int(rng.random() * 12)):
            names = [f'"n{int(rng.random() * 100)}":1' for _ in range(int(rng.random() * 7))]
            members.append('"values":' + self._object(['"values":1', '"time":2', *names]))
        if rng.random() < 0.5:
            members.append(self._pick('"time":6', '"time":null', '"n1":1', '"stream":"t"'))
        return self._object(members)

    def _object(self, members: list[str]) -> str:
        chance = self._rng.random()
        comma = ", " if chance < 0.3 else " ,\t" if chance < 0.33 else ",,"[: 1 + (chance > 0.995)]
        return "{" + comma.join(members) + ("}" if chance < 0.99 else "")

    def _member(self, name: str | None = None) -> str:
        chance = self._rng.random()
        if name is None:
            name = self._pick(*NAMES) if chance < 0.8 else self._pick(*ENVELOPE)
        elif chance < 0.9:  # a value that the envelope can have
            return f'"{name}":{self._envelope_value(name)}'
        colon = ": " if chance < 0.3 else " :\r" if chance < 0.32 else ":"
        quoted = f'"\\u{ord(name[0]):04x}{name[1:]}"' if name and chance > 0.97 else f'"{name}"'
        return quoted + colon + self._value()

    def _envelope_value(self, name: str) -> str:
        rng = self._rng
        if name == "time":
            at = int(rng.random() * 2e12)
            if rng.random() < 0.9:
                return str(at)
            return self._pick(str(-at), f"{at}.5", f"-{at}.5", "null", "true", "1e12", "1e20", "[]")
        texts = (
            '"S1"', '"S2"', '"a longer name than sixteen"', '"\u00e9"', "7", "7.5", "null", "-0",
            "7.50", "0.5", "0.05", "-7.25", "1e2", "12345678.12345678", "true", '"\\u0053\\n"',
            "{}",
        )  # fmt: skip
        return self._pick(*texts) if name.startswith("stream") else self._pick('"Forex"', '"e"')

    def _value(self) -> str:
        chance = self._rng.random()
        if chance < 0.25:
            return str(int(self._rng.random() * 10 ** int(self._rng.random() * 20)))
        if chance < 0.45:
            return repr(self._rng.random() * 10 ** int(self._rng.random() * 30 - 15))
        if chance < 0.65:
            return self._pick(*NUMBERS)
        if chance < 0.85:
            return self._pick(*TEXTS)
        return self._pick(*OTHERS) if chance < 0.97 else self._pick(*BROKEN)
