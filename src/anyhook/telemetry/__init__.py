"""Spans and metrics of sessions, events and hooks, for OpenTelemetry.

```python
from anyhook import Engine
from anyhook.telemetry import Telemetry

engine = Engine.load(".", observers=[Telemetry.from_environment()])
```

It needs `pip install "anyhook[otel]"`. No other package of anyhook imports OpenTelemetry.
"""

from __future__ import annotations

try:
    from anyhook.telemetry.observer import Telemetry as Telemetry
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("opentelemetry"):
        raise
    raise ModuleNotFoundError(
        'anyhook.telemetry needs opentelemetry-api; get it with: pip install "anyhook[otel]"',
        name=error.name,
    ) from None

__all__ = ["Telemetry"]
