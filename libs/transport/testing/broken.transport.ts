import { Replica } from '../src/server/replica.js';
import { Takeover } from '../src/server/takeover.js';

/** Ways to break the transport. A case of the failure suite must detect each. */
export type Breakage = 'no takeover' | 'no drain' | 'no claim';

/** Breaks the transport of this process permanently. */
export function breakTransport(how: Breakage): void {
  breakages[how]();
}

const breakages: Record<Breakage, () => void> = {
  'no takeover': () => {
    Takeover.prototype.isDue = async () => false;
  },
  'no drain': () => {
    Replica.prototype.stop = async function (this: Replica) {
      for (const link of this.links) link.redis.disconnect();
    };
  },
  // Runs abandoned requests without a check whether a third replica has them already.
  'no claim': () => {
    const { reserve } = Takeover.prototype;
    Takeover.prototype.reserve = async function (this: Takeover) {
      const { redis } = (
        this as unknown as { link: { redis: { rpcReserve: unknown; rpcDeliver: unknown } } }
      ).link;
      redis.rpcDeliver = async () => 1;
      redis.rpcReserve = async (requests: string, ...[, , , id]: string[]) => {
        const [found] = await (redis as any).xrange(requests, id, id);
        return found?.[1] ?? null;
      };
      return reserve.call(this);
    };
  },
};
