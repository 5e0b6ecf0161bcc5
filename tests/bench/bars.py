#!/usr/bin/env python3
"""The bars of a read at full speed, on a real broker: the whole product beside bare librdkafka.

usage: bars.py [--build DIR] [--pairs N] [--records N] [--bootstrap HOST:PORT --topic NAME]

Without --bootstrap it starts a broker of its own (kafka_fixture) and fills a topic of 8 partitions
with records of 200 bytes. Each bar is measured in pairs, A and B in turn; a pair gives a ratio, and
the median of the ratios is judged: pass or fail, or noisy where the quartiles are more than 10 % of
the median apart. Python's standard library only; nothing runs this in CI.

  P1  records/s  product with 1 worker / one raw reader                       >= 0.90
  P1w records/s  product with 2 workers / two raw readers                     >= 0.90
  P2  records/s  product / raw reader, both with 1.5 us of work a record      >= 2.5
  P4  CPU/record product, host and worker / one raw reader                    <= 1.15

The raw readers have librdkafka's default settings, their best: with the worker's small queue and
without its nudge they stand still for a second now and then (ipc facts 4.2), and any ratio is easy.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

PARTITIONS = 8
RECORD_BYTES = 200
WORK_NS = 1500
NOISE = 0.10


def run_json(commands):
    """Starts all commands at once; the parsed last line of each one's output."""
    started = [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in commands]
    lines = []
    for process in started:
        out, _ = process.communicate(timeout=600)
        if process.returncode != 0:
            sys.exit(f"bars: {process.args[0]} failed with {process.returncode}")
        lines.append(json.loads(out.strip().splitlines()[-1]))
    return lines


class Bench:
    def __init__(self, bin_folder, bootstrap, topic):
        self.bin = bin_folder
        self.where = ["--bootstrap", bootstrap, "--topic", topic]

    def raw(self, readers=1, more=()):
        commands = []
        for reader in range(readers):
            command = [str(self.bin / "bench_raw_reader"), *self.where, "--default", *more]
            for partition in range(reader, PARTITIONS, readers):
                command += ["--partition", str(partition)]
            commands.append(command)
        lines = run_json(commands)
        records = sum(line["records"] for line in lines)
        cpu_us = sum(line["records"] * line["cpu_us_per_record"] for line in lines)
        return {"rate": records / max(line["seconds"] for line in lines), "cpu": cpu_us / records}

    def product(self, workers=1, work_ns=0):
        command = [str(self.bin / "bench_product"), *self.where, "--workers", str(workers)]
        (line,) = run_json([command + ["--work-ns", str(work_ns)]])
        return {"rate": line["records_per_second"], "cpu": line["cpu_us_per_record"]}


def judge(name, ratios, bar, better):
    low, median, high = statistics.quantiles(ratios, n=4)
    good = median >= bar if better == ">=" else median <= bar
    verdict = "noisy" if high - low > NOISE * median else "pass" if good else "fail"
    if verdict == "noisy":
        verdict += ", pass" if good else ", fail"
    spread = f"[{low:.3f}, {high:.3f}]"
    print(f"{name:4} {median:6.3f}  {spread}  bar {better} {bar}  {verdict}", flush=True)
    return {"name": name, "ratios": ratios, "median": median, "bar": bar, "verdict": verdict}


def pairs(count, a, b):
    """[(a, b)] with the order of each pair turned round, so that a drift favours nobody."""
    result = []
    for index in range(count):
        if index % 2 == 0:
            first, second = a(), b()
        else:
            second, first = b(), a()
        result.append((first, second))
    return result


def measure(bench, count):
    one = pairs(count, bench.product, bench.raw)
    rows = [judge("P1", [a["rate"] / b["rate"] for a, b in one], 0.90, ">=")]
    rows.append(judge("P4", [a["cpu"] / b["cpu"] for a, b in one], 1.15, "<="))
    two = pairs(count, lambda: bench.product(workers=2), lambda: bench.raw(readers=2))
    rows.append(judge("P1w", [a["rate"] / b["rate"] for a, b in two], 0.90, ">="))
    burn = ["--work-ns", str(WORK_NS)]
    work = pairs(count, lambda: bench.product(work_ns=WORK_NS), lambda: bench.raw(more=burn))
    rows.append(judge("P2", [a["rate"] / b["rate"] for a, b in work], 2.5, ">="))
    sides = {
        "product_records_per_second": statistics.median(a["rate"] for a, _ in one),
        "raw_records_per_second": statistics.median(b["rate"] for _, b in one),
        "product_cpu_us_per_record": statistics.median(a["cpu"] for a, _ in one),
        "raw_cpu_us_per_record": statistics.median(b["cpu"] for _, b in one),
        "product_2_workers_records_per_second": statistics.median(a["rate"] for a, _ in two),
        "product_work_records_per_second": statistics.median(a["rate"] for a, _ in work),
        "raw_work_records_per_second": statistics.median(b["rate"] for _, b in work),
    }
    for name, value in sides.items():
        print(f"     {name} {value:,.3f}")
    return {"bars": rows, "medians": sides}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--pairs", default=7, type=int)
    parser.add_argument("--records", default=5_000_000, type=int)
    parser.add_argument("--bootstrap")
    parser.add_argument("--topic", default="bench")
    options = parser.parse_args()
    bin_folder = options.build / "bin"
    if options.bootstrap:
        result = measure(Bench(bin_folder, options.bootstrap, options.topic), options.pairs)
    else:
        with tempfile.TemporaryDirectory() as folder:
            broker = str(pathlib.Path(folder) / "broker")
            subprocess.run([bin_folder / "kafka_fixture", "start", broker], check=True)
            try:
                bootstrap = pathlib.Path(broker).read_text().splitlines()[0]
                fill = [bin_folder / "bench_produce", "--bootstrap", bootstrap]
                fill += ["--topic", options.topic, "--records", str(options.records)]
                fill += ["--size", str(RECORD_BYTES), "--partitions", str(PARTITIONS)]
                subprocess.run(fill, check=True)
                result = measure(Bench(bin_folder, bootstrap, options.topic), options.pairs)
            finally:
                subprocess.run([bin_folder / "kafka_fixture", "stop", broker], check=False)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
