"""Whether this machine is connected at all. Asked only when a host seems unreachable, before it is blamed for that."""

from __future__ import annotations

import socket
from typing import NamedTuple

from lycosa.errors import NoNetwork, Unreachable, lost
from lycosa.fetch.dns import Resolver, literal_address
from lycosa.model import Failure

# Of what never reached the host: what a dead network would look like.
_SILENCE = frozenset({Failure.DNS, Failure.CONNECT, Failure.TIMEOUT})
# Where no host was ever found, and a server answers that it failed, either may be to blame. So long it is the network.
DOUBT_SECONDS = 60.0


class Trial(NamedTuple):
    """When somebody began to reach a host, and whether nobody could be reached then."""

    began_at: float
    was_cut: bool


class Connectivity:
    """The way out of this machine. Its name servers stand for the rest of the world."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._in_doubt_since: float | None = None
        self.is_cut = False

    def begin(self) -> Trial:
        return Trial(self._resolver.now(), self.is_cut)

    async def check(self, host: str, failure: Unreachable, trial: Trial) -> None:
        """Raises `NoNetwork` or `Shortage` if the host is not to blame for the failure of a trial."""
        # A host named by its address may live where there is no name server at all.
        if failure.sent or failure.reason not in _SILENCE or literal_address(host):
            return
        is_answered = await self._resolver.is_answered(since=trial.began_at)
        self.is_cut = not is_answered and not self._is_past_doubt(trial)
        if self.is_cut:
            _check_sockets()
        if self.is_cut or trial.was_cut:
            raise NoNetwork(f"no name server answers: {failure.detail}")

    def _is_past_doubt(self, trial: Trial) -> bool:
        """Whether a failing server is taken at its word: there is nobody else to ask for, and it has been a while."""
        if not self._resolver.has_said_nothing_else(since=trial.began_at):
            self._in_doubt_since = None
            return False
        now = self._resolver.now()
        if self._in_doubt_since is None:
            self._in_doubt_since = now
        return now - self._in_doubt_since > DOUBT_SECONDS


def _check_sockets() -> None:
    """Raises `Shortage` where name servers cannot even be asked: to the resolver that looks like silence."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as error:
        raise lost("no socket can be opened", error) from error
