import { Socket } from 'node:net';

/**
 * A socket that sends everything written to it in one tick of the event loop together: the statements at either end of
 * a transaction then reach Postgres in one packet, and wake its process up once.
 */
export function corkedSocket(): Socket {
  const socket = new Socket();
  const write = socket.write.bind(socket) as (...written: unknown[]) => boolean;
  let isHeld = false;
  const release = () => {
    isHeld = false;
    socket.uncork();
  };
  const hold = (...written: unknown[]) => {
    if (!isHeld) {
      isHeld = true;
      socket.cork();
      process.nextTick(release);
    }
    return write(...written);
  };
  // Not earlier: Socket.connect() restores the prototype's `write`.
  socket.once('connect', () => Object.assign(socket, { write: hold as Socket['write'] }));
  return socket;
}
