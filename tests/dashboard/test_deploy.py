"""Alerts, Grafana's dashboard and the image: what they name is there, and alerts speak when they should."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # comes with moto
from tools.image import read_image

from .visitor import Visitor

HOME = Path(__file__).parents[2]
RULES = HOME / "deploy" / "prometheus" / "lycosa.rules.yml"
GRAFANA = HOME / "deploy" / "grafana" / "lycosa.json"
PROMTOOL = shutil.which("promtool")
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
