export {
  answerList,
  answerWrite,
  readSession,
  readState,
  saveReader,
  saveSession,
  sessionTimestamp,
} from './sync-state.repository.js';
