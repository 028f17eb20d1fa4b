"""DFT: which streams move together?"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Self

import numpy as np

from synopses.base import Arrays, Layout
from synopses.common_window import CONSTANT, MOVING, CommonWindow, is_cut
from synopses.correlated_pairs import (
    MOST_PAIRS,
    PAIR_COLUMNS,
    KeptTicks,
    Windows,
    check_limit,
    completeness,
    correlations,
    find_stream,
    search,
)
from synopses.errors import ParameterError, QueryError
from synopses.parameters import parameter
from synopses.questions import Estimate, question
from synopses.streams import Streams
from synopses.window_transform import SPARE_PANES, Transform


class DFT(CommonWindow):
    """Fourier coefficients of a stream's sliding window, and the streams that correlate.

    No pair whose correlation over the window reaches the threshold is missing from the answer, as
    long as there are no more than its `limit`; of more, the strongest are there, and the details
    say `complete: false` and how many were `found`. The correlation of each pair in it lies
    between its bounds, always [1]_. With `keep_window` the bounds are a few thousandths apart;
    without it they are as far apart as the energy beyond the first coefficients allows.

    The value of a tick is the latest that came for it; a tick without one has the value of the
    tick before, as a price has that did not change. Items may come up to one basic window late;
    later ones are left out and counted. Windows end with the latest basic window that is over. A
    stream takes part when it has a full window; one that did not move has no correlation.

    Deviations from the paper: a tighter bound (see `synopses.correlated_pairs`), and
    candidates are checked against the window itself, kept at one byte a tick.

    Examples
    --------
    >>> import numpy as np
    >>> from synopses import DFT, Items, Streams
    >>> dft = DFT(interval=1, window=60, basic_window=10)
    >>> ticks = np.arange(80)
    >>> bank = {n: np.zeros((3, *shape), t) for n, (t, shape) in dft.layout().items()}
    >>> for slot, values in enumerate([ticks % 17, 5 - 2 * (ticks % 17), ticks % 23]):
    ...     items = Items.of(values=values, times=1000 * ticks)
    ...     dft.add_slots(bank, np.full(80, slot, np.int32), items)
    >>> answer = dft.pairs(Streams(["A", "B", "C"], bank), threshold=0.9)
    >>> [(a, b, round(value, 2)) for a, b, value, lower, upper in answer.value]
    [('A', 'B', -1.0)]

    References
    ----------
    .. [1] Zhu and Shasha, StatStream: statistical monitoring of thousands of data streams in
       real time, VLDB 2002.
    """

    kind = "dft"
    guarantee = (
        "no pair at or beyond the threshold is missing, unless more than `limit` were found and "
        "the answer says `complete: false`; correlations are within bounds"
    )
    across_arrays: ClassVar[tuple[str, ...]] = (
        *("pane", "start", "counts", "last", "mean", "energy", "product"),
        *("scale", "lost", "ticks"),
    )

    coefficients: int = parameter(8, least=2, most=1000, doc="Fourier coefficients kept")
    max_lag: float = parameter(
        0.0, least=0, unit="s", doc="largest lag that can be asked for, in whole basic windows"
    )
    keep_window: bool = parameter(True, doc="keep the window too, at one byte a tick")

    def _prepare(self) -> None:
        self.lag_panes = round(self.max_lag / self.basic_window)
        super()._prepare()
        if self.coefficients >= self.window_ticks / 2:
            most = f"less than half the {self.window_ticks} ticks of a window"
            raise ParameterError("coefficients", self.coefficients, most)
        if abs(self.lag_panes * self.basic_window - self.max_lag) > 1e-9 * self.max_lag:
            raise ParameterError("max_lag", self.max_lag, "a multiple of basic_window")

    @property
    def rows(self) -> int:
        return 2 * self.coefficients

    @property
    def ring(self) -> int:
        return self.panes + self.lag_panes + SPARE_PANES

    @property
    def transform(self) -> Transform:
        return _fourier(self.window_ticks, self.panes, self.coefficients)

    def layout(self) -> Layout:
        of_ticks: Layout = {
            "scale": (np.float64, (self.ring,)),
            "lost": (np.float64, (self.ring,)),
            "ticks": (np.int8, (self.ring, self.pane_ticks)),
        }
        return super().layout() | (of_ticks if self.keep_window else {})

    # -- questions ----------------------------------------------------------------------------

    @question(columns=("real", "imaginary"))
    def spectrum(self) -> Estimate:
        """The first Fourier coefficients of the normalised window, as [real, imaginary]."""
        end = int(self.arrays["pane"][0]) - 1
        windows, details = self._windows(self.arrays, end)
        if len(windows.streams) == 0:
            return Estimate(None, details=details)
        # Phases count from the start of the window here, from the epoch in the state.
        turn = np.arange(1, self.coefficients + 1) * ((end + 1) * self.pane_ticks)
        phase = np.exp(2j * np.pi * (turn % self.window_ticks) / self.window_ticks)
        head = windows.heads[0].reshape(-1, 2) @ (1, 1j) * phase / np.sqrt(2)
        value = [[float(c.real), float(c.imag)] for c in head]
        return Estimate(value, value, value, 1.0, {**details, "tail": float(windows.tails[0])})

    @question(across=True, most={"limit": MOST_PAIRS}, columns=PAIR_COLUMNS)
    def pairs(
        self,
        streams: Streams,
        threshold: float = 0.9,
        lag: float = 0.0,
        negative: bool = True,
        limit: int = 10_000,
    ) -> Estimate:
        """Pairs of streams with a correlation of at least the threshold, or at most minus it.

        Each is [a, b, correlation, lower, upper], strongest first; with a lag (seconds), b is
        taken that much earlier than a. `details.found` counts them all, beyond the limit too, and
        where it is larger than the limit, `details.complete` is false.
        """
        if not 0 < threshold <= 1:
            raise QueryError("query.threshold", threshold, "above 0 and at most 1")
        check_limit(limit)
        end = self.common_end(streams.arrays)
        one, details = self._windows(streams.arrays, end)
        two = one
        if lag:
            two, _ = self._windows(streams.arrays, end - self._panes_of(lag))
            two = self._turned(two, lag)
        found, counts = search(one, two, threshold, negative, limit)
        pairs = (one.streams[found.a], two.streams[found.b])
        details |= counts | completeness(counts["found"], limit)
        return Estimate(found.rows(streams, *pairs), confidence=1.0, details=details)

    @question(across=True)
    def correlation(self, streams: Streams, a: str, b: str, lag: float = 0.0) -> Estimate:
        """Correlation of two named streams; with a lag (seconds), b is taken that much earlier."""
        chosen = [find_stream(streams, "a", a), find_stream(streams, "b", b)]
        end = self.common_end(streams.arrays)
        arrays = {n: array[chosen] for n, array in streams.arrays.items()}
        one, details = self._windows(arrays, end)
        two = self._turned(self._windows(arrays, end - self._panes_of(lag))[0], lag)
        if 0 not in one.streams or 1 not in two.streams:
            return Estimate(None, details=details)
        rows = np.flatnonzero(one.streams == 0), np.flatnonzero(two.streams == 1)
        found = correlations(one, two, *rows)
        bounds = float(found.lower[0]), float(found.upper[0])
        return Estimate(float(found.value[0]), *bounds, 1.0, details)

    # -- windows ------------------------------------------------------------------------------

    def _panes_of(self, lag: float) -> int:
        panes = round(lag / self.basic_window)
        if not 0 <= panes <= self.lag_panes or abs(panes * self.basic_window - lag) > 1e-9 * lag:
            expected = f"a multiple of {self.basic_window:g} s from 0 to max_lag={self.max_lag:g}"
            raise QueryError("query.lag", lag, expected)
        return panes

    def _windows(self, arrays: Arrays, end: int) -> tuple[Windows, dict[str, Any]]:
        """Normalised windows that end with pane `end`, of the streams that have one and move."""
        cut, places = arrays, np.arange(self.panes)
        if not is_cut(arrays):  # the ticks can stay where they are
            cut, places = self._normalised(arrays, end), self.places(end)[1]
        streams = np.flatnonzero(cut["state"] == MOVING)
        ticks = None
        if self.keep_window:
            known = (cut[name] for name in ("units", "means", "within", "lost"))
            ticks = KeptTicks(arrays["ticks"], places, *known)
        windows = Windows(streams, cut["heads"][streams], cut["tails"][streams], ticks)
        return windows, self.details(cut["state"], end)

    def cut(self, arrays: Arrays, end: int) -> Arrays:
        cut = self._normalised(arrays, end)
        if self.keep_window:
            cut["ticks"] = np.take(arrays["ticks"], self.places(end)[1], axis=1)
        return cut

    def _normalised(self, arrays: Arrays, end: int) -> Arrays:
        """All of a cut but the ticks, which are as they were."""
        sums = self.window_sums(arrays, end)
        state = self.states_at(arrays, end)
        moving = (state == CONSTANT) & (sums.spread > 0)
        state[moving] = MOVING
        length = np.sqrt(np.where(moving, sums.spread, 1.0))
        scale = np.where(moving, np.sqrt(2 / self.window_ticks) / length, 0.0)
        heads = self.window_product(arrays, end, sums) * scale[:, None]
        energy = (heads**2).sum(axis=1)
        # Rounding may not make a head longer than the window it is part of.
        heads /= np.sqrt(np.maximum(energy, 1.0))[:, None]
        cut: Arrays = {
            "pane": arrays["pane"],
            "end": np.full(len(state), end),
            "state": state,
            "heads": heads,
            "tails": np.sqrt(np.maximum(1 - energy, 0)),
        }
        if self.keep_window:
            _, places = self.places(end)
            lost = np.where(sums.held, arrays["lost"][:, places], 0.0).sum(axis=1)
            deviations = (sums.mean - sums.centre[:, None]) * np.sqrt(self.pane_ticks)
            units = np.where(sums.held, arrays["scale"][:, places], 0.0)
            cut["units"] = units / length[:, None]
            cut["means"] = deviations / length[:, None]
            cut["within"] = np.sqrt(sums.energy.sum(axis=1)) / length
            cut["lost"] = np.sqrt(lost) / length
        return cut

    def _turned(self, windows: Windows, lag: float) -> Windows:
        """The phases of earlier windows, turned to where they would be now."""
        ticks = self._panes_of(lag) * self.pane_ticks
        turn = np.arange(1, self.coefficients + 1) * ticks % self.window_ticks
        phase = np.exp(-2j * np.pi * turn / self.window_ticks)
        complex_heads = (windows.heads.reshape(-1, self.coefficients, 2) @ (1, 1j)) * phase
        heads = np.stack([complex_heads.real, complex_heads.imag], axis=2)
        return Windows(
            windows.streams, heads.reshape(windows.heads.shape), windows.tails, windows.kept
        )

    @classmethod
    def example(cls) -> Self:
        return cls(interval=1, window=40, basic_window=10, coefficients=3, max_lag=20)

    @classmethod
    def example_query(cls, question: str) -> dict[str, Any]:
        names = {"a": "a", "b": "b"} if question == "correlation" else {}
        return {"type": question, **names}


@functools.lru_cache(maxsize=32)
def _fourier(ticks: int, panes: int, coefficients: int) -> Transform:
    """Columns cos and -sin of each coefficient from the first on."""
    turns = np.outer(np.arange(ticks), np.arange(1, coefficients + 1)) % ticks
    angles = 2 * np.pi * turns / ticks
    table = np.stack([np.cos(angles), -np.sin(angles)], axis=2)
    return Transform.of(table.reshape(ticks, 2 * coefficients), panes)
