-- oldest-program: 0.1.0
-- How often a secret was masked in the answer of an exchange.

ALTER TABLE exchanges ADD COLUMN masked integer NOT NULL DEFAULT 0;
