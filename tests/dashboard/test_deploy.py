"""Alerts, Grafana's dashboard and the image: what they name is there, and alerts speak when they should."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml  # type: ignore[import-untyped]  # comes with moto
from tools.image import read_image

from .visitor import Visitor

HOME = Path(__file__).parents[2]
RULES = HOME / "deploy" / "prometheus" / "lycosa.rules.yml"
GRAFANA = HOME / "deploy" / "grafana" / "lycosa.json"
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
CONCERNS = {"queue", "traps", "availability", "load", "caches", "database"}


def figures_of(visitor: Visitor) -> set[str]:
    """The names of all that `/metrics` can have, with the endings under which Prometheus keeps them."""
    kinds = re.findall(r"^# TYPE (\w+) (\w+)$", visitor.ask("/metrics").body, re.MULTILINE)
    endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}
    return {name + ending for name, kind in kinds for ending in endings.get(kind, [""])}


def expressions() -> list[str]:
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    panels = json.loads(GRAFANA.read_text())["panels"]
    targets = [target for panel in panels for target in panel.get("targets", [])]
    return [rule["expr"] for rule in rules] + [target["expr"] for target in targets]


def test_every_figure_that_is_asked_for_is_there(visitor: Visitor) -> None:
    asked = {name for each in expressions() for name in re.findall(r"\blycosa_\w+", each)}
    assert len(asked) > 20
    assert asked <= figures_of(visitor)


def test_each_concern_has_alerts() -> None:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    alerts = {
        group["name"].removeprefix("lycosa-"): [rule for rule in group["rules"] if "alert" in rule] for group in groups
    }
    assert alerts.keys() == CONCERNS
    assert all(rule["annotations"]["summary"] for rules in alerts.values() for rule in rules)
    assert all(alerts.values())


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool")
def test_alerts_speak_of_made_up_crawls_as_they_should() -> None:
    assert PROMTOOL
    rules = Path(__file__).with_name("alerts.yml")
    done = subprocess.run([PROMTOOL, "test", "rules", str(rules)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_is_made_of_files_that_are_there_and_not_left_out() -> None:
    image = read_image((HOME / "Dockerfile").read_text())
    kept = [line[1:] for line in (HOME / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in image.copied:
        assert (HOME / name).exists()
        assert any(fnmatch(name, pattern) for pattern in kept), f"{name} is left out by .dockerignore"
    # What the build reads, as its own file says.
    assert {"pyproject.toml", "MANIFEST.in", "LICENSE", "README.md", "src", "tools"} <= set(image.copied)
    assert image.entrypoint == "lycosa"


def test_the_commands_of_the_compose_file_are_commands() -> None:
    from lycosa.cli.main import make_parser

    services = yaml.safe_load((HOME / "compose.yaml").read_text())["services"]
    commands = [service["command"] for service in services.values() if "build" in service]
    assert [command[0] for command in commands] == ["crawl", "serve"]
    for command in commands:
        make_parser([command[0]]).parse_args(command)


@pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus")
def test_a_real_prometheus_reads_all_figures_by_our_files(visitor: Visitor, tmp_path: Path) -> None:
    for file in RULES.parent.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "token").write_text(visitor.token)
    config = tmp_path / "prometheus.yml"
    config.write_text(config.read_text().replace("127.0.0.1:8080", f"127.0.0.1:{visitor.port}").replace("15s", "1s"))
    with prometheus(config) as address:
        # Asked again and again: how soon it scrapes for the first time is its own affair.
        while not (found := ask(address, '{__name__=~"lycosa_.+"}')):
            assert ask(address, 'up{job="lycosa"} == 0') == [], "it came and could not read"
        assert {each["metric"]["__name__"] for each in found} >= {"lycosa_up", "lycosa_visits_total", "lycosa_info"}
        stored = next(each for each in found if each["metric"].get("outcome") == "stored")
        assert float(stored["value"][1]) > 0


@contextmanager
def prometheus(config: Path) -> Iterator[str]:
    """A server on a free port, which it tells when it listens."""
    assert PROMETHEUS
    place = [f"--config.file={config}", f"--storage.tsdb.path={config.parent / 'data'}"]
    command = [PROMETHEUS, *place, "--web.listen-address=127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr
            told = (re.search(r'msg="?[Ll]istening on"? address=(127[.\d]+:\d+)', line) for line in server.stderr)
            yield next(address[1] for address in told if address)
        finally:
            server.kill()


def ask(address: str, query: str) -> list[dict[str, Any]]:
    """What an instant query gives; nothing before the server is ready."""
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request("GET", f"/api/v1/query?{urlencode({'query': query})}")
        answer = connection.getresponse()
        found: list[dict[str, Any]] = json.loads(answer.read())["data"]["result"] if answer.status == 200 else []
        return found
    finally:
        connection.close()
