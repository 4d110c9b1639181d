/**
 * One code file as the rules see it: what it imports, what it constructs or pretends to be, whether it opens secrets
 * or reads the environment. From a real parser (vite's), so that comments and strings are not taken for code.
 */
import { parseSync, Visitor } from 'vite';

export interface Source {
  /** From the root, with slashes. */
  readonly path: string;
  readonly lines: number;
  /** Why it could not be read; then the rest is empty. */
  readonly fault: string | null;
  readonly imports: readonly Import[];
  readonly uses: readonly Use[];
}

export interface Import {
  /** `null` where it is computed. */
  readonly specifier: string | null;
  readonly line: number;
}

export interface Use {
  /** `make X` (constructs, extends or casts to class X), `reveal` (opens a secret) or `environment` (reads it). */
  readonly what: string;
  readonly line: number;
}

export function parseSource(path: string, text: string): Source {
  const { program, errors } = parseSync(path, text);
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const fault = errors[0]?.message ?? null;
  const reader = new Reader(text);
  if (fault === null) new Visitor(reader.handlers).visit(program);
  return { path, lines, fault, imports: reader.imports, uses: reader.uses };
}

class Reader {
  readonly imports: Import[] = [];
  readonly uses: Use[] = [];
  readonly #text: string;
  /** Local names of what was imported under another. */
  readonly #renamed = new Map<string, string>();

  constructor(text: string) {
    this.#text = text;
  }

  readonly handlers: ConstructorParameters<typeof Visitor>[0] = {
    ImportDeclaration: (node) => {
      this.#import(node.source);
      for (const each of node.specifiers) {
        if (each.type !== 'ImportSpecifier') continue;
        const name = each.imported.type === 'Literal' ? each.imported.value : each.imported.name;
        this.#renamed.set(each.local.name, name);
        if (name === 'env' && /^(node:)?process$/.test(node.source.value)) this.#use('environment', each);
      }
    },
    ExportNamedDeclaration: (node) => node.source && this.#import(node.source),
    ExportAllDeclaration: (node) => this.#import(node.source),
    ImportExpression: (node) => this.#import(node.source),
    TSImportType: (node) => this.#import(node.source),
    NewExpression: (node) => this.#make(node.callee),
    Class: undefined,
    ClassDeclaration: (node) => node.superClass && this.#make(node.superClass),
    ClassExpression: (node) => node.superClass && this.#make(node.superClass),
    TSAsExpression: (node) => this.#cast(node.typeAnnotation),
    TSTypeAssertion: (node) => this.#cast(node.typeAnnotation),
    MemberExpression: (node) => {
      const name = nameOf(node);
      if (name === 'reveal') this.#use('reveal', node);
      if (name === 'env' && nameOf(node.object) === 'process') this.#use('environment', node);
    },
    VariableDeclarator: ({ id, init }) => {
      if (id.type !== 'ObjectPattern') return;
      for (const each of id.properties) {
        if (each.type !== 'Property') continue;
        if (nameOf(each.key) === 'reveal') this.#use('reveal', each);
        if (nameOf(each.key) === 'env' && nameOf(init) === 'process') this.#use('environment', each);
      }
    },
  };

  #import(source: unknown): void {
    const { value, start } = source as Node;
    this.imports.push({ specifier: typeof value === 'string' ? value : null, line: this.#line(start) });
  }

  #make(callee: Node): void {
    const name = nameOf(callee);
    if (name !== null) this.#use(`make ${this.#renamed.get(name) ?? name}`, callee);
  }

  /** A cast to a class that is a proof makes the proof as surely as `new` does. */
  #cast(type: Node): void {
    if (type.type === 'TSTypeReference' && type.typeName) this.#make(type.typeName);
  }

  #use(what: string, { start }: Node): void {
    this.uses.push({ what, line: this.#line(start) });
  }

  #line(offset: number): number {
    return this.#text.slice(0, offset).split('\n').length;
  }
}
