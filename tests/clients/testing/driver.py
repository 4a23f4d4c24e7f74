"""What the drivers of clients share: a call a line comes in as JSON, and its outcome goes out as a line of JSON."""

import json
import sys
import traceback

# What clients print is no outcome of theirs.
out, sys.stdout = sys.stdout, sys.stderr


def shown(value):
    """What JSON has no form for, by its attributes."""
    return vars(value)


def serve(find):
    """Answers calls until there are no more.

    find: gives the function of a name.
    """
    for line in sys.stdin:
        name, args = json.loads(line)
        try:
            outcome = {'result': find(name)(*args)}
        except Exception as error:
            outcome = {'raised': type(error).__name__, 'trace': traceback.format_exc()}
        out.write(json.dumps(outcome, default=shown) + '\n')
        out.flush()
