"""The simulator's wire format: OpenAI's, plus what a simulated model must know to answer alike each time."""

from __future__ import annotations

from dataclasses import replace

from harness.messages import Request, WireRequest, WireValue
from harness.providers.base import Adapter
from harness.providers.body_fields import wire_json
from harness.providers.openai import OpenAIAdapter
from harness.settings import Model


class SimulatorAdapter(OpenAIAdapter):
    """Chat completions with the field `simulator` and headers that tell attempt, repeat and purpose.

    The schema goes along even where the model is not constrained by it: that is how a simulated model
    knows what answer is wanted. Attempt and repeat stand in headers only, as they are part of the request key
    by themselves.
    """

    kind = "simulator"
    wire_revision = 1

    def build(self, request: Request, model: Model) -> WireRequest:
        """Return the call; raises what OpenAI's format raises."""
        wire = super().build(request, model)
        extra: dict[str, WireValue] = {"seed": wire_json(request.params.get("seed", 0))}
        if request.schema is not None:
            extra["schema"] = wire_json(request.schema.body)
        headers = {
            "X-Harness-Attempt": str(request.attempt),
            "X-Harness-Repeat": str(request.repeat),
            "X-Harness-Purpose": request.purpose,
        }
        return replace(
            wire,
            body={**wire.body, "simulator": extra},
            transport_headers={**wire.transport_headers, **headers},
        )


adapter: Adapter = SimulatorAdapter()
