/** Resolves once a statement of another connection waits for a lock, such as a start behind the transaction that holds its session. */
export const WAITS_FOR_LOCK = `
  DO $$ BEGIN
    FOR i IN 1 .. 500 LOOP
      PERFORM pg_stat_clear_snapshot();
      IF EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') THEN
        RETURN; END IF;
      PERFORM pg_sleep(0.01);
    END LOOP;
    RAISE EXCEPTION 'nobody waits';
  END $$`;
