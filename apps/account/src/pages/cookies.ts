import type { FastifyReply, FastifyRequest } from 'fastify';
import { challengeLifetimeMs } from '../people/passkeys.js';
import { newSecret } from '../people/secret-hash.js';
import type { Browser } from '../people/sessions.js';
import type { SignInResult } from '../people/sign-in.js';

/**
 * Lifetime of the session cookie in seconds, equal to the maximum lifetime of a session. Only a
 * sign-in sets the cookie. The server ends unused sessions earlier.
 */
const sessionCookieSeconds = 365 * 86_400;

/** Lifetime of the device cookie in seconds: the maximum that browsers allow (RFC 6265bis). */
const deviceCookieSeconds = 400 * 86_400;

/** Lifetime in seconds of the cookie that binds passkey challenges to a browser. */
const bindingCookieSeconds = challengeLifetimeMs / 1_000;

/**
 * Reads and sets the cookies of the pages. All ports of a host share cookies, so each cookie name
 * contains `account`. With TLS, a prefix prevents other hosts of the domain from setting these
 * cookies (RFC 6265bis, 4.1.3.2).
 */
export class Cookies {
  private readonly sessionCookie: string;
  private readonly deviceCookie: string;
  private readonly providerCookie: string;
  private readonly bindingCookie: string;
  private readonly cookieAttributes: {
    path: string;
    httpOnly: boolean;
    sameSite: 'lax';
    secure: boolean;
  };

  constructor(publicUrl: string) {
    const isSecure = publicUrl.startsWith('https:');
    const prefix = isSecure ? '__Host-' : '';
    this.sessionCookie = `${prefix}account-session`;
    this.deviceCookie = `${prefix}account-browser`;
    this.providerCookie = `${prefix}account-provider`;
    this.bindingCookie = `${prefix}account-passkey`;
    this.cookieAttributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure };
  }

  /** Returns IP address, user agent and cookies of a browser. */
  readBrowser(request: FastifyRequest): Browser {
    return {
      address: request.ip,
      userAgent: request.headers['user-agent'] ?? '',
      session: request.cookies[this.sessionCookie],
      device: request.cookies[this.deviceCookie],
    };
  }

  /** Sets the session cookie and the device cookie. */
  setSignInCookies(reply: FastifyReply, { session, device }: SignInResult): void {
    void reply.setCookie(this.sessionCookie, session.cookie, {
      ...this.cookieAttributes,
      maxAge: sessionCookieSeconds,
    });
    this.setDeviceCookie(reply, device);
  }

  /** Sets the cookie by which sign-ins recognize the browser. The cookie grants no access. */
  setDeviceCookie(reply: FastifyReply, device: string): void {
    void reply.setCookie(this.deviceCookie, device, {
      ...this.cookieAttributes,
      maxAge: deviceCookieSeconds,
    });
  }

  /** Sets the cookie that binds a sign-in at the OpenID provider to this browser. */
  setProviderTicket(reply: FastifyReply, ticket: string, seconds: number): void {
    void reply.setCookie(this.providerCookie, ticket, {
      ...this.cookieAttributes,
      maxAge: seconds,
    });
  }

  /** Returns and clears the cookie of {@link setProviderTicket}; undefined without this cookie. */
  takeProviderTicket(request: FastifyRequest, reply: FastifyReply): string | undefined {
    void reply.clearCookie(this.providerCookie, this.cookieAttributes);
    return request.cookies[this.providerCookie];
  }

  /** Returns a secret that binds passkey challenges to this browser, and sets it as a cookie. */
  bindChallenge(request: FastifyRequest, reply: FastifyReply): string {
    const binding = this.challengeBinding(request) ?? newSecret();
    void reply.setCookie(this.bindingCookie, binding, {
      ...this.cookieAttributes,
      maxAge: bindingCookieSeconds,
    });
    return binding;
  }

  /** Returns the value of {@link bindChallenge}; undefined if the cookie is missing or expired. */
  challengeBinding(request: FastifyRequest): string | undefined {
    return request.cookies[this.bindingCookie] || undefined;
  }

  /** Returns the encrypted outcome of a form for the page at `path`; undefined without one. */
  readOutcome(request: FastifyRequest, path: string): string | undefined {
    return request.cookies[this.buildOutcomeCookieName(path)];
  }

  setOutcome(reply: FastifyReply, path: string, sealedOutcome: string, seconds: number): void {
    void reply.setCookie(this.buildOutcomeCookieName(path), sealedOutcome, {
      ...this.cookieAttributes,
      path,
      maxAge: seconds,
    });
  }

  clearOutcome(reply: FastifyReply, path: string): void {
    void reply.clearCookie(this.buildOutcomeCookieName(path), { ...this.cookieAttributes, path });
  }

  /** Returns the cookie name of a form's outcome. The prefix `__Host-` would require path `/`. */
  private buildOutcomeCookieName(path: string): string {
    const prefix = this.cookieAttributes.secure ? '__Secure-' : '';
    return `${prefix}account-form${path.replaceAll('/', '.')}`;
  }

  /** Clears the session cookie. The device cookie stays, so that the device remains trusted. */
  clearSessionCookie(reply: FastifyReply): void {
    void reply.clearCookie(this.sessionCookie, this.cookieAttributes);
  }
}
