-- oldest-program: 0.1.0
-- What a legacy MCP client set in its session: its log level, the resources it subscribed to, that it ended it. The rest
-- of the session is in its id. Written when the client says so, and only then.

CREATE TABLE mcp_sessions (
  -- A digest of the id that the client sends.
  key         text PRIMARY KEY,
  session_id  text NOT NULL REFERENCES sessions,
  sealed      bytea NOT NULL,
  written_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX mcp_sessions_by_session ON mcp_sessions (session_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON mcp_sessions TO sallyport_gates;
