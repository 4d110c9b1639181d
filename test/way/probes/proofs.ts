/** Where a claim is proved: a test, by its file under test/ and its title, or why there is nothing to prove. */

export interface Proof {
  readonly file: string;
  readonly title: string;
}

/** Why there is no test. */
export interface None {
  readonly none: string;
}

/** A test of the probes that every way shares. */
export const shared = (title: string): Proof => ({ file: 'way/probes/probes.ts', title });
export const proof = (file: string, title: string): Proof => ({ file, title });
export const none = (why: string): None => ({ none: why });
