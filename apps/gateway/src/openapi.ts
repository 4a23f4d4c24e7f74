import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { z } from 'zod';
import { release } from '#contracts';

/** Creates the OpenAPI 3.1 description from the schemas that validate requests. */
export function createOpenApi(app: INestApplication): OpenAPIObject {
  const documentBase = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Podcast Sync')
    .setDescription(
      'The Open Podcast API draft: subscriptions and episode synchronisation. ' +
        "Keeps a listener's podcasts and the state of every episode the same on every device.",
    )
    .setVersion(release)
    .addBearerAuth()
    .build();
  const document = SwaggerModule.createDocument(app, documentBase, {
    standardSchemaConverter: (schema, { schemaType }) =>
      toJsonSchema(schema as z.ZodType, schemaType),
  });
  // Omits the routes below /v1/, because they equal the routes without /v1/.
  document.paths = Object.fromEntries(
    Object.entries(document.paths).filter(([path]) => !path.startsWith('/v1/')),
  );
  for (const item of Object.values(document.paths)) {
    for (const operation of [item.get, item.post, item.patch, item.delete]) {
      if (operation)
        operation.operationId = operation.operationId?.replace(/Controller|\[\d+\]$/g, '');
    }
  }
  return document;
}

/** Converts a schema to JSON Schema. The named schemas inside it become components. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output') {
  const options = {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    reused: 'inline',
  } as const;
  const { $schema: _version, $defs, ...rootSchema } = z.toJSONSchema(schema, options);
  const components = Object.fromEntries(
    Object.entries($defs ?? {}).map(([id, definition]) => [id, removeId(definition)]),
  );
  return { schema: removeId(rootSchema), components };
}

/** Removes `id` and `$id` from a JSON Schema, because OpenAPI does not have them. */
function removeId({
  id: _id,
  $id: _uri,
  ...schema
}: Record<string, unknown>): Record<string, unknown> {
  return schema;
}
