import { signal } from '@preact/signals';
import { ApiError } from '#client';
import type { Texts } from '../texts/en.js';
import { retryUntilAnswered } from './network.js';
import { apiOfUser, sendRequest } from './session.js';
import { subscriptionLoader } from './subscriptions.js';

/** The user's last import from another server (docs/reference/interface-import.md). */
export interface ServerImport {
  readonly source: string;
  readonly login: string;
  readonly state: 'waiting' | 'running' | 'stopped' | 'failed' | 'finished';
  readonly fault?: keyof Texts['data']['faults'];
  /** Numbers of imported subscriptions, actions and favourites. */
  readonly subscriptions: number;
  readonly actions: number;
  readonly favorites: number;
  readonly skipped: number;
  readonly skipped_entries: readonly SkippedEntry[];
}

/** A skipped entry. Without `entry`, it is the number (`count`) of entries that are not listed. */
export interface SkippedEntry {
  readonly kind: keyof Texts['data']['entryKinds'];
  readonly reason: string;
  readonly entry?: string;
  readonly count: number;
}

/** An account on the other server, from which an import reads. */
export interface RemoteAccount {
  readonly source: string;
  readonly login: string;
  readonly password: string;
}

const importPath = '/feeds/import';
/** Interval in milliseconds at which the progress of a running import is read. */
const pollMs = 1_000;

/** True if this server can import from other servers; `undefined` until it answers. */
export const hasImports = signal<boolean | undefined>(undefined);
/** The user's last import; `undefined` if there is none. */
export const serverImport = signal<ServerImport | undefined>(undefined);
let pollTimer: ReturnType<typeof setTimeout> | undefined;

/** Loads the last import, and polls it while it runs. Retries transient errors without limit. */
export async function loadServerImport(): Promise<void> {
  const capabilities = await retryUntilAnswered(async () => (await apiOfUser()).capabilities());
  if ('urn:podcast-sync:import' in capabilities) await pollImport();
  hasImports.value = 'urn:podcast-sync:import' in capabilities;
}

/** Starts an import from another server, or continues a stopped one. @throws ApiError */
export async function startServerImport(account: RemoteAccount): Promise<void> {
  showImport(await sendRequest('POST', importPath, account));
}

/** Stops the running import from another server. Retries until the server answers. */
export async function stopServerImport(): Promise<void> {
  showImport(await retryUntilAnswered(() => sendRequest('DELETE', importPath)));
}

async function pollImport(): Promise<void> {
  try {
    showImport(await retryUntilAnswered(() => sendRequest('GET', importPath)));
  } catch (error) {
    // `not_found`: the user started no import within the last day.
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
  }
}

/** Returns true for an import that has not ended. */
export function isImportRunning({ state }: ServerImport): boolean {
  return state === 'waiting' || state === 'running';
}

function showImport(current: ServerImport): void {
  clearTimeout(pollTimer);
  serverImport.value = current;
  if (isImportRunning(current))
    pollTimer = setTimeout(() => void pollImport().catch(() => {}), pollMs);
  else void subscriptionLoader.notify();
}
