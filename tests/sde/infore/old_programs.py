"""What programs send for each synopsisID, and what is meant by it, worked out by hand."""

from dataclasses import dataclass, field

from sde.wire import Definition

DATASET = "Forex"
UID = 1110
PLACE = "requests-0-17"
COUNTS = {"decimals": 3, "max_key_bytes": 48}
SAMPLES = {"weighted": False, "max_key_bytes": 48, "seed": 0}


@dataclass(frozen=True)
class Program:
    """`needs` are the entries of `add` that cannot be left out."""

    add: list
    definition: Definition
    needs: tuple
    ask: list
    query: dict
    continuous: dict
    of_each: bool = False  # continuous answers are about each key (or ship) that changed
    stream: str | None = None
    impossible: dict = field(default_factory=dict)  # place: what cannot stand there


def defined(kind, params, key="StockID", values=(), **more):
    return Definition(DATASET, kind, params, key, values, **more)


def fields(*further):
    return ["StockID", "price", "Queryable", *further]


_SERIES = {"interval": 1.0, "window": 60.0, "basic_window": 10.0}
_FREQUENCY = {"ask": ["EURUSD"], "query": {"type": "frequency", "key": "EURUSD"}}
_EACH = {"continuous": {"type": "frequency"}, "of_each": True}
_PAIRS = {"type": "pairs", "threshold": 0.9, "negative": False}
_MEDIAN = {"continuous": {"type": "quantile", "q": 0.5}}

