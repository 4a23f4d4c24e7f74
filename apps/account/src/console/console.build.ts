import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Relative to the built program, and to this file when tests run the sources. */
const folders = ['../console/', '../../../../dist/console/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** Returns the folder with what `npm run build` makes of the console, `undefined` if nothing is built. */
export const consoleFolder = folders.find((folder) => existsSync(`${folder}/manifest.json`));

/** Files that account pages share with the console, under the names of their content. */
export interface SiteAssets {
  readonly style: string;
  readonly icon: string;
}

/** Returns the shared files from the manifest of the build (Vite, "Backend Integration"). */
function readAssets(folder: string): SiteAssets {
  const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, 'utf8')) as Record<
    string,
    { file: string; css?: string[] } | undefined
  >;
  const [style = ''] = manifest['index.html']?.css ?? [];
  return { style: `/console/${style}`, icon: `/console/${manifest['src/icon.svg']?.file ?? ''}` };
}

/** The shared files, absent if the console is not built. Pages work without. */
export const siteAssets = consoleFolder === undefined ? undefined : readAssets(consoleFolder);
