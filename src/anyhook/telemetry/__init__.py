"""Spans and metrics of sessions, events and hooks, for OpenTelemetry.

```python
from anyhook import Engine
from anyhook.telemetry import Telemetry

engine = Engine.load(".", observers=[Telemetry.from_environment()])
```

It needs `pip install "anyhook[otel]"`. No other package of anyhook imports OpenTelemetry.
"""

from __future__ import annotations

from anyhook.extras import needs_extra

with needs_extra("anyhook.telemetry", "opentelemetry-api", "otel"):
    from anyhook.telemetry.observer import Telemetry as Telemetry

__all__ = ["Telemetry"]