PROGRAMS = {
    1: Program(
        fields("0.01", "0.95", "4"),
        defined(
            "count_min",
            {"epsilon": 0.01, "delta": 0.05, "decimals": 3, "seed": 4},
            values=("price",),
        ),
        (0, 1, 3, 4, 5),
        **_FREQUENCY,
        **_EACH,
        impossible={3: "0", 4: "1", 5: "four"},
    ),
    2: Program(
        ["StockID", "null", "Queryable", "1000", "0.02"],
        defined("bloom", {"capacity": 1000, "fpp": 0.02}),
        (0, 3, 4),
        ["EURUSD"],
        {"type": "contains", "key": "EURUSD"},
        {"type": "contains"},
        of_each=True,
        impossible={3: "-5", 4: "1.5"},
    ),
    3: Program(
        fields("3", "3500"),  # the median of three rows fails if two of them do, at 2 / 35 each
        defined(
            "ams",
            {
                "epsilon": 0.1,
                "delta": 3 * (2 / 35) ** 2 * (33 / 35) + (2 / 35) ** 3,
                "decimals": 3,
                "seed": 9001,
            },
            values=("price",),
        ),
        (0, 1, 3, 4),
        **_FREQUENCY,
        **_EACH,
        impossible={3: "0", 4: "many"},
    ),
    4: Program(
        fields("time", "1", "10", "60", "8"),
        defined(
            "dft",
            {**_SERIES, "coefficients": 8, "max_lag": 0.0, "keep_window": True},
            key="",
            values=("price",),
            scope="stream",
            time="time",
        ),
        (1, 3, 4, 5, 6, 7),
        ["0.9"],
        _PAIRS,
        _PAIRS,
        impossible={1: "null", 4: "0", 5: "7.5", 6: "61", 7: "900"},
    ),
    5: Program(
        fields("time", "1", "10", "60", "256"),
        defined(
            "lsh",
            {**_SERIES, "bits": 256, "seed": 9001},
            key="",
            values=("price",),
            scope="stream",
            time="time",
        ),
        (1, 3, 4, 5, 6, 7),
        [0.9],
        _PAIRS,
        _PAIRS,
        impossible={1: "null", 4: "-1", 6: "61", 7: "100"},
    ),
    6: Program(
        ["StockID", "price, volume", "Queryable", "2", "50", "2"],
        defined("coreset", {"dimensions": 2, "size": 50}, key="", values=("price", "volume")),
        (3, 4, 1),
        ["StockID", "price, volume", "Queryable", "2", "50", "3"],
        {"type": "centres", "k": 3},
        {"type": "points"},
        impossible={1: "price", 3: "0", 4: "1", 5: "3"},
    ),
    7: Program(
        fields("0.02"),  # 1.04 / sqrt(2^12) is 0.016, with half the registers it is 0.023
        defined("hyperloglog", {"lg_k": 12}, key="price"),
        (1, 3),
        [],
        {"type": "cardinality"},
        {"type": "cardinality"},
        impossible={1: "null", 3: "0.0001"},
    ),
    8: Program(
        fields("0.05", "0.01", "0.001"),
        defined(
            "sticky_sampling",
            {"epsilon": 0.01, "support": 0.05, "failure_probability": 0.001, **COUNTS},
            values=("price",),
        ),
        (0, 1, 3, 4, 5),
        **_FREQUENCY,
        **_EACH,
        impossible={3: "0.001", 4: "0.9", 5: "1"},
    ),
    9: Program(
        ["StockID", "null", "Queryable", "0.01"],
        defined("lossy_counting", {"epsilon": 0.01, **COUNTS}),
        (0, 3),
        **_FREQUENCY,
        **_EACH,
        impossible={3: "0.9"},
    ),
    10: Program(
        fields("20", "100000"),
        defined("sample", {"k": 20, **SAMPLES}, values=("price",)),
        (0, 1, 3, 4),
        [],
        {"type": "sample"},
        {"type": "sample"},
        impossible={3: "100001", 4: "0"},
    ),
    11: Program(
        fields("0.01", "0.01"),  # (2.296 / 0.01) ^ (1 / 0.9723) = 268.1
        defined("quantiles", {"k": 269}, key="", values=("price",)),
        (1, 3),
        ["0.5"],
        {"type": "quantile", "q": 0.5},
        **_MEDIAN,
        impossible={1: "null", 3: "0.00001"},
    ),
    12: Program(
        ["shipid", "null", "Continuous", "60", "100", "1", "5"],
        defined(
            "trajectory",
            {
                "min_period": 60.0,
                "min_distance": 100.0,
                "min_speed_change": 1.0,
                "min_course_change": 5.0,
                "capacity": 100,
            },
            key="",
            values=("lat", "lon", "course", "speed"),
            scope="stream",
            time="t",
        ),
        (3, 4, 5, 6),
        ["228037600"],
        {"type": "last"},
        {"type": "last"},
        of_each=True,
        stream="228037600",
        impossible={3: "-1", 6: "361"},
    ),
    13: Program(
        ["StockID", "volume", "time", "5", "100"],
        defined(
            "top_k",
            {"k": 5, "by": "total", "smallest": False, "epsilon": 0.01, **COUNTS},
            values=("volume",),
        ),
        (0, 1, 3),
        ["3", "60"],
        {"type": "top", "n": 3},
        {"type": "top"},
        impossible={3: "1001"},
    ),
    **{
        number: Program(
            fields(),
            defined("sample", {"k": 100, **SAMPLES}, values=("price",)),
            (0, 1),
            [],
            {"type": "sample"},
            {"type": "sample"},
        )
        for number in (14, 15)
    },
    16: Program(
        fields("0.01", "100000"),
        defined("quantiles", {"k": 269}, key="", values=("price",)),
        (1, 3, 4),
        ["0.5"],
        {"type": "quantile", "q": 0.5},
        **_MEDIAN,
        impossible={3: "1", 4: "0"},
    ),
}


def request(request_id, synopsis_id=1, **more):
    """A request as programs write it: numbers, texts and the stream that means nothing."""
    return {
        "dataSetkey": DATASET,
        "requestID": request_id,
        "synopsisID": synopsis_id,
        "uid": UID,
        "streamID": "INTEL",
        "param": [],
        "noOfP": 4,
        **more,
    }


def none_runs(uid):
    return None


def runs(definition):
    """Only our uid does."""
    return lambda uid: definition if uid == str(UID) else None
