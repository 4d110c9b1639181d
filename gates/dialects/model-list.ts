/** The catalogue as each family of clients lists it: names, the dialects in which each is called, and pages of them. */
import type { Dialect, Family } from '../../core-lite/state/dialect.ts';
import type { ModelFacts } from '../../core-lite/state/model.ts';

/** @param models by name. @param query what the client says of its page */
export function formatModelList(
  family: Family,
  models: readonly ModelFacts[],
  query: URLSearchParams,
): object {
  switch (family) {
    case 'openai':
      return { object: 'list', data: models.map((model) => formatModel(family, model)) };
    case 'anthropic': {
      const { page, more } = cut(models, query.get('after_id'), query.get('limit'));
      const data = page.map((model) => formatModel(family, model));
      return { data, has_more: more, first_id: page[0]?.name ?? null, last_id: page.at(-1)?.name ?? null };
    }
    case 'gemini': {
      const { page, more } = cut(models, query.get('pageToken'), query.get('pageSize'));
      const listed = page.map((model) => formatModel(family, model));
      return { models: listed, ...(more ? { nextPageToken: page.at(-1)?.name } : {}) };
    }
    default:
      return family satisfies never;
  }
}

export function formatModel(family: Family, { name, dialects, createdAt }: ModelFacts): object {
  switch (family) {
    case 'openai': {
      const created = Math.floor(createdAt.getTime() / 1000);
      return { id: name, object: 'model', created, owned_by: 'sallyport', dialects };
    }
    case 'anthropic':
      return { type: 'model', id: name, display_name: name, created_at: createdAt.toISOString(), dialects };
    case 'gemini':
      return {
        name: `models/${name}`,
        version: '1',
        displayName: name,
        supportedGenerationMethods: geminiMethods(dialects),
        dialects,
      };
    default:
      return family satisfies never;
  }
}

function geminiMethods(dialects: readonly Dialect[]): readonly string[] {
  return dialects.includes('gemini') ? ['generateContent', 'streamGenerateContent', 'countTokens'] : [];
}

/** One page: what comes behind a name, as many as asked for. A name that is gone has nothing behind it. */
function cut(
  models: readonly ModelFacts[],
  after: string | null,
  limit: string | null,
): { readonly page: readonly ModelFacts[]; readonly more: boolean } {
  const at = after ? models.findIndex(({ name }) => name === after) : -1;
  const rest = after && at < 0 ? [] : models.slice(at + 1);
  const size = limit && /^[1-9]\d{0,3}$/.test(limit) ? Number(limit) : MAX_PAGE;
  const page = rest.slice(0, Math.min(size, MAX_PAGE));
  return { page, more: page.length < rest.length };
}

/** The largest page of both families that have pages. */
const MAX_PAGE = 1000;
