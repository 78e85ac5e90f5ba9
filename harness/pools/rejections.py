"""Whether a request is rejected as "too many" because of the pool, or because of itself.

Some servers answer 429 to one request for ever (one that is too large for an account, say) while they take
every other. Taken for overload, it would hold and cut its whole pool again and again, and be sent without
end, since rate limits count against no budget.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.pools.gate import Slot


@dataclass(slots=True)
class _Rejected:
    since: int
    """Number of the send whose rejection was taken note of last."""
    own: int = 0


class Rejections:
    """The asks of a pool that were rejected, by ticket, until they are answered.

    A rejection is an ask's own when a send that went out after its last one has been answered meanwhile:
    answers to what was sent before say nothing, they keep coming in while everything new is rejected.
    """

    def __init__(self) -> None:
        self._newest_answered = 0
        self._by_ticket: dict[int, _Rejected] = {}

    def handled(self, slot: Slot) -> None:
        """Take note that the server took a send."""
        self._newest_answered = max(self._newest_answered, slot.number)
        self._by_ticket.pop(slot.ticket, None)

    def rejected(self, slot: Slot) -> bool:
        """Take note of a rejection; True where it is the ask's own and tells nothing of the pool."""
        known = self._by_ticket.setdefault(slot.ticket, _Rejected(slot.number))
        if self._newest_answered > known.since:
            known.own += 1
            known.since = slot.number
        return known.own > 0

    def own(self, ticket: int) -> int:
        """Return how many times an ask was rejected while later ones were answered."""
        known = self._by_ticket.get(ticket)
        return 0 if known is None else known.own
