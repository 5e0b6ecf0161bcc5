#!/usr/bin/env python3
"""The bars of Sluice, measured on a real broker in pairs.

Every bar compares sides in one run: A and B in turn, the order turned in each pair, 7 pairs. The
median of the pairs' ratios is judged: pass or fail, or noisy where the quartiles are more than 10 %
of the median apart; then it is measured again, up to 3 times. Before each measurement the tool
waits up to 60 s for idle cores, then measures all the same and says so. A side that fails is told
and the rest goes on.

One broker (KRaft), raw readers, Sluice and Kafka Connect share this machine. Records have 200 bytes
of value; topics have 8 partitions. CPU is getrusage's, of all processes of a side.

Ends 0 if every bar passed, 1 if one failed or could not be measured, 3 if one was only noisy.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time

from bars import SCENES, SMOKE
from judging import FAIL, NOISY, PASS, judge, medians
from many_partitions import COUNTS as PARTITION_COUNTS
from processes import IDLE_WANTED, SideFailed, await_idle
from sides import PARTITIONS, RECORD_BYTES, Sides, scratch_root

ATTEMPTS = 3
SMOKE_RECORDS, SMOKE_PAIRS = 3_000_000, 3
PARTITIONED_SHARE = 0.4  # of the records, for each count of partitions
TOPIC_PARTITIONS_MAX = 5_000  # the broker makes no more at once
SMALL_PART = 5  # the scene with work reads so many times fewer records: raw needs 6 us for each
EXIT_FAILED, EXIT_NOISY = 1, 3
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Topics:
    """Made when they are first asked for, so that a subset of the bars makes only what it reads."""

    def __init__(self, sides, records):
        self._sides, self._records, self._names = sides, records, {}
        self._run = f"{os.getpid()}-{time.time_ns()}"

    def _filled(self, name, records, **how):
        if name not in self._names:
            self._names[name] = f"bench-{name}-{self._run}"
            say(f"filling {self._names[name]} with {records:,} records")
            self._sides.fill(self._names[name], records, **how)
        return self._names[name]

    @property
    def main(self):
        return self._filled("main", self._records)

    @property
    def small(self):
        return self._filled("small", max(1, self._records // SMALL_PART))

    @property
    def main_records(self):
        return self._records

    def of_partitions(self, partitions):
        """The same records, in batches of the same size, in so many partitions: of several topics
        where one request could not make them."""
        records = max(partitions, round(self._records * PARTITIONED_SHARE))
        parts = -(-partitions // TOPIC_PARTITIONS_MAX)
        run = max(1, records // max(PARTITION_COUNTS))
        return [self._filled(f"{partitions}-partitions-{part}", records // parts,
                             partitions=partitions // parts, run=run) for part in range(parts)]

    @property
    def partitioned(self):
        return [self.of_partitions(partitions) for partitions in PARTITION_COUNTS]

    @property
    def none(self):
        return None

    @property
    def start(self):
        return f"bench-start-{self._run}"


def say(text):
    print(text, flush=True)


def arguments():
    words = sorted({word for scene in SCENES for word in scene.words})
    parser = argparse.ArgumentParser(
        prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bars", nargs="*", help=f"which: {' '.join(words)} (default: all)")
    parser.add_argument("--bars", dest="listed", default="", metavar="P5,P7",
                        help="the same choice, with commas")
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="default 7")
    parser.add_argument("--records", type=int, default=5_000_000, metavar="N",
                        help="in the topic; default 5,000,000")
    parser.add_argument("--minutes", type=float, default=20, metavar="N",
                        help="no repetition of a noisy bar begins after so many; default 20")
    parser.add_argument("--scale", type=float, default=1, metavar="F",
                        help="part of the kills and seconds of P7 to P9 and P12; default 1")
    parser.add_argument("--wait", type=float, default=60, metavar="S",
                        help="longest wait for idle cores; default 60")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="default BUILD/bench.json")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR")
    parser.add_argument("--broker", type=pathlib.Path, metavar="FILE",
                        help="of a running `kafka_fixture start FILE`; default: one of its own")
    parser.add_argument("--smoke", action="store_true",
                        help=f"what CI runs: {SMOKE_RECORDS:,} records, half the bars, no waiting")
    options = parser.parse_args()
    options.bars += [word.strip().lower() for word in options.listed.split(",") if word.strip()]
    unknown = [word for word in options.bars if word not in words]
    if unknown:
        parser.error(f"unknown bars: {' '.join(unknown)}; there are: {' '.join(words)}")
    if options.pairs < 1 or options.records < PARTITIONS or options.scale <= 0:
        parser.error("at least one pair, a record for each partition, and a scale above 0")
    if options.smoke:
        options.records, options.pairs, options.wait = SMOKE_RECORDS, SMOKE_PAIRS, 0
    options.json = options.json or options.build / "bench.json"
    return options


@contextlib.contextmanager
def broker_of(options, folder):
    """host:port of the broker to use."""
    if options.broker:
        if not options.broker.is_file():
            sys.exit(f"run.sh: {options.broker}: no broker there; start one with kafka_fixture")
        yield options.broker.read_text().splitlines()[0]
        return
    file = folder / "broker"
    fixture = options.build / "bin/kafka_fixture"
    # With 11,110 partitions the 512 MB of the tests are so few that the broker does nothing but
    # collect garbage.
    heap = {"KAFKA_HEAP_OPTS": "-Xmx2g"}
    subprocess.run([fixture, "start", file], check=True, env={**heap, **os.environ})
    try:
        yield file.read_text().splitlines()[0]
    finally:
        subprocess.run([fixture, "stop", file], check=False)


def show_sides(sides):
    for name, figures in sides.items():
        text = "  ".join(f"{figure} {value:,.3f}" for figure, value in figures.items())
        say(f"    {name:34} {text}")


def attempt(scene, sides, topics, options):
    """One measurement of a scene: its verdicts, and everything for the JSON file."""
    getattr(topics, scene.topic)
    idle = await_idle(options.wait)
    busy = "" if idle >= IDLE_WANTED else f" (NOT QUIET: {idle:.0%} idle before it began)"
    say(f"\n{scene.title}{busy}")
    ratios_of, measured = scene.measure(sides, topics, options.pairs)
    say(f"    medians of {len(measured)} rounds")
    verdicts = [judge(bar, ratios) for bar, ratios in ratios_of.items()]
    in_the_middle = medians(measured)
    show_sides(in_the_middle)
    for verdict in verdicts:
        say("  " + row(verdict))
    return verdicts, {
        "idle_before": round(idle, 3),
        "bars": [
            {
                "name": each.bar.name,
                "what": each.bar.what,
                "limit": each.bar.limit,
                "better": each.bar.better,
                "percentile": each.bar.percentile,
                "value": each.value,
                "quartiles": each.quartiles,
                "ratios": each.ratios,
                "verdict": each.text(),
            }
            for each in verdicts
        ],
        "medians": in_the_middle,
        "rounds": measured,
    }


def row(verdict):
    low, high = verdict.quartiles
    bar = verdict.bar
    return (f"{bar.name:4} {verdict.value:8.3f} [{low:.3f}, {high:.3f}]  bar {bar.better}"
            f" {bar.limit:.3g}{' ' + bar.unit if bar.unit else ''}  {verdict.text():22} {bar.what}")


def measure(scene, sides, topics, options, give_up):
    """Repeats while a bar is noisy and there is time for it. (verdicts, attempts, error)"""
    verdicts, attempts = [], []
    while len(attempts) < ATTEMPTS:
        began = time.monotonic()
        try:
            verdicts, told = attempt(scene, sides, topics, options)
        except (SideFailed, OSError, subprocess.SubprocessError, KeyError, ValueError) as wrong:
            say(f"  FAILED TO RUN: {scene.title}: {wrong}")
            return verdicts, attempts, str(wrong)
        attempts.append(told)
        took = time.monotonic() - began
        is_noisy = any(each.word == NOISY for each in verdicts)
        if not is_noisy or time.monotonic() + took > give_up:
            break
    return verdicts, attempts, None


def commit():
    asked = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                           capture_output=True, check=False)
    return asked.stdout.strip() or "unknown"


def machine():
    names = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text()
             .splitlines() if line.startswith("model name")]
    memory_kb = pathlib.Path("/proc/meminfo").read_text().split()[1]
    return {
        "commit": commit(),
        "began": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cores": os.cpu_count(),
        "cpu": names[0] if names else platform.machine(),
        "memory_gb": round(int(memory_kb) / 1e6, 1),
        "kernel": platform.release(),
    }


def run(options, folder, scratch):
    scenes = list(SMOKE) if options.smoke else [
        scene for scene in SCENES if not options.bars or set(scene.words) & set(options.bars)
    ]
    give_up = time.monotonic() + options.minutes * 60
    about = machine() | {
        "records": options.records,
        "partitions": PARTITIONS,
        "value_bytes": RECORD_BYTES,
        "broker": "1 broker, KRaft, on the same cores",
        "file_sink_writes_to": str(scratch.parent),
    }
    say("  ".join(f"{name} {value}" for name, value in about.items()))
    results, verdicts, failures = [], [], []
    with broker_of(options, folder) as bootstrap:
        sides = Sides(options.build / "bin", ROOT / "build/kafka-libs", bootstrap, folder, scratch,
                      options.scale)
        topics = Topics(sides, options.records)
        for scene in scenes:
            found, attempts, error = measure(scene, sides, topics, options, give_up)
            verdicts += found
            if error:
                failures.append(f"{scene.title}: {error}")
            results.append({"scene": scene.title, "attempts": attempts, "error": error})
    options.json.write_text(json.dumps({"about": about, "scenes": results}, indent=1) + "\n")
    say("\nbar     value [quartiles]      limit  verdict")
    for verdict in verdicts:
        say(row(verdict))
    for failure in failures:
        say(f"FAILED TO RUN: {failure}")
    say(f"every figure: {options.json}")
    return exit_code(verdicts, failures)


def exit_code(verdicts, failures):
    words = {verdict.word for verdict in verdicts}
    if failures or FAIL in words or not words:
        return EXIT_FAILED
    return 0 if words == {PASS} else EXIT_NOISY


def main():
    options = arguments()
    # So that what runs is killed and what was written is removed also then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as folder, \
            tempfile.TemporaryDirectory(dir=scratch_root()) as scratch:
        return run(options, pathlib.Path(folder), pathlib.Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
