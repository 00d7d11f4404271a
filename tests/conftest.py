"""For all tests: whatever is drawn is the same in every run, and no clock decides whether a test passes."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .processes import NoProcesses, mark_by_lists
from .skips import NamedSkips

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
# For `make check`, which is run all the time.
settings.register_profile("quick", settings.get_profile("steady"), max_examples=20)
settings.load_profile("steady")

# They import the compiled parts, which a machine without a compiler does not have.
COMPILED = {"page/test_content.py", "page/test_readers.py", "bench/test_quality.py"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--named-skips-only", action="store_true", help="fail where a skip is not named in tests/skips.py")
    parser.addoption("--no-processes", action="store_true", help="fail tests that start a process")


def pytest_configure(config: pytest.Config) -> None:
    # Workers of xdist report to their controller, which alone judges.
    if config.getoption("--named-skips-only") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NamedSkips())
    if config.getoption("--no-processes"):
        config.pluginmanager.register(NoProcesses())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_by_lists(items)


class NotBuilt(pytest.Item):
    """Stands for the tests of a file that cannot be imported, so that their skip is seen."""

    def runtest(self) -> None:
        pytest.skip("the compiled parts are not built")


class NotBuiltFile(pytest.Module):
    def collect(self) -> Iterable[pytest.Item]:
        return [NotBuilt.from_parent(self, name="all")]


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    is_built = find_spec("lycosa.page._native") is not None
    if is_built or not any(module_path.match(f"tests/{name}") for name in COMPILED):
        return None
    return NotBuiltFile.from_parent(parent, path=module_path)
