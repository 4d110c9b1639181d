/** The closed list of how a call of an HTTP tool fails: outcomes of the tool, answered as `{ok: false, error}`. */
export const HTTP_OUTCOMES = {
  'tool.invalid-input': 'the input does not fit the tool’s schema',
  'tool.invalid-output': 'the tool ran, and its answer does not fit the output schema',
  'http.refused': 'the tool’s URL, port or address is not one that is called',
  'http.credential': 'the tool’s credential is gone, or may not be used for this call',
  'http.unreachable': 'the tool could not be reached: it has not run',
  'http.lost': 'the tool broke off, and may have run',
  'http.timeout': 'the tool did not answer in time',
  'http.status': 'the tool answered with an error',
  'http.too-large': 'the tool’s answer is too large',
  'http.invalid-response': 'the tool’s answer is neither JSON nor text',
  'http.stopped': 'the run ended while the tool was called',
  'tool.cancelled': 'the call was cancelled',
  'tool.interrupted': 'the gate that ran the call went before anything was sent',
} as const;

export type HttpOutcome = keyof typeof HTTP_OUTCOMES;

/** A tool that the session’s manifest does not declare: a failure of the call, not of a tool. */
export const UNDECLARED = {
  code: 'http.undeclared',
  status: 403,
  message: 'the session declares no such tool; open a session whose manifest does',
} as const;
