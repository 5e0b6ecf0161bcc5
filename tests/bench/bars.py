"""The bars, and how each is measured. A scene measures some sides in turn, round by round, and
gives the ratios of one or more bars."""

import dataclasses

import failures
import many_partitions
from judging import Bar, medians, rounds
from sides import TUNED

WORK_NS = 1500
SLICES = (1_000, 10_000, 100_000)
STARTS = 20
SMALL_SLICE = 100
LARGE_SLICE = 100_000
SMOKE_KILLS_SCALE = 0.1

P1 = Bar("P1", "records/s: Sluice, 1 worker / raw librdkafka", 0.90, ">=")
P1T = Bar("P1t", "records/s: Sluice, 1 worker / raw librdkafka, tuned", 0.90, ">=")
P4 = Bar("P4", "CPU per record: Sluice, 1 worker / raw librdkafka", 1.15, "<=")
P4S = Bar("P4s", "CPU per record: Sluice, 1 worker / raw with the worker's settings", 1.15, "<=")
P1W = Bar("P1w", "records/s: Sluice, 2 workers / 2 raw librdkafka", 0.90, ">=")
P1WS = Bar("P1ws", "records/s: Sluice, 2 workers / 2 raw with the worker's settings", 0.90, ">=")
P2 = Bar("P2", "records/s with 1.5 us of work each: Sluice / raw librdkafka", 2.5, ">=")
P2T = Bar("P2t", "records/s with 1.5 us of work each: Sluice / raw librdkafka, tuned", 0.90, ">=")
P5 = Bar("P5", "us of the host's CPU for a slice, in slicer and rings", 3, "<=", "us", False)
P5W = Bar("P5w", f"us of the loop's CPU for a slice of {SMALL_SLICE} records, whole product", 3,
          "<=", "us", False)
P6 = Bar("P6", "us from publishing to a sleeping worker's reading, p99 of the best of 10 rounds",
         200, "<=", "us", False, percentile=0)
# Milliseconds, on machines that do other work: a fault of kind slows the fastest quarter, too.
P7_SMOKE = dataclasses.replace(failures.P7.halved(), percentile=25)
P10 = Bar("P10", "memory: Sluice, host and 2 workers / Kafka Connect", 0.20, "<=")
P11 = Bar("P11", "ms from start to first record, second start", 300, "<=", "ms", False)
P13 = Bar("P13", "records/s: slowest / fastest of slices of 1k, 10k, 100k records", 0.90, ">=")
P14 = Bar("P14", "records/s: slices of 100,000 for any worker / for the partition's own", 0.90,
          ">=")
RATE = Bar("C1", "records/s: Sluice, 2 workers, to a file / Kafka Connect", 2.0, ">=")
RATE_NULL = Bar("C2", "records/s: Sluice, 2 workers, null sink / Kafka Connect", 2.0, ">=")
CPU = Bar("C3", "CPU per record: Sluice, to a file / Kafka Connect after its start", 1 / 3, "<=")


@dataclasses.dataclass(frozen=True)
class Scene:
    """`measure(sides, topics, count)` returns ({Bar: ratios}, rounds); `words` are what selects it,
    `topic` is filled before the machine is waited for."""

    title: str
    words: tuple
    bars: tuple
    topic: str
    measure: object


def ratios(all_rounds, figure, above, below):
    return [each[above][figure] / each[below][figure] for each in all_rounds]


def one_worker(sides, topics, count):
    measured = rounds(count, {
        "Sluice, 1 worker": lambda: sides.product(topics.main),
        "raw": lambda: sides.raw(topics.main),
        "raw, tuned": lambda: sides.raw(topics.main, settings=TUNED),
        "raw, the worker's settings": lambda: sides.raw(topics.main, settings=TUNED, base=None),
    })
    return {
        P1: ratios(measured, "rate", "Sluice, 1 worker", "raw"),
        P1T: ratios(measured, "rate", "Sluice, 1 worker", "raw, tuned"),
        P4: ratios(measured, "cpu", "Sluice, 1 worker", "raw"),
        P4S: ratios(measured, "cpu", "Sluice, 1 worker", "raw, the worker's settings"),
    }, measured


