/** What is counted of requests to MCP servers for Prometheus. Labels come from closed lists: no server's or tool's name. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { McpOutcome } from './outcomes.ts';

export interface CountedRequest {
  readonly method: string;
  readonly outcome: McpOutcome;
  readonly durationMs: number;
  readonly resultBytes: number;
}

/** @returns counts one request */
export function makeMcpMetrics(registry: Registry): (request: CountedRequest) => void {
  const registers = [registry];
  const requests = new Counter({
    name: 'sallyport_gates_mcp_requests_total',
    help: 'Requests to MCP servers, by method and how they ended',
    labelNames: ['method', 'outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'sallyport_gates_mcp_request_seconds',
    help: 'From a request’s arrival to its end',
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const bytes = new Counter({
    name: 'sallyport_gates_mcp_result_bytes_total',
    help: 'Bytes of results of MCP servers',
    registers,
  });
  return ({ method, outcome, durationMs, resultBytes }) => {
    requests.inc({ method, outcome });
    duration.observe(durationMs / 1000);
    bytes.inc(resultBytes);
  };
}
