export {
  answerList,
  answerWrite,
  selectSession,
  selectSyncState,
  saveReader,
  saveSession,
  sessionTimestamp,
} from './sync-state.repository.js';