def smoke(sides, topics, count):
    measured = rounds(count, {
        "Sluice, 1 worker": lambda: sides.product(topics.main),
        "raw": lambda: sides.raw(topics.main),
    })
    return {
        P1.halved(): ratios(measured, "rate", "Sluice, 1 worker", "raw"),
        P4.halved(): ratios(measured, "cpu", "Sluice, 1 worker", "raw"),
    }, measured


def two_workers(sides, topics, count):
    measured = rounds(count, {
        "Sluice, 2 workers": lambda: sides.product(topics.main, workers=2),
        "2 raw": lambda: sides.raw(topics.main, readers=2),
        "2 raw, the worker's settings":
            lambda: sides.raw(topics.main, readers=2, settings=TUNED, base=None),
    })
    return {
        P1W: ratios(measured, "rate", "Sluice, 2 workers", "2 raw"),
        P1WS: ratios(measured, "rate", "Sluice, 2 workers", "2 raw, the worker's settings"),
    }, measured


def dispatch_alone(sides, topics, count):
    """The slicer with its cutting, checks, settling and change sets; then both ends of both rings:
    the worker's share of those is in the figure, too."""
    slicer = sides.micro("bench_slicer", "slice_through_the_slicer/partitions:8/records:10000")[0]
    ring = sides.micro("bench_ipc", "^slice_through_a_channel$")[0]
    slicer_us, ring_us = 1e6 / slicer["items_per_second"], 1e6 / ring["items_per_second"]
    measured = [{"slicer": {"us_per_slice": slicer_us}, "rings": {"us_per_slice": ring_us}}]
    return {P5: [slicer_us + ring_us]}, measured


def dispatch(sides, topics, count):
    alone, measured = dispatch_alone(sides, topics, count)
    names = {f"slices of {size:,}": size for size in (SMALL_SLICE, 10_000)}
    ran = rounds(count, {
        name: lambda size=size: sides.product(topics.main, slice_records=size)
        for name, size in names.items()
    })
    small = next(iter(names))
    return {
        **alone,
        P5W: [each[small]["running_loop_cpu_us_per_slice"] for each in ran],
    }, [{**each, **measured[0]} for each in ran]


def handoff(sides, topics, count):
    told = sides.micro("bench_ipc", "handoff_to_a_sleeping_worker")
    measured = [{"hand-over": {"p50_us": each["p50_us"], "p99_us": each["p99_us"]}}
                for each in told]
    return {P6: [each["hand-over"]["p99_us"] for each in measured]}, measured


def short_kills(sides, topics, count):
    kills = round(failures.KILLS * SMOKE_KILLS_SCALE)
    took_ms = failures.kills_ms(sides, kills)
    return {P7_SMOKE: took_ms}, [{"kills": {"ms": each}} for each in took_ms]


def smoke_of(measure):
    """The same scene with its bars at half their height."""
    def measured(sides, topics, count):
        of_bars, all_rounds = measure(sides, topics, count)
        return {bar.halved(): values for bar, values in of_bars.items()}, all_rounds
    return measured


def any_worker(sides, topics, count):
    any_name, sticky = "any worker", "the partition's own worker"
    measured = rounds(count, {
        any_name: lambda: sides.product(topics.main, workers=2, slice_records=LARGE_SLICE,
                                        assignment="any"),
        sticky: lambda: sides.product(topics.main, workers=2, slice_records=LARGE_SLICE),
    })
    return {P14: ratios(measured, "rate", any_name, sticky)}, measured


def with_work(sides, topics, count):
    measured = rounds(count, {
        "Sluice, 1 worker": lambda: sides.product(topics.small, work_ns=WORK_NS),
        "raw": lambda: sides.raw(topics.small, work_ns=WORK_NS),
        "raw, tuned": lambda: sides.raw(topics.small, work_ns=WORK_NS, settings=TUNED),
    })
    return {
        P2: ratios(measured, "rate", "Sluice, 1 worker", "raw"),
        P2T: ratios(measured, "rate", "Sluice, 1 worker", "raw, tuned"),
    }, measured


