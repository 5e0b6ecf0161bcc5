"""P7, P8, P9: workers that are killed or lock up while a job runs, measured from outside."""

import collections
import os
import signal
import time

from judging import Bar, rounds
from live_job import HANGS, LiveJob, progress_of
from processes import Watched

TAIL_PARTITIONS = 4
TAIL_RECORDS_PER_S = 4_000
TAIL_WORKERS = 4

KILLS = 100
WARM_UP_KILLS = 36  # a broker that is not compiled yet stands still for 100 to 500 ms now and then
LOSSES_PER_SLOT = 3  # a slot's back-off doubles with every loss: 0.2, 0.4, 0.8 s
LOCKUPS = 20
LOCKUPS_PER_LIFE = 4
CALL_TIMEOUT_MS = 1_000

STEADY_S = 60
KILL_EVERY_S = 5
STEADY_WORKERS = 4
STEADY_PAIRS = 3
SPARE = 1.2  # of records, so that none of the rates ends at the end of the log

P7 = Bar("P7", "ms from SIGKILL of a worker to its partitions at work elsewhere, p50", 40, "<=",
         "ms", False)
P7Q = Bar("P7q", "the same, p90", 150, "<=", "ms", False, percentile=90)
P8 = Bar("P8", "ms from a lock-up's deadline to its partition at work elsewhere, median", 250, "<=",
         "ms", False)
P8M = Bar("P8m", "the same, the longest", 1_000, "<=", "ms", False, percentile=100)
P9 = Bar("P9", f"records/s with one of {STEADY_WORKERS} workers killed every {KILL_EVERY_S} s /"
         " without", 0.85, ">=")
P9L = Bar("P9l", "records lost or skipped while workers are killed", 0, "<=", "records", False,
          percentile=100)


class Tail:
    """A topic that grows evenly as long as the `with` lasts."""

    def __init__(self, sides, name):
        self.topic = f"bench-{name}-{os.getpid()}-{time.time_ns()}"
        sides.fill(self.topic, TAIL_PARTITIONS, partitions=TAIL_PARTITIONS)
        command = [sides.bin / "bench_produce", "--bootstrap", sides.bootstrap]
        command += ["--topic", self.topic, "--partitions", TAIL_PARTITIONS, "--size", 200]
        command += ["--rate", TAIL_RECORDS_PER_S, "--records", 1_000_000_000]
        self._producer = Watched(command, sides.folder / f"{name}-produce.log")

    def __enter__(self):
        return self.topic

    def __exit__(self, *_):
        self._producer.__exit__()


def kill_one(job, losses):
    """Kills a worker that has work, of the slot that was killed least; ms until the last of its
    partitions had a record processed by another process."""
    owners, busy = {}, []

    def look():
        """On a busy machine the log may stand still for a moment, and nobody has work."""
        nonlocal owners, busy
        owners = job.owners()
        slot_of = {pid: slot for slot, pid in job.workers().items()}
        busy = sorted((losses.get(slot_of[pid], 0), slot_of[pid], pid)
                      for pid in set(owners.values()) if pid in slot_of)
        return busy

    job.wait_for("a worker has work", look)
    _, slot, pid = busy[0]
    partitions = {partition for partition, owner in owners.items() if owner == pid}
    killed_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGKILL)
    losses[slot] = losses.get(slot, 0) + 1
    resumed = job.first_elsewhere_ns(partitions, pid, killed_ns)
    return (max(resumed.values()) - killed_ns) / 1e6


def kills_ms(sides, kills):
    """One figure for each kill. Each life of the job sees so many that no slot's back-off grows
    beyond a second; the workers that are left take over, no standby."""
    took_ms = []
    with Tail(sides, "kills") as topic:
        while len(took_ms) < kills:
            with LiveJob(sides, "kills", [topic], {"tasks.max": TAIL_WORKERS}) as job:
                job.await_running(TAIL_WORKERS, TAIL_PARTITIONS)
                losses = {}
                for _ in range(min(TAIL_WORKERS * LOSSES_PER_SLOT, kills - len(took_ms))):
                    took_ms.append(kill_one(job, losses))
                    job.await_workers(TAIL_WORKERS)
    return took_ms


