import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchDebianProgram, startOnFreePort, type Program } from '#embedded';
import { eventually } from '#testing';

async function nginx(programs: string): Promise<Program> {
  const works = ({ command, env }: Program) => spawnSync(command, ['-v'], { env }).status === 0;
  const installed = { command: 'nginx', env: process.env };
  if (works(installed)) return installed;
  const fetched = await fetchDebianProgram('nginx', programs, works, console.log);
  if (!fetched) throw new Error('nginx is needed on the PATH: it could not be fetched here.');
  return fetched;
}

/** Returns nginx's configuration: its defaults apart from port, upstream and folders. */
function configuration(folder: string, port: number, target: number): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_rlimit_nofile 16384;
events { worker_connections 8192; }
http {
  access_log off; ${places.join(' ')}
  upstream gateway { server 127.0.0.1:${target}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 8m;
    location / {
      proxy_pass http://gateway; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host $http_host;
    }
  }
}
`;
}

/**
 * A stock nginx in front of a gateway, as in public deployments. It forwards the requests of a
 * connection one at a time, and buffers heads and bodies before.
 */
export class Proxy {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** Starts nginx. @param target the gateway's port. @param programs folder of downloads. */
  static async open(target: number, programs: string): Promise<Proxy> {
    const { command, env } = await nginx(programs);
    const folder = mkdtempSync(join(tmpdir(), 'podcast-sync-nginx-'));
    return startOnFreePort(async (port) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'nginx.conf'), configuration(folder, port, target));
      const child = spawn(command, ['-c', join(folder, 'nginx.conf'), '-p', folder], {
        env,
        stdio: 'ignore',
      });
      await eventually(() => listens(port));
      return new Proxy(port, child, folder);
    });
  }

  close(): void {
    this.child.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function listens(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
