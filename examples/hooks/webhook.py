#!/usr/bin/env python3
"""Post the events of a hook to a web address, as one JSON array.

usage: tidings hook --on dead,back -- examples/hooks/webhook.py https://example.org/alerts

If the address does not answer with a status of 2xx the exit status is 1, and `tidings hook` starts
this program again with what has happened until then.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request

TIME_LIMIT_S = 10


def main() -> int:
    """Post what standard input has."""
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} URL", file=sys.stderr)
        return 2
    events = [json.loads(line) for line in sys.stdin]
    body = json.dumps(events).encode()
    request = urllib.request.Request(
        sys.argv[1], data=body, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIME_LIMIT_S):
            return 0
    except (urllib.error.URLError, OSError) as error:
        print(f"{sys.argv[1]}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
