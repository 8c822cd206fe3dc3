"""What the tests need besides Python: Java for Spark, a Postgres server of their own, and a browser.

    python -m scripts.services      install what is missing, or say what to install

A server started here listens on a private port of this machine only, keeps its data in a folder of its own and goes
away with the process that started it. TETRAODON_SKIP=postgres,spark,browser leaves some out, because you ask for it.
"""

from __future__ import annotations

import atexit
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SKIP = "TETRAODON_SKIP"
PACKAGES = {"postgres": "postgresql", "spark": "default-jre-headless", "browser": "chromium"}
PLACES = ("/usr/lib/postgresql", "/usr/local/lib/postgresql", "/usr/local/opt")


def skipped() -> set[str]:
    """What the user asked to leave out."""
    return {name.strip() for name in os.environ.get(SKIP, "").split(",") if name.strip()}


def postgres_programs() -> Path | None:
    """The folder of `initdb` and `postgres`, which distributions leave out of the path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = [folder for place in PLACES for folder in Path(place).glob("*/bin") if (folder / "initdb").exists()]
    return max(folders, key=lambda folder: folder.parent.name.rjust(20), default=None)


def java() -> bool:
    """Whether Spark will find Java."""
    home = os.environ.get("JAVA_HOME", "")
    return bool(shutil.which("java") or (home and Path(home, "bin", "java").exists()))


def chromium() -> str | None:
    """The program of the browser, as distributions call it."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def missing() -> list[str]:
    """What the tests need and cannot run yet."""
    found = {"postgres": postgres_programs() is not None, "spark": java(), "browser": chromium() is not None}
    return [name for name, there in found.items() if not there and name not in skipped()]


def install() -> None:
    """Install what is missing, where this user may; otherwise say what to install, and stop."""
    wanted = [PACKAGES[name] for name in missing()]
    if not wanted:
        return
    rights: list[str] | None = [] if os.geteuid() == 0 else None
    if rights is None and shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], check=False).returncode == 0:
        rights = ["sudo", "-n"]
    if shutil.which("apt-get") and rights is not None:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *wanted]):
            subprocess.run([*rights, "apt-get", *command], env=quiet, check=False, stdout=subprocess.DEVNULL)
    if still := missing():
        packages = " and ".join(PACKAGES[name] for name in still)
        raise SystemExit(
            f"The tests need {' and '.join(still)}. Fix: install {packages} (names as in Debian), "
            f"or leave them out with {SKIP}={','.join(still)}"
        )


BROWSER_FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
)
"""A browser that asks nothing of anybody. It opens our own pages only, so that it needs no sandbox."""


class Postgres:
    """A Postgres server for one run of the tests. `reader` may only read; `owner` may do everything. Only a
    `durable` one waits until what it keeps is on the disk.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self._durable = durable
        programs = postgres_programs()
        if programs is None:
            raise SystemExit("Postgres is not installed. Fix: python -m scripts.services")
        self._programs = programs
        self._home = Path(tempfile.mkdtemp(prefix="tetraodon-postgres-"))
        self._user = _unprivileged()
        self.passwords = {"owner": secrets.token_hex(8), "reader": secrets.token_hex(8)}
        self._process: subprocess.Popen[bytes] | None = None
        secret = self._home / "password"
        secret.write_text(self.passwords["owner"])
        if self._user:
            account = pwd.getpwnam(self._user["user"])
            for path in (self._home, secret):
                os.chown(path, account.pw_uid, account.pw_gid)
        self._run("initdb", "--pgdata", self._data, "--username=owner", "--auth=scram-sha-256", "--encoding=UTF8",
                  "--locale=C", "--no-sync", "--pwfile", str(secret))  # fmt: skip
        self.port = _free_port()
        self.start()

    @property
    def _data(self) -> str:
        return str(self._home / "data")

    def address(self, role: str = "reader", database: str = "postgres") -> str:
        """A URL with the password in it."""
        return f"postgresql://{role}:{self.passwords[role]}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server on its port and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self._home),
            "fsync": "on" if self._durable else "off",
            "timezone": "Asia/Kathmandu",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._programs / "postgres"), "-D", self._data, *options]
        with (self._home / "log").open("wb") as log:
            self._process = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **self._user)
        import psycopg

        for _ in range(300):
            if self._process.poll() is not None:
                raise RuntimeError(f"Postgres did not start:\n{(self._home / 'log').read_text()}")
            try:
                psycopg.connect(self.address("owner"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise RuntimeError("Postgres does not answer")

    def stop(self) -> None:
        """End the server at once, as a crash would for those connected."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        """End the server and remove its data."""
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments], cwd="/", check=True, stdout=subprocess.DEVNULL, **self._user
        )


def _unprivileged() -> dict[str, Any]:
    """Who runs the server: Postgres refuses the superuser of the machine."""
    if os.geteuid() != 0:
        return {}
    names = {account.pw_name for account in pwd.getpwall()}
    name = "postgres" if "postgres" in names else "nobody"
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spark_session(workers: int = 2, memory: int = 1024, **more: str) -> Any:
    """Spark in `local-cluster` mode: real executor processes of their own on this machine.

    `more` are settings, with two underscores for a point.
    """
    import pyspark
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="tetraodon-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_WORKER_DIR"] = f"{folder}/work"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": f"{folder}/local",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.memory": f"{memory}m",
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    builder = SparkSession.builder.appName("tetraodon").master(f"local-cluster[{workers},1,{memory}]")
    return builder.config(map=dict(settings)).getOrCreate()


if __name__ == "__main__":
    install()
    sys.exit(0)
