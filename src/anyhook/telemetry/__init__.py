"""Spans and metrics of sessions, events and hooks, for OpenTelemetry.

```python
from anyhook import Engine
from anyhook.telemetry import Telemetry

engine = Engine.load(".", observers=[Telemetry.from_environment()])
```

It needs `pip install "anyhook[otel]"`. No other package of anyhook imports OpenTelemetry.
"""

from __future__ import annotations

from anyhook.errors import MissingLibraryError

try:
    from anyhook.telemetry.observer import Telemetry as Telemetry
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("opentelemetry"):
        raise
    advice = MissingLibraryError("anyhook.telemetry", "opentelemetry-api", "otel")
    raise ModuleNotFoundError(str(advice), name=error.name) from None

__all__ = ["Telemetry"]
