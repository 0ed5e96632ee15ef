"""Hands an event to a service: `python urllib_client.py URL`."""

import sys
from urllib.request import urlopen

with urlopen(sys.argv[1], data=sys.stdin.buffer.read(), timeout=5) as reply:
    sys.stdout.buffer.write(reply.read())
