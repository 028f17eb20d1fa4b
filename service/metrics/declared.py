"""All metrics that an engine and its gateway have: the collectors and the reference page read this.

No label is a uid, a stream or anything else that tuples can name: the number of time series stays
bounded whatever comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
_BATCH_BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_COMMIT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Declared:
    """One metric. A counter's name ends in `_total`; `buckets` are those of a histogram."""

    name: str
    kind: Kind
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, text: str, *labels: str) -> Declared:
    return Declared(name, "counter", text, labels)


def _gauge(name: str, text: str, *labels: str) -> Declared:
    return Declared(name, "gauge", text, labels)


def _histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Declared:
    return Declared(name, "histogram", text, labels, buckets)


# -- the engine ------------------------------------------------------------------------------------

BUILD_INFO = _gauge("sde_build_info", "1; what runs", "version", "python", "spark")
STARTED = _gauge("sde_start_timestamp_seconds", "when the engine was started")
STATE = _gauge("sde_engine_state", "1 for the state the engine is in, 0 for the others", "state")
KAFKA_UP = _gauge("sde_kafka_up", "0 while Kafka does not answer the engine")

BATCHES = _counter("sde_batches_total", "batches that are done")
BATCH_SECONDS = _histogram(
    "sde_batch_seconds",
    "how long batches took, by Spark's phases; triggerExecution is the whole batch",
    _BATCH_BUCKETS,
    "phase",
)
LAST_BATCH = _gauge("sde_last_batch_timestamp_seconds", "when the last batch began")
COMMIT_SECONDS = _histogram(
    "sde_commit_seconds", "the Kafka transactions that write replies", _COMMIT_BUCKETS
)

LAG_MESSAGES = _gauge(
    "sde_lag_messages", "messages left to be read when the last batch ended", "topic"
)
LAG_SECONDS = _gauge(
    "sde_lag_seconds",
    "how long ago the last message came that was read, of the partition furthest behind; 0 if "
    "none is left. By the timestamps of the messages; data topics only",
    "topic",
)
MESSAGES = _counter("sde_messages_total", "messages of data topics that were read", "format")
TUPLES = _counter("sde_tuples_total", "tuples that were read", "format")
TUPLE_BYTES = _counter("sde_tuple_bytes_total", "payloads of those messages", "format")
LEFT_OUT = _counter(
    "sde_tuples_left_out_total",
    "tuples that came for a synopsis and are not in it; once for each group of synopses that share "
    "fields and scope",
    "reason",
)
DEAD_LETTERS = _counter("sde_dead_letters_total", "dead letters that were written", "code")
OFFSETS_LOST = _counter(
    "sde_offsets_lost_total", "messages that retention deleted before they were read", "topic"
)
PASSED_OVER = _gauge(
    "sde_messages_passed_over", "messages that killed, in the life of the checkpoint"
)

REQUESTS = _counter(
    "sde_requests_total",
    "replies to requests that came through Kafka; op none: it was no request",
    "op",
    "code",
)
SYNOPSES = _gauge("sde_synopses", "synopses (uids)", "kind")
STREAMS = _gauge(
    "sde_streams",
    "streams with a summary of their own: of the synopsis without a window that has the most",
    "dataset",
)
STATE_BYTES = _gauge("sde_state_bytes", "what synopses hold, as the limits count it", "dataset")
STATE_LIMIT = _gauge(
    "sde_state_limit_bytes", "what they may hold: each data set, and the whole engine", "of"
)
ARENA_REBUILDS = _counter(
    "sde_arena_rebuilds_total", "shards whose arena was built again from the checkpoint"
)
CHECKPOINT_BYTES = _gauge(
    "sde_checkpoint_bytes", "state in the checkpoint: snapshots, and the log since", "part"
)
WATERMARK_LAG = _gauge(
    "sde_watermark_lag_seconds",
    "how far the clock of a data set's windows is behind the time of day; the slowest clock",
    "dataset",
)

WATCHES = _gauge("sde_watches", "watches that run")
WATCH_DELAY = _gauge(
    "sde_watch_delay_seconds", "how long the watch that is due the longest waits for its answer"
)
WATCH_ANSWERS = _counter("sde_watch_answers_total", "answers of watches", "code")
WATCH_VALUE = _gauge("sde_watch_value", "last answer of a watch that is exported", "watch")
WATCH_LOWER = _gauge("sde_watch_lower", "lower bound of that answer", "watch")
WATCH_UPPER = _gauge("sde_watch_upper", "upper bound of that answer", "watch")

PLUGINS = _gauge(
    "sde_plugins", "versions of plug-ins; waiting: requests whose examination runs", "state"
)
SITE_UP = _gauge(
    "sde_site_up", "0 while messages for a site wait for its Kafka, for 10 s or longer", "site"
)
SITE_BYTES = _counter(
    "sde_site_bytes_total", "exchanged with other sites since the checkpoint", "site", "direction"
)

ENGINE = (
    BUILD_INFO,
    STARTED,
    STATE,
    KAFKA_UP,
    BATCHES,
    BATCH_SECONDS,
    LAST_BATCH,
    COMMIT_SECONDS,
    LAG_MESSAGES,
    LAG_SECONDS,
    MESSAGES,
    TUPLES,
    TUPLE_BYTES,
    LEFT_OUT,
    DEAD_LETTERS,
    OFFSETS_LOST,
    PASSED_OVER,
    REQUESTS,
    SYNOPSES,
    STREAMS,
    STATE_BYTES,
    STATE_LIMIT,
    ARENA_REBUILDS,
    CHECKPOINT_BYTES,
    WATERMARK_LAG,
    WATCHES,
    WATCH_DELAY,
    WATCH_ANSWERS,
    WATCH_VALUE,
    WATCH_LOWER,
    WATCH_UPPER,
    PLUGINS,
    SITE_UP,
    SITE_BYTES,
)

# -- the gateway -----------------------------------------------------------------------------------

UP = _gauge(
    "sde_up",
    "1 if the engine of the gateway's data folder has written its metrics a moment ago; with 0 "
    "there are none of the engine",
)
HTTP_REQUESTS = _counter(
    "sde_http_requests_total",
    "requests over HTTP; code ok, or that of the problem; op none: they were not let in",
    "op",
    "code",
)
HTTP_BODY_BYTES = _counter("sde_http_body_bytes_total", "bodies of requests that were taken in")
HTTP_IN_FLIGHT = _gauge("sde_http_requests_in_flight", "requests that are being answered")
EVENT_STREAMS = _gauge("sde_event_streams", "streams of events that are open")
REQUEST_SECONDS = _histogram(
    "sde_request_seconds",
    "how long the gateway waited for the engine's answers: kafka (a batch), or lane (the arena)",
    _REQUEST_BUCKETS,
    "lane",
)

GATEWAY = (UP, HTTP_REQUESTS, HTTP_BODY_BYTES, HTTP_IN_FLIGHT, EVENT_STREAMS, REQUEST_SECONDS)
