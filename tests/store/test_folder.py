from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.crawl.restart import write_settings
from lycosa.errors import FolderInUse, SettingsError
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder


def test_creating_a_folder_twice_changes_nothing(folder: CrawlFolder) -> None:
    (folder.pages / "kept").touch()
    folder.create()
    assert (folder.pages / "kept").exists()
    assert all(part.is_dir() for part in (folder.frontier, folder.warc, folder.pages, folder.links))


def test_a_folder_exists_once_it_is_created(tmp_path: Path) -> None:
    crawl = CrawlFolder(tmp_path / "new")
    assert not crawl.exists
    crawl.create()
    assert crawl.exists


def test_a_file_in_the_way_is_the_operators_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="file"):
        CrawlFolder(tmp_path / "file").create()


def test_a_second_holder_is_refused_and_told_who_has_it(folder: CrawlFolder) -> None:
    with folder.lock(), pytest.raises(FolderInUse, match=f"process {os.getpid()}"):
        folder.lock()


def test_workers_inherit_the_lock(folder: CrawlFolder) -> None:
    with folder.lock() as lock:
        assert os.get_inheritable(lock.fd)


def test_a_released_folder_can_be_held_again(folder: CrawlFolder) -> None:
    folder.lock().release()
    folder.lock().release()


def test_a_dead_holder_holds_nothing(folder: CrawlFolder) -> None:
    script = "import os, sys; from lycosa.store.folder import CrawlFolder; CrawlFolder(sys.argv[1]).lock(); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", script, str(folder.path)], check=False).returncode == 9
    folder.lock().release()


def test_a_worker_keeps_the_folder_of_its_dead_parent(folder: CrawlFolder) -> None:
    lock = folder.lock()
    worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock.fd])
    lock.release()
    with pytest.raises(FolderInUse):
        folder.lock()
    worker.communicate(b"\n")
    folder.lock().release()


def test_the_workers_of_a_dead_parent_are_waited_for(folder: CrawlFolder) -> None:
    script = """
import subprocess, sys
from lycosa.store.folder import CrawlFolder
lock = CrawlFolder(sys.argv[1]).lock()
subprocess.Popen(["sleep", "0.5"], pass_fds=[lock.fd])
"""
    subprocess.run([sys.executable, "-c", script, str(folder.path)], check=True)
    folder.lock().release()


def test_disk_usage_counts_every_file(folder: CrawlFolder) -> None:
    before = folder.disk_bytes()
    (folder.warc / "a").write_bytes(os.urandom(100_000))
    assert folder.disk_bytes() - before >= 100_000
    assert folder.free_bytes() > 0


def test_settings_with_a_password_are_for_their_owner_only(folder: CrawlFolder) -> None:
    for frontier, others in (("rocks", 0o044), ("redis://:secret@h/0", 0), ("redis://h/0", 0o044)):
        write_settings(folder, Settings(frontier=frontier))
        assert folder.own_settings.stat().st_mode & 0o077 == others & ~_umask()


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
