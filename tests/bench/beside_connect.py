#!/usr/bin/env python3
"""What one fault costs, on Sluice and on Kafka Connect (distributed, two workers, one group).

  kill    SIGKILL to one worker process: how long do its records stand still, what does status say?
  poison  a record that ends the process of whoever reads it: what else stops?
  hang    a put that never returns: who notices, and when?

On both sides three connectors copy a topic, which gets a record every 0.2 s, into files; for poison
and hang a fourth reads it with a sink that obeys the words `crash` and `hang`. One side after the
other, on one broker of its own (free ports); everything ends with this program.

Kafka Connect runs with its defaults. The first of them to wait for is
scheduled.rebalance.max.delay.ms = 300000: `kill` takes 6 minutes, `poison` 1 or 6, by which worker
leads its group; all together 11 to 17 minutes on 2 idle cores. --quick sets it to 0, which few who
run it do, and watches for less long, below 6 minutes in all; the output says so. `hang` is watched
for the same time on both sides. Needs javac, for the sink that Kafka Connect is given.

Ends 0 if every side could be measured, 1 if not.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from connect_cluster import ConnectCluster, compile_sink, fault_connector, file_connector
from processes import SideFailed
from run import ROOT, broker_of, machine, say
from silences import (fate_of, fates_text, first_said, longest_silence, merged, spans_text,
                      table)
from sluice_host import SluiceHost, fault_job, file_job
from streams import Arrivals, Ticker, new_topic

CONNECT = "Kafka Connect 4.3.1"
COPIES = ("copy-1", "copy-2", "copy-3")
FAULTY = "faulty"
LOOK_S = 0.5
FLOW_LIMIT_S = 60
AFTER_S = 10  # watched on after all is well again
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HANG_MS = 15_000  # max.poll.interval.ms there, task.call.timeout.ms here
WATCH_S = {"kill": 400, "poison": 400, "hang": 80}
QUICK_WATCH_S = {"kill": 120, "poison": 120, "hang": 35}


class Bench:
    """What all measurements share: the broker, a folder each, and how long to watch."""

    def __init__(self, options, bootstrap, folder):
        self.bin = options.build / "bin"
        self.kafka_libs = ROOT / "build/kafka-libs"
        self.bootstrap = bootstrap
        self.root = folder
        self.watch_s = QUICK_WATCH_S if options.quick else WATCH_S
        self.delay = ["scheduled.rebalance.max.delay.ms=0"] if options.quick else []
        self._classes = None

    def place(self, name):
        """A folder and a topic of one measurement."""
        folder = self.root / name
        folder.mkdir()
        new_topic(self.bin, self.bootstrap, name, folder / "topic.log")
        return folder, name

    def connect(self, folder):
        if self._classes is None:
            self._classes = compile_sink(pathlib.Path(__file__).parent, self.kafka_libs, self.root)
        return ConnectCluster(self.kafka_libs, self._classes, self.bootstrap, folder, self.delay)

    def sluice(self, folder, jobs):
        return SluiceHost(self.bin, self.bootstrap, folder, jobs)

    def ticker(self, folder, topic):
        return Ticker(self.kafka_libs, self.bootstrap, topic, folder / "ticker.log")


class Outputs:
    """The files of the connectors, watched; as a context manager, until all of them flow."""

    def __init__(self, folder, names):
        self.of = {name: Arrivals(folder / f"{name}.txt") for name in names}

    def await_flow(self):
        for name, arrivals in self.of.items():
            arrivals.await_more(FLOW_LIMIT_S, name)

    def silence(self, name, begin_s, end_s):
        return longest_silence(self.of[name].at_s, begin_s, end_s)

    def fate(self, name, begin_s, end_s):
        return fate_of(self.of[name].at_s, begin_s, end_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for arrivals in self.of.values():
            arrivals.__exit__()


def watch(look, is_over, limit_s):
    """[(when, look())] until AFTER_S after is_over() first held, or the limit; and the end."""
    looks, begin, over_at = [], time.monotonic(), None
    while True:
        now = time.monotonic()
        looks.append((now, look()))
        over_at = over_at or (now if is_over() else None)
        if now - begin > limit_s or (over_at and now - over_at > AFTER_S):
            return looks, time.monotonic()
        time.sleep(LOOK_S)


def flows_since(arrivals, begin_s):
    """Records come again: more than the one or two that were under way at the blow."""
    return lambda: bool(arrivals.at_s) and arrivals.at_s[-1] > begin_s + 1


# Sides. Each returns ({what: text}, {figure: value}).


def kill_sluice(bench):
    folder, topic = bench.place("kill-sluice")
    jobs = {name: file_job(topic, folder / f"{name}.txt", tasks=2) for name in COPIES}
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(bench.sluice(folder, jobs))
        stack.enter_context(bench.ticker(folder, topic))
        outputs = stack.enter_context(Outputs(folder, COPIES))
        host.await_running(COPIES)
        outputs.await_flow()
        busy = [worker for worker in host.show("copy-1")["workers"] if worker["partitions"]]
        if not busy:
            raise SideFailed("no worker of copy-1 has its partition")
        begin = time.monotonic()
        subprocess.run(["kill", "-KILL", str(busy[0]["pid"])], check=True)
        looks, end = watch(lambda: workers_said(host, "copy-1"),
                           flows_since(outputs.of["copy-1"], begin), bench.watch_s["kill"])
        return kill_rows(outputs, "copy-1", COPIES[1:], looks, begin, end)


def workers_said(host, job):
    shown = host.show(job)
    if not shown:
        return "no answer"
    return f"{shown['state']}, {shown['workers_up']} of {shown['tasks']} workers"


def kill_connect(bench):
    folder, topic = bench.place("kill-connect")
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(bench.connect(folder))
        stack.enter_context(bench.ticker(folder, topic))
        outputs = stack.enter_context(Outputs(folder, COPIES))
        for name in COPIES:
            cluster.add(name, file_connector(topic, folder / f"{name}.txt"))
        cluster.await_running(COPIES)
        outputs.await_flow()
        runs = {name: cluster.status(name)[1] for name in COPIES}
        leader = cluster.workers[0].leader_url()
        victim = cluster.workers[1 if cluster.workers[0].url == leader else 0]
        hit = [name for name in COPIES if runs[name] == victim.worker_id]
        if not hit:
            raise SideFailed(f"no task on the worker that does not lead: {runs}")
        begin = time.monotonic()
        victim.process.kill()
        looks, end = watch(lambda: said_of(cluster, hit[0], victim),
                           flows_since(outputs.of[hit[0]], begin), bench.watch_s["kill"])
        others = [name for name in COPIES if name not in hit]
        return kill_rows(outputs, hit[0], others, looks, begin, end)


def said_of(cluster, name, dead):
    state, worker = cluster.status(name)
    return f"{state} on the dead worker" if worker == dead.worker_id else state


def kill_rows(outputs, hit, others, looks, begin, end):
    silence = outputs.silence(hit, begin, end)
    beside = {name: outputs.fate(name, begin, end) for name in others}
    return {
        "without a record": silence.text(),
        "status meanwhile": spans_text(looks),
        "connectors of other workers": fates_text(beside) if beside else "none were there",
    }, {"silence_s": silence.seconds, "is_over": silence.is_over,
        "beside": {name: dataclasses.asdict(fate) for name, fate in beside.items()}}


def poison_sluice(bench):
    folder, topic = bench.place("poison-sluice")
    jobs = {name: file_job(topic, folder / f"{name}.txt") for name in COPIES}
    jobs[FAULTY] = fault_job(topic, folder / f"{FAULTY}.txt")
    names = (*COPIES, FAULTY)
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(bench.sluice(folder, jobs))
        ticker = stack.enter_context(bench.ticker(folder, topic))
        outputs = stack.enter_context(Outputs(folder, names))
        host.await_running(names)
        outputs.await_flow()
        pids = {name: host.pids(name) for name in COPIES}
        begin = time.monotonic()
        ticker.say("crash")
        _, end = watch(lambda: "", lambda: host.losses("crash") > 0 and
                       outputs.of[FAULTY].at_s[-1] > time.monotonic() - 1,
                       bench.watch_s["poison"])
        crashes = host.losses("crash")
        kept = {name: host.pids(name) for name in COPIES} == pids
        host_text = "the host lives" if host.process.is_running() else "THE HOST DIED"
        kept_text = "the same processes" if kept else "OTHER PROCESSES"
        return poison_rows(
            outputs, begin, end, f"the faulty job's worker, {crashes} times; {host_text}",
            f"the host; workers of the other three: {kept_text}", crashes=crashes,
            is_beside_untouched=kept)


def poison_connect(bench):
    folder, topic = bench.place("poison-connect")
    names = (*COPIES, FAULTY)
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(bench.connect(folder))
        ticker = stack.enter_context(bench.ticker(folder, topic))
        outputs = stack.enter_context(Outputs(folder, names))
        for name in COPIES:
            cluster.add(name, file_connector(topic, folder / f"{name}.txt"))
        cluster.add(FAULTY, fault_connector(topic, folder / f"{FAULTY}.txt"))
        cluster.await_running(names)
        outputs.await_flow()
        runner, leader = cluster.status(FAULTY)[1], cluster.workers[0].leader_url()
        role = "leads" if leader and leader.endswith(runner) else "does not lead"
        begin = time.monotonic()
        ticker.say("crash")
        died_s = []

        def look():
            dead = len(cluster.workers) - len(cluster.living())
            died_s.extend([time.monotonic() - begin] * (dead - len(died_s)))
            return dead

        _, end = watch(look, lambda: len(died_s) == len(cluster.workers), bench.watch_s["poison"])
        when = " and ".join(f"{each:.1f}" for each in died_s) or "none"
        return poison_rows(
            outputs, begin, end,
            f"{len(died_s)} of 2 workers, after {when} s (the first {role})",
            f"{len(cluster.living())} of 2 workers", died_s=died_s)


def poison_rows(outputs, begin, end, died, left, **figures):
    beside = {name: outputs.fate(name, begin, end) for name in COPIES}
    faulty = outputs.fate(FAULTY, begin, end)
    fates = {name: dataclasses.asdict(fate) for name, fate in {**beside, FAULTY: faulty}.items()}
    return {
        "processes that died": died,
        "what is left": left,
        "the other three connectors": fates_text(beside),
        "the faulty one": faulty.text(),
    }, {**figures, "fates": fates, "watched_s": end - begin}


def hang_sluice(bench):
    folder, topic = bench.place("hang-sluice")
    jobs = {FAULTY: fault_job(topic, folder / f"{FAULTY}.txt",
                              [f"task.call.timeout.ms = {HANG_MS}"])}
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(bench.sluice(folder, jobs))
        ticker = stack.enter_context(bench.ticker(folder, topic))
        outputs = stack.enter_context(Outputs(folder, (FAULTY,)))
        host.await_running((FAULTY,))
        outputs.await_flow()
        begin = time.monotonic()
        ticker.say("hang")
        looks, end = watch(lambda: sluice_said(host), lambda: False, bench.watch_s["hang"])
        return hang_rows(outputs, looks, begin, end)


def sluice_said(host):
    """The job's state, and why it lost a worker."""
    shown = host.show(FAULTY)
    losses = [worker["last_loss"]["cause"] for worker in shown.get("workers", [])
              if "last_loss" in worker]
    return ", ".join([shown.get("state", "no answer"), *(f"lost a worker: {loss}"
                                                         for loss in losses)])


