import { cases } from '../system/cases.mjs';

/** The measured requests of a user whose feeds are stored, as in the cases of all requests. */
export const feedCases = {
  'GET /feeds of 50': () => ({ method: 'GET', path: '/feeds' }),
  'GET /feeds of 50, not modified': ({ etag }) => ({
    method: 'GET',
    path: '/feeds',
    headers: { 'if-none-match': etag },
  }),
  'POST of 30 new episodes without titles': (user) => {
    const { body, ...request } = cases['POST of 30 new episodes'](user);
    const episodes = JSON.parse(body).episodes.map((entry) => ({ ...entry, title: '' }));
    return { ...request, body: JSON.stringify({ episodes }) };
  },
};
