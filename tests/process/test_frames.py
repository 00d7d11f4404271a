"""Messages between the parent and its workers: however the bytes are cut, whoever dies, nobody waits for ever."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from lycosa.errors import BackendLost
from lycosa.frontier.arrivals import in_full
from lycosa.model import OutcomeKind, Placement, Settlement, Target
from lycosa.process.frames import MAX_FRAME_BYTES, CallClient, CallServer, ReplyFrame, Serve, connect
from lycosa.process.messages import (
    AskRobots,
    Lost,
    Orders,
    Recognise,
    Recognised,
    Reply,
    Request,
    RobotsReply,
    Settle,
    Settled,
)
from lycosa.process.remote import MAX_DISCOVERED_PER_MESSAGE, RemoteDispatcher


async def echo(request: Request) -> Reply:
    """Answers with what was asked."""
    match request:
        case AskRobots():
            return RobotsReply(request.origin.encode())
        case Recognise():
            return Recognised(request.url, Placement())
        case Settle():
            return Settled([settlement.token for settlement in request.settlements])
        case Lost():
            raise BackendLost(request.reason)
        case _:
            raise AssertionError(request)


Connected = tuple[CallClient, CallServer]
Open = Callable[[Serve], Awaitable[Connected]]


@pytest.fixture
async def open_pair() -> AsyncIterator[Open]:
    """Makes a connected client and server."""
    made: list[CallClient | CallServer] = []

    async def make(serve: Serve) -> Connected:
        ours, theirs = socket.socketpair()
        client, server = CallClient(), CallServer(serve)
        await connect(ours, client)
        await connect(theirs, server)
        made.extend((client, server))
        return client, server

    yield make
    for end in made:
        end.close()
        await end.closed


async def test_a_call_is_answered(open_pair: Open) -> None:
    client, _ = await open_pair(echo)
    assert await client.call(AskRobots("http://a")) == RobotsReply(b"http://a")


async def test_answers_find_their_calls_in_whatever_order(open_pair: Open) -> None:
    gates = {f"{number}": asyncio.Event() for number in range(5)}

    async def in_reverse(request: Request) -> Reply:
        assert isinstance(request, AskRobots)
        await gates[request.origin].wait()
        if (before := gates.get(str(int(request.origin) - 1))) is not None:
            before.set()
        return RobotsReply(request.origin.encode())

    client, _ = await open_pair(in_reverse)
    gates["4"].set()
    replies = await asyncio.gather(*(client.call(AskRobots(origin)) for origin in gates))
    assert replies == [RobotsReply(origin.encode()) for origin in gates]


async def test_what_is_in_no_hurry_goes_with_what_is() -> None:
    client, sink = CallClient(), Sink()
    client.connection_made(sink)
    asked = [asyncio.create_task(client.call(Recognise(b"", url, 1), is_urgent=False)) for url in ("a", "b")]
    await asyncio.sleep(0)
    assert sink.frames == []
    asked.append(asyncio.create_task(client.call(AskRobots("c"))))
    while not sink.frames:
        await asyncio.sleep(0)
    (frame,) = sink.frames
    assert sum(url in frame for url in (b"a", b"b", b"c")) == 3
    for task in asked:
        task.cancel()


async def test_what_is_in_no_hurry_goes_by_itself_too(open_pair: Open) -> None:
    client, _ = await open_pair(echo)
    assert await client.call(Recognise(b"", "a", 1), is_urgent=False) == Recognised("a", Placement())


async def test_orders_come_first(open_pair: Open) -> None:
    client, server = await open_pair(echo)
    server.order(Orders(3, "/folder", "seat", b"settings", b"key"))
    assert await client.orders == Orders(3, "/folder", "seat", b"settings", b"key")


class Sink(asyncio.Transport):
    """Where bytes go to be looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.frames.append(bytes(data))

    def is_closing(self) -> bool:
        return False


