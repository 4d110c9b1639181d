/**
 * `npm test` runs every *.test.ts under test/ but those of test/long, which `npm run test:long` (mode `long`) runs
 * alone. All of them share one PostgreSQL, started by test/support/postgres.ts; tests see none of the settings of
 * whoever runs them.
 */
import { defineConfig } from 'vitest/config';

for (const name of Object.keys(process.env)) {
  if (/^(DATABASE_URL$|SALLYPORT_|PG[A-Z]+$)/.test(name)) delete process.env[name];
}

export default defineConfig(({ mode }) => ({
  test: {
    include: [mode === 'long' ? 'test/long/**/*.test.ts' : 'test/**/*.test.ts'],
    exclude: mode === 'long' ? [] : ['test/long/**'],
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: mode === 'long' ? 600_000 : 20_000,
    hookTimeout: 30_000,
    reporters: ['default'],
  },
}));
