/** Vaults and credentials. A secret part comes in and never goes out again. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { Secret } from '../secret.ts';
import { changeAsAdmin } from '../state/admin.ts';
import { type CredentialInput, parseCredential } from '../vault/credential.ts';
import {
  listCredentials,
  listVaults,
  putCredential,
  putVault,
  removeCredential,
  removeVault,
  rotateCredential,
} from '../vault/credential-store.ts';
import type { CoreContext } from './context.ts';
import { HostText, Moment, Name, Nothing, nullable, Texts } from './schemas.ts';

export function vaultRoutes(context: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(ownVaultRoutes(context));
    await app.register(credentialRoutes(context));
  };
}

function ownVaultRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/vaults', { schema: { response: { 200: Type.Array(Vault) } } }, () => listVaults(database));

    app.put(
      '/vaults/:vault',
      { schema: { params: ByVault, response: { 204: Nothing } } },
      async (request, reply) => {
        const { vault } = request.params;
        await changeAsAdmin(database, request.actor, async (tx) => {
          await putVault(tx, vault);
          return { result: null, event: { action: 'vault.put', subject: vault, detail: {} } };
        });
        return reply.code(204).send(null);
      },
    );

    app.delete(
      '/vaults/:vault',
      { schema: { params: ByVault, response: { 204: Nothing } } },
      async (request, reply) => {
        const { vault } = request.params;
        await changeAsAdmin(database, request.actor, async (tx) => {
          await removeVault(tx, vault);
          return { result: null, event: { action: 'vault.rm', subject: vault, detail: {} } };
        });
        return reply.code(204).send(null);
      },
    );
  };
}

function credentialRoutes({ database, seals }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/credentials',
      { schema: { querystring: InVault, response: { 200: Type.Array(CredentialRow) } } },
      (request) => listCredentials(database, request.query.vault),
    );

    app.put(
      '/vaults/:vault/credentials/:name',
      { schema: { params: ByCredential, body: CredentialBody, response: { 200: CredentialRow } } },
      (request) => {
        const { vault, name } = request.params;
        const credential = parseCredential(readInput(request.body));
        return changeAsAdmin(database, request.actor, async (tx) => {
          const result = await putCredential(tx, seals, vault, name, credential);
          const { id, kind, hosts, settings, version } = result;
          const detail = { id, kind, hosts, settings, version };
          return { result, event: { action: 'credential.put', subject: `${vault}/${name}`, detail } };
        });
      },
    );

    app.post(
      '/vaults/:vault/credentials/:name/rotate',
      { schema: { params: ByCredential, body: RotateBody, response: { 200: CredentialRow } } },
      (request) => {
        const { vault, name } = request.params;
        return changeAsAdmin(database, request.actor, async (tx) => {
          const result = await rotateCredential(tx, seals, vault, name, readSecrets(request.body.secret));
          const detail = { id: result.id, version: result.version };
          return { result, event: { action: 'credential.rotate', subject: `${vault}/${name}`, detail } };
        });
      },
    );

    app.delete(
      '/vaults/:vault/credentials/:name',
      { schema: { params: ByCredential, response: { 204: Nothing } } },
      async (request, reply) => {
        const { vault, name } = request.params;
        await changeAsAdmin(database, request.actor, async (tx) => {
          await removeCredential(tx, vault, name);
          return {
            result: null,
            event: { action: 'credential.rm', subject: `${vault}/${name}`, detail: {} },
          };
        });
        return reply.code(204).send(null);
      },
    );
  };
}

function readInput(body: Static<typeof CredentialBody>): CredentialInput {
  return { ...body, secret: readSecrets(body.secret ?? {}) };
}

function readSecrets(parts: Readonly<Record<string, string>>): Record<string, Secret> {
  return Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, new Secret(value)]));
}

const ByVault = Type.Object({ vault: Name });
const InVault = Type.Object({ vault: Type.Optional(Name) }, { additionalProperties: false });
const ByCredential = Type.Object({ vault: Name, name: Name });
const SecretParts = Type.Record(
  Type.String({ minLength: 1, maxLength: 128 }),
  Type.String({ maxLength: 16_384 }),
  {
    description:
      'secret parts by name: `value`; each header of `headers`; `client_secret`, `refresh_token` of `oauth`',
  },
);
const Parameter = Type.String({ maxLength: 128 });
/** The forms of a placement; what each must be is for `parsePlacement` to say. */
const PlacementBody = Type.Union(
  [
    Type.Object(
      {
        kind: Type.Optional(Type.Literal('header')),
        header: Type.String({ maxLength: 128 }),
        format: Type.String({ maxLength: 256 }),
      },
      { additionalProperties: false },
    ),
    Type.Object(
      { kind: Type.Literal('basic'), user: Type.String({ maxLength: 256 }) },
      { additionalProperties: false },
    ),
    Type.Object({ kind: Type.Literal('query'), name: Parameter }, { additionalProperties: false }),
    Type.Object(
      {
        kind: Type.Literal('replace'),
        placeholder: Type.Optional(Parameter),
        headers: Type.Optional(Type.Array(Parameter, { maxItems: 50 })),
        query: Type.Optional(Type.Array(Parameter, { maxItems: 50 })),
      },
      { additionalProperties: false },
    ),
  ],
  { description: 'how an environment_secret is put on a request; `{}` in a format stands for it' },
);
const CredentialBody = Type.Object(
  {
    kind: Type.Union([
      Type.Literal('model_key'),
      Type.Literal('bearer'),
      Type.Literal('headers'),
      Type.Literal('oauth'),
      Type.Literal('environment_secret'),
      Type.Literal('environment_variable'),
    ]),
    hosts: Type.Array(HostText, { minItems: 1, maxItems: 100 }),
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    variable: Type.Optional(Type.String({ maxLength: 128 })),
    placement: Type.Optional(PlacementBody),
    rules: Type.Optional(
      Type.Object(
        {
          paths: Type.Optional(Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 })),
          methods: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 50 })),
        },
        { additionalProperties: false, description: 'which requests an environment_secret may go on' },
      ),
    ),
    valueFrom: Type.Optional(
      Type.String({ maxLength: 600, description: 'where egress reads the value: env:NAME or file:PATH' }),
    ),
    tokenUrl: Type.Optional(Type.String({ maxLength: 2048 })),
    clientId: Type.Optional(Type.String({ maxLength: 512 })),
    grant: Type.Optional(Type.Union([Type.Literal('client_credentials'), Type.Literal('refresh_token')])),
    clientAuth: Type.Optional(
      Type.Union([Type.Literal('client_secret_basic'), Type.Literal('client_secret_post')]),
    ),
    scope: Type.Optional(Type.String({ maxLength: 2048 })),
    audience: Type.Optional(Type.String({ maxLength: 2048 })),
    resource: Type.Optional(Type.String({ maxLength: 2048 })),
    secret: Type.Optional(SecretParts),
  },
  { additionalProperties: false },
);
const RotateBody = Type.Object({ secret: SecretParts }, { additionalProperties: false });
const Vault = Type.Object({
  id: Type.String(),
  name: Type.String(),
  credentials: Type.Integer(),
  createdAt: Moment,
});
const CredentialRow = Type.Object({
  id: Type.String(),
  vault: Type.String(),
  name: Type.String(),
  kind: Type.String(),
  hosts: Texts,
  user: nullable(Type.String()),
  settings: Type.Record(Type.String(), Type.Unknown()),
  version: Type.Integer(),
  problem: nullable(Type.String()),
  createdAt: Moment,
  updatedAt: Moment,
});
