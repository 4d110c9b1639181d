/**
 * A service that `sallyport up` started ends with it, also when `up` is killed: the channel between them closes with
 * the process that held its other end, whatever ended it.
 */

/**
 * Calls `stop` once when the process that launched this one with a channel is gone; does nothing for one that was
 * launched without, from a shell or by an init system. `stop` should do what SIGTERM does.
 */
export function stopWithParent(stop: () => void): void {
  if (process.send === undefined) return;
  if (!process.connected) {
    stop();
    return;
  }
  process.once('disconnect', stop);
  // Otherwise the listener would keep a service alive that was stopped by a signal.
  process.channel?.unref();
}
