/**
 * A process of its own that starts the embedded server of a home, for tests that kill it or start two at once.
 * Prints one line of JSON, `{url, pid}` or `{code}`, then lives until it is killed or told to end.
 */
import { startEmbedded } from '../../../core-lite/database/embedded.ts';
import { isFault } from '../../../core-lite/errors.ts';

const [home = ''] = process.argv.slice(2);
try {
  const { url, pid, close } = await startEmbedded({ home });
  process.once('SIGTERM', () => close());
  console.log(JSON.stringify({ url, pid }));
} catch (error) {
  console.log(JSON.stringify({ code: isFault(error) ? error.code : String(error) }));
}
