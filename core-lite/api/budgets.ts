/** Budgets: how much may be used, by whom, in which time, and how they stand. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { MEASURES, PERIODS, SCOPES } from '../state/budget.ts';
import { findBudget, listBudgets, putBudget, removeBudget } from '../state/budget-store.ts';
import type { CoreContext } from './context.ts';
import { Moment, Name, Nothing, nullable } from './schemas.ts';

export function budgetRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/budgets', { schema: { response: { 200: Type.Array(Budget) } } }, () => listBudgets(database));

    app.get('/budgets/:name', { schema: { params: ByName, response: { 200: Budget } } }, (request) =>
      findBudget(database, request.params.name),
    );

    app.put(
      '/budgets/:name',
      {
        schema: {
          params: ByName,
          body: BudgetBody,
          response: { 200: Budget },
          description:
            'Another limit keeps what was used; another scope, measure or period begins at nothing.',
        },
      },
      (request) =>
        changeAsAdmin(database, request.actor, async (tx) => {
          const { name } = request.params;
          const { scope, value = '*', measure, limit, period } = request.body;
          const detail = { scope, value, measure, limit, period };
          return {
            result: await putBudget(tx, name, detail),
            event: { action: 'budget.put', subject: name, detail },
          };
        }),
    );

    app.delete(
      '/budgets/:name',
      { schema: { params: ByName, response: { 204: Nothing } } },
      async (request, reply) => {
        const { name } = request.params;
        await changeAsAdmin(database, request.actor, async (tx) => {
          await removeBudget(tx, name);
          return { result: null, event: { action: 'budget.rm', subject: name, detail: {} } };
        });
        return reply.code(204).send(null);
      },
    );
  };
}

const ByName = Type.Object({ name: Name });
const Scope = Type.Enum([...SCOPES]);
const BudgetBody = Type.Object(
  {
    scope: Scope,
    value: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'one agent or one session; each its own without it',
      }),
    ),
    measure: Type.Enum([...MEASURES]),
    limit: Type.Number({ minimum: 0, maximum: 1e12 }),
    period: Type.Enum([...PERIODS]),
  },
  { additionalProperties: false },
);
const Budget = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scope: Scope,
  value: Type.String(),
  measure: Type.String(),
  limit: Type.Number(),
  period: Type.String(),
  createdAt: Moment,
  fullest: Type.String(),
  used: Type.Number(),
  reserved: Type.Number(),
  left: Type.Number(),
  resetsAt: nullable(Moment),
});
