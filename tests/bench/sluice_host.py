"""`sluice host` with a folder of jobs, as a service runs it: started, asked, ended."""

import contextlib
import json
import pathlib
import subprocess
import time

from processes import SideFailed, Watched
from streams import BOUND

START_LIMIT_S = 60
ASK_LIMIT_S = 10
LOOK_S = 0.1


class SluiceHost:
    """`jobs`: {name: lines of its file}."""

    def __init__(self, bin_folder, bootstrap, folder, jobs):
        self._sluice = bin_folder / "sluice"
        self._socket = folder / "sluice.sock"
        jobs_folder = folder / "jobs.d"
        jobs_folder.mkdir()
        for name, lines in jobs.items():
            text = "\n".join([f'name = "{name}"', *lines]) + "\n"
            (jobs_folder / f"{name}.toml").write_text(text)
        config = folder / "sluice.toml"
        config.write_text(
            f'state.dir = "{folder / "state"}"\njobs.dir = "{jobs_folder}"\n'
            f'rest.listen = ["unix:{self._socket}"]\n'
            f'[kafka]\n"bootstrap.servers" = "{bootstrap}"\n'
        )
        command = [*BOUND, self._sluice, "host", "--config", config]
        self.process = Watched(command, folder / "sluice.log", silent=True)

    def show(self, job):
        """`sluice job show JOB --json`; {} where it does not answer."""
        command = [self._sluice, "job", "show", job, "--json", "--url", f"unix:{self._socket}"]
        with contextlib.suppress(ValueError, subprocess.TimeoutExpired):
            asked = subprocess.run(command, capture_output=True, text=True, check=False,
                                   timeout=ASK_LIMIT_S)
            return json.loads(asked.stdout) if asked.returncode == 0 else {}
        return {}

    def pids(self, job):
        """Of its workers that live, by slot."""
        return {worker["slot"]: worker["pid"] for worker in self.show(job).get("workers", [])
                if worker["pid"] > 0}

    def losses(self, cause):
        """How many workers were lost by it, as the log tells. `worker_restarts` counts those too
        that are renewed as planned."""
        return self.process.log.read_text(errors="replace").count(f"; cause {cause}, ")

    def await_running(self, jobs):
        give_up = time.monotonic() + START_LIMIT_S
        for job in jobs:
            while True:
                shown = self.show(job)
                if shown.get("state") == "RUNNING" and shown["workers_up"] == shown["tasks"]:
                    break
                if time.monotonic() > give_up or not self.process.is_running():
                    raise SideFailed(f"sluice host: {job}: not running: {self.process.tail()}")
                time.sleep(LOOK_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.__exit__()


def file_job(topic, file, tasks=1):
    return [f'topics = ["{topic}"]', 'connector.class = "file"', 'format = "raw"',
            f'file = "{pathlib.Path(file)}"', f"tasks.max = {tasks}"]


def fault_job(topic, file, more=()):
    return [f'topics = ["{topic}"]', 'connector.class = "fault"', f'file = "{file}"',
            'errors.tolerance = "all"', *more]
