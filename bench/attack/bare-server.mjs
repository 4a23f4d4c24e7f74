// Answers every request with an empty 200: the least that a server of Node does for a connection.
import { createServer } from 'node:http';

const server = createServer((_request, response) => response.end());
server.listen(0, '127.0.0.1', () => process.send(server.address().port));

// Ends with its parent.
process.on('disconnect', () => process.exit());
