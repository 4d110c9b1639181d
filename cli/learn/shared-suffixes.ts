/**
 * Suffixes under which strangers have names of their own. A pattern over one of them would open other people's hosts,
 * so `learn` never offers it. The rule is our own, small and on the safe side; it is no list of all public suffixes.
 */

/** Whether names under `suffix` may belong to different people, as far as can be told from it. */
export function isShared(suffix: string): boolean {
  const labels = suffix.split('.');
  if (labels.length < 2) return true;
  const [second = '', top = ''] = labels.slice(-2);
  // Countries have registries one level down: co.uk, com.au, or.jp.
  if (labels.length === 2 && top.length === 2 && second.length <= 3) return true;
  return SHARED.some((shared) => suffix === shared || suffix.endsWith(`.${shared}`));
}

/** Of hosting, storage, tunnels and content networks, where anybody can have a name. */
const SHARED = [
  'akamai.net',
  'akamaiedge.net',
  'akamaized.net',
  'amazonaws.com',
  'amplifyapp.com',
  'appspot.com',
  'azure-api.net',
  'azureedge.net',
  'azurefd.net',
  'azurewebsites.net',
  'b-cdn.net',
  'blogspot.com',
  'cloudapp.net',
  'cloudfront.net',
  'digitaloceanspaces.com',
  'edgesuite.net',
  'fastly.net',
  'firebaseapp.com',
  'fly.dev',
  'github.io',
  'githubusercontent.com',
  'gitlab.io',
  'googleapis.com',
  'googleusercontent.com',
  'herokuapp.com',
  'hf.space',
  'loca.lt',
  'myshopify.com',
  'netlify.app',
  'ngrok-free.app',
  'ngrok.app',
  'ngrok.io',
  'onrender.com',
  'pages.dev',
  'r2.dev',
  'readthedocs.io',
  'run.app',
  'supabase.co',
  'trafficmanager.net',
  'trycloudflare.com',
  'vercel.app',
  'web.app',
  'windows.net',
  'workers.dev',
];
