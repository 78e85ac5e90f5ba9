"""What a content-encoding did to an answer, undone: some servers compress although they were asked not to."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, Protocol

_EITHER: Final = zlib.MAX_WBITS | 32
"""Both the gzip and the zlib format, told apart by their first bytes."""


class Decoder(Protocol):
    """Undoes an encoding piece by piece. Raises zlib.error for what cannot be undone."""

    def decode(self, data: bytes) -> bytes:
        """Return what a piece holds, as far as it is known by now."""
        ...

    def flush(self) -> bytes:
        """Return what is left after the last piece."""
        ...


def decoder_for(content_encoding: str) -> Decoder | None:
    """Return what undoes a header's encodings (RFC 9110, 8.4.1); None where there is nothing to undo.

    What is not known here (br, zstd) is left as it came.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    decoders = [_DECODERS[name]() for name in reversed(names) if name in _DECODERS]
    match decoders:
        case []:
            return None
        case [decoder]:
            return decoder
        case _:
            return _Chain(decoders)


class _Zlib:
    """gzip, and deflate with or without the header that it should have."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_EITHER)
        self._begun = False

    def decode(self, data: bytes) -> bytes:
        begun, self._begun = self._begun, True
        try:
            return self._inflate.decompress(data)
        except zlib.error:
            if begun or data[:2] == b"\x1f\x8b":
                raise
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._inflate.decompress(data)

    def flush(self) -> bytes:
        return self._inflate.flush()


class _Chain:
    """Several encodings, the last one applied undone first."""

    def __init__(self, decoders: list[Decoder]) -> None:
        self._decoders = decoders

    def decode(self, data: bytes) -> bytes:
        for decoder in self._decoders:
            data = decoder.decode(data)
        return data

    def flush(self) -> bytes:
        data = b""
        for decoder in self._decoders:
            data = (decoder.decode(data) if data else b"") + decoder.flush()
        return data


_DECODERS: Final[dict[str, Callable[[], Decoder]]] = {"gzip": _Zlib, "x-gzip": _Zlib, "deflate": _Zlib}
