/** What is counted of HTTP tools' calls for Prometheus: how they ended, how long they took, how much they gave. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { HttpOutcome } from './http-outcomes.ts';

export type ToolOutcome = HttpOutcome | 'http.undeclared' | 'completed';

/** @returns counts one call */
export function makeToolMetrics(
  registry: Registry,
): (outcome: ToolOutcome, durationMs: number, resultBytes: number) => void {
  const registers = [registry];
  const calls = new Counter({
    name: 'sallyport_gates_tool_calls_total',
    help: 'Calls of HTTP tools, by how they ended',
    labelNames: ['outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'sallyport_gates_tool_call_seconds',
    help: 'From a tool call’s arrival to its end',
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const bytes = new Counter({
    name: 'sallyport_gates_tool_result_bytes_total',
    help: 'Bytes of answers to calls of HTTP tools',
    registers,
  });
  return (outcome, durationMs, resultBytes) => {
    calls.inc({ outcome });
    duration.observe(durationMs / 1000);
    bytes.inc(resultBytes);
  };
}