class Ear(CallClient):
    """Only listens."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[ReplyFrame] = []

    def received(self, message: ReplyFrame) -> None:
        self.heard.append(message)


@pytest.mark.parametrize("piece", [1, 3, 4, 5, 7, 1000])
async def test_frames_may_come_in_pieces_and_joined(piece: int) -> None:
    sink, sender, ear = Sink(), CallServer(echo), Ear()
    sender.connection_made(sink)
    answers = [ReplyFrame(number, RobotsReply(b"x" * number)) for number in range(5)]
    for answer in answers[:3]:
        sender.send(answer)
    await asyncio.sleep(0)
    for answer in answers[3:]:
        sender.send(answer)
    await asyncio.sleep(0)
    assert len(sink.frames) == 2, "messages of one turn of the loop share a frame"
    stream = b"".join(sink.frames)
    for start in range(0, len(stream), piece):
        ear.data_received(stream[start : start + piece])
    assert ear.heard == answers


async def test_a_message_of_many_megabytes_arrives_whole(open_pair: Open) -> None:
    client, _ = await open_pair(echo)
    url = "x" * 40_000_000
    assert await client.call(Recognise(b"", url, 1)) == Recognised(url, Placement())


async def test_a_frame_past_the_limit_ends_the_conversation(open_pair: Open) -> None:
    client, server = await open_pair(echo)
    server.data_received((MAX_FRAME_BYTES + 1).to_bytes(4))
    with pytest.raises(BackendLost):
        await client.call(AskRobots("http://a"))


async def test_many_long_links_travel_in_several_messages(open_pair: Open) -> None:
    sizes: list[int] = []

    async def note(request: Request) -> Reply:
        assert isinstance(request, Settle)
        sizes.append(sum(len(in_full(settlement).discovered) for settlement in request.settlements))
        return Settled([request.settlements[0].token])

    client, _ = await open_pair(note)
    target = Target("http://a/", "a", b"12345678")
    many = [target] * (MAX_DISCOVERED_PER_MESSAGE // 2)
    settlements = [Settlement(number, OutcomeKind.STORED, discovered=many) for number in range(5)]
    assert await RemoteDispatcher(client).settle(settlements) == [0, 2, 4]
    assert sizes == [2 * len(many), 2 * len(many), len(many)]
    assert await RemoteDispatcher(client).settle([]) == []


async def test_a_lost_parent_fails_every_open_call_and_every_later_one(open_pair: Open) -> None:
    async def never(request: Request) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError(request)

    client, server = await open_pair(never)
    calls = [asyncio.create_task(client.call(AskRobots("http://a"))) for _ in range(3)]
    await asyncio.sleep(0)
    server.close()
    for call in calls:
        with pytest.raises(BackendLost, match="the supervisor is gone"):
            await call
    with pytest.raises(BackendLost):
        await client.call(AskRobots("http://b"))


async def test_a_lost_worker_has_no_calls_served_any_more(open_pair: Open) -> None:
    begun = asyncio.Event()
    ended = asyncio.Event()

    async def long(request: Request) -> Reply:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError(request)

    client, server = await open_pair(long)
    call = asyncio.create_task(client.call(AskRobots("http://a")))
    await begun.wait()
    client.close()
    await server.ended()
    assert ended.is_set()
    with pytest.raises(BackendLost):
        await call


async def test_a_worker_that_cannot_go_on_tells_why(open_pair: Open) -> None:
    client, server = await open_pair(echo)
    with pytest.raises(BackendLost, match="the supervisor is gone"):
        await client.call(Lost("the disk is full"))
    with pytest.raises(BackendLost, match="the disk is full"):
        server.failed.result()


async def test_an_unforeseen_failure_of_the_parent_ends_the_conversation(open_pair: Open) -> None:
    async def broken(request: Request) -> Reply:
        raise ZeroDivisionError(request)

    client, server = await open_pair(broken)
    with pytest.raises(BackendLost):
        await client.call(AskRobots("http://a"))
    with pytest.raises(ZeroDivisionError):
        server.failed.result()


async def test_what_cannot_be_encoded_fails_its_own_call_only(open_pair: Open) -> None:
    client, _ = await open_pair(echo)
    with pytest.raises(UnicodeEncodeError):
        await client.call(AskRobots("half a pair \ud800"))
    assert await client.call(AskRobots("http://a")) == RobotsReply(b"http://a")


async def test_bytes_that_are_no_message_end_the_conversation() -> None:
    ours, theirs = socket.socketpair()
    client = CallClient()
    await connect(ours, client)
    theirs.sendall((3).to_bytes(4) + b"\xc1\xc1\xc1")
    with pytest.raises(BackendLost):
        await client.call(AskRobots("http://a"))
    theirs.close()
