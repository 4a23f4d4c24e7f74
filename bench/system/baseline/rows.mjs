// Rows as in Postgres, and items as in the interface.

const statuses = {
  playbackPosition: 'playback_position',
  playedStatus: 'played_status',
  newStatus: 'new_status',
  downloadStatus: 'download_status',
  favoriteStatus: 'favorite_status',
};
const names = Object.entries(statuses);

export function subscriptionItem(row) {
  return {
    feed_url: row.feedUrl,
    guid: row.guid,
    is_subscribed: row.isSubscribed,
    subscription_changed: row.subscriptionChanged,
    ...(row.newGuid !== row.guid && { new_guid: row.newGuid, guid_changed: row.guidChanged }),
    ...(row.deleted && { deleted: row.deleted }),
  };
}

/** Returns the row of a new subscription. */
export function subscriptionRow(id, feedUrl, guid, stamp) {
  return {
    id,
    feedUrl,
    guid,
    isSubscribed: true,
    subscriptionChanged: stamp,
    subscribedAt: stamp,
    declaredGuids: 0,
    deletionId: null,
    changed: stamp,
    guidChanged: null,
    deleted: null,
    mergedInto: null,
    mergedAt: null,
  };
}

export function episodeItem(row) {
  const item = {
    podcast_guid: row.podcastGuid,
    sync_id: row.syncId,
    episode_guid: row.episodeGuid,
    title: row.title,
    publish_date: row.publishDate,
    enclosure_url: row.enclosureUrl,
    episode_url: row.episodeUrl,
  };
  for (const [name, wire] of names)
    if (row[name] !== null)
      item[wire] = { value: row[name], timestamp: row[`${name}At`].slice(0, 16) };
  return item;
}

/** Returns a stored episode with the position of an entry. */
export function episodeRow(stored, { playback_position: position }, stamp) {
  const row = {
    id: stored.id,
    subscription_id: stored.subscriptionId,
    sync_id: stored.syncId,
    changed: stamp,
    publish_date: stored.publishDate,
    episode_guid: stored.episodeGuid,
    title: stored.title,
    enclosure_url: stored.enclosureUrl,
    episode_url: stored.episodeUrl,
    minute_forms: stored.minuteForms,
  };
  for (const [name, column] of names) {
    row[column] = stored[name];
    row[`${column}_at`] = stored[`${name}At`];
  }
  return { ...row, playback_position: position.value, playback_position_at: position.timestamp };
}

/** Returns the item in the response for an entry. */
export function episodeAnswer(row, entry) {
  const item = {
    podcast_guid: entry.podcast_guid,
    sync_id: row.sync_id,
    episode_guid: row.episode_guid,
    title: row.title,
    publish_date: row.publish_date,
    enclosure_url: row.enclosure_url,
    episode_url: row.episode_url,
  };
  for (const [, name] of names)
    if (row[name] !== null)
      item[name] = { value: row[name], timestamp: row[`${name}_at`].slice(0, 16) };
  return item;
}
