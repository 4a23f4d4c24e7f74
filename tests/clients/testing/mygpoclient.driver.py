"""Drives mygpoclient. Each call is a method of its clients, with the same arguments.

Argument: {"user": ..., "password": ..., "server": ...}
"""

import json
import sys

from driver import serve
from mygpoclient import api, public

settings = json.loads(sys.argv[1])
# One object for all calls, as in applications: it keeps cookies and counts challenges.
client = api.MygPodderClient(settings['user'], settings['password'], settings['server'])
anonymous = public.PublicClient(settings['server'])


def upload_episode_actions(actions):
    return client.upload_episode_actions([api.EpisodeAction(**action) for action in actions])


def challenges():
    """Returns the number of authentication challenges. The client fails after three."""
    handlers = client._client._opener.handlers
    return next(handler.passwd._count for handler in handlers if hasattr(handler, 'passwd'))


def find(name):
    own = {'upload_episode_actions': upload_episode_actions, 'challenges': challenges}
    part, _, method = name.rpartition('.')
    return own.get(name) or getattr(anonymous if part == 'public' else client, method)


serve(find)
