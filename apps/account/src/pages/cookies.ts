import type { FastifyReply, FastifyRequest } from 'fastify';
import { newSecret } from '../people/secret.hash.js';
import type { Browser } from '../people/sessions.js';
import type { SignInResult } from '../people/sign-in.js';

/** Lifetime of the device cookie in seconds: the maximum that browsers allow. */
const deviceCookieSeconds = 400 * 86_400;

/** Lifetime in seconds of the cookie that binds challenges, equal to that of a challenge. */
const bindingSeconds = 10 * 60;

/**
 * Reads and sets the cookies of the pages. All ports of a host share cookies, so each cookie name
 * contains `account`. With TLS, a prefix prevents other hosts of the domain from setting these
 * cookies (RFC 6265bis, 4.1.3.2).
 */
export class Cookies {
  private readonly session: string;
  private readonly device: string;
  private readonly provider: string;
  private readonly binding: string;
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
    this.device = `${prefix}account-browser`;
    this.provider = `${prefix}account-provider`;
    this.binding = `${prefix}account-passkey`;
    this.attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  }

  /** Returns IP address, user agent and cookies of a browser. */
  read(request: FastifyRequest): Browser {
    return {
      address: request.ip,
      userAgent: request.headers['user-agent'] ?? '',
      session: request.cookies[this.session],
      device: request.cookies[this.device],
    };
  }

  /** Sets the session cookie and the device cookie. */
  signIn(reply: FastifyReply, { session, device }: SignInResult): void {
    void reply.setCookie(this.session, session.cookie, {
      ...this.attributes,
      expires: session.expiresAt,
    });
    void reply.setCookie(this.device, device, { ...this.attributes, maxAge: deviceCookieSeconds });
  }

  /** Sets the cookie that binds a login at the provider to this browser. */
  setProviderTicket(reply: FastifyReply, ticket: string, seconds: number): void {
    void reply.setCookie(this.provider, ticket, { ...this.attributes, maxAge: seconds });
  }

  /** Returns the cookie of {@link setProviderTicket}, and clears it. */
  takeProviderTicket(request: FastifyRequest, reply: FastifyReply): string | undefined {
    void reply.clearCookie(this.provider, this.attributes);
    return request.cookies[this.provider];
  }

  /** Returns the value that binds challenges of passkeys to this browser, and sets its cookie. */
  bindChallenge(request: FastifyRequest, reply: FastifyReply): string {
    const binding = this.challengeBinding(request) ?? newSecret();
    void reply.setCookie(this.binding, binding, { ...this.attributes, maxAge: bindingSeconds });
    return binding;
  }

  /** Returns the value of {@link bindChallenge}; undefined if the cookie is missing or expired. */
  challengeBinding(request: FastifyRequest): string | undefined {
    return request.cookies[this.binding] || undefined;
  }

  /** Returns the sealed outcome of a form for the page at a path. */
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

  /** Returns a cookie name without `__Host-`, which would require the path `/`. */
  private outcomeName(path: string): string {
    return `${this.attributes.secure ? '__Secure-' : ''}account-form${path.replaceAll('/', '.')}`;
  }

  /** Clears the session cookie. The device cookie remains. */
  signOut(reply: FastifyReply): void {
    void reply.clearCookie(this.session, this.attributes);
  }
}
