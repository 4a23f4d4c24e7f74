/** The fields of an object that have a name on the list, under their names inside. */
export function fromWire(value: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [wire, name] of Object.entries(names)) {
    if (Object.hasOwn(value, wire)) fields[name] = (value as Record<string, unknown>)[wire];
  }
  return fields;
}
