/** `config`: every setting, and what this process was given. Secrets are masked. */
import { describeConfig, readConfig, type SettingRow } from '../../core-lite/config.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { formatTable } from '../table.ts';

export const config = defineCommand({
  name: 'config',
  summary: 'lists every setting and its value here; says what is wrong with them',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  notes: ['Settings are environment variables. A value in brackets is a default.'],
  examples: ['npx sallyport config'],
  run: async ({ options }, io) => {
    const rows = describeConfig(io.variables);
    if (options.json) io.out(JSON.stringify(rows, null, 2));
    else for (const line of formatTable([HEAD, ...rows.map(settingRow)])) io.out(line);
    readConfig(io.variables);
    return EXIT.done;
  },
});

function settingRow({ name, type, default: fallback, value, help }: SettingRow): string[] {
  return [name, value || (fallback ? `[${fallback}]` : '-'), type, help];
}

const HEAD = ['SETTING', 'VALUE', 'TYPE', 'MEANING'];
