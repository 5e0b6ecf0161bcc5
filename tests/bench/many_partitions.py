"""P12: the same records in 10, 100, 1,000 and 10,000 partitions."""

import math
import time

from judging import Bar, medians, rounds
from live_job import LiveJob
from processes import cpu_of_threads_s, rss_bytes, run_json
from sides import RUN_LIMIT_S

COUNTS = (10, 100, 1_000, 10_000)
MOST = COUNTS[-1]
IDLE_S, IDLE_SHORT_S = 60, 20
SETTLE_S = 5
POLL_ROUND_S = 2  # the host asks for an idle partition's end so often (slicer.md C2)
ROUNDS_BELOW = 3  # of the smaller counts, which no bar is about

P12 = Bar("P12", f"records/s with {MOST:,} partitions: Sluice, 1 worker / raw librdkafka", 0.70,
          ">=")
P12M = Bar("P12m", f"bytes of the host's memory for each of {MOST:,} partitions", 2_048, "<=",
           "bytes", False)
P12I = Bar("P12i", f"% of a core that the host uses with {MOST:,} idle partitions", 5, "<=", "%",
           False)
P12S = Bar("P12s", "log-log slope of the host's CPU per poll round, 1,000 to 10,000 partitions",
           1.15, "<=", "", False)


def idle(sides, topics, seconds):
    """A job that has read everything and has nothing to do: what its host and its worker use."""
    with LiveJob(sides, "idle", topics, {"tasks.max": 1}, stamps=False) as job:
        group = f"connect-{job.name}"
        for topic in topics:
            command = [sides.bin / "bench_group_watch", "--bootstrap", sides.bootstrap]
            command += ["--topic", topic, "--group", group, "--period-ms", 500]
            run_json([command], sides.folder, RUN_LIMIT_S)
        time.sleep(SETTLE_S)
        worker = job.workers()[0]
        before_s, worker_before_s = cpu_of_threads_s(job.host.pid), cpu_of_threads_s(worker)
        time.sleep(seconds)
        used_s = cpu_of_threads_s(job.host.pid) - before_s
        worker_used_s = cpu_of_threads_s(worker) - worker_before_s
        figures = {
            "host_rss_mb": rss_bytes(job.host.pid) / 1e6,
            "host_idle_percent": 100 * used_s / seconds,
            "host_us_per_poll_round": 1e6 * used_s / (seconds / POLL_ROUND_S),
            "worker_rss_mb": rss_bytes(worker) / 1e6,
            "worker_idle_percent": 100 * worker_used_s / seconds,
        }
        job.stop()
    return figures


def many_partitions(sides, topics, count):
    all_rounds, idle_of = [], {}
    for partitions in COUNTS:
        names = topics.of_partitions(partitions)
        ours, raw = f"Sluice, {partitions:,} partitions", f"raw, {partitions:,} partitions"
        wanted = count if partitions == MOST else min(count, ROUNDS_BELOW)
        measured = rounds(wanted, {
            ours: lambda names=names: sides.product(names),
            raw: lambda names=names: sides.raw(names, partitions=None),
        })
        seconds = sides.scaled(IDLE_S if partitions == MOST else IDLE_SHORT_S, least=4)
        idle_of[partitions] = idle(sides, names, seconds)
        all_rounds.append({**medians(measured), f"idle, {partitions:,} partitions":
                           idle_of[partitions]})
        last = [each[ours]["rate"] / each[raw]["rate"] for each in measured]
    per_round = {n: idle_of[n]["host_us_per_poll_round"] for n in COUNTS}
    memory = (idle_of[MOST]["host_rss_mb"] - idle_of[COUNTS[0]]["host_rss_mb"]) * 1e6
    return {
        P12: last,
        P12M: [memory / (MOST - COUNTS[0])],
        P12I: [idle_of[MOST]["host_idle_percent"]],
        P12S: [math.log10(per_round[MOST] / per_round[MOST // 10])],
    }, [{side: figures for each in all_rounds for side, figures in each.items()}]