def hang_connect(bench):
    folder, topic = bench.place("hang-connect")
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(bench.connect(folder))
        ticker = stack.enter_context(bench.ticker(folder, topic))
        outputs = stack.enter_context(Outputs(folder, (FAULTY,)))
        cluster.add(FAULTY, fault_connector(topic, folder / f"{FAULTY}.txt", {
            "consumer.override.max.poll.interval.ms": str(HANG_MS)}))
        cluster.await_running((FAULTY,))
        outputs.await_flow()
        begin = time.monotonic()
        ticker.say("hang")
        looks, end = watch(lambda: cluster.status(FAULTY)[0], lambda: False, bench.watch_s["hang"])
        return hang_rows(outputs, looks, begin, end)


def hang_rows(outputs, looks, begin, end):
    silence = outputs.silence(FAULTY, begin, end)
    named_s = min((each for each in (first_said(looks, "hang"), first_said(looks, "FAILED"))
                   if each is not None), default=None)
    return {
        "status names it": f"after {named_s:.1f} s" if named_s is not None else
                           f"never, in {end - begin:.0f} s",
        "status": spans_text(looks),
        "without a record": silence.text(),
    }, {"named_s": named_s, "silence_s": silence.seconds, "is_over": silence.is_over}


SCENES = {
    "kill": ("SIGKILL to a worker process", {"sluice": kill_sluice, "connect": kill_connect}),
    "poison": ("a record that ends its process",
               {"sluice": poison_sluice, "connect": poison_connect}),
    "hang": (f"a put that never returns; limit {HANG_MS // 1000} s on both sides",
             {"sluice": hang_sluice, "connect": hang_connect}),
}


