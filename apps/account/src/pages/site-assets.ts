import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Possible folders of the built console, seen from the built program or (in tests) the sources. */
const consoleFolders = ['../console/', '../../../../dist/console/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** Folder of the built console; undefined if `npm run build` did not run. */
export const consoleFolder = consoleFolders.find((folder) => existsSync(`${folder}/manifest.json`));

/** Paths of files that account pages share with the console. Each path contains a content hash. */
export interface SiteAssets {
  readonly style: string;
  readonly icon: string;
  /** Icon without transparency, of 512 pixels, for home screens. */
  readonly touchIcon: string;
  readonly script: string;
  /** Script of pages with forms for passkeys. */
  readonly passkeyScript: string;
}

function readAssets(folder: string): SiteAssets {
  const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, 'utf8')) as Record<
    string,
    { file: string; css?: string[] } | undefined
  >;
  const [styleFile = ''] = manifest['index.html']?.css ?? [];
  const findAssetPath = (source: string) => `/console/${manifest[source]?.file ?? ''}`;
  return {
    style: `/console/${styleFile}`,
    icon: findAssetPath('src/icon.svg'),
    touchIcon: findAssetPath('src/icon.png'),
    script: findAssetPath('src/site.ts'),
    passkeyScript: findAssetPath('src/passkey.ts'),
  };
}

/** Paths of the shared files; undefined if the console is not built. Pages work without them. */
export const siteAssets = consoleFolder === undefined ? undefined : readAssets(consoleFolder);
