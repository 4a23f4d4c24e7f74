import * as client from '@kubernetes/client-node';
import * as keda from '@kubernetes-models/keda';
import * as prometheus from '@kubernetes-models/prometheus-operator';
import * as core from 'kubernetes-models';
import { type Manifest, title } from './overlay.js';

interface Attribute {
  name: string;
  baseName: string;
  type: string;
}

type Model = { getAttributeTypeMap(): Attribute[] };
type Validator = { prototype: { validate(this: Manifest): void } };

const models = client as unknown as Record<string, Model | undefined>;

/** Every field exists, has its type and, where it is required, is there. */
export function schemaProblems(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap((manifest) => {
    const model = modelName(manifest);
    const strict = models[model] ? walk(manifest, model, '') : unreadFields(manifest);
    return [...strict, ...validation(manifest, manifest)].map((problem) => `${title(manifest)}: ${problem}`);
  });
}

/** The name of the client's model, e.g. `V2HorizontalPodAutoscaler`. */
function modelName({ apiVersion, kind }: Manifest): string {
  const version = apiVersion.split('/').at(-1) ?? '';
  return `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
}

/** Compares a value with the type that the client's models give it, strictly: no other field, no other type. */
function walk(value: unknown, type: string, path: string): string[] {
  const wrong = () => [`${path} must be ${type}, is ${JSON.stringify(value)}`];
  const element = /^Array<(.*)>$/.exec(type)?.[1];
  if (element) {
    return Array.isArray(value) ? value.flatMap((item, i) => walk(item, element, `${path}[${i}]`)) : wrong();
  }
  const entry = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (!entry && !models[type]) return fits(value, type) ? [] : wrong();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong();
  const attributes = new Map(models[type]?.getAttributeTypeMap().map((known) => [known.baseName, known.type]));
  return Object.entries(value).flatMap(([name, inner]) => {
    const known = entry ?? attributes.get(name);
    return known ? walk(inner, known, `${path}.${name}`) : [`${path}.${name} is no field of ${type}`];
  });
}

function fits(value: unknown, type: string): boolean {
  if (type === 'any') return true;
  if (type === 'IntOrString') return typeof value === 'string' || Number.isInteger(value);
  return typeof value === (type === 'Date' ? 'string' : type);
}

/** What the published schemas say, which know required fields, ranges and enumerations. */
function validation({ apiVersion, kind }: Manifest, given: Manifest): string[] {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const name = group.replace(/[.-](\w)/g, (_, letter: string) => letter.toUpperCase());
  const groups = { ...core, ...keda, ...prometheus } as unknown as Record<string, Record<string, unknown> | undefined>;
  const versions = (group === '' ? groups : groups[name]) as Record<string, Record<string, Validator>> | undefined;
  const Class = versions?.[version]?.[kind];
  if (!Class) return ['no schema is known for it'];
  try {
    // As a method of the manifest, so that it sees the manifest itself and not a copy.
    Class.prototype.validate.call(given);
    return [];
  } catch (error) {
    return [(error as Error).message.replaceAll('data/', '.').replaceAll('/', '.')];
  }
}

/**
 * Fields that a schema does not know, where only a validator was published: those at which it never looks. An object of
 * which it looks at nothing may hold anything.
 */
function unreadFields(manifest: Manifest): string[] {
  const looks = new Map<string, Set<string>>();
  const watched = (value: object, path: string): object => {
    const looked = looks.get(path) ?? new Set<string>();
    looks.set(path, looked);
    return new Proxy(value, {
      get(target, name, receiver) {
        const inner: unknown = Reflect.get(target, name, receiver);
        if (typeof name === 'symbol') return inner;
        looked.add(name);
        return typeof inner === 'object' && inner !== null ? watched(inner, `${path}.${name}`) : inner;
      },
    });
  };
  validation(manifest, watched(manifest, '') as Manifest);
  const unread = (value: unknown, path: string): string[] => {
    const looked = looks.get(path);
    if (typeof value !== 'object' || value === null || !looked?.size) return [];
    return Object.entries(value).flatMap(([name, inner]) =>
      looked.has(name) || Array.isArray(value)
        ? unread(inner, `${path}.${name}`)
        : [`${path}.${name} is no field of it`],
    );
  };
  return ['metadata', 'spec'].flatMap((part) => unread(manifest[part], `.${part}`));
}
