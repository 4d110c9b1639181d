-- oldest-program: 0.1.0
-- MCP servers as sessions know them: what a server said of itself when the session first met it, and how any replica
-- takes its connection up again; and each tool as the session first saw it.

CREATE TABLE mcp_upstreams (
  session_id   text NOT NULL REFERENCES sessions,
  server       text NOT NULL,
  -- Sealed: the first that was recorded wins, and never changes.
  discovery    bytea NOT NULL,
  -- Sealed: era, protocol version, the server's session id. Null: the server has forgotten its session, and somebody was told so.
  link         bytea,
  -- Grows with each link, so that whoever replaces one knows which.
  generation   bigint NOT NULL DEFAULT 1,
  -- How many processes called something under this link that may have changed what the server holds.
  touched      integer NOT NULL DEFAULT 0,
  recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (session_id, server)
);

CREATE TABLE mcp_tools (
  session_id  text NOT NULL REFERENCES sessions,
  server      text NOT NULL,
  tool        text NOT NULL,
  -- SHA-256 of its definition, as the session first saw it.
  hash        bytea NOT NULL CHECK (length(hash) = 32),
  seen_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (session_id, server, tool)
);

GRANT SELECT, INSERT, UPDATE (link, generation, touched), DELETE ON mcp_upstreams TO sallyport_gates;
GRANT SELECT, INSERT, DELETE ON mcp_tools TO sallyport_gates;
