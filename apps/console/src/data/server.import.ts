import { signal } from '@preact/signals';
import { ApiError } from '#client';
import type { Texts } from '../texts/en.js';
import { retryUntilAnswered } from './network.js';
import { connect, send } from './session.js';
import { subscriptionLoader } from './subscriptions.js';

/** The user's last import from another server (docs/reference/interface-import.md). */
export interface ServerImport {
  readonly source: string;
  readonly login: string;
  readonly state: 'waiting' | 'running' | 'stopped' | 'failed' | 'finished';
  readonly fault?: keyof Texts['data']['faults'];
  readonly subscriptions: number;
  readonly actions: number;
  readonly favorites: number;
  readonly skipped: number;
  readonly skipped_entries: readonly SkippedEntry[];
}

/** A skipped entry, or a number of entries that are not listed. */
export interface SkippedEntry {
  readonly kind: keyof Texts['data']['entryKinds'];
  readonly reason: string;
  readonly entry?: string;
  readonly count: number;
}

/** An account on another server. */
export interface Account {
  readonly source: string;
  readonly login: string;
  readonly password: string;
}

const path = '/feeds/import';
/** Interval of the reads of a running import, in milliseconds. */
const pollMs = 1_000;

/** False if the server imports nothing from other servers; `undefined` until it answered. */
export const hasImports = signal<boolean | undefined>(undefined);
/** The last import; `undefined` without one. */
export const serverImport = signal<ServerImport | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Loads the last import, and follows it while it runs. Retries transient errors endlessly. */
export async function loadServerImport(): Promise<void> {
  const capabilities = await retryUntilAnswered(async () => (await connect()).capabilities());
  if ('urn:podcast-sync:import' in capabilities) await follow();
  hasImports.value = 'urn:podcast-sync:import' in capabilities;
}

/** Starts or continues an import. @throws ApiError */
export async function startServerImport(account: Account): Promise<void> {
  show(await send('POST', path, account));
}

/** Stops the running import. */
export async function stopServerImport(): Promise<void> {
  show(await retryUntilAnswered(() => send('DELETE', path)));
}

async function follow(): Promise<void> {
  try {
    show(await retryUntilAnswered(() => send('GET', path)));
  } catch (error) {
    // Without an import of the last day.
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
  }
}

/** Returns true for an import that has not ended. */
export function isRunning({ state }: ServerImport): boolean {
  return state === 'waiting' || state === 'running';
}

function show(current: ServerImport): void {
  clearTimeout(timer);
  serverImport.value = current;
  if (isRunning(current)) timer = setTimeout(() => void follow().catch(() => {}), pollMs);
  else void subscriptionLoader.notify();
}
