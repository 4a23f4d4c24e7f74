import { expect, it } from 'vitest';
import { EpisodeIndex } from './episode-index.js';

const index = new EpisodeIndex();
const podcast_guid = 'p';
index.add({
  podcast_guid,
  sync_id: 'both',
  episode_guid: 'g',
  enclosure_url: 'https://a.example/1',
});
index.add({
  podcast_guid,
  sync_id: 'file',
  episode_guid: '',
  enclosure_url: 'https://a.example/1',
});
index.add({ podcast_guid, sync_id: 'none', episode_guid: '', enclosure_url: '' });
index.add({ podcast_guid: 'other', sync_id: 'foreign', episode_guid: 'g' });

it.each([
  [{ episode_guid: 'g' }, ['both']],
  [{ enclosure_url: 'https://A.example:443/%31' }, ['both', 'file']],
  [{ episode_guid: 'h', enclosure_url: 'https://a.example/2' }, []],
  [{ episode_guid: 'https://a.example/1' }, []],
  [{ episode_guid: '', enclosure_url: '' }, []],
  [{ sync_id: 'both' }, []],
])('finds the episodes of a podcast that share an identifier with %j', (episode, syncIds) => {
  expect(index.syncIdsOf({ podcast_guid, ...episode })).toEqual(syncIds);
});
