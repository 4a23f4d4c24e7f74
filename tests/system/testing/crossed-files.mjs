// Imported before a program. At SIGUSR2 it sends the files whose functions ran since the last
// signal.
import { Session } from 'node:inspector/promises';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

process.on('SIGUSR2', () => void send());

async function send() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const hasRun = ({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0;
  const urls = result.filter(({ functions }) => functions.some(hasRun)).map(({ url }) => url);
  process.send({ crossed: urls });
}
