/** The version of this release, as in package.json. */
export const release = '0.2.0';
