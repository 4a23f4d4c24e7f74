const snakeNames = new Map<string, string>();

function snake(name: string): string {
  let wire = snakeNames.get(name);
  if (wire === undefined) {
    wire = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, wire);
  }
  return wire;
}

/**
 * A reply as the interface shows it: the same shape with names in snake case. For replies of contracts only, whose
 * names are known; what is not there stays away, so no `null` is ever sent.
 */
export function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toWire);
  if (typeof value !== 'object' || value === null) return value;
  const wire: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) wire[snake(name)] = toWire(field);
  return wire;
}

/** The fields of an object that have a name on the list, under their names inside. */
export function fromWire(value: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [wire, name] of Object.entries(names)) {
    if (Object.hasOwn(value, wire)) fields[name] = (value as Record<string, unknown>)[wire];
  }
  return fields;
}
