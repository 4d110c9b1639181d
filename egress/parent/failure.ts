/**
 * Why there is no way through the parent proxy, as values. A code says which thing failed; nothing of the parent's own
 * words is in it, since they would reach whoever asked.
 */

export class ParentFailure {
  declare private readonly brand: 'parent-failure';
  /** `connect_failed`: the parent works, and says that it did not reach the host. */
  readonly refusal: 'parent_failed' | 'connect_failed';
  /** `PARENT_` and capitals, digits, underscores. */
  readonly code: string;

  constructor(refusal: ParentFailure['refusal'], code: string) {
    this.refusal = refusal;
    this.code = code;
  }
}

/** The parent is away, does not speak its protocol, or refuses us or the host. */
export function parentFailed(what: string): ParentFailure {
  return new ParentFailure('parent_failed', `PARENT_${what}`);
}

/** The parent took the request and could not reach the host. */
export function originFailed(what: string): ParentFailure {
  return new ParentFailure('connect_failed', `PARENT_${what}`);
}
