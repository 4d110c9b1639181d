-- oldest-program: 0.1.0
-- The value of an environment secret may come from where egress runs: then its row has no secret part.

ALTER TABLE credentials ALTER COLUMN sealed DROP NOT NULL;
ALTER TABLE credentials ADD CONSTRAINT one_source_of_the_value
  CHECK ((sealed IS NULL) = (kind = 'environment_secret' AND settings ? 'valueFrom'));
