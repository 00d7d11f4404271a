from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest

from lycosa.cli.commands import COMMANDS
from lycosa.cli.main import main, make_parser
from lycosa.cli.reference import KEYWORDS, commands_markdown, keywords_module, known_settings, settings_markdown
from lycosa.keywords import SettingsKeywords
from lycosa.settings import HELP, Settings, from_values

from .world import lycosa

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("file", "write"),
    [
        (DOCS / "commands.md", commands_markdown),
        (DOCS / "settings.md", settings_markdown),
        (KEYWORDS, keywords_module),
    ],
)
def test_the_reference_says_what_the_code_does(file: Path, write: Callable[[], str]) -> None:
    assert file.read_text(encoding="utf-8") == write(), "run `make docs`"


def test_every_setting_but_the_seeds_is_a_keyword_of_its_type() -> None:
    settings = get_type_hints(Settings)
    assert settings.pop("seeds") == list[str]
    assert get_type_hints(SettingsKeywords) == settings
    assert not SettingsKeywords.__required_keys__


def test_every_setting_has_help() -> None:
    assert list(HELP) == [field.name for field in msgspec.structs.fields(Settings)]
    assert all(setting.help.endswith(".") for setting in known_settings())


def test_the_settings_as_toml_are_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--toml"]) == 0
    assert from_values(tomllib.loads(capsys.readouterr().out)) == Settings()


def test_settings_for_people_and_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"]) == 0
    assert "min_delay_seconds = 1.0\n    Shortest pause" in capsys.readouterr().out
    assert main(["settings", "--json"]) == 0
    assert len(msgspec.json.decode(capsys.readouterr().out)) == len(HELP)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert f"usage: lycosa {command}" in capsys.readouterr().out
    assert make_parser().prog == "lycosa"


def test_the_installed_command_runs_and_refuses() -> None:
    done = lycosa("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "lycosa")
    done = lycosa("nonsense")
    assert done.returncode == 2
    assert "nonsense" in done.stderr
