/**
 * Who calls: an admin key, or on the routes that say so the run token of the very turn that is meant. A key that may
 * only read is refused on everything but reads, before a body or a parameter is looked at.
 */
import type { FastifyRequest } from 'fastify';
import type { Database } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { Secret } from '../secret.ts';
import { type Admin, findAdmin } from '../state/admin.ts';
import { loadVerifyingKeys } from '../tokens/signing-keys.ts';
import { type VerifiedToken, verifyToken } from '../tokens/verify.ts';

/** What authentication works with. */
export interface Authentication {
  readonly database: Database;
  readonly now: () => Date;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The run token that was sent in place of an admin key. */
    run: VerifiedToken<'run'> | null;
  }
}

/** Rejects with Fault `unauthorized`, or `forbidden` where the key may only read. */
export async function authenticateAdmin(context: Authentication, request: FastifyRequest): Promise<void> {
  const admin = await findSender(context, readBearer(request, ADMIN_KEY));
  if (!admin) throw new Fault('unauthorized', 'no admin key was sent, or it is not one of this installation');
  admit(request, admin);
}

/**
 * Takes a run token too; whether its run is stale is not asked, and what it may do is for the route to say.
 * Rejects as `authenticateAdmin` does.
 */
export async function authenticateAdminOrRun(
  context: Authentication,
  request: FastifyRequest,
): Promise<void> {
  const admin = await findSender(context, readBearer(request, ADMIN_KEY));
  if (admin) return admit(request, admin);
  const text = readBearer(request, TOKEN);
  const run =
    text && (await verifyToken('run', text, await loadVerifyingKeys(context.database), context.now()));
  if (!run || typeof run === 'string') {
    throw new Fault('unauthorized', 'no admin key and no run token of this installation was sent');
  }
  request.run = run;
  request.actor = { id: run.id };
}

function admit(request: FastifyRequest, admin: Admin): void {
  if (admin.role !== 'full' && !READS.has(request.method)) {
    throw new Fault('forbidden', 'the admin key may only read');
  }
  request.actor = admin;
}

async function findSender({ database }: Authentication, key: string | undefined): Promise<Admin | null> {
  return key === undefined ? null : findAdmin(database, new Secret(key));
}

function readBearer(request: FastifyRequest, shape: RegExp): string | undefined {
  return shape.exec(request.headers.authorization ?? '')?.[1];
}

const ADMIN_KEY = /^Bearer (\S{1,200})$/i;
const TOKEN = /^Bearer (\S{1,4096})$/i;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
