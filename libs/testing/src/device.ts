/** An answer of the API. */
export interface DeviceAnswer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  /** Time in ms from the start of the request to the end of the answer. */
  readonly tookMs: number;
}

/** An HTTP client of one user. It does not check the status of answers. */
export class Device {
  constructor(
    private readonly baseUrl: string,
    readonly token: string,
    readonly user: string,
  ) {}

  /** Sends a request and returns its answer. @throws TypeError without a complete answer. */
  async send<Body = Record<string, unknown>>(
    method: string,
    path: string,
    {
      body,
      key,
      headers,
    }: {
      body?: unknown;
      /** Value of `Idempotency-Key`. */ key?: string;
      headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<DeviceAnswer<Body>> {
    const start = performance.now();
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text ? JSON.parse(text) : undefined) as Body,
      tookMs: performance.now() - start,
    };
  }
}
