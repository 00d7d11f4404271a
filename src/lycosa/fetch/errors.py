"""What libcurl's error codes mean for a visit. The one place that knows them."""

from __future__ import annotations

import os
from typing import NamedTuple

import pycurl

from lycosa.model import Failure


class CurlTrouble(NamedTuple):
    """Why a transfer ended before its end; `sent` is False when no request can have reached the host."""

    reason: Failure
    detail: str
    sent: bool = True


_REASONS: dict[int, Failure] = {
    pycurl.E_COULDNT_RESOLVE_HOST: Failure.DNS,
    pycurl.E_COULDNT_CONNECT: Failure.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: Failure.TIMEOUT,
    pycurl.E_GOT_NOTHING: Failure.RESET,
    pycurl.E_SEND_ERROR: Failure.RESET,
    pycurl.E_RECV_ERROR: Failure.RESET,
    pycurl.E_PARTIAL_FILE: Failure.RESET,
    pycurl.E_SSL_CONNECT_ERROR: Failure.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Failure.TLS,
    pycurl.E_SSL_CIPHER: Failure.TLS,
    pycurl.E_SSL_CACERT_BADFILE: Failure.TLS,
    pycurl.E_SSL_ISSUER_ERROR: Failure.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: Failure.TLS,
    pycurl.E_SSL_ENGINE_INITFAILED: Failure.TLS,
    pycurl.E_SSL_CERTPROBLEM: Failure.TLS,
    # Two that pycurl does not name. CURLE_HTTP2_STREAM: the server ended the stream, as others reset a connection.
    92: Failure.RESET,
    100: Failure.HEADERS,  # CURLE_TOO_LARGE
}
_NEVER_SENT = frozenset({pycurl.E_COULDNT_RESOLVE_HOST, pycurl.E_COULDNT_CONNECT, pycurl.E_URL_MALFORMAT})


def trouble_of(code: int, message: str, *, is_connected: bool, number: int = 0) -> CurlTrouble:
    """Translate an error of libcurl; what has no word of its own is a breach of the protocol.

    `number` is the system's own error, if there was one.
    """
    reason = _REASONS.get(code, Failure.PROTOCOL)
    if reason is Failure.RESET and "header" in message.lower():
        reason = Failure.HEADERS
    if reason is Failure.CONNECT and number:
        # libcurl says no more than "Could not connect to server".
        message = f"{message}: {os.strerror(number)}"
    return CurlTrouble(reason, message or f"libcurl error {code}", sent=is_connected and code not in _NEVER_SENT)
