/** Why a provider gave no answer, from undici's and Node's codes: their texts may hold anything. */

export function readFailure(error: unknown): 'connect_failed' | 'provider_certificate' | 'provider_failed' {
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  if (CERTIFICATE_CODES.test(code)) return 'provider_certificate';
  return CONNECT_CODES.test(code) ? 'connect_failed' : 'provider_failed';
}

/** OpenSSL's verification codes as Node names them, and Node's own for a name that does not match. */
const CERTIFICATE_CODES =
  /^(CERT_|CRL_|DEPTH_ZERO_|ERROR_IN_CERT|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|SELF_SIGNED_|UNABLE_TO_)/;
const CONNECT_CODES =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_SSL_|EPROTO)/;
