"""A worker in a process of its own, forked from the forkserver."""

from __future__ import annotations

import gc
import os
import socket
from pathlib import Path
from typing import NoReturn, Protocol

import msgspec
import uvloop

from lycosa.crawl.worker import Worker
from lycosa.errors import LycosaError, SettingsError, Shortage
from lycosa.ports import Dispatcher, Watchdog
from lycosa.process.frames import CallClient, connect
from lycosa.process.messages import Lost, Orders
from lycosa.process.remote import RemoteDispatcher
from lycosa.process.watchdog import KernelWatchdog, Slot
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder


class MakeWorker(Protocol):
    """Puts a worker together; see `wiring/worker.py`."""

    def __call__(
        self,
        settings: Settings,
        folder: CrawlFolder,
        number: int,
        dispatcher: Dispatcher,
        crawl_key: bytes,
        *,
        watchdog: Watchdog,
    ) -> Worker: ...


async def work(fd: int, slot: Slot, make_worker: MakeWorker) -> None:
    """Take orders from the supervisor and visit until the crawl is over."""
    client = CallClient()
    await connect(socket.socket(fileno=fd), client)
    # Without the supervisor no work of ours can count: leave at once, whatever is under way.
    client.closed.add_done_callback(lambda _: os._exit(1))
    try:
        await _obey(await client.orders, client, slot, make_worker)
    except LycosaError as error:
        # What a worker can name, a restart does not mend. The supervisor ends us when it has heard.
        is_setting, is_shortage = isinstance(error, SettingsError), isinstance(error, Shortage)
        await client.call(Lost(str(error), is_setting=is_setting, is_shortage=is_shortage))


async def _obey(orders: Orders, client: CallClient, slot: Slot, make_worker: MakeWorker) -> None:
    settings = msgspec.msgpack.decode(orders.settings, type=Settings)
    worker = make_worker(
        settings,
        CrawlFolder(Path(orders.folder), orders.seat),
        orders.worker,
        RemoteDispatcher(client),
        orders.crawl_key,
        watchdog=KernelWatchdog(slot, settings.parse_seconds, settings.max_parse_memory_bytes),
    )
    await worker.run()
    await worker.close()


def run(fd: int, slot_fd: int, make_worker: MakeWorker) -> NoReturn:
    """Work until the crawl is over, then end the process."""
    # Pages make many short-lived containers and no cycles worth looking for often.
    gc.set_threshold(50_000, 20, 20)
    uvloop.run(work(fd, Slot(slot_fd), make_worker))
    # The socket's end would be taken for a lost supervisor; everything is on disk by now.
    os._exit(0)
