import { parser } from '@prometheus-io/lezer-promql';

type Tree = ReturnType<typeof parser.parse>;
type SyntaxNode = Tree['topNode'];

/** Labels with the values that they were seen with. */
type Labels = ReadonlyMap<string, ReadonlySet<string>>;
/** Metrics by name. */
export type Metrics = ReadonlyMap<string, Labels>;

/** Reads Prometheus' text format, of any number of scrapes; `everywhere` are labels that the scraper adds to all. */
export function readMetrics(
  texts: readonly string[],
  everywhere: Readonly<Record<string, readonly string[]>>,
): Metrics {
  const metrics = new Map<string, Map<string, Set<string>>>();
  const known = (name: string) => {
    const added = Object.entries(everywhere).map(([label, values]) => [label, new Set(values)] as const);
    return metrics.get(name) ?? metrics.set(name, new Map(added)).get(name)!;
  };
  known('up');
  for (const [, name = '', pairs = ''] of texts.join('\n').matchAll(/^([a-z_:][\w:]*)(?:\{(.*)\})? /gim)) {
    const labels = known(name);
    for (const [, label = '', value = ''] of pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels.set(label, (labels.get(label) ?? new Set()).add(value));
  }
  return metrics;
}

/**
 * What is wrong with an expression in PromQL: its syntax, a metric that is not there, a label that the metrics it is
 * used on do not have, a value that a label is compared with and never has.
 *
 * @param shown texts with labels in braces that are made of its result, e.g. a legend.
 */
export function expressionProblems(expression: string, metrics: Metrics, shown: readonly string[] = []): string[] {
  // What Grafana puts in.
  const text = expression.replaceAll('$__rate_interval', '5m');
  const tree = parser.parse(text);
  const nodes = all(tree);
  const said = (node: SyntaxNode) => text.slice(node.from, node.to);
  const broken = nodes.find(({ type }) => type.isError);
  if (broken) return [`is no PromQL at "${text.slice(broken.from, broken.from + 20)}"`];

  const selectors = nodes.filter(({ name }) => name === 'VectorSelector');
  const metricOf = (selector: SyntaxNode) => said(selector.getChild('Identifier') ?? selector);
  const within = (outer: SyntaxNode) => selectors.filter(({ from, to }) => from >= outer.from && to <= outer.to);
  const has = (selector: SyntaxNode, label: string) => metrics.get(metricOf(selector))?.has(label) ?? true;
  return [
    ...selectors
      .map(metricOf)
      .filter((name) => !metrics.has(name))
      .map((name) => `there is no metric ${name}`),
    ...selectors.flatMap((selector) => matcherProblems(selector, metrics.get(metricOf(selector)), said)),
    ...nodes
      .filter(({ name }) => name === 'GroupingLabels')
      .flatMap((labels) =>
        labels.getChildren('LabelName').flatMap((label) =>
          within(operationOf(labels))
            .filter((selector) => !has(selector, said(label)))
            .map((selector) => `${metricOf(selector)} has no label ${said(label)}`),
        ),
      ),
    ...labelsIn(shown)
      .filter((label) => !selectors.every((selector) => has(selector, label) && survives(selector, label, said)))
      .map((label) => `shows the label ${label}, which its result does not have`),
  ];
}

function all(tree: Tree): SyntaxNode[] {
  const nodes: SyntaxNode[] = [];
  tree.iterate({ enter: ({ node }) => void nodes.push(node) });
  return nodes;
}

function matcherProblems(
  selector: SyntaxNode,
  labels: Labels | undefined,
  said: (node: SyntaxNode) => string,
): string[] {
  const matchers = selector.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
  return matchers.flatMap((matcher) => {
    const [label, operator, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((part) => {
      const node = matcher.getChild(part);
      return node ? said(node) : '';
    }) as [string, string, string];
    const values = labels?.get(label);
    if (labels && !values) return [`${said(selector.getChild('Identifier')!)} has no label ${label}`];
    const wanted = value.slice(1, -1);
    return operator === '=' && values && !values.has(wanted) ? [`the label ${label} is never ${wanted}`] : [];
  });
}

/** The aggregation or the pair of operands that labels are named for. */
function operationOf(labels: SyntaxNode): SyntaxNode {
  let node = labels;
  while (node.parent && !['AggregateExpr', 'BinaryExpr'].includes(node.name)) node = node.parent;
  return node;
}

/** The labels that texts show: `{{app}}` in a legend, `{{ $labels.app }}` in an annotation. */
function labelsIn(texts: readonly string[]): string[] {
  return texts.flatMap((text) =>
    [...text.matchAll(/\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}/g)].map(([, label = '']) => label),
  );
}

/** Whether no aggregation around a metric drops a label. */
function survives(selector: SyntaxNode, label: string, said: (node: SyntaxNode) => string): boolean {
  for (let node: SyntaxNode | null = selector; node; node = node.parent) {
    if (node.name !== 'AggregateExpr') continue;
    const kept = node.getChild('AggregateModifier')?.getChild('GroupingLabels')?.getChildren('LabelName') ?? [];
    if (!kept.some((name) => said(name) === label)) return false;
  }
  return true;
}
