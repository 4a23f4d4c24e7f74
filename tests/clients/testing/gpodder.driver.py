"""Drives gPodder without its user interface: model, database, configuration, synchronisation.

Functions make the same calls in the same order as the user interface (gpodder/gtkui/main.py).

Argument: {"user": ..., "password": ..., "server": ..., "device": ...}
GPODDER_HOME is the folder of its data.
"""

import json
import sys
import time

from driver import serve

import gpodder
from gpodder import core, my

settings = json.loads(sys.argv[1])

gpodder.ui.cli = True
# The prefix that /usr/bin/gpodder detects.
gpodder.prefix = '/usr'
# Disables the automatic upload one minute after a change.
my.MygPoClient.FLUSH_TIMEOUT = 86_400
app = core.Core()
mygpo = my.MygPoClient(app.config)


def enable():
    """Applies preferences (preferences.py, on_dialog_destroy)."""
    app.config.mygpo.server = settings['server']
    app.config.mygpo.username = settings['user']
    app.config.mygpo.password = settings['password']
    app.config.mygpo.device.uid = settings['device']
    app.config.mygpo.device.caption = settings['device'] + ' of gPodder'
    app.config.mygpo.enabled = True
    mygpo.create_device()
    sync()


def is_enabled():
    """Returns False after a 401, which disables synchronisation."""
    return app.config.mygpo.enabled


def set_server(server):
    app.config.mygpo.server = server


def sync():
    """Runs the worker that uploads and downloads changes (my.py, flush)."""
    mygpo._worker_proc(forced=True)


def pending():
    """Returns the number of changes that are not uploaded."""
    return len(mygpo._store.load(my.EpisodeAction)) + len(mygpo._store.load(my.SubscribeAction))


def received():
    """Returns the changes that the user must confirm (on_add_remove_podcasts_mygpo)."""
    existing = [podcast.url for podcast in app.model.get_podcasts()]
    actions = mygpo.get_received_actions()
    return [
        [a.url, 'add' if a.is_add else 'remove'] for a in actions
        if (a.is_add and a.url not in existing) or (a.is_remove and a.url in existing)
    ]


def confirm():
    """Confirms all received changes (execute_podcast_actions)."""
    changes = received()
    for url, action in changes:
        if action == 'add':
            app.model.load_podcast(url)
        else:
            app.model.get_podcast(url).delete()
    mygpo.confirm_received_actions(mygpo.get_received_actions())
    mygpo.on_subscribe([url for url, action in changes if action == 'add'])
    mygpo.on_unsubscribe([url for url, action in changes if action == 'remove'])
    return changes


def reject():
    """Rejects all received changes (execute_podcast_actions)."""
    mygpo.reject_received_actions(list(mygpo.get_received_actions()))


def subscribe(urls):
    """Adds podcasts (add_podcast_list)."""
    for url in urls:
        app.model.load_podcast(url)
    mygpo.on_subscribe(urls)


def unsubscribe(urls):
    """Removes podcasts (remove_podcast_list)."""
    for url in urls:
        app.model.get_podcast(url).delete()
    mygpo.on_unsubscribe(urls)


def rewrite():
    """Applies changed URLs (rewrite_urls_mygpo)."""
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
    """Records a play (on_played)."""
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
    """Applies received actions (process_received_episode_actions)."""
    mygpo.process_episode_actions(find_episode)
    app.db.commit()


def state():
    """Returns the podcasts with their episodes, by URL."""
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
    """Replaces the list on the server (preferences, "Replace list on server")."""
    mygpo.set_subscriptions([podcast.url for podcast in app.model.get_podcasts()])


def opml():
    """Returns the URL of the subscriptions on the server."""
    return mygpo.get_download_user_subscriptions_url()


def devices():
    return mygpo.get_devices()


serve(lambda name: globals()[name])
app.shutdown()
