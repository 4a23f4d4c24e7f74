export {
  answerList,
  answerWrite,
  readSession,
  readSyncState,
  saveReader,
  saveSession,
  sessionTimestamp,
} from './sync-state.repository.js';
