"""A worker in a process of its own, forked from the forkserver."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
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

# How often the lateness of the event loop is measured, and after how many times it is told.
TICK_SECONDS, TICKS = 0.5, 4


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
    dispatcher = RemoteDispatcher(client)
    worker = make_worker(
        settings,
        CrawlFolder(Path(orders.folder), orders.seat),
        orders.worker,
        dispatcher,
        orders.crawl_key,
        watchdog=KernelWatchdog(slot, settings.parse_seconds, settings.max_parse_memory_bytes),
    )
    telling = asyncio.create_task(_tell_forever(worker, dispatcher))
    try:
        await worker.run()
    finally:
        telling.cancel()
    await worker.close()


async def _tell_forever(worker: Worker, dispatcher: RemoteDispatcher) -> None:
    """Say now and then how we are doing: how busy our event loop is, and by how much it comes too late."""
    loop = asyncio.get_running_loop()
    while True:
        # Files are synced on threads of their own: this one computes, or waits for the network.
        began_at, computed, lag = loop.time(), time.thread_time(), 0.0
        for _ in range(TICKS):
            due = loop.time() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            lag = max(lag, loop.time() - due)
        figures = worker.figures()
        figures.busy_share = (time.thread_time() - computed) / (loop.time() - began_at)
        figures.lag_seconds = lag
        await dispatcher.tell(figures)


def run(fd: int, slot_fd: int, make_worker: MakeWorker) -> NoReturn:
    """Work until the crawl is over, then end the process."""
    # Pages make many short-lived containers and no cycles worth looking for often.
    gc.set_threshold(50_000, 20, 20)
    uvloop.run(work(fd, Slot(slot_fd), make_worker))
    # The socket's end would be taken for a lost supervisor; everything is on disk by now.
    os._exit(0)
