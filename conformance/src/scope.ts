import { randomUUID } from 'node:crypto';
import type { Captures } from './match.rules.js';

/** Replaces the references `{{name}}` in one vector by their values. README.md lists them. */
export class Scope {
  readonly captures: Captures = {};
  private readonly startMs = Date.now();

  /** @param prefix of the URLs of all feeds, by which the run finds and deletes them. */
  constructor(private readonly prefix: string) {}

  /** Returns a value of a vector with each `{{name}}` replaced. */
  resolve(value: unknown): unknown {
    if (typeof value === 'string') return this.resolveText(value);
    if (Array.isArray(value)) return value.map((item) => this.resolve(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, this.resolve(item)]),
    );
  }

  /** Replaces the references in a string. A single reference keeps its type, such as a number. */
  private resolveText(text: string): unknown {
    const whole = /^\{\{([^{}]+)\}\}$/.exec(text)?.[1];
    if (whole !== undefined) return this.valueOfReference(whole);
    return text.replaceAll(/\{\{([^{}]+)\}\}/g, (_all, name: string) =>
      String(this.valueOfReference(name)),
    );
  }

  private valueOfReference(name: string): unknown {
    const [kind = '', argument = ''] = name.split(':');
    switch (kind) {
      case 'feed':
        return `${this.prefix}/${argument}`;
      case 'http':
        return `${this.prefix.replace('https:', 'http:')}/${argument}`;
      case 'uuid':
        return (this.captures[name] ??= randomUUID());
      case 'UUID':
        return String(this.valueOfReference(`uuid:${argument}`)).toUpperCase();
      case 'time':
        return this.timeAfterStart(argument).toISOString();
      case 'minute':
        return this.timeAfterStart(argument).toISOString().slice(0, 16);
      case 'zoned':
        return this.timeAfterStart(`${Number(argument) + 7_200}`)
          .toISOString()
          .replace('Z', '+02:00');
      default:
    }
    if (this.captures[name] === undefined) throw new Error(`no value for {{${name}}}`);
    return this.captures[name];
  }

  /** Returns the start of the vector plus some seconds. */
  private timeAfterStart(seconds: string): Date {
    return new Date(this.startMs + Number(seconds) * 1_000);
  }
}
