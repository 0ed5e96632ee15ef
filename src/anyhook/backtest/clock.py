"""Another time for hooks, to find out whether what they decide depends on it."""

from __future__ import annotations

import datetime
import time
from typing import Any


def shift_clock(seconds: float) -> None:
    """Let Python's clocks be ahead in this process, for modules that are loaded from now on.

    Clocks that measure durations stay, and programs that are started have the real time.
    """
    real_time, real_time_ns = time.time, time.time_ns

    def now() -> float:
        return real_time() + seconds

    def of_now(function: Any) -> Any:
        def shifted(*arguments: Any) -> Any:
            return function(*(arguments or (now(),)))

        return shifted

    real_strftime, localtime = time.strftime, of_now(time.localtime)

    def strftime(form: str, moment: Any = None) -> Any:
        return real_strftime(form, localtime() if moment is None else moment)

    class ShiftedDate(datetime.date):
        """A date whose today is ahead."""

        @classmethod
        def today(cls) -> ShiftedDate:
            return cls.fromtimestamp(now())

    class ShiftedDatetime(datetime.datetime):
        """A time whose now is ahead."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> ShiftedDatetime:
            return cls.fromtimestamp(now(), tz)

        @classmethod
        def today(cls) -> ShiftedDatetime:
            return cls.fromtimestamp(now())

        @classmethod
        def utcnow(cls) -> ShiftedDatetime:
            return cls.fromtimestamp(now(), datetime.UTC).replace(tzinfo=None)

    changes: dict[Any, dict[str, Any]] = {
        time: {
            "time": now,
            "time_ns": lambda: real_time_ns() + int(seconds * 1e9),
            "localtime": localtime,
            "gmtime": of_now(time.gmtime),
            "ctime": of_now(time.ctime),
            "strftime": strftime,
        },
        datetime: {"date": ShiftedDate, "datetime": ShiftedDatetime},
    }
    for module, attributes in changes.items():
        for name, value in attributes.items():
            setattr(module, name, value)
