/** Options of an import. */
export interface ImportOptions {
  /** Base URL of the other server, with a trailing `/`. */
  readonly from: URL;
  /** Name of the account here. */
  readonly user: string;
  /** Name of the account at the other server. */
  readonly login: string;
  /** File with the password; by default the program asks for it. */
  readonly passwordFile?: string | undefined;
  /** File for the progress. */
  readonly progress?: string | undefined;
}