def killed(sides, topics, count):
    warm_up = sides.scaled(WARM_UP_KILLS, least=0)
    took_ms = kills_ms(sides, warm_up + sides.scaled(KILLS, least=10))[warm_up:]
    return {P7: took_ms, P7Q: took_ms}, [{"kills": {"ms": each}} for each in took_ms]


def lock_one_up(job, workers):
    """ms from the deadline of a put that hangs to its partition's next record elsewhere."""
    before = len(job.stamps())
    job.hang_file.touch()
    job.wait_for("a put hangs", lambda: any(each.kind == HANGS for each in job.stamps()[before:]))
    hung = next(each for each in job.stamps()[before:] if each.kind == HANGS)
    resumed = job.first_elsewhere_ns({hung.partition}, hung.pid, hung.at_ns)
    job.await_workers(workers)
    return (resumed[hung.partition] - hung.at_ns) / 1e6 - CALL_TIMEOUT_MS


def locked_up(sides, topics, count):
    """With one standby: the slice that hung is a suspect, which moves to no worker that owns
    others."""
    wanted, late_ms = sides.scaled(LOCKUPS, least=3), []
    keys = {"tasks.max": 2, "worker.standby": 1, "task.call.timeout.ms": CALL_TIMEOUT_MS}
    with Tail(sides, "lockups") as topic:
        while len(late_ms) < wanted:
            with LiveJob(sides, "lockups", [topic], keys) as job:
                job.await_running(3, TAIL_PARTITIONS)
                for _ in range(min(LOCKUPS_PER_LIFE, wanted - len(late_ms))):
                    late_ms.append(lock_one_up(job, 3))
    return {P8: late_ms, P8M: late_ms}, [{"lock-ups": {"late_ms": each}} for each in late_ms]


def steady(sides, topic, records, seconds, kill):
    """Rate of new records over so many seconds, all workers at work when they begin; and what of
    the log below the last frontier nobody processed."""
    # So much work for a record that the log lasts: all cores at it for all of the time.
    work_ns = int(os.cpu_count() * seconds * SPARE * 1e9 / records)
    keys = {"tasks.max": STEADY_WORKERS, "work.ns": work_ns}
    with LiveJob(sides, "steady", [topic], keys) as job:
        job.await_running(STEADY_WORKERS, STEADY_WORKERS)
        begin_s, kills = time.monotonic(), collections.Counter()
        next_kill_s = begin_s + KILL_EVERY_S / 2
        while (now_s := time.monotonic()) < begin_s + seconds:
            if kill and now_s >= next_kill_s:
                # Nobody waits for the hand-over: the next kill and the end come when they come.
                next_kill_s += KILL_EVERY_S
                living = job.workers()
                slot = min(living, key=lambda each: (kills[each], each))
                os.kill(living[slot], signal.SIGKILL)
                kills[slot] += 1
            time.sleep(min(0.05, begin_s + seconds - now_s))
        end_s = time.monotonic()
        told = job.stop()
        new, holes, reached = progress_of(job.stamps(), begin_s * 1e9, end_s * 1e9)
    missing = sum(end - start for _, start, end in holes)
    missing += sum(max(0, each["offset"] - reached.get(each["partition"], 0))
                   for each in told["frontiers"])
    figures = {"rate": new / (end_s - begin_s), "lost": missing + told["records_skipped"],
               "parked": told["slices_parked"], "restarts": told["worker_restarts"]}
    return figures | {"kills": sum(kills.values())}


def killed_steadily(sides, topics, count):
    seconds = sides.scaled(STEADY_S, least=2 * KILL_EVERY_S)
    topic, records = topics.main, topics.main_records
    without, with_kills = "nobody killed", f"one killed every {KILL_EVERY_S} s"
    measured = rounds(min(count, STEADY_PAIRS), {
        without: lambda: steady(sides, topic, records, seconds, kill=False),
        with_kills: lambda: steady(sides, topic, records, seconds, kill=True),
    })
    return {
        P9: [each[with_kills]["rate"] / each[without]["rate"] for each in measured],
        P9L: [each[with_kills]["lost"] + each[with_kills]["parked"] for each in measured],
    }, measured
