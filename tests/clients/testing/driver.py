"""Serves calls for the drivers of clients.

Each line of stdin is a call as JSON. Each line of stdout is its outcome as JSON.
"""

import json
import sys
import traceback

# Clients print to stdout, which is reserved for outcomes.
out, sys.stdout = sys.stdout, sys.stderr


def serialize(value):
    """Returns the attributes of an object that JSON does not support."""
    return vars(value)


def serve(find):
    """Answers calls until stdin ends.

    find: returns the function with a name.
    """
    for line in sys.stdin:
        name, args = json.loads(line)
        try:
            outcome = {'result': find(name)(*args)}
        except Exception as error:
            outcome = {'raised': type(error).__name__, 'trace': traceback.format_exc()}
        out.write(json.dumps(outcome, default=serialize) + '\n')
        out.flush()
