/** Prompts of the conformance server. */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { IMAGE } from './media.ts';

interface ConformancePrompt {
  readonly description: string;
  /** Names of its arguments. */
  readonly takes?: readonly string[];
  say(args: Readonly<Record<string, string>>): readonly ContentBlock[];
}

export const PROMPTS: Readonly<Record<string, ConformancePrompt>> = {
  test_simple_prompt: {
    description: 'One line',
    say: () => [{ type: 'text', text: 'This is a simple prompt for testing.' }],
  },
  test_prompt_with_arguments: {
    description: 'Repeats its arguments',
    takes: ['arg1', 'arg2'],
    say: ({ arg1, arg2 }) => [
      { type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` },
    ],
  },
  test_prompt_with_embedded_resource: {
    description: 'Holds the resource that it is given',
    takes: ['resourceUri'],
    say: ({ resourceUri = '' }) => [
      {
        type: 'resource',
        resource: {
          uri: resourceUri,
          mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        },
      },
      { type: 'text', text: 'Please process the embedded resource above.' },
    ],
  },
  test_prompt_with_image: {
    description: 'Holds an image',
    say: () => [
      { type: 'image', data: IMAGE, mimeType: 'image/png' },
      { type: 'text', text: 'Please analyze the image above.' },
    ],
  },
};
