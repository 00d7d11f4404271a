"""What is written from the code itself: `python -m lycosa.cli.reference docs`.

The pages of all settings and commands, and the keywords that an editor completes. A test compares them with what
stands in the tree, so they cannot fall behind.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

import lycosa.site_rules
from lycosa.cli.main import make_parser
from lycosa.settings import HELP, Settings, as_toml
from lycosa.site_rules import FIELD_HELP, LOGIN_HELP, RULE_HELP, Field, Login, SiteRules

KEYWORDS = Path(__file__).parents[1] / "keywords.py"

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    SiteRules: "a table of rules",
    Field: "a table",
    Login: "a table (see below)",
}


class Setting(NamedTuple):
    """One setting as people read of it."""

    name: str
    takes: str
    default: str
    help: str


def known_settings() -> list[Setting]:
    """All settings, in the order of the code."""
    lines = [line.partition(" = ") for line in as_toml(Settings()).splitlines() if line and not line.startswith("#")]
    defaults = {name: value for name, _, value in lines} | {"site": "{}"}
    return [Setting(name, _takes(hint), defaults[name], HELP[name]) for name, hint in get_type_hints(Settings).items()]


def known_rules() -> list[Setting]:
    """All that can be said of a single site."""
    return _of_struct(SiteRules, RULE_HELP)


def known_field_keys() -> list[Setting]:
    """All that can be said of a field of its records."""
    return _of_struct(Field, FIELD_HELP)


def known_login_keys() -> list[Setting]:
    """What can be said of how to log in."""
    return _of_struct(Login, LOGIN_HELP)


def _of_struct(struct: type[msgspec.Struct], help_: dict[str, str]) -> list[Setting]:
    hints = get_type_hints(struct, vars(lycosa.site_rules))
    names = {field.name: field.encode_name for field in msgspec.structs.fields(struct)}
    return [Setting(names[name], _takes(hint), "", help_[name]) for name, hint in hints.items()]


def settings_markdown() -> str:
    """The page of all settings."""
    rows = [f"| `{each.name}` | {each.takes} | `{each.default}` | {_cell(each.help)} |" for each in known_settings()]
    return "\n".join(
        [
            "# Settings",
            "",
            "Written from the code by `make docs`. Set them with `--set name=value`, in a TOML file given with `-c`,",
            "or as keywords of `lycosa.Crawler`. A crawl keeps those in force in its folder as `lycosa.toml`.",
            "Durations are in seconds, sizes in bytes. Unknown names and impossible values are refused.",
            "",
            "| setting | takes | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
            "## Rules of a site",
            "",
            'Each in a table of its own, such as `[site."example.com"]`; see [how to](how-to/site-rules.md).',
            "",
            *_table("rule", known_rules()),
            "",
            "## Login",
            "",
            "The table `login` of a site; see [how to](how-to/logins.md).",
            "",
            *_table("key", known_login_keys()),
            "",
            "## Fields of a site's records",
            "",
            "A text alone is the CSS selector.",
            "",
            *_table("key", known_field_keys()),
            "",
        ]
    )


def _table(what: str, known: list[Setting]) -> list[str]:
    rows = [f"| `{each.name}` | {each.takes} | {_cell(each.help)} |" for each in known]
    return [f"| {what} | takes | meaning |", "|---|---|---|", *rows]


def keywords_module() -> str:
    """The module of `SettingsKeywords`: what `lycosa.Crawler` takes besides its seeds."""
    hints = get_type_hints(Settings)
    return "\n".join(
        [
            '"""The settings as keywords, for editors and type checkers. Written from `settings.py` by `make docs`."""',
            "",
            "from typing import Literal, TypedDict",
            "",
            "from lycosa.site_rules import SiteRules",
            "",
            "",
            "class SettingsKeywords(TypedDict, total=False):",
            '    """Every setting but the seeds, which a crawler takes by themselves."""',
            "",
            *(f"    {name}: {_spelt(hint)}" for name, hint in hints.items() if name != "seeds"),
            "",
        ]
    )


def commands_markdown() -> str:
    """The page of all commands."""
    parser = make_parser()
    lines = ["# Commands", "", "Written from the code by `make docs`; `lycosa COMMAND --help` says the same.", ""]
    lines += ["| command | what it does |", "|---|---|"]
    commands = dict(_subcommands(parser))
    lines += [f"| [`lycosa {name}`](#lycosa-{name}) | {_cell(help_)} |" for name, (help_, _) in commands.items()]
    for name, (_, command) in commands.items():
        lines += ["", f"## lycosa {name}", "", *_command_lines(command)]
    return "\n".join([*lines, ""])


def _command_lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from _text_lines(parser.description or "")
    # Not argparse's own help: its layout differs from one Python to the next, and from one screen to the next.
    rows = [row for action in parser._actions if (row := _action_row(action))]
    if rows:
        yield from ["", "| option | meaning |", "|---|---|", *rows]
    if parser.epilog:
        yield from ["", "```text", *parser.epilog.rstrip().splitlines(), "```"]
    for name, (help_, action) in _subcommands(parser):
        yield from ["", f"### {parser.prog} {name}", "", help_[0].upper() + help_[1:] + "."]
        # An action that repeats its command's options has no defaults of its own for them.
        own = [row for each in action._actions if (row := _action_row(each)) and each.default is not argparse.SUPPRESS]
        if own:
            yield from ["", "| option | meaning |", "|---|---|", *own]


def _text_lines(text: str) -> Iterator[str]:
    if "\n" not in text:
        yield text
    else:
        yield from ["```text", *text.splitlines(), "```"]


def _action_row(action: argparse.Action) -> str:
    if isinstance(action, (argparse._SubParsersAction, argparse._HelpAction)):
        return ""
    value = action.metavar if isinstance(action.metavar, str) else ""
    if action.choices is not None:
        value = "|".join(map(str, action.choices))
    names = ", ".join(action.option_strings)
    shown = f"{names} {value}".strip() if action.nargs != 0 else names
    return f"| `{_cell(shown)}` | {_cell(action.help or '')} |"


def _subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, argparse.ArgumentParser]]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, (helps.get(name, ""), command)


def _takes(annotation: Any) -> str:
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        choices = [each for each in get_args(annotation) if each is not NoneType]
        return " or ".join(map(_takes, choices))
    if get_origin(annotation) is Annotated:
        return _takes(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(annotation))
    if get_origin(annotation) in (list, tuple):
        return f"a list, each {_takes(get_args(annotation)[0])}"
    if get_origin(annotation) is dict:
        return f"a table, for each name {_takes(get_args(annotation)[1])}"
    return _WORDS[annotation]


def _spelt(annotation: Any) -> str:
    spelt = annotation.__name__ if annotation in _WORDS else repr(annotation)
    return spelt.replace("typing.", "").replace("'", '"').replace("lycosa.site_rules.", "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(folder: Path) -> None:
    """Write the pages into the folder, and the keywords beside the settings."""
    (folder / "commands.md").write_text(commands_markdown(), encoding="utf-8")
    (folder / "settings.md").write_text(settings_markdown(), encoding="utf-8")
    KEYWORDS.write_text(keywords_module(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
