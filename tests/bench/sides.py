"""The sides of the bars: how each one is started, and what its figures mean.

Every side returns a dictionary: `rate` (records/s), `cpu` (us of CPU per record, all its processes)
and what else it knows. All are on the machine of the broker.
"""

import json
import pathlib
import time

from processes import SideFailed, Watched, cpu_s, rss_bytes, run_json

PARTITIONS = 8
RECORD_BYTES = 200
RUN_LIMIT_S = 300
# What helps bare librdkafka 2.0.2 against its stall: a prefetch queue that holds more than a second
# of records (facts 4.2). A small one is faster for a moment, then stands still.
TUNED = ("queued.min.messages=1000000", "queued.max.messages.kbytes=262144")
# As bin/connect-standalone.sh starts it.
CONNECT_JVM = (
    "-Xms256M -Xmx2G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20"
    " -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"
    " -Djava.awt.headless=true"
).split()
CONNECT_COMMIT_MS = 500
CONNECT_TASKS = 2
START_LIMIT_S = 30


class Sides:
    """`scratch` is for what sinks write, `folder` for logs and state."""

    def __init__(self, bin_folder, kafka_libs, bootstrap, folder, scratch, scale=1.0):
        self.bin = bin_folder
        self.kafka_libs = kafka_libs
        self.bootstrap = bootstrap
        self.folder = folder
        self.scratch = scratch
        self.scale = scale
        self.runs = 0

    def scaled(self, number, least):
        """So many kills, or seconds, of what the protocol says."""
        return max(least, round(number * self.scale))

    def fill(self, topic, records, partitions=PARTITIONS, run=1):
        command = [self.bin / "bench_produce", "--bootstrap", self.bootstrap, "--topic", topic]
        command += ["--records", records, "--size", RECORD_BYTES, "--partitions", partitions]
        command += ["--run", run]
        with Watched(command, self.folder / "produce.log") as produce:
            produce.wait(RUN_LIMIT_S)

    def raw(self, topics, readers=1, work_ns=0, settings=(), base="--default",
            partitions=PARTITIONS):
        """Bare librdkafka with its default configuration (without `base`: the worker's) and
        `settings`; without `partitions` one reader has all there are. CPU and time from the
        assignment to the last record; the process's start and its metadata are not in it."""
        commands = []
        for reader in range(readers):
            command = [self.bin / "bench_raw_reader", "--bootstrap", self.bootstrap]
            command += ["--work-ns", work_ns, *([base] if base else [])]
            for topic in names_of(topics):
                command += ["--topic", topic]
            for setting in settings:
                command += ["--set", setting]
            for partition in range(reader, partitions or 0, readers):
                command += ["--partition", partition]
            commands.append(command)
        ran = run_json(commands, self.folder, RUN_LIMIT_S)
        lines = [line for line, _ in ran]
        records = sum(line["records"] for line in lines)
        cpu_us = sum(line["records"] * line["cpu_us_per_record"] for line in lines)
        return {
            "rate": records / max(line["seconds"] for line in lines),
            "cpu": cpu_us / records,
            "records": records,
            "stalls": sum(line["stalls"] for line in lines),
            "rss_mb": sum(watched.rss_peak_bytes for _, watched in ran) / 1e6,
        }

    def product(self, topics, workers=1, work_ns=0, slice_records=10_000, sink="null",
                assignment="sticky"):
        """A host with its workers, a once job. Time from the last worker's READY to the last DONE;
        CPU of host and workers over their whole lives; rss_mb their greatest sum."""
        command = [self.bin / "bench_product", "--bootstrap", self.bootstrap]
        command += ["--workers", workers, "--work-ns", work_ns, "--slice-records", slice_records]
        command += ["--assignment", assignment]
        for topic in names_of(topics):
            command += ["--topic", topic]
        out = self.scratch / "sluice.out"
        if sink == "file":
            command += ["--file", out]
        try:
            ((line, watched),) = run_json([command], self.folder, RUN_LIMIT_S)
            if sink == "file":
                wanted = line["records"] * (RECORD_BYTES + 1)
                if out.stat().st_size != wanted:
                    raise SideFailed(f"{out.stat().st_size} bytes in the file, not {wanted}")
        finally:
            out.unlink(missing_ok=True)
        return {
            "rate": line["records_per_second"],
            "cpu": line["cpu_us_per_record"],
            "cpu_with_start": watched.cpu_total_s() * 1e6 / line["records"],
            "records": line["records"],
            "slices": line["slices"],
            "host_cpu_us_per_slice": line["host_cpu_us_per_slice"],
            "running_loop_cpu_us_per_slice": line["running_loop_cpu_us_per_slice"],
            "running_host_cpu_us_per_slice": line["running_host_cpu_us_per_slice"],
            "running_host_cpu_share": line["running_host_cpu_share"],
            "start_s": line["seconds"] - line["seconds_from_first_open"],
            "rss_mb": watched.rss_peak_bytes / 1e6,
        }

    def micro(self, bench, only):
        """What a micro-benchmark says: its parts by name."""
        command = [self.bin / bench, f"--benchmark_filter={only}", "--benchmark_format=json"]
        with Watched(command, self.folder / f"{bench}.log") as run:
            told = json.loads(run.wait(RUN_LIMIT_S))
        return [each for each in told["benchmarks"] if each["run_type"] == "iteration"]

    def start_to_first_record(self, topic, state):
        """Seconds from starting `sluice run` to the first bytes in its file, with one new record to
        read and a state directory from the run before, if there was one."""
        self.fill(topic, 1, partitions=1)
        out = self.scratch / "start.out"
        job = self.folder / "start.toml"
        job.write_text(
            f'name = "{topic}"\nmode = "once"\ntopics = ["{topic}"]\ntasks.max = 1\n'
            f'connector.class = "file"\nformat = "raw"\nfile = "{out}"\n'
        )
        command = [self.bin / "sluice", "run", job, "--bootstrap-servers", self.bootstrap]
        try:
            with Watched([*command, "--state-dir", state], self.folder / "start.log") as run:
                while not out.exists() or out.stat().st_size == 0:
                    if time.monotonic() - run.started_s > START_LIMIT_S:
                        raise SideFailed(f"no record in {START_LIMIT_S} s: {run.tail()}")
                    time.sleep(0.0005)
                first_s = time.monotonic() - run.started_s
                run.wait(RUN_LIMIT_S)
        finally:
            out.unlink(missing_ok=True)
        return first_s

    def connect(self, topic):
        """Kafka Connect, standalone, FileStreamSink to /dev/null. It tells nobody its progress, so
        its group's committed offsets are watched: it commits every 500 ms, and between the first
        commit of every partition and the last one before the end lies what is measured. So its
        start, its first half second and its last one are in neither rate nor `cpu`; they are in
        cpu_with_start, the JVM's whole life over all records."""
        self.runs += 1
        name = f"bench-{self.runs}-{time.time_ns()}"
        worker, sink = self.folder / "connect.properties", self.folder / "sink.properties"
        converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
        worker.write_text(
            f"bootstrap.servers={self.bootstrap}\nkey.converter={converter}\n"
            f"value.converter={converter}\nlisteners=http://127.0.0.1:0\n"
            f"offset.storage.file.filename={self.folder / 'connect.offsets'}\n"
            f"offset.flush.interval.ms={CONNECT_COMMIT_MS}\n"
        )
        sink.write_text(
            f"name={name}\ntopics={topic}\ntasks.max={CONNECT_TASKS}\nfile=/dev/null\n"
            "connector.class=org.apache.kafka.connect.file.FileStreamSinkConnector\n"
        )
        command = ["java", *CONNECT_JVM, "-cp", self.kafka_libs / "*"]
        command += ["org.apache.kafka.connect.cli.ConnectStandalone", worker, sink]
        with Watched(command, self.folder / "connect.log", silent=True) as jvm:
            begin, last, end = self._watch_commits(jvm, topic, f"connect-{name}")
            rss_end = rss_bytes(jvm.pid)
        records = last["committed"] - begin["committed"]
        seconds = last["at_s"] - begin["at_s"]
        return {
            "rate": records / seconds,
            "cpu": (last["cpu_s"] - begin["cpu_s"]) * 1e6 / records,
            "cpu_with_start": end["cpu_s"] * 1e6 / end["committed"],
            "records": records,
            "rss_mb": rss_end / 1e6,
            "start_s": begin["first_at_s"] - jvm.started_s,
            "start_cpu_s": begin["cpu_s"],
        }

    def _watch_commits(self, jvm, topic, group):
        """The commits that matter: the first that has every partition, the last before the end, the
        end; each with the JVM's CPU time then."""
        command = [self.bin / "bench_group_watch", "--bootstrap", self.bootstrap]
        command += ["--topic", topic, "--group", group]
        points, first_at_s = [], None
        with Watched(command, self.folder / "watch.log") as watch:
            for line in watch.lines(RUN_LIMIT_S, goes_on=jvm.is_running):
                point = json.loads(line)
                first_at_s = first_at_s or point["at_s"]
                points.append({**point, "cpu_s": cpu_s(jvm.pid), "first_at_s": first_at_s})
        whole = [point for point in points if point["partitions"] == PARTITIONS]
        if len(whole) < 3 or whole[-1]["committed"] != whole[-1]["end"]:
            raise SideFailed(f"{len(whole)} commits seen, too few: {jvm.tail()}")
        return whole[0], whole[-2], whole[-1]


def names_of(topics):
    return [topics] if isinstance(topics, str) else topics


def scratch_root():
    """Where sinks write: in memory if there is such a place, so that no disk is measured."""
    memory = pathlib.Path("/dev/shm")
    return memory if memory.is_dir() else None
