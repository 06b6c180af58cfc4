"""A PostgreSQL server of the tests' own: made in a temporary folder, reached over a socket, gone at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_DEBIAN = Path("/usr/lib/postgresql")
_SETTINGS = {
    "listen_addresses": "",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # A purge is checked in the server's files too: used logs are removed, not renamed and kept.
    "wal_recycle": "off",
    "min_wal_size": "32MB",
    "max_wal_size": "1GB",
    "shared_buffers": "256MB",
}


def postgres_programs() -> Path | None:
    """The folder of `initdb` and `postgres`, or `None` when PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


class Server:
    """A running server: `url` names its database, `data` is its folder."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.programs = programs

    @property
    def url(self) -> str:
        return self.database("postgres")

    def database(self, name: str) -> str:
        """The address of a database, by name."""
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def create_database(self, name: str) -> str:
        """Make an empty database and give its address."""
        self._run(["psql", "-h", str(self.folder), "-U", "postgres", "-qc", f'CREATE DATABASE "{name}"'])
        return self.database(name)

    def start(self) -> None:
        self._run(["initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"])
        options = " ".join(f"-c {name}={value or chr(39) * 2}" for name, value in _SETTINGS.items())
        log = str(self.folder / "log")
        self._run(["pg_ctl", "-D", str(self.data), "-l", log, "-w", "-o", f"-k {self.folder} {options}", "start"])

    def stop(self) -> None:
        self._run(["pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop"])

    def _run(self, command: Sequence[str]) -> None:
        program = [str(self.programs / command[0]), *command[1:]]
        if os.geteuid() == 0:  # the server refuses to run as root
            program = ["runuser", "-u", "postgres", "--", *program]
        done = subprocess.run(program, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"


@contextmanager
def running_server() -> Iterator[Server]:
    """A server for the time of the block."""
    programs = postgres_programs()
    assert programs is not None, "PostgreSQL is not installed"
    folder = Path(tempfile.mkdtemp(prefix="referee-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    server = Server(folder, programs)
    try:
        server.start()
        yield server
    finally:
        if (server.data / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
