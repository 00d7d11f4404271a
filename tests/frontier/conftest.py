"""Folders for many small databases."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# The contract's assertions explain themselves like those of tests.
CONTRACTS = (
    "contract",
    "contract_bans",
    "contract_deferred",
    "contract_orders",
    "contract_origins",
    "contract_poison",
    "contract_revisits",
    "contract_spacing",
    "stage",
    "store_contract",
    "together",
)
pytest.register_assert_rewrite(*(f"tests.frontier.{name}" for name in CONTRACTS))


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a new database costs a dozen fsyncs, 100 ms on a disk."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="lycosa-", dir=memory if memory.is_dir() else None))
    yield made / "frontier"
    shutil.rmtree(made)


@pytest.fixture
def space() -> Iterator[Path]:
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="lycosa-crawl-", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made, ignore_errors=True)
