"""The documentation as a site: it builds without a network and without a warning, and its reference is complete.

Needs the dependency group `docs`.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from documents import ROOT
from test_docs_complete import public_modules

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    isolated = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode == 0:
        command = [*isolated, *command]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_public_name_has_its_place_in_the_reference(site: Path) -> None:
    inventory = (site / "objects.inv").read_bytes()
    compressed = inventory.split(b"\n", 4)[4]
    known = {line.split(" ")[0] for line in zlib.decompress(compressed).decode().splitlines()}
    for module in public_modules():
        for name in importlib.import_module(module).__all__:
            if f"{module}.{name}" not in public_modules():
                assert f"{module}.{name}" in known, f"{module}.{name}"


def test_the_pages_ask_nothing_of_other_servers(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        found = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]*)"', text)
        assert not found, (page.name, found)
