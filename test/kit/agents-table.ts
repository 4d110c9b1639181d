/** The command-line agents and what each is told, as docs/agents.md has it: by two settings, or by a run alone. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Agent {
  readonly name: string;
  /** Of npm. */
  readonly package: string;
  /** Of its catalogue entry: what the agent asks for, or takes for a model of its own. */
  readonly model: string;
  /** Its arguments. */
  readonly args: (prompt: string) => readonly string[];
  /** What it is told where its environment is not a run's. */
  readonly settings: (gates: string, token: string) => Readonly<Record<string, string>>;
  /** What it wants in its home, whoever started it. */
  readonly prepare?: (home: string) => Promise<void>;
}

export const AGENTS: readonly Agent[] = [
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    model: 'claude-sonnet-4-5',
    args: (prompt) => ['-p', prompt, '--model', 'claude-sonnet-4-5'],
    settings: (gates, token) => ({ ANTHROPIC_BASE_URL: gates, ANTHROPIC_AUTH_TOKEN: token }),
  },
  {
    name: 'Codex, as a provider',
    package: '@openai/codex',
    model: 'gpt-5',
    args: (prompt) => codex(prompt, ...provider('$OPENAI_BASE_URL')),
    settings: (gates, token) => ({ OPENAI_BASE_URL: `${gates}/v1`, OPENAI_API_KEY: token }),
  },
  {
    name: 'Codex, by its base URL',
    package: '@openai/codex',
    model: 'gpt-5',
    args: (prompt) => codex(prompt, '-c', 'openai_base_url="$OPENAI_BASE_URL"'),
    settings: (gates, token) => ({ OPENAI_BASE_URL: `${gates}/v1`, OPENAI_API_KEY: token }),
  },
  {
    name: 'Gemini CLI',
    package: '@google/gemini-cli',
    model: 'gemini-2.5-flash',
    args: (prompt) => ['-m', 'gemini-2.5-flash', '-p', prompt],
    settings: (gates, token) => ({ GOOGLE_GEMINI_BASE_URL: gates, GEMINI_API_KEY: token }),
    prepare: async (home) => {
      await mkdir(join(home, '.gemini'), { recursive: true });
      const settings = { security: { auth: { selectedType: 'gemini-api-key' } } };
      await writeFile(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
    },
  },
];

function codex(prompt: string, ...more: readonly string[]): readonly string[] {
  return ['exec', '--skip-git-repo-check', '-m', 'gpt-5', ...more, prompt];
}

function provider(baseUrl: string): readonly string[] {
  const table = `{name="gates",base_url="${baseUrl}",env_key="OPENAI_API_KEY",wire_api="responses"}`;
  return ['-c', 'model_provider="gates"', '-c', `model_providers.gates=${table}`];
}
