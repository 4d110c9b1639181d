/**
 * One code file as the rules see it: what it imports, what it constructs or pretends to be, whether it opens secrets
 * or reads the environment. From a real parser (vite's), so that comments and strings are not taken for code.
 */
import { type ESTree, parseSync, Visitor, type VisitorObject } from 'vite';

export interface Source {
  /** From the root, with slashes. */
  readonly path: string;
  readonly lines: number;
  /** Why it could not be read; then the rest is empty. */
  readonly fault: string | null;
  readonly imports: readonly Import[];
  readonly uses: readonly Use[];
}

interface Import {
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

  readonly handlers: VisitorObject = {
    ImportDeclaration: (node) => {
      this.#import(node.source);
      for (const each of node.specifiers)
        if (each.type === 'ImportSpecifier') this.#name(each, node.source.value);
    },
    ExportNamedDeclaration: (node) => this.#import(node.source),
    ExportAllDeclaration: (node) => this.#import(node.source),
    ImportExpression: (node) => this.#import(node.source),
    TSImportType: (node) => this.#import(node.source),
    NewExpression: (node) => this.#make(node.callee),
    ClassDeclaration: (node) => this.#make(node.superClass),
    ClassExpression: (node) => this.#make(node.superClass),
    TSAsExpression: (node) => this.#cast(node.typeAnnotation),
    TSTypeAssertion: (node) => this.#cast(node.typeAnnotation),
    MemberExpression: (node) => this.#read(node, nameOf(node), node.object),
    VariableDeclarator: ({ id, init }) => {
      if (id.type !== 'ObjectPattern') return;
      for (const each of id.properties) {
        if (each.type === 'Property') this.#read(each, nameOf(each.key), init);
      }
    },
  };

  /** A computed target is a fault of its own: what it names cannot be judged. */
  #import(source: ESTree.Expression | null): void {
    if (!source) return;
    const specifier = source.type === 'Literal' && typeof source.value === 'string' ? source.value : null;
    this.imports.push({ specifier, line: this.#line(source) });
  }

  #name(specifier: ESTree.ImportSpecifier, from: string): void {
    const name = nameOf(specifier.imported);
    if (name !== null) this.#renamed.set(specifier.local.name, name);
    if (name === 'env' && /^(node:)?process$/.test(from)) this.#use('environment', specifier);
  }

  #make(node: ESTree.Node | null): void {
    const name = nameOf(node);
    if (node && name !== null) this.#use(`make ${this.#renamed.get(name) ?? name}`, node);
  }

  /** A cast to a class that is a proof makes the proof as surely as `new` does. */
  #cast(type: ESTree.TSType): void {
    if (type.type === 'TSTypeReference') this.#make(type.typeName);
  }

  /** `object.name`, or `const { name } = object`. */
  #read(node: ESTree.Node, name: string | null, object: ESTree.Node | null): void {
    if (name === 'reveal') this.#use('reveal', node);
    if (name === 'env' && nameOf(object) === 'process') this.#use('environment', node);
  }

  #use(what: string, node: ESTree.Node): void {
    this.uses.push({ what, line: this.#line(node) });
  }

  #line({ start }: ESTree.Node): number {
    return this.#text.slice(0, start).split('\n').length;
  }
}

/** The last name of `name`, `a.name`, `a['name']`, `'name'`; `null` for anything else. */
function nameOf(node: ESTree.Node | null): string | null {
  if (node?.type === 'Identifier') return node.name;
  if (node?.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node?.type === 'MemberExpression') return nameOf(node.property);
  return node?.type === 'TSQualifiedName' ? node.right.name : null;
}
