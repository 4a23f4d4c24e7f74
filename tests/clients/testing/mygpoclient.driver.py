"""Drives mygpoclient: each call is a method of its clients, with the same arguments.

Argument: {"user": ..., "password": ..., "server": ...}
"""

import json
import sys

from driver import serve
from mygpoclient import api, http, public

wanted = json.loads(sys.argv[1])
# One object for all calls, as applications have it: it keeps its cookies, and counts the challenges it has met.
client = api.MygPodderClient(wanted['user'], wanted['password'], wanted['server'])
anonymous = public.PublicClient(wanted['server'])


def upload_episode_actions(actions):
    return client.upload_episode_actions([api.EpisodeAction(**action) for action in actions])


def challenges():
    """How often it was asked who it is: it gives up after three times."""
    handlers = client._client._opener.handlers
    return next(handler.passwd._count for handler in handlers if hasattr(handler, 'passwd'))


def fetch(uri):
    """What is at an address of its locator, for applications that read it themselves."""
    return http.HttpClient(wanted['user'], wanted['password']).GET(uri).decode()


def find(name):
    own = {'upload_episode_actions': upload_episode_actions, 'challenges': challenges, 'fetch': fetch}
    if name in own:
        return own[name]
    part, _, method = name.rpartition('.')
    return getattr({'': client, 'locator': client.locator, 'public': anonymous}[part], method)


serve(find)
