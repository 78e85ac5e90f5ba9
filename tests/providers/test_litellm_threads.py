"""A thread that is within LiteLLM keeps to itself; needs no LiteLLM."""

from __future__ import annotations

from threading import Barrier, Thread

from harness.providers.litellm_call import Call, current, within


def test_each_thread_is_in_its_own_call() -> None:  # F8
    """Shared, one thread would be handed the answer to what another asked."""
    seen: dict[int, object] = {}
    calls = {number: Call(f"key {number}") for number in range(4)}
    all_within = Barrier(len(calls))

    def translate(number: int) -> None:
        with within(calls[number]):
            all_within.wait(10)
            seen[number] = current()
            all_within.wait(10)

    threads = [Thread(target=translate, args=(number,)) for number in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert all(seen[number] is calls[number] for number in calls)
