import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Browser, SignedIn } from '../people/sign-in.js';

/** Lifetime of the browser cookie in seconds: the maximum that browsers allow. */
const rememberedSeconds = 400 * 86_400;

/**
 * The cookies of the pages. All ports of a host share cookies, so each name contains the app. With
 * TLS, the prefix keeps other hosts of the domain from setting them (RFC 6265bis, 4.1.3.2).
 */
export class Cookies {
  private readonly session: string;
  private readonly browser: string;
  private readonly provider: string;
  private readonly attributes: {
    path: string;
    httpOnly: boolean;
    sameSite: 'lax';
    secure: boolean;
  };

  constructor(publicUrl: string) {
    const secure = publicUrl.startsWith('https:');
    const prefix = secure ? '__Host-' : '';
    this.session = `${prefix}account-session`;
    this.browser = `${prefix}account-browser`;
    this.provider = `${prefix}account-provider`;
    this.attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  }

  read(request: FastifyRequest): Browser {
    return {
      address: request.ip,
      userAgent: request.headers['user-agent'] ?? '',
      session: request.cookies[this.session],
      device: request.cookies[this.browser],
    };
  }

  signIn(reply: FastifyReply, { session, device }: SignedIn): void {
    void reply.setCookie(this.session, session.cookie, {
      ...this.attributes,
      expires: session.expiresAt,
    });
    void reply.setCookie(this.browser, device, { ...this.attributes, maxAge: rememberedSeconds });
  }

  /** Sets the cookie that binds a login at the provider to this browser, for some seconds. */
  depart(reply: FastifyReply, ticket: string, seconds: number): void {
    void reply.setCookie(this.provider, ticket, { ...this.attributes, maxAge: seconds });
  }

  /** Clears the cookie of {@link depart}, and returns its value. */
  arrive(request: FastifyRequest, reply: FastifyReply): string | undefined {
    void reply.clearCookie(this.provider, this.attributes);
    return request.cookies[this.provider];
  }

  /** Returns the outcome of a form that the page at a path shows. */
  outcome(request: FastifyRequest, path: string): string | undefined {
    return request.cookies[this.outcomeName(path)];
  }

  setOutcome(reply: FastifyReply, path: string, value: string, seconds: number): void {
    void reply.setCookie(this.outcomeName(path), value, {
      ...this.attributes,
      path,
      maxAge: seconds,
    });
  }

  clearOutcome(reply: FastifyReply, path: string): void {
    void reply.clearCookie(this.outcomeName(path), { ...this.attributes, path });
  }

  /** The prefix `__Host-` would require the path `/`. */
  private outcomeName(path: string): string {
    return `${this.attributes.secure ? '__Secure-' : ''}account-form${path.replaceAll('/', '.')}`;
  }

  /** The browser cookie remains. */
  signOut(reply: FastifyReply): void {
    void reply.clearCookie(this.session, this.attributes);
  }
}
