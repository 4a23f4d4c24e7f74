export {
  answerList,
  answerWrite,
  readSession,
  readState,
  saveReader,
  saveSession,
  sessionTimestamp,
} from './sync-state.store.js';