def slice_sizes(sides, topics, count):
    names = {f"slices of {size:,}": size for size in SLICES}
    measured = rounds(count, {
        name: lambda size=size: sides.product(topics.main, slice_records=size)
        for name, size in names.items()
    })
    # Slowest and fastest by their medians: the extremes of single rounds would be noise.
    rate_of = {name: figures["rate"] for name, figures in medians(measured).items()}
    slowest, fastest = min(rate_of, key=rate_of.get), max(rate_of, key=rate_of.get)
    return {P13: ratios(measured, "rate", slowest, fastest)}, measured


def start(sides, topics, count):
    """`count` is of no use here: the protocol says 20 starts, after one that makes the state."""
    state = sides.folder / "start-state"
    first = sides.start_to_first_record(topics.start, state)
    times_ms = [1000 * sides.start_to_first_record(topics.start, state) for _ in range(STARTS)]
    measured = [{"sluice run": {"start_ms": each}} for each in times_ms]
    measured[0]["sluice run, first start"] = {"start_ms": 1000 * first}
    return {P11: times_ms}, [measured[0]] + [
        {**each, "sluice run, first start": measured[0]["sluice run, first start"]}
        for each in measured[1:]
    ]


def beside_connect(sides, topics, count):
    file, null = "Sluice, 2 workers, file", "Sluice, 2 workers, null"
    connect = "Kafka Connect, 2 tasks, /dev/null"
    measured = rounds(count, {
        file: lambda: sides.product(topics.main, workers=2, sink="file"),
        connect: lambda: sides.connect(topics.main),
        null: lambda: sides.product(topics.main, workers=2),
    })
    return {
        RATE: ratios(measured, "rate", file, connect),
        RATE_NULL: ratios(measured, "rate", null, connect),
        CPU: ratios(measured, "cpu", file, connect),
        P10: ratios(measured, "rss_mb", file, connect),
    }, measured


SCENES = (
    Scene("one worker beside one raw reader", ("p1", "p4"), (P1, P1T, P4, P4S), "main", one_worker),
    Scene("two workers beside two raw readers", ("p1", "p1w"), (P1W, P1WS), "main", two_workers),
    Scene("a sink that works 1.5 us a record", ("p2",), (P2, P2T), "small", with_work),
    Scene("slice sizes", ("p13",), (P13,), "main", slice_sizes),
    Scene("start", ("p11",), (P11,), "start", start),
    Scene("beside Kafka Connect 4.3.1", ("connect", "p10"), (RATE, RATE_NULL, CPU, P10),
          "main", beside_connect),
    Scene("what a slice costs the host", ("p5",), (P5, P5W), "main", dispatch),
    Scene("hand-over to a worker that sleeps", ("p6",), (P6,), "none", handoff),
    Scene("slices for any worker", ("p14",), (P14,), "main", any_worker),
    Scene("workers killed", ("p7",), (failures.P7, failures.P7Q), "none", failures.killed),
    Scene("workers locked up", ("p8",), (failures.P8, failures.P8M), "none", failures.locked_up),
    Scene("one worker after the other killed", ("p9",), (failures.P9, failures.P9L), "main",
          failures.killed_steadily),
    Scene("10 to 10,000 partitions", ("p12",),
          (many_partitions.P12, many_partitions.P12M, many_partitions.P12I, many_partitions.P12S),
          "partitioned", many_partitions.many_partitions),
)
SMOKE = (
    Scene("one worker", (), (P1.halved(), P4.halved()), "main", smoke),
    Scene("what a slice costs the host", (), (P5.halved(),), "none", smoke_of(dispatch_alone)),
    Scene("hand-over to a worker that sleeps", (), (P6.halved(),), "none", smoke_of(handoff)),
    Scene("workers killed", (), (P7_SMOKE,), "none", short_kills),
)