def measure(name, sides, bench):
    """{side: texts}, {side: figures or what went wrong}."""
    texts, told = {}, {}
    for side, run_side in sides.items():
        try:
            texts[side], told[side] = run_side(bench)
        except (SideFailed, OSError, subprocess.SubprocessError, LookupError,
                ValueError) as wrong:
            texts[side], told[side] = None, {"error": f"{type(wrong).__name__}: {wrong}"}
            say(f"  FAILED TO RUN: {name}, {side}: {wrong}")
    return texts, told


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", metavar="SCENE",
                        help=f"which: {' '.join(SCENES)} (default: all)")
    parser.add_argument("--quick", action="store_true",
                        help="Kafka Connect with scheduled.rebalance.max.delay.ms = 0")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="default BUILD/beside_connect.json")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR")
    parser.add_argument("--broker", type=pathlib.Path, metavar="FILE",
                        help="of a running `kafka_fixture start FILE`; default: one of its own")
    options = parser.parse_args()
    unknown = [scene for scene in options.scenes if scene not in SCENES]
    if unknown:
        parser.error(f"unknown scenes: {' '.join(unknown)}; there are: {' '.join(SCENES)}")
    options.json = options.json or options.build / "beside_connect.json"
    return options


def connect_name(options):
    return f"{CONNECT}, rebalance delay 0" if options.quick else f"{CONNECT}, defaults"


def end_whole_by_signal():
    """What runs is killed and what was written is removed also then; a second signal does not
    disturb that."""

    def leave(number, _):
        for each in ENDINGS:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in ENDINGS:
        signal.signal(each, leave)


def main():
    options = arguments()
    end_whole_by_signal()
    about = machine() | {"connect": connect_name(options), "quick": options.quick}
    say("  ".join(f"{name} {value}" for name, value in about.items()))
    scenes = {}
    with tempfile.TemporaryDirectory() as folder:
        with broker_of(options, pathlib.Path(folder)) as bootstrap:
            bench = Bench(options, bootstrap, pathlib.Path(folder))
            for name in options.scenes or SCENES:
                title, sides = SCENES[name]
                texts, told = measure(name, sides, bench)
                say(f"\n{name}: {title}\n{table(merged(texts), connect_name(options))}")
                scenes[name] = {"texts": texts, "figures": told}
    options.json.write_text(json.dumps({"about": about, "scenes": scenes}, indent=1) + "\n")
    say(f"\nevery figure: {options.json}")
    return 1 if any("error" in side for scene in scenes.values()
                    for side in scene["figures"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
