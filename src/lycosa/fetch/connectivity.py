"""Whether this machine is connected at all. Asked only when a host seems unreachable, before it is blamed for that."""

from __future__ import annotations

import socket
from typing import NamedTuple

from lycosa.errors import NoNetwork, Unreachable, lost
from lycosa.fetch.dns import Resolver, literal_address
from lycosa.model import Failure

# Of what never reached the host: what a dead network would look like.
_SILENCE = frozenset({Failure.DNS, Failure.CONNECT, Failure.TIMEOUT})


class Trial(NamedTuple):
    """When somebody began to reach a host, and whether nobody could be reached then."""

    began_at: float
    was_cut: bool


class Connectivity:
    """The way out of this machine. Its name servers stand for the rest of the world."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self.is_cut = False

    def begin(self) -> Trial:
        return Trial(self._resolver.now(), self.is_cut)

    async def check(self, host: str, failure: Unreachable, trial: Trial) -> None:
        """Raises `NoNetwork` or `Shortage` if the host is not to blame for the failure of a trial."""
        # A host named by its address may live where there is no name server at all.
        if failure.sent or failure.reason not in _SILENCE or literal_address(host):
            return
        self.is_cut = not await self._resolver.is_answered(since=trial.began_at)
        if self.is_cut:
            _check_sockets()
        if self.is_cut or trial.was_cut:
            raise NoNetwork(f"no name server answers: {failure.detail}")


def _check_sockets() -> None:
    """Raises `Shortage` where name servers cannot even be asked: to the resolver that looks like silence."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as error:
        raise lost("no socket can be opened", error) from error
