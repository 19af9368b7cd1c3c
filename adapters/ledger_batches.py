"""A ledger read to be written into another one: page by page, checked, with what belongs to each page."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from adapters.chain import GENESIS, PAGE, Link, next_link
from adapters.mapper import EnvelopeMapper
from adapters.recorder import Batch, Recorder
from domain.erasure import TextErased
from domain.errors import LedgerDamaged

Progress = Callable[[int, int], None]


def batches_of(source: Recorder, after: int = 0, progress: Progress = lambda done, total: None) -> Iterator[Batch]:
    """All that a ledger has above a position, page by page, checked against its chain up to its head. LedgerDamaged."""
    end, at_end = source.head()
    chain = source.chain_at(after) if after else GENESIS
    keys = deque(sorted((one for one in source.keys(end) if after < one[1] and one[2] <= end), key=lambda one: one[1]))
    mapper = EnvelopeMapper()
    while page := source.select_links(after + 1, PAGE, end):
        for link in page:
            if chain is None or next_link(chain, link.notification) != link.chain:
                raise LedgerDamaged(f"the chain is broken at position {link.notification.id}")
            chain = link.chain
        last = page[-1].notification.id
        taken = []
        while keys and keys[0][1] <= last:
            taken.append(keys.popleft())
        yield [_told(link, mapper) for link in page], taken
        after = last
        progress(after, end)
    require_end(after, chain, end, at_end)


def require_end(last: int, chain: bytes | None, end: int, at_end: bytes) -> None:
    """LedgerDamaged when what was read ends anywhere but at the head: less would pass for all of it."""
    if (last, chain) != (end, at_end):
        raise LedgerDamaged(f"the recorded head is {end}, and the last event that is there is {last}")


def _told(link: Link, mapper: EnvelopeMapper) -> Link:
    """With the record that it erases, so that a key copied before is destroyed in its turn."""
    if link.notification.topic != TextErased.name:
        return link
    event = mapper.to_domain_event(link.notification).event
    return Link(link.notification, link.chain, event.record if isinstance(event, TextErased) else "")
