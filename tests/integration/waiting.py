"""What tests of real engines share."""

import time


def wait_for_tuples(sde, uid, count, seconds=120):
    """Ask until a synopsis has seen `count` tuples (counted or skipped)."""
    deadline = time.monotonic() + seconds
    while True:
        reply = sde.submit("describe", uid=uid).result()["value"]
        seen = reply["tuples"] + reply["skipped"]
        if seen >= count:
            assert seen == count
            return
        assert time.monotonic() < deadline, f"{seen} of {count} tuples after {seconds} s"
