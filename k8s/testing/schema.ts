import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { type Manifest, manifestTitle } from './chart.js';

/** Packages with the types of API groups outside of Kubernetes. */
const packages: Record<string, string> = {
  'keda.sh': '@kubernetes-models/keda/',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator/',
};

/**
 * Returns problems of objects by the published types of their kinds: unknown and missing fields,
 * values of another type. The compiler checks each object as a literal, so that it reports unknown
 * fields.
 */
export function schemaProblems(manifests: readonly Manifest[]): string[] {
  const file = fileURLToPath(new URL('manifests.ts', import.meta.url));
  const lines = manifests.map(({ apiVersion, kind, ...rest }) => {
    const from = `${packages[apiVersion.split('/')[0]!] ?? 'kubernetes-models/'}${apiVersion}`;
    const object = JSON.stringify({ apiVersion, kind, ...rest });
    return `(${object}) satisfies import('${from}').I${kind};`;
  });
  const source = ts.createSourceFile(file, lines.join('\n'), ts.ScriptTarget.ES2023);
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) => (name === file ? source : getSourceFile(name, ...rest));
  const program = ts.createProgram([file], options, host);
  return [
    ...program.getSyntacticDiagnostics(source),
    ...program.getSemanticDiagnostics(source),
  ].map(({ start = 0, messageText }) => {
    const object = manifests[source.getLineAndCharacterOfPosition(start).line]!;
    return `${manifestTitle(object)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}
