"""Drives gPodder without its windows: its model, database, configuration and its own synchronisation.

What windows do with them (gpodder/gtkui/main.py) is done here with the same calls in the same order.

Argument: {"user": ..., "password": ..., "server": ..., "device": ...}; GPODDER_HOME names where it keeps its data.
"""

import json
import sys
import time

from driver import serve

import gpodder
from gpodder import core, my

wanted = json.loads(sys.argv[1])

gpodder.ui.cli = True
# Where /usr/bin/gpodder finds itself.
gpodder.prefix = '/usr'
# It begins to upload a minute after a change; here it does so when it is told to, and when it ends.
my.MygPoClient.FLUSH_TIMEOUT = 86_400
app = core.Core()
mygpo = my.MygPoClient(app.config)


def enable():
    """As the preferences do when they are closed (preferences.py, on_dialog_destroy)."""
    app.config.mygpo.server = wanted['server']
    app.config.mygpo.username = wanted['user']
    app.config.mygpo.password = wanted['password']
    app.config.mygpo.device.uid = wanted['device']
    app.config.mygpo.device.caption = wanted['device'] + ' of gPodder'
    app.config.mygpo.enabled = True
    mygpo.create_device()
    sync()


def is_enabled():
    """A 401 switches synchronisation off until the user turns it on again."""
    return app.config.mygpo.enabled


def set_server(server):
    app.config.mygpo.server = server


def sync():
    """What its worker does after a minute (my.py, flush), then what its windows do with what came."""
    mygpo._worker_proc(forced=True)


def pending():
    """What waits to be uploaded."""
    return len(mygpo._store.load(my.EpisodeAction)) + len(mygpo._store.load(my.SubscribeAction))


def received():
    """The changes that it asks its user about (on_add_remove_podcasts_mygpo)."""
    existing = [podcast.url for podcast in app.model.get_podcasts()]
    actions = mygpo.get_received_actions()
    return [
        [a.url, 'add' if a.is_add else 'remove'] for a in actions
        if (a.is_add and a.url not in existing) or (a.is_remove and a.url in existing)
    ]


def confirm():
    """The user says yes to each (execute_podcast_actions)."""
    asked = received()
    for url, action in asked:
        if action == 'add':
            app.model.load_podcast(url)
        else:
            app.model.get_podcast(url).delete()
    mygpo.confirm_received_actions(mygpo.get_received_actions())
    mygpo.on_subscribe([url for url, action in asked if action == 'add'])
    mygpo.on_unsubscribe([url for url, action in asked if action == 'remove'])
    return asked


def reject():
    """The user says no to each (execute_podcast_actions)."""
    mygpo.reject_received_actions(list(mygpo.get_received_actions()))


def subscribe(urls):
    """As add_podcast_list."""
    for url in urls:
        app.model.load_podcast(url)
    mygpo.on_subscribe(urls)


def unsubscribe(urls):
    """As remove_podcast_list."""
    for url in urls:
        app.model.get_podcast(url).delete()
    mygpo.on_unsubscribe(urls)


def rewrite():
    """As rewrite_urls_mygpo."""
    for rewritten in mygpo.get_rewritten_urls():
        podcast = app.model.get_podcast(rewritten.old_url)
        if podcast is not None and rewritten.new_url:
            podcast.url = rewritten.new_url
            podcast.save()


def find_episode(podcast_url, episode_url):
    for podcast in app.model.get_podcasts():
        if podcast.url == podcast_url:
            for episode in podcast.get_all_episodes():
                if episode.url == episode_url:
                    return episode
    return None


def play(podcast_url, episode_url, start, end, total):
    """As on_played, which hears it from the player."""
    episode = find_episode(podcast_url, episode_url)
    now = time.time()
    if total > 0:
        episode.total_time = total
    episode.current_position = end
    episode.current_position_updated = now
    episode.mark(is_played=True)
    episode.save()
    mygpo.on_playback_full(episode, start, end, total)


def merge():
    """As process_received_episode_actions."""
    mygpo.process_episode_actions(find_episode)
    app.db.commit()


def state():
    """Its podcasts, each with its episodes."""
    return {
        podcast.url: {
            episode.url: {
                'position': episode.current_position,
                'total': episode.total_time,
                'isNew': episode.is_new,
                'isDeleted': episode.state == gpodder.STATE_DELETED,
            }
            for episode in podcast.get_all_episodes()
        }
        for podcast in app.model.get_podcasts()
    }


def overwrite():
    """"Replace list on server" of the preferences."""
    mygpo.set_subscriptions([podcast.url for podcast in app.model.get_podcasts()])


def opml():
    """Where "subscriptions on the server" come from."""
    return mygpo.get_download_user_subscriptions_url()


def devices():
    return mygpo.get_devices()


serve(lambda name: globals()[name])
app.shutdown()
