import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Browser, SignedIn } from '../people/sign-in.js';

/** How long a browser is remembered as one that signed in, in seconds: as long as browsers keep any cookie. */
const rememberedSeconds = 400 * 86_400;

/**
 * The cookies of pages. Ports share the cookies of one host, so the names say whose they are; with TLS their prefix keeps
 * others on the domain from setting them (RFC 6265bis, 4.1.3.2).
 */
export class Cookies {
  private readonly session: string;
  private readonly browser: string;
  private readonly provider: string;
  private readonly attributes: { path: string; httpOnly: boolean; sameSite: 'lax'; secure: boolean };

  constructor(publicUrl: string) {
    const secure = publicUrl.startsWith('https:');
    const prefix = secure ? '__Host-' : '';
    this.session = `${prefix}account-session`;
    this.browser = `${prefix}account-browser`;
    this.provider = `${prefix}account-provider`;
    this.attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  }

  /** The browser that asks, as sign-in knows it. */
  read(request: FastifyRequest): Browser {
    return {
      address: request.ip,
      userAgent: request.headers['user-agent'] ?? '',
      session: request.cookies[this.session],
      device: request.cookies[this.browser],
    };
  }

  signIn(reply: FastifyReply, { session, device }: SignedIn): void {
    void reply.setCookie(this.session, session.cookie, { ...this.attributes, expires: session.expiresAt });
    void reply.setCookie(this.browser, device, { ...this.attributes, maxAge: rememberedSeconds });
  }

  /** Remembers that this browser is on its way to a provider, for so many seconds. */
  depart(reply: FastifyReply, ticket: string, seconds: number): void {
    void reply.setCookie(this.provider, ticket, { ...this.attributes, maxAge: seconds });
  }

  /** What {@link depart} set; the way back is over with it. */
  arrive(request: FastifyRequest, reply: FastifyReply): string | undefined {
    void reply.clearCookie(this.provider, this.attributes);
    return request.cookies[this.provider];
  }

  /** The browser stays known. */
  signOut(reply: FastifyReply): void {
    void reply.clearCookie(this.session, this.attributes);
  }
}
