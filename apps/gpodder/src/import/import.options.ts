/** What an operator says to import. */
export interface ImportOptions {
  /** Base URL of the other server; `/` at its end. */
  readonly from: URL;
  /** The name of the account here. */
  readonly user: string;
  /** Who that is there. */
  readonly login: string;
  /** Where the password is; not said: it is asked for. */
  readonly passwordFile?: string | undefined;
  /** Where it is noted how far it came. */
  readonly progress?: string | undefined;
}
