"""The obvious way to read JSON of any shape: what `read_json` must equal."""

from sde.decoding import Limits
from sde.decoding.json_records import Wanted, read_record
from sde.wire.faults import Refusal
from synopses.hashing import key_text

BLANKS = b" \t\r\n"
BRACKETS = {b"["[0]: 1, b"{"[0]: 1, b"]"[0]: -1, b"}"[0]: -1}


def elements(text):
    """The elements of an array, told by quotes, brackets and commas alone; None if it is none."""
    found, depth, start, in_text, p = [], 0, 1, False, 0
    while p < len(text):
        c = text[p]
        if in_text:
            p += c == ord("\\")
            in_text = c != ord('"')
        elif c == ord('"'):
            in_text = True
        elif c == ord(",") and depth == 1:
            found.append(text[start:p].strip(BLANKS))
            start = p + 1
        elif c in BRACKETS:
            depth += BRACKETS[c]
            if depth == 0:
                break
        p += 1
    if text[p:] != b"]":
        return None
    found.append(text[start:p].strip(BLANKS))
    return [] if found == [b""] else None if b"" in found else found


def read(messages, paths, limits=None, each=None, lines=False):
    """({(message, place): {path: text}}, {(offset, line): code})"""
    good, bad = {}, {}
    wanted, limits = Wanted.of(paths, each), limits or Limits()
    for i in range(len(messages)):
        payload = messages.payload(i).removeprefix(b"\xef\xbb\xbf")
        line = more = 0  # more: rows that records became beyond one each
        for text in payload.split(b"\n") if lines else [payload]:
            text = text.strip(BLANKS)
            split = elements(text) if text[:1] == b"[" else None
            records = [text] if split is None else split
            for record in filter(None, records):
                rows = []
                try:
                    rows = read_record(record, wanted, limits)
                except Refusal as refusal:
                    bad[int(messages.offsets[i]), line] = str(refusal.fault.code)
                for k, row in enumerate(rows):
                    good[i, line + more + k] = {path: key_text(v) for path, v in row.items()}
                more += max(len(rows), 1) - 1
                line += 1
            line += not any(records)
    return good, bad


def tables(found):
    """The same from tables; fails if a row is there twice or out of order."""
    rows, last = {}, (-1, -1)
    for table in found:
        columns = {path: (list(c.texts()), c.valid) for path, c in table.columns.items()}
        for i in range(len(table)):
            place = int(table.message_of[i]), int(table.lines[i])
            assert place > last
            last = place
            rows[place] = {
                path: texts[i]
                for path, (texts, valid) in columns.items()
                if valid is None or valid[i]
            }
    return rows
