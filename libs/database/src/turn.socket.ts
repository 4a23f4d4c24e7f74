import { Socket } from 'node:net';

/**
 * A socket that sends together what is written to it in one turn of the event loop: the statements at either end of a
 * transaction are then one packet for Postgres to wake up for, and not one each.
 */
export function turnSocket(): Socket {
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
  // Not before: a socket that connects takes its own `write` again.
  socket.once('connect', () => Object.assign(socket, { write: hold as Socket['write'] }));
  return socket;
}
