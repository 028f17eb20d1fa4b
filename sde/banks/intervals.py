"""Which part of its history a question about a windowed synopsis is about.

Plain arithmetic for the layers with panes. Lengths are those of the window: milliseconds, or
tuples.
"""

from __future__ import annotations

from sde.wire import Code, Refusal, Span, Window
from sde.wire.durations import moment_text

Interval = tuple[int, int]  # start and end; the end is not in it


def open_window(window: Window, latest: int) -> Interval:
    """The window with the latest start that holds the moment `latest`.

    >>> open_window(Window("sliding", size=30, slide=10), latest=47)
    (20, 50)
    """
    end = (latest // window.slide + 1) * window.slide
    return end - window.size, end


def asked(window: Window, span: Span) -> Interval:
    """The interval of a question about the past; Refusal if no window ends there.

    >>> asked(Window("sliding", size=30, slide=10), Span(end=50))
    (20, 50)
    >>> asked(Window("sliding", size=30, slide=10), Span(start=21, end=50))
    (20, 50)
    """
    pane = window.pane
    if span.start is not None:
        return span.start // pane * pane, -(-span.end // pane) * pane
    if span.end % window.slide:
        below = span.end // window.slide * window.slide
        at, one, other = (
            place_text(window, place) for place in (span.end, below, below + window.slide)
        )
        raise Refusal(
            Code.BAD_QUERY,
            f"end={at}: no window ends there; the next ones end at {one} and {other}",
            "end",
        )
    return span.end - window.size, span.end


def horizon(window: Window, watermark: int) -> int:
    """What ended at or before this is not kept.

    >>> horizon(Window("tumbling", size=10, slide=10, keep=30, lateness=5), watermark=100)
    55
    """
    return watermark - window.lateness - window.keep - window.size


def place_text(window: Window, place: int) -> str:
    """A place in the history of a window, as people read it.

    >>> place_text(Window("tumbling", size=10), 1_500)
    '1970-01-01T00:00:01.500Z'
    >>> place_text(Window("tumbling", size=10, count=True), 1_500)
    'tuple 1,500'
    """
    return f"tuple {place:,}" if window.count else moment_text(place)


class NotKept(Refusal):
    """A question about what is not kept any more."""


def require_kept(window: Window, interval: Interval, gone: int | None) -> None:
    """NotKept if an interval begins before what is kept."""
    if gone is not None and interval[0] < gone:
        raise NotKept(
            Code.BAD_QUERY,
            f"what was before {place_text(window, gone)} is not kept any more: expected a later "
            "time, or create the synopsis with a longer `keep`",
            "from",
        )


def closing(window: Window, panes: list[int], before: int | None, watermark: int) -> list[int]:
    """The ends of the windows with data in `panes` that close when the watermark gets there.

    >>> closing(Window("sliding", size=30, slide=10), [4], before=59, watermark=70)
    [60, 70]
    """
    done = None if before is None else before - window.lateness
    reached = watermark - window.lateness
    ends = set()
    for pane in panes:
        first = (pane * window.pane // window.slide + 1) * window.slide
        for end in range(first, pane * window.pane + window.size + 1, window.slide):
            if end <= reached and (done is None or end > done):
                ends.add(end)
    return sorted(ends)
